//! How a file is opened.

use std::fs as real;
use std::io;
use std::panic::Location;
use std::path::Path;

use super::disk::{Disk, Mode, error};
use super::file::File;
use crate::core::{Place, current};

/// As `std::fs::OpenOptions`.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    mode: Mode,
}

impl OpenOptions {
    /// As in `std`: all options are off.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "as in std")]
    pub fn new() -> Self {
        Self { mode: Mode::default() }
    }

    /// As in `std`.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.mode.read = read;
        self
    }

    /// As in `std`.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.mode.write = write;
        self
    }

    /// As in `std`.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.mode.append = append;
        self
    }

    /// As in `std`.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.mode.truncate = truncate;
        self
    }

    /// As in `std`.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.mode.create = create;
        self
    }

    /// As in `std`.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.mode.create_new = create_new;
        self
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`, for example `NotFound`, `AlreadyExists` and `InvalidInput`.
    #[track_caller]
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        open(path.as_ref(), self.mode, Location::caller())
    }
}

pub(super) fn open(path: &Path, mode: Mode, place: Place) -> io::Result<File> {
    let Some(execution) = current() else {
        let Mode { read, write, append, truncate, create, create_new } = mode;
        let mut options = real::OpenOptions::new();
        options.read(read).write(write).append(append).truncate(truncate);
        return options.create(create).create_new(create_new).open(path).map(Into::into);
    };
    check(mode)?;
    let disk = Disk::of(execution);
    let node = disk.open(path, mode, place)?;
    Ok(File::simulated(disk, node, mode))
}

/// Refuses the combinations that `std` refuses.
fn check(mode: Mode) -> io::Result<()> {
    let makes = mode.create || mode.create_new;
    let valid = match (mode.write, mode.append) {
        (false, false) => mode.read && !mode.truncate && !makes,
        (true, false) => true,
        (_, true) => !mode.truncate || mode.create_new,
    };
    if valid { Ok(()) } else { Err(error(libc::EINVAL)) }
}
