//! Open files.

use std::fmt;
use std::fs as real;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt as RealFileExt;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

use super::disk::{Disk, Mode};
use super::metadata::Metadata;
use super::names::Node;
use super::open::{Open, read_whole, write_whole};
use super::open_options::{OpenOptions, open};
use crate::trace::OpKind;

/// As `std::fs::File`.
pub struct File(Handle);

enum Handle {
    Real(real::File),
    Simulated(Arc<Open>),
}

impl From<real::File> for File {
    fn from(file: real::File) -> Self {
        Self(Handle::Real(file))
    }
}

impl File {
    pub(super) fn simulated(disk: Disk, node: Node, mode: Mode) -> Self {
        Self(Handle::Simulated(Arc::new(Open::new(disk, node, mode))))
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
