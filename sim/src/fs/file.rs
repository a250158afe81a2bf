//! Open files.

use std::fmt;
use std::fs as real;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as RealFileExt;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::disk::{Inode, Mode, Node, error, operate};
use super::metadata::Metadata;
use super::open_options::{OpenOptions, open};
use crate::core::Place;
use crate::trace::OpKind;

/// As `std::fs::File`.
pub struct File(Handle);

enum Handle {
    Real(real::File),
    Simulated(Arc<Open>),
}

/// What handles that were cloned from one another share.
struct Open {
    node: Node,
    mode: Mode,
    cursor: Mutex<u64>,
}

impl Open {
    fn inode(&self) -> io::Result<&Inode> {
        match &self.node {
            Node::File(inode) => Ok(inode),
            Node::Directory => Err(error(libc::EISDIR)),
        }
    }

    fn object(&self) -> usize {
        self.inode().map_or(0, Inode::object)
    }

    fn cursor(&self) -> u64 {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_cursor(&self, cursor: u64) {
        *self.cursor.lock().unwrap_or_else(PoisonError::into_inner) = cursor;
    }

    /// The file for an operation that reads, after its scheduling point.
    fn to_read(&self, place: Place) -> io::Result<&Inode> {
        operate(OpKind::FileRead, self.object(), place)?;
        if self.mode.read { self.inode() } else { Err(error(libc::EBADF)) }
    }

    /// The file for an operation that writes, after its scheduling point.
    fn to_write(&self, place: Place) -> io::Result<&Inode> {
        operate(OpKind::FileWrite, self.object(), place)?;
        let writes = self.mode.write || self.mode.append;
        if writes { self.inode() } else { Err(error(libc::EBADF)) }
    }

    fn read(&self, buffer: &mut [u8], place: Place) -> io::Result<usize> {
        let inode = self.to_read(place)?;
        let cursor = self.cursor();
        let n = inode.read(buffer, cursor);
        self.set_cursor(cursor + n as u64);
        Ok(n)
    }

    fn write(&self, bytes: &[u8], place: Place) -> io::Result<usize> {
        let inode = self.to_write(place)?;
        let offset = (!self.mode.append).then(|| self.cursor());
        self.set_cursor(inode.write(bytes, offset)?);
        Ok(bytes.len())
    }

    fn write_at(&self, bytes: &[u8], offset: u64, place: Place) -> io::Result<usize> {
        // As on Linux, a file opened to append does so wherever it is told to write.
        let offset = (!self.mode.append).then_some(offset);
        self.to_write(place)?.write(bytes, offset)?;
        Ok(bytes.len())
    }

    fn seek(&self, to: SeekFrom, place: Place) -> io::Result<u64> {
        operate(OpKind::FileOther, self.object(), place)?;
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

impl From<real::File> for File {
    fn from(file: real::File) -> Self {
        Self(Handle::Real(file))
    }
}

impl File {
    pub(super) fn simulated(node: Node, mode: Mode) -> Self {
        Self(Handle::Simulated(Arc::new(Open { node, mode, cursor: Mutex::new(0) })))
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
            Handle::Simulated(open) => operate(OpKind::FileSync, open.object(), Location::caller()),
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
            Handle::Simulated(open) => operate(OpKind::FileSync, open.object(), Location::caller()),
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
            Handle::Simulated(open) => {
                // The call, unlike a write, finds the argument invalid rather than the descriptor.
                let writes = open.mode.write || open.mode.append;
                operate(OpKind::FileWrite, open.object(), Location::caller())?;
                if !writes {
                    return Err(error(libc::EINVAL));
                }
                open.inode()?.set_len(len_bytes)
            }
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
                operate(OpKind::FileOther, open.object(), Location::caller())?;
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
            Handle::Simulated(open) => Ok(open.to_read(Location::caller())?.read(buffer, offset)),
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if let Handle::Real(file) = &self.0 {
            return file.read_exact_at(buffer, offset);
        }
        let n = self.read_at(buffer, offset)?;
        if n == buffer.len() { Ok(()) } else { Err(cut_short()) }
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
            Handle::Simulated(open) => open.write_at(bytes, offset, Location::caller()).map(|_| ()),
        }
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "failed to fill whole buffer")
}

impl Read for &File {
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Handle::Real(file) => (&*file).read(buffer),
            Handle::Simulated(open) => open.read(buffer, Location::caller()),
        }
    }

    #[track_caller]
    fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        if let Handle::Real(file) = &self.0 {
            return (&*file).read_exact(buffer);
        }
        let n = self.read(buffer)?;
        if n == buffer.len() { Ok(()) } else { Err(cut_short()) }
    }

    #[track_caller]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        let open = match &self.0 {
            Handle::Real(file) => return (&*file).read_to_end(bytes),
            Handle::Simulated(open) => open,
        };
        let place = Location::caller();
        let inode = open.to_read(place)?;
        let left = inode.len_bytes().saturating_sub(open.cursor()) as usize;
        let from = bytes.len();
        bytes.resize(from + left, 0);
        let n = inode.read(&mut bytes[from..], open.cursor());
        bytes.truncate(from + n);
        open.set_cursor(open.cursor() + n as u64);
        Ok(n)
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
            Handle::Simulated(open) => open.write(bytes, Location::caller()).map(|_| ()),
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
