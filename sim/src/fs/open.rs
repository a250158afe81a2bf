//! What is behind the handles of an open file: the file, the disk it is on, a cursor.
//!
//! Touches: cursor and errors, each under a real mutex that is never held across a scheduling point.
//! Keeps: every operation is one scheduling point; a handle is told of a failed sync once; no handle
//! outlives a power failure.

use std::io::{self, SeekFrom};
use std::sync::Mutex;

use super::disk::{Disk, Mode, error, lock, may_fail, operate};
use super::image::SECTOR;
use super::inode::Inode;
use super::metadata::Metadata;
use super::names::Node;
use crate::core::{Execution, Place};
use crate::explore::FaultKind;
use crate::trace::OpKind;

/// What handles that were cloned from one another share.
pub(super) struct Open {
    disk: Disk,
    /// How often the power had failed when it was opened.
    power_failures: u64,
    pub(super) node: Node,
    mode: Mode,
    cursor: Mutex<u64>,
    /// The failed writes that it was told of.
    errors_seen: Mutex<u64>,
}

impl Open {
    pub(super) fn new(disk: Disk, node: Node, mode: Mode) -> Self {
        let errors_seen = match &node {
            Node::File(inode) => inode.write_back_errors(),
            Node::Directory(_) => 0,
        };
        let power_failures = disk.power_failures();
        let (cursor, errors_seen) = (Mutex::new(0), Mutex::new(errors_seen));
        Self { disk, power_failures, node, mode, cursor, errors_seen }
    }

    fn inode(&self) -> io::Result<&Inode> {
        match &self.node {
            Node::File(inode) => Ok(inode),
            Node::Directory(_) => Err(error(libc::EISDIR)),
        }
    }

    fn object(&self) -> usize {
        self.inode().map_or(0, Inode::object)
    }

    pub(super) fn cursor(&self) -> u64 {
        *lock(&self.cursor)
    }

    pub(super) fn set_cursor(&self, cursor: u64) {
        *lock(&self.cursor) = cursor;
    }

    /// The scheduling point of an operation, and whether the disk is still the one of the handle.
    pub(super) fn operate(
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
    pub(super) fn read_at(
        &self,
        buffer: &mut [u8],
        offset: u64,
        place: Place,
    ) -> io::Result<(usize, bool)> {
        let inode = self.to_read(place)?;
        Ok(inode.read(buffer, offset, place))
    }

    /// The file for an operation that reads, after its scheduling point.
    pub(super) fn to_read(&self, place: Place) -> io::Result<&Inode> {
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

    pub(super) fn read(&self, buffer: &mut [u8], place: Place) -> io::Result<(usize, bool)> {
        let inode = self.to_read(place)?;
        let cursor = self.cursor();
        let (n, is_all) = inode.read(buffer, cursor, place);
        self.set_cursor(cursor + n as u64);
        Ok((n, is_all))
    }

    pub(super) fn write(&self, bytes: &[u8], place: Place) -> io::Result<usize> {
        let offset = || (!self.mode.append).then(|| self.cursor());
        let (from, n) = self.write_to(bytes, offset, place)?;
        self.set_cursor(from + n as u64);
        Ok(n)
    }

    pub(super) fn write_at(&self, bytes: &[u8], offset: u64, place: Place) -> io::Result<usize> {
        // As on Linux, a file opened to append does so wherever it is told to write.
        let offset = || (!self.mode.append).then_some(offset);
        self.write_to(bytes, offset, place).map(|(_, n)| n)
    }

    pub(super) fn set_len(&self, len_bytes: u64, place: Place) -> io::Result<()> {
        self.to_write(place, |_| ())?;
        // The call, unlike a write, finds the argument invalid rather than the descriptor.
        let inode = if self.writes() { self.inode()? } else { return Err(error(libc::EINVAL)) };
        inode.set_len(len_bytes, place)
    }

    pub(super) fn sync(&self, place: Place) -> io::Result<()> {
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

    pub(super) fn seek(&self, to: SeekFrom, place: Place) -> io::Result<u64> {
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
pub(super) fn read_whole(
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
pub(super) fn write_whole(
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
