//! Open files.

use std::fmt;
use std::fs as real;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as RealFileExt;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::disk::{Disk, Mode, error, lock, may_fail, operate};
use super::image::SECTOR;
use super::inode::Inode;
use super::metadata::Metadata;
use super::names::Node;
use super::open_options::{OpenOptions, open};
use crate::core::{Execution, Place};
use crate::explore::FaultKind;
use crate::trace::OpKind;

/// As `std::fs::File`.
pub struct File(Handle);

enum Handle {
    Real(real::File),
    Simulated(Arc<Open>),
}

/// What handles that were cloned from one another share.
struct Open {
    disk: Disk,
    /// How often the power had failed when it was opened.
    power_failures: u64,
    node: Node,
    mode: Mode,
    cursor: Mutex<u64>,
    /// The failed writes that it was told of.
    errors_seen: Mutex<u64>,
}

impl Open {
    fn inode(&self) -> io::Result<&Inode> {
        match &self.node {
            Node::File(inode) => Ok(inode),
            Node::Directory(_) => Err(error(libc::EISDIR)),
        }
    }

    fn object(&self) -> usize {
        self.inode().map_or(0, Inode::object)
    }

    fn cursor(&self) -> u64 {
        *lock(&self.cursor)
    }

    fn set_cursor(&self, cursor: u64) {
        *lock(&self.cursor) = cursor;
    }

    /// The scheduling point of an operation, and whether the disk is still the one of the handle.
    fn operate(
        &self,
        kind: OpKind,
        place: Place,
        partly: impl FnOnce(&Execution),
    ) -> io::Result<()> {
        operate(kind, self.object(), place, partly);
        if self.disk.power_failures() == self.power_failures {
            Ok(())
        } else {
            // As if the machine that has the disk had been away.
            Err(error(libc::ESTALE))
        }
    }

    /// Reads at `offset`; says how much, and whether that is all that there is.
    fn read_at(&self, buffer: &mut [u8], offset: u64, place: Place) -> io::Result<(usize, bool)> {
        let inode = self.to_read(place)?;
        Ok(inode.read(buffer, offset, place))
    }

    /// The file for an operation that reads, after its scheduling point.
    fn to_read(&self, place: Place) -> io::Result<&Inode> {
        self.operate(OpKind::FileRead, place, |_| ())?;
        may_fail(FaultKind::ReadError, |faults| faults.read_error, "the read fails", place)?;
        if self.mode.read { self.inode() } else { Err(error(libc::EBADF)) }
    }

    fn writes(&self) -> bool {
        self.mode.write || self.mode.append
    }

    /// The scheduling point of a write, and the errors that it may end in.
    fn to_write(&self, place: Place, partly: impl FnOnce(&Execution)) -> io::Result<()> {
        self.operate(OpKind::FileWrite, place, partly)?;
        may_fail(FaultKind::WriteError, |faults| faults.write_error, "the write fails", place)
    }

    /// Writes at `offset`, or at the end if there is none; returns where, and how much.
    fn write_to(
        &self,
        bytes: &[u8],
        offset: impl Fn() -> Option<u64>,
        place: Place,
    ) -> io::Result<(u64, usize)> {
        let partly = |execution: &Execution| {
            if let (Ok(inode), true) = (self.inode(), self.writes()) {
                let sectors = bytes.len().div_ceil(SECTOR) as u32;
                let n = execution.fault_draw(sectors + 1) as usize * SECTOR;
                _ = inode.write(&bytes[..n.min(bytes.len())], offset(), place);
            }
        };
        self.to_write(place, partly)?;
        let inode = if self.writes() { self.inode()? } else { return Err(error(libc::EBADF)) };
        inode.write(bytes, offset(), place)
    }

    fn read(&self, buffer: &mut [u8], place: Place) -> io::Result<(usize, bool)> {
        let inode = self.to_read(place)?;
        let cursor = self.cursor();
        let (n, is_all) = inode.read(buffer, cursor, place);
        self.set_cursor(cursor + n as u64);
        Ok((n, is_all))
    }

    fn write(&self, bytes: &[u8], place: Place) -> io::Result<usize> {
        let offset = || (!self.mode.append).then(|| self.cursor());
        let (from, n) = self.write_to(bytes, offset, place)?;
        self.set_cursor(from + n as u64);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64, place: Place) -> io::Result<usize> {
        // As on Linux, a file opened to append does so wherever it is told to write.
        let offset = || (!self.mode.append).then_some(offset);
        self.write_to(bytes, offset, place).map(|(_, n)| n)
    }

    fn set_len(&self, len_bytes: u64, place: Place) -> io::Result<()> {
        self.to_write(place, |_| ())?;
        // The call, unlike a write, finds the argument invalid rather than the descriptor.
        let inode = if self.writes() { self.inode()? } else { return Err(error(libc::EINVAL)) };
        inode.set_len(len_bytes, place)
    }

    fn sync(&self, place: Place) -> io::Result<()> {
        self.operate(OpKind::FileSync, place, |_| ())?;
        let inode = match &self.node {
            Node::Directory(id) => return self.disk.sync_names(*id, place),
            Node::File(inode) => inode,
        };
        inode.sync(place);
        let errors = inode.write_back_errors();
        let seen = std::mem::replace(&mut *lock(&self.errors_seen), errors);
        if seen == errors { Ok(()) } else { Err(error(libc::EIO)) }
    }

    fn seek(&self, to: SeekFrom, place: Place) -> io::Result<u64> {
        self.operate(OpKind::FileOther, place, |_| ())?;
        let sought = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(by) => self.cursor().checked_add_signed(by),
            SeekFrom::End(by) => Metadata::from(&self.node).len().checked_add_signed(by),
        };
        let sought = sought.ok_or_else(|| error(libc::EINVAL))?;
        self.set_cursor(sought);
        Ok(sought)
    }
}

/// Fills `buffer` by reads, of which one that is cut short is followed by another.
fn read_whole(
    mut buffer: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> io::Result<(usize, bool)>,
) -> io::Result<()> {
    loop {
        let (n, is_all) = read(buffer)?;
        buffer = &mut buffer[n..];
        if buffer.is_empty() {
            return Ok(());
        }
        if is_all {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "failed to fill whole buffer",
            ));
        }
    }
}

/// Writes all of `bytes` by writes, of which one that is cut short is followed by another.
fn write_whole(
    mut bytes: &[u8],
    mut write: impl FnMut(&[u8], usize) -> io::Result<usize>,
) -> io::Result<()> {
    let all = bytes.len();
    loop {
        let n = write(bytes, all - bytes.len())?;
        bytes = &bytes[n..];
        if bytes.is_empty() {
            return Ok(());
        }
    }
}

impl From<real::File> for File {
    fn from(file: real::File) -> Self {
        Self(Handle::Real(file))
    }
}

impl File {
    pub(super) fn simulated(disk: Disk, node: Node, mode: Mode) -> Self {
        let errors_seen = match &node {
            Node::File(inode) => inode.write_back_errors(),
            Node::Directory(_) => 0,
        };
        let power_failures = disk.power_failures();
        let (cursor, errors_seen) = (Mutex::new(0), Mutex::new(errors_seen));
        let open = Open { disk, power_failures, node, mode, cursor, errors_seen };
        Self(Handle::Simulated(Arc::new(open)))
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mode = Mode { read: true, ..Mode::default() };
        open(path.as_ref(), mode, Location::caller())
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let mode = Mode { write: true, create: true, truncate: true, ..Mode::default() };
        open(path.as_ref(), mode, Location::caller())
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        let mode = Mode { read: true, write: true, create_new: true, ..Mode::default() };
        open(path.as_ref(), mode, Location::caller())
    }

    /// As in `std`.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn sync_all(&self) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.sync_all(),
            Handle::Simulated(open) => open.sync(Location::caller()),
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    pub fn sync_data(&self) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.sync_data(),
            Handle::Simulated(open) => open.sync(Location::caller()),
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`; a simulated file does not grow beyond 1 GiB.
    #[track_caller]
    pub fn set_len(&self, len_bytes: u64) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.set_len(len_bytes),
            Handle::Simulated(open) => open.set_len(len_bytes, Location::caller()),
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
            Handle::Real(file) => file.metadata().map(Into::into),
            Handle::Simulated(open) => {
                open.operate(OpKind::FileOther, Location::caller(), |_| ())?;
                Ok((&open.node).into())
            }
        }
    }

    /// As in `std`: both handles have one cursor.
    ///
    /// # Errors
    ///
    /// As in `std`.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(match &self.0 {
            Handle::Real(file) => Handle::Real(file.try_clone()?),
            Handle::Simulated(open) => Handle::Simulated(open.clone()),
        }))
    }
}

/// As `std::os::unix::fs::FileExt`.
pub trait FileExt {
    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As in `std`.
    #[track_caller]
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match &self.0 {
            Handle::Real(file) => file.read_at(buffer, offset),
            Handle::Simulated(open) => {
                open.read_at(buffer, offset, Location::caller()).map(|(n, _)| n)
            }
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let open = match &self.0 {
            Handle::Real(file) => return file.read_exact_at(buffer, offset),
            Handle::Simulated(open) => open,
        };
        let (place, all) = (Location::caller(), buffer.len());
        read_whole(buffer, |rest| open.read_at(rest, offset + (all - rest.len()) as u64, place))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match &self.0 {
            Handle::Real(file) => file.write_at(bytes, offset),
            Handle::Simulated(open) => open.write_at(bytes, offset, Location::caller()),
        }
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => file.write_all_at(bytes, offset),
            Handle::Simulated(open) => {
                let place = Location::caller();
                write_whole(bytes, |rest, done| open.write_at(rest, offset + done as u64, place))
            }
        }
    }
}

impl Read for &File {
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Handle::Real(file) => (&*file).read(buffer),
            Handle::Simulated(open) => open.read(buffer, Location::caller()).map(|(n, _)| n),
        }
    }

    #[track_caller]
    fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let open = match &self.0 {
            Handle::Real(file) => return (&*file).read_exact(buffer),
            Handle::Simulated(open) => open,
        };
        let place = Location::caller();
        read_whole(buffer, |rest| open.read(rest, place))
    }

    #[track_caller]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let open = match &self.0 {
            Handle::Real(file) => return (&*file).read_to_end(bytes),
            Handle::Simulated(open) => open,
        };
        let place = Location::caller();
        let from = bytes.len();
        loop {
            let inode = open.to_read(place)?;
            let (start, cursor) = (bytes.len(), open.cursor());
            bytes.resize(start + inode.len_bytes().saturating_sub(cursor) as usize, 0);
            let (n, is_all) = inode.read(&mut bytes[start..], cursor, place);
            bytes.truncate(start + n);
            open.set_cursor(cursor + n as u64);
            if is_all {
                return Ok(bytes.len() - from);
            }
        }
    }
}

impl Write for &File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Handle::Real(file) => (&*file).write(bytes),
            Handle::Simulated(open) => open.write(bytes, Location::caller()),
        }
    }

    #[track_caller]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Handle::Real(file) => (&*file).write_all(bytes),
            Handle::Simulated(open) => {
                let place = Location::caller();
                write_whole(bytes, |rest, _| open.write(rest, place))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    #[track_caller]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &self.0 {
            Handle::Real(file) => (&*file).seek(to),
            Handle::Simulated(open) => open.seek(to, Location::caller()),
        }
    }
}

impl Read for File {
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    #[track_caller]
    fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        (&*self).read_exact(buffer)
    }

    #[track_caller]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        (&*self).read_to_end(bytes)
    }
}

impl Write for File {
    #[track_caller]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    #[track_caller]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&*self).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    #[track_caller]
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Handle::Real(file) => file.fmt(f),
            Handle::Simulated(open) => {
                f.debug_struct("File").field("len", &Metadata::from(&open.node).len()).finish()
            }
        }
    }
}
