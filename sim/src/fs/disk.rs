//! The disk of an execution: a tree of names, and inodes that live as long as a name or a handle.
//!
//! Touches: the tree and the bytes of inodes, each under a real mutex that is never held across a
//! scheduling point.
//! Keeps: an operation of the program happens at once, after its scheduling point.
//!
//! What a power failure would leave behind belongs here: an inode would keep its durable bytes
//! beside the present ones, and a sync would copy them.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound::{Included, Unbounded};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::{Execution, Place, current, listening, name_object};
use crate::trace::OpKind;

/// Files do not grow beyond this.
const MAX_LEN_BYTES: u64 = 1 << 30;

/// The disk of an execution.
#[derive(Clone)]
pub(super) struct Disk(Arc<Mutex<Tree>>);

type Tree = BTreeMap<PathBuf, Node>;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Node {
    Directory,
    File(Arc<Inode>),
}

/// A file without its name.
pub(super) struct Inode {
    bytes: Mutex<Vec<u8>>,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mode {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) append: bool,
    pub(super) truncate: bool,
    pub(super) create: bool,
    pub(super) create_new: bool,
}

/// The error that the system call would give.
pub(super) fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happens before every operation on `object`: a scheduling point, the rules of holds, faults.
pub(super) fn operate(kind: OpKind, object: usize, place: Place) -> io::Result<()> {
    let Some(execution) = current() else { return Ok(()) };
    execution.may_sleep(kind, place);
    if execution.enter(kind, object, noun(kind), place) {
        execution.record_operation(kind, object, None, None, place);
    }
    let failed = match kind {
        OpKind::FileRead => execution.fault(|faults| faults.read_error, "the read fails", place),
        OpKind::FileWrite => execution.fault(|faults| faults.write_error, "the write fails", place),
        OpKind::FileSync => execution.fault(|faults| faults.sync_error, "the sync fails", place),
        _ => false,
    };
    if failed { Err(io::Error::other("simulated I/O error")) } else { Ok(()) }
}

fn noun(kind: OpKind) -> &'static str {
    if kind == OpKind::FileOther { "disk" } else { "file" }
}

/// Loops that poll `object` have something to see.
fn changed(object: usize) {
    if let Some(execution) = current() {
        execution.changed(object, 0, 1);
    }
}

/// The path from the root, without `.` and `..`.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(error(libc::ENOENT));
    }
    let mut absolute = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => absolute.push(name),
            Component::ParentDir => {
                absolute.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(absolute)
}

/// The directory in which `path` is or would be exists.
fn check_parent(tree: &Tree, path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    // A file further up is a worse mistake than a missing directory.
    let nearest = parent.ancestors().find_map(|above| tree.get(above).map(|node| (above, node)));
    match nearest {
        Some((_, Node::File(_))) => Err(error(libc::ENOTDIR)),
        Some((above, Node::Directory)) if above == parent => Ok(()),
        _ => Err(error(libc::ENOENT)),
    }
}

fn find(tree: &Tree, path: &Path) -> io::Result<Node> {
    if let Some(node) = tree.get(path) {
        return Ok(node.clone());
    }
    check_parent(tree, path)?;
    Err(error(libc::ENOENT))
}

/// The names below `path`.
fn below(tree: &Tree, path: &Path) -> Vec<PathBuf> {
    let from = tree.range::<Path, _>((Included(path), Unbounded)).map(|(below, _)| below);
    from.take_while(|below| below.starts_with(path)).skip(1).cloned().collect()
}

impl Disk {
    /// The disk of the execution.
    pub(super) fn of(execution: &Execution) -> Self {
        execution.extension(|| {
            let directories = ["/", "/tmp"].map(|path| (PathBuf::from(path), Node::Directory));
            Self(Arc::new(Mutex::new(BTreeMap::from(directories))))
        })
    }

    fn object(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The tree and the path in it, after the scheduling point of an operation on names.
    fn operate(&self, path: &Path, place: Place) -> io::Result<(MutexGuard<'_, Tree>, PathBuf)> {
        operate(OpKind::FileOther, self.object(), place)?;
        Ok((lock(&self.0), absolute(path)?))
    }

    pub(super) fn open(&self, path: &Path, mode: Mode, place: Place) -> io::Result<Node> {
        let (mut tree, path) = self.operate(path, place)?;
        let writes = mode.write || mode.append;
        match tree.get(&path) {
            Some(_) if mode.create_new => Err(error(libc::EEXIST)),
            Some(Node::Directory) if writes => Err(error(libc::EISDIR)),
            Some(node @ Node::Directory) => Ok(node.clone()),
            Some(node @ Node::File(inode)) => {
                if mode.truncate {
                    lock(&inode.bytes).clear();
                    changed(inode.object());
                }
                Ok(node.clone())
            }
            None if mode.create || mode.create_new => {
                check_parent(&tree, &path)?;
                let inode = Arc::new(Inode { bytes: Mutex::default() });
                if listening() {
                    name_object(inode.object(), path.display().to_string(), None);
                }
                let node = Node::File(inode);
                tree.insert(path, node.clone());
                changed(self.object());
                Ok(node)
            }
            None => find(&tree, &path),
        }
    }

    pub(super) fn node(&self, path: &Path, place: Place) -> io::Result<Node> {
        let (tree, path) = self.operate(path, place)?;
        find(&tree, &path)
    }

    pub(super) fn create_dir(&self, path: &Path, place: Place) -> io::Result<()> {
        let (mut tree, path) = self.operate(path, place)?;
        if tree.contains_key(&path) {
            return Err(error(libc::EEXIST));
        }
        check_parent(&tree, &path)?;
        tree.insert(path, Node::Directory);
        changed(self.object());
        Ok(())
    }

    pub(super) fn create_dir_all(&self, path: &Path, place: Place) -> io::Result<()> {
        let (mut tree, path) = self.operate(path, place)?;
        let file = |above: &&Path| matches!(tree.get(*above), Some(Node::File(_)));
        if let Some(found) = path.ancestors().find(file) {
            return Err(error(if found == path { libc::EEXIST } else { libc::ENOTDIR }));
        }
        for directory in path.ancestors() {
            tree.entry(directory.to_owned()).or_insert(Node::Directory);
        }
        changed(self.object());
        Ok(())
    }

    pub(super) fn remove_file(&self, path: &Path, place: Place) -> io::Result<()> {
        let (mut tree, path) = self.operate(path, place)?;
        match find(&tree, &path)? {
            Node::Directory => return Err(error(libc::EISDIR)),
            Node::File(_) => tree.remove(&path),
        };
        changed(self.object());
        Ok(())
    }

    /// Removes a directory, which must be empty unless `all` goes that is in it.
    pub(super) fn remove_dir(&self, path: &Path, all: bool, place: Place) -> io::Result<()> {
        let (mut tree, path) = self.operate(path, place)?;
        let Node::Directory = find(&tree, &path)? else { return Err(error(libc::ENOTDIR)) };
        let names = below(&tree, &path);
        if path.parent().is_none() {
            return Err(error(libc::EBUSY));
        }
        if !all && !names.is_empty() {
            return Err(error(libc::ENOTEMPTY));
        }
        for name in names.iter().chain([&path]) {
            tree.remove(name);
        }
        changed(self.object());
        Ok(())
    }

    pub(super) fn rename(&self, from: &Path, to: &Path, place: Place) -> io::Result<()> {
        let (mut tree, from) = self.operate(from, place)?;
        let to = absolute(to)?;
        let moved = find(&tree, &from)?;
        check_parent(&tree, &to)?;
        if from == to {
            return Ok(());
        }
        match (&moved, tree.get(&to)) {
            (Node::Directory, _) if to.starts_with(&from) => return Err(error(libc::EINVAL)),
            (Node::Directory, Some(Node::File(_))) => return Err(error(libc::ENOTDIR)),
            (Node::File(_), Some(Node::Directory)) => return Err(error(libc::EISDIR)),
            (Node::Directory, Some(Node::Directory)) if !below(&tree, &to).is_empty() => {
                return Err(error(libc::ENOTEMPTY));
            }
            _ => {}
        }
        for name in below(&tree, &from) {
            if let (Some(node), Ok(rest)) = (tree.remove(&name), name.strip_prefix(&from)) {
                tree.insert(to.join(rest), node);
            }
        }
        tree.remove(&from);
        tree.insert(to, moved);
        changed(self.object());
        Ok(())
    }

    /// What is in a directory, in order of the names.
    pub(super) fn list(&self, path: &Path, place: Place) -> io::Result<Vec<(PathBuf, Node)>> {
        let (tree, path) = self.operate(path, place)?;
        let Node::Directory = find(&tree, &path)? else { return Err(error(libc::ENOTDIR)) };
        let names = below(&tree, &path).into_iter().filter(|name| name.parent() == Some(&path));
        Ok(names.filter_map(|name| tree.get(&name).cloned().map(|node| (name, node))).collect())
    }
}

impl Inode {
    pub(super) fn object(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(super) fn len_bytes(&self) -> u64 {
        lock(&self.bytes).len() as u64
    }

    /// Reads as much as there is from `offset` on, up to the length of `buffer`.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let bytes = lock(&self.bytes);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let n = buffer.len().min(bytes.len() - from);
        buffer[..n].copy_from_slice(&bytes[from..from + n]);
        n
    }

    /// Writes at `offset`, or at the end if there is none; returns the offset behind it.
    pub(super) fn write(&self, written: &[u8], offset: Option<u64>) -> io::Result<u64> {
        let mut bytes = lock(&self.bytes);
        let from = offset.unwrap_or(bytes.len() as u64);
        if written.is_empty() {
            return Ok(from);
        }
        let to = from.saturating_add(written.len() as u64);
        grow(&mut bytes, to)?;
        bytes[from as usize..to as usize].copy_from_slice(written);
        drop(bytes);
        changed(self.object());
        Ok(to)
    }

    pub(super) fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        let mut bytes = lock(&self.bytes);
        grow(&mut bytes, len_bytes)?;
        bytes.truncate(len_bytes as usize);
        drop(bytes);
        changed(self.object());
        Ok(())
    }
}

/// Makes `bytes` at least `len_bytes` long.
fn grow(bytes: &mut Vec<u8>, len_bytes: u64) -> io::Result<()> {
    if len_bytes > MAX_LEN_BYTES {
        return Err(error(libc::ENOSPC));
    }
    if len_bytes > bytes.len() as u64 {
        bytes.resize(len_bytes as usize, 0);
    }
    Ok(())
}
