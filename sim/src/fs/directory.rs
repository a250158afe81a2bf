//! Functions on paths.

use std::ffi::OsString;
use std::fs as real;
use std::io::{self, Read as _, Write as _};
use std::panic::Location;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::file::File;
use super::metadata::{FileType, Metadata};
use super::names::Node;
use crate::core::{Place, current};

fn disk() -> Option<Disk> {
    current().map(Disk::of)
}

/// As `std::fs::create_dir`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.create_dir(path.as_ref(), Location::caller()),
        None => real::create_dir(path),
    }
}

/// As `std::fs::create_dir_all`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.create_dir_all(path.as_ref(), Location::caller()),
        None => real::create_dir_all(path),
    }
}

/// As `std::fs::remove_file`: handles that are open keep the file. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.remove_file(path.as_ref(), Location::caller()),
        None => real::remove_file(path),
    }
}

/// As `std::fs::remove_dir`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.remove_dir(path.as_ref(), false, Location::caller()),
        None => real::remove_dir(path),
    }
}

/// As `std::fs::remove_dir_all`, at once. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.remove_dir(path.as_ref(), true, Location::caller()),
        None => real::remove_dir_all(path),
    }
}

/// As `std::fs::rename`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    match disk() {
        Some(disk) => disk.rename(from.as_ref(), to.as_ref(), Location::caller()),
        None => real::rename(from, to),
    }
}

/// As `std::fs::metadata`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    match disk() {
        Some(disk) => disk.node(path.as_ref(), Location::caller()).map(|node| (&node).into()),
        None => real::metadata(path).map(Into::into),
    }
}

/// As `std::fs::exists`. A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn exists(path: impl AsRef<Path>) -> io::Result<bool> {
    match metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// As `std::fs::read`. Scheduling points.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    File::open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As `std::fs::read_to_string`. Scheduling points.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    let invalid = "stream did not contain valid UTF-8";
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, invalid))
}

/// As `std::fs::write`. Scheduling points: another task may see the file empty.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    File::create(path)?.write_all(contents.as_ref())
}

/// As `std::fs::read_dir`; inside an execution in order of the names, and as they were at the call.
/// A scheduling point.
///
/// # Errors
///
/// As in `std`.
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let Some(disk) = disk() else { return real::read_dir(path).map(Names::Real).map(ReadDir) };
    let path = path.as_ref();
    let entries = disk.list(path, Location::caller())?.into_iter();
    let named = entries.map(|(name, node)| (path.join(name), node));
    Ok(ReadDir(Names::Simulated(named.collect::<Vec<_>>().into_iter())))
}

/// As `std::fs::ReadDir`.
pub struct ReadDir(Names);

enum Names {
    Real(real::ReadDir),
    Simulated(std::vec::IntoIter<(PathBuf, Node)>),
}

/// As `std::fs::DirEntry`.
pub struct DirEntry(Entry);

enum Entry {
    Real(real::DirEntry),
    Simulated(PathBuf, Node),
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Names::Real(names) => names.next().map(|entry| entry.map(Entry::Real).map(DirEntry)),
            Names::Simulated(names) => {
                names.next().map(|(path, node)| Ok(DirEntry(Entry::Simulated(path, node))))
            }
        }
    }
}

impl DirEntry {
    /// As in `std`.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match &self.0 {
            Entry::Real(entry) => entry.path(),
            Entry::Simulated(path, _) => path.clone(),
        }
    }

    /// As in `std`.
    #[must_use]
    pub fn file_name(&self) -> OsString {
        match &self.0 {
            Entry::Real(entry) => entry.file_name(),
            Entry::Simulated(path, _) => path.file_name().unwrap_or_default().to_owned(),
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        match &self.0 {
            Entry::Real(entry) => entry.metadata().map(Into::into),
            Entry::Simulated(path, _) => simulated_metadata(path, Location::caller()),
        }
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// As in `std`.
    pub fn file_type(&self) -> io::Result<FileType> {
        match &self.0 {
            Entry::Real(entry) => entry.file_type().map(Into::into),
            Entry::Simulated(_, node) => Ok(node.into()),
        }
    }
}

fn simulated_metadata(path: &Path, place: Place) -> io::Result<Metadata> {
    let Some(disk) = disk() else { return Err(io::ErrorKind::NotFound.into()) };
    disk.node(path, place).map(|node| (&node).into())
}

impl std::fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadDir").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DirEntry").field(&self.path()).finish()
    }
}
