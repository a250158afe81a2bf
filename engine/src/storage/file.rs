//! A directory of files, one per fork of a relation, and a control file.
//!
//! A file is named `tablespace_database_relation_fork` and is nothing but pages. `holdup.control`
//! says that the directory is ours and how long a page is.
//!
//! Part of a page at the end of a file is no page. A crash leaves one, or a full disk, in the middle
//! of an extension, which so has not happened; the next one writes over it. PostgreSQL counts pages
//! the same way (`mdnblocks`).
//!
//! Touches: a mutex around the table of open files, never held during I/O on pages.
//! Keeps: what [`Storage::sync`] returned for survives a crash; a control file is whole or absent.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::{Storage, StorageError};
use crate::sync::fs::{self, File, FileExt, OpenOptions};
use crate::sync::{Arc, Mutex, lock, mutant, name, note};
use crate::tag::{BlockNumber, BufferTag, Fork, RelationId};

const CONTROL: &str = "holdup.control";
const MAGIC: &str = "holdup-engine storage 2";

/// A storage on files.
#[derive(Debug)]
pub struct FileStorage {
    directory: PathBuf,
    page_size: usize,
    /// Boxed, so that it stays where it is named.
    table: Box<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    open: BTreeMap<(RelationId, Fork), Arc<File>>,
    removed: BTreeSet<RelationId>,
}

impl FileStorage {
    /// Opens the storage in `directory`, or makes an empty one if the directory is absent or empty.
    ///
    /// # Errors
    ///
    /// [`StorageError`] says which file is wrong and what to do about it.
    pub fn open(directory: impl AsRef<Path>, page_size: usize) -> Result<Self, StorageError> {
        let directory = directory.as_ref().to_path_buf();
        let what = format!("open {}", directory.display());
        // Not only what is made now: a process that made the directory may have died before the sync.
        let made = missing(&directory).max(1);
        fs::create_dir_all(&directory).map_err(StorageError::io(what))?;
        for directory in directory.ancestors().take(made) {
            sync_parent(directory)?;
        }

        let control = directory.join(CONTROL);
        let mut files = list(&directory)?;
        // Left by a crash while the storage was being made: there was nothing in it yet.
        files.remove(&scratch(&control));
        if files.contains(&control) {
            check_control(&control, page_size)?;
        } else if files.is_empty() {
            write_control(&control, page_size)?;
        } else {
            return Err(StorageError::NotAStorage { path: directory });
        }
        let table = Box::default();
        name!(&*table, "open files");
        Ok(Self { directory, page_size, table })
    }

    fn path(&self, relation: RelationId, fork: Fork) -> PathBuf {
        let RelationId { tablespace, database, number } = relation;
        self.directory.join(format!("{tablespace}_{database}_{number}_{}", fork.name()))
    }

    /// The file of a fork; `None` if there is none and it is not to be created.
    fn file(
        &self,
        relation: RelationId,
        fork: Fork,
        create: bool,
    ) -> Result<Option<Arc<File>>, StorageError> {
        let mut table = lock(&self.table);
        if create {
            table.removed.remove(&relation);
        } else if table.removed.contains(&relation) {
            return Err(StorageError::Removed { relation });
        }
        if let Some(file) = table.open.get(&(relation, fork)) {
            return Ok(Some(Arc::clone(file)));
        }
        let path = self.path(relation, fork);
        match OpenOptions::new().read(true).write(true).create(create).open(&path) {
            Ok(file) => {
                let file = Arc::new(file);
                table.open.insert((relation, fork), Arc::clone(&file));
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::io(format!("open {}", path.display()))(error)),
        }
    }

    fn offset(&self, block: BlockNumber) -> u64 {
        u64::from(block) * self.page_size as u64
    }

    fn blocks(&self, file: &File, what: &str) -> Result<BlockNumber, StorageError> {
        let metadata = file.metadata().map_err(StorageError::io(what))?;
        Ok((metadata.len() / self.page_size as u64) as BlockNumber)
    }
}

impl Storage for FileStorage {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn read(&self, tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError> {
        let file = self.file(tag.relation, tag.fork, false)?;
        let file = file.ok_or(StorageError::PastEnd { tag })?;
        match file.read_exact_at(page, self.offset(tag.block)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(StorageError::PastEnd { tag })
            }
            done => done.map_err(StorageError::io(format!("read {tag}"))),
        }
    }

    fn write(&self, tag: BufferTag, page: &[u8]) -> Result<(), StorageError> {
        let file = match self.file(tag.relation, tag.fork, false) {
            Err(StorageError::Removed { .. }) => {
                panic!("I-DISK1: no page goes to a removed file, but {tag} was written")
            }
            file => file?.ok_or(StorageError::PastEnd { tag })?,
        };
        let what = format!("write {tag}");
        if tag.block >= self.blocks(&file, &what)? {
            return Err(StorageError::PastEnd { tag });
        }
        file.write_all_at(page, self.offset(tag.block)).map_err(StorageError::io(what))
    }

    fn extend(
        &self,
        relation: RelationId,
        fork: Fork,
        page: &[u8],
    ) -> Result<BlockNumber, StorageError> {
        let what = format!("extend {}", self.path(relation, fork).display());
        let Some(file) = self.file(relation, fork, true)? else {
            return Err(StorageError::io(what)(io::ErrorKind::NotFound.into()));
        };
        let block = self.blocks(&file, &what)?;
        file.write_all_at(page, self.offset(block)).map_err(StorageError::io(what))?;
        Ok(block)
    }

    fn grow(
        &self,
        relation: RelationId,
        fork: Fork,
        first: BlockNumber,
        n_blocks: u32,
    ) -> Result<(), StorageError> {
        let what = format!("extend {}", self.path(relation, fork).display());
        let Some(file) = self.file(relation, fork, true)? else {
            return Err(StorageError::io(what)(io::ErrorKind::NotFound.into()));
        };
        let zeroes = vec![0; n_blocks as usize * self.page_size];
        file.write_all_at(&zeroes, self.offset(first)).map_err(StorageError::io(what))
    }

    fn sync(&self, relation: RelationId, fork: Fork) -> Result<(), StorageError> {
        let Some(file) = self.file(relation, fork, false)? else { return Ok(()) };
        let what = format!("sync {}", self.path(relation, fork).display());
        if !mutant::is("storage.no_sync")
            && let Err(error) = file.sync_data()
            && !mutant::is("sync.ignore_error")
        {
            return Err(StorageError::io(what)(error));
        }
        if mutant::is("storage.no_dir_sync") {
            return Ok(());
        }
        sync_directory(&self.directory)
    }

    fn size(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, StorageError> {
        match self.file(relation, fork, false)? {
            Some(file) => self.blocks(&file, &format!("measure {relation} {}", fork.name())),
            None => Ok(0),
        }
    }

    fn remove(&self, relation: RelationId) -> Result<(), StorageError> {
        let mut table = lock(&self.table);
        table.removed.insert(relation);
        for fork in Fork::ALL {
            table.open.remove(&(relation, fork));
            let path = self.path(relation, fork);
            match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done.map_err(StorageError::io(format!("remove {}", path.display())))?,
            }
        }
        drop(table);
        note!("removes relation {relation}");
        sync_directory(&self.directory)
    }
}

fn list(directory: &Path) -> Result<BTreeSet<PathBuf>, StorageError> {
    let what = || StorageError::io(format!("list {}", directory.display()));
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory).map_err(what())? {
        files.insert(entry.map_err(what())?.path());
    }
    Ok(files)
}

fn check_control(path: &Path, asked: usize) -> Result<(), StorageError> {
    let what = format!("read {}", path.display());
    let bytes = fs::read(path).map_err(StorageError::io(what))?;
    let text = String::from_utf8_lossy(&bytes);
    let foreign = || StorageError::Foreign { path: path.to_path_buf(), expected: MAGIC };

    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(foreign());
    }
    let line = lines.next().and_then(|line| line.strip_prefix("page_size "));
    let found: usize = line.and_then(|size| size.parse().ok()).ok_or_else(foreign)?;
    if found != asked {
        return Err(StorageError::OtherPageSize { path: path.to_path_buf(), found, asked });
    }
    Ok(())
}

fn scratch(control: &Path) -> PathBuf {
    control.with_extension("new")
}

/// Written beside and renamed into place, so that a crash leaves a whole control file or none.
fn write_control(path: &Path, page_size: usize) -> Result<(), StorageError> {
    let what = || StorageError::io(format!("write {}", path.display()));
    let scratch = scratch(path);
    let file = File::create(&scratch).map_err(what())?;
    let text = format!("{MAGIC}\npage_size {page_size}\n");
    file.write_all_at(text.as_bytes(), 0).map_err(what())?;
    file.sync_all().map_err(what())?;
    fs::rename(&scratch, path).map_err(what())?;
    sync_directory(path.parent().unwrap_or(path))
}

fn sync_directory(directory: &Path) -> Result<(), StorageError> {
    let what = || StorageError::io(format!("sync {}", directory.display()));
    File::open(directory).map_err(what())?.sync_all().map_err(what())
}

/// How many directories have to be made before `directory` is there.
fn missing(directory: &Path) -> usize {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && fs::metadata(path).is_err();
    directory.ancestors().take_while(is_missing).count()
}

/// Makes it durable that there is a directory of this name.
fn sync_parent(directory: &Path) -> Result<(), StorageError> {
    match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new(".")),
        Some(parent) => sync_directory(parent),
        None => Ok(()),
    }
}
