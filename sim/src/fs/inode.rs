//! A file without its name, and what goes wrong when it is read, written and synced.
//!
//! Touches: the file's image, under a real mutex that is never held across a scheduling point.
//! Keeps: an operation of the program happens at once, after its scheduling point; a task that is
//! unwound after a crash changes nothing.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::disk::{error, lock};
use super::image::{Image, Keep, Loss, SECTOR, sectors};
use crate::core::{Execution, Place, current};
use crate::explore::FaultKind;

/// Files do not grow beyond this.
const MAX_LEN_BYTES: u64 = 1 << 30;

/// The room that all files share.
#[derive(Default)]
pub(super) struct Room {
    limit_bytes: Option<u64>,
    used_bytes: AtomicU64,
}

impl Room {
    pub(super) fn of(execution: &Execution) -> Self {
        let limit_bytes = Some(execution.faults().disk_bytes).filter(|&limit| limit > 0);
        Self { limit_bytes, used_bytes: AtomicU64::new(0) }
    }

    /// How many of `more` bytes there is room for.
    fn left(&self, more: u64) -> u64 {
        let used = self.used_bytes.load(Relaxed);
        self.limit_bytes.map_or(more, |limit| more.min(limit.saturating_sub(used)))
    }
}

/// A file without its name.
pub(super) struct Inode {
    /// What it was called at first.
    name: String,
    /// What it is to the machine: no address, since another file could come to lie there.
    object: usize,
    image: Mutex<Image>,
    room: Arc<Room>,
    /// Writes that failed after they were made, which every handle hears of once.
    write_back_errors: AtomicU64,
}

impl Drop for Inode {
    fn drop(&mut self) {
        self.room.used_bytes.fetch_sub(self.len_bytes(), Relaxed);
    }
}

/// Whether the calling task is dead and only unwound, so that it must not touch the disk.
pub(super) fn is_dead() -> bool {
    current().is_some_and(Execution::is_dying)
}

/// A fault that the seed may want of the calling task's execution.
pub(super) fn wanted(rate: fn(&crate::Faults) -> u32) -> Option<&'static Execution> {
    current().filter(|execution| execution.wants_fault(rate))
}

impl Inode {
    pub(super) fn new(name: String, object: usize, room: Arc<Room>) -> Self {
        let (image, write_back_errors) = (Mutex::default(), AtomicU64::new(0));
        Self { name, object, image, room, write_back_errors }
    }

    /// The file when the power is back, and what it lost.
    pub(super) fn after_power_failure(
        &self,
        object: usize,
        room: Arc<Room>,
        keep: Keep,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> (Self, Loss) {
        let (image, loss) = lock(&self.image).after_power_failure(keep, draw);
        room.used_bytes.fetch_add(image.len() as u64, Relaxed);
        let (image, write_back_errors) = (Mutex::new(image), AtomicU64::new(0));
        (Self { name: self.name.clone(), object, image, room, write_back_errors }, loss)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn object(&self) -> usize {
        self.object
    }

    pub(super) fn len_bytes(&self) -> u64 {
        lock(&self.image).len() as u64
    }

    pub(super) fn write_back_errors(&self) -> u64 {
        self.write_back_errors.load(Relaxed)
    }

    /// Reads from `offset` on, up to the length of `buffer`. Says how much, and whether that is all
    /// that a read could have got.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64, place: Place) -> (usize, bool) {
        let mut image = lock(&self.image);
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let all = buffer.len().min(image.len().saturating_sub(from));
        let mut n = all;
        if n > 1
            && let Some(execution) = wanted(|faults| faults.short_read)
        {
            n = 1 + execution.fault_draw(n as u32 - 1) as usize;
            execution.struck(FaultKind::ShortRead, 1, place, || {
                format!("the read of {all} bytes of {} ends after {n}", self.name)
            });
        }
        let buffer = &mut buffer[..n];
        image.read(buffer, from);
        if n == 0 {
            return (0, true);
        }
        if let Some(execution) = wanted(|faults| faults.misdirected_read)
            && let Some(other) = elsewhere(&image, execution, from, n)
        {
            image.read(buffer, other);
            execution.struck(FaultKind::MisdirectedRead, 1, place, || {
                let (asked, got) = (in_sectors(from, n), in_sectors(other, n));
                format!("the read of {asked} of {} returns {got}", self.name)
            });
        }
        if let Some(execution) = wanted(|faults| faults.stale_read)
            && image.read_stale(buffer, from)
        {
            execution.struck(FaultKind::StaleRead, 1, place, || {
                format!("the read of {} of {} is stale", in_sectors(from, n), self.name)
            });
        }
        if let Some(execution) = wanted(|faults| faults.bit_rot)
            && let Some(at) = image.rot(buffer, from, &mut |n| execution.fault_draw(n))
        {
            execution.struck(FaultKind::BitRot, 1, place, || {
                format!("a bit of sector {} of {} has rotted", at / SECTOR, self.name)
            });
        }
        (n, n == all)
    }

    /// Writes at `offset`, or at the end if there is none; returns where, and how much.
    pub(super) fn write(
        &self,
        written: &[u8],
        offset: Option<u64>,
        place: Place,
    ) -> io::Result<(u64, usize)> {
        let mut image = lock(&self.image);
        let from = offset.unwrap_or(image.len() as u64);
        if written.is_empty() || is_dead() {
            return Ok((from, written.len()));
        }
        let mut n = written.len();
        if n > 1
            && let Some(execution) = wanted(|faults| faults.short_write)
        {
            n = 1 + execution.fault_draw(n as u32 - 1) as usize;
            execution.struck(FaultKind::ShortWrite, 1, place, || {
                format!("the write of {} bytes of {} ends after {n}", written.len(), self.name)
            });
        }
        n = self.room_for(&image, from, n, place)?;
        let mut at = from as usize;
        if at + n <= image.len()
            && let Some(execution) = wanted(|faults| faults.misdirected_write)
            && let Some(other) = elsewhere(&image, execution, at, n)
        {
            execution.struck(FaultKind::MisdirectedWrite, 1, place, || {
                let (asked, got) = (in_sectors(at, n), in_sectors(other, n));
                format!("the write of {asked} of {} goes to {got}", self.name)
            });
            at = other;
        }
        image.write(at, &written[..n]);
        drop(image);
        changed(self.object());
        Ok((from, n))
    }

    /// Of `n` bytes at `from`, how many there is room for, which is then taken.
    fn room_for(&self, image: &Image, from: u64, n: usize, place: Place) -> io::Result<usize> {
        let to = from.saturating_add(n as u64);
        let more = to.saturating_sub(image.len() as u64);
        if more == 0 {
            return Ok(n);
        }
        let short = more - self.room.left(more);
        let full = to > MAX_LEN_BYTES || short >= n as u64;
        let wanted = if full { current() } else { wanted(|faults| faults.disk_full) };
        if full || wanted.is_some() {
            if let Some(execution) = wanted {
                let what = || format!("there is no room for more of {}", self.name);
                execution.struck(FaultKind::DiskFull, 1, place, what);
            }
            return Err(error(libc::ENOSPC));
        }
        self.room.used_bytes.fetch_add(more - short, Relaxed);
        Ok(n - short as usize)
    }

    pub(super) fn set_len(&self, len_bytes: u64, place: Place) -> io::Result<()> {
        let mut image = lock(&self.image);
        if is_dead() {
            return Ok(());
        }
        let before = image.len() as u64;
        if len_bytes > before {
            let more = usize::try_from(len_bytes - before).unwrap_or(usize::MAX);
            let granted = self.room_for(&image, before, more, place)?;
            if granted < more {
                self.room.used_bytes.fetch_sub(granted as u64, Relaxed);
                return Err(error(libc::ENOSPC));
            }
        } else {
            self.room.used_bytes.fetch_sub(before - len_bytes, Relaxed);
        }
        image.set_len(len_bytes as usize);
        drop(image);
        changed(self.object());
        Ok(())
    }

    /// Makes everything durable, unless the seed has it fail.
    pub(super) fn sync(&self, place: Place) {
        let mut image = lock(&self.image);
        if is_dead() {
            return;
        }
        if let Some(execution) = wanted(|faults| faults.sync_error) {
            execution.struck(FaultKind::SyncError, 1, place, || "the sync fails".into());
            image.fail_sync(&mut |n| execution.fault_draw(n));
            self.write_back_errors.fetch_add(1, Relaxed);
        } else if image.is_dirty() {
            image.sync();
        }
    }
}

/// Another place in the file where `n` bytes are, some sectors off.
fn elsewhere(image: &Image, execution: &Execution, from: usize, n: usize) -> Option<usize> {
    let within = from % SECTOR;
    let last = image.len().checked_sub(n + within)? / SECTOR;
    let others = u32::try_from(last).ok().filter(|&others| others > 0)?;
    let drawn = execution.fault_draw(others) as usize;
    let at = drawn + usize::from(drawn >= from / SECTOR);
    Some(at * SECTOR + within)
}

/// `sector 3`, `sectors 3..5`.
fn in_sectors(from: usize, len_bytes: usize) -> String {
    told(&sectors(from, len_bytes))
}

pub(super) fn told(sectors: &std::ops::Range<usize>) -> String {
    match sectors.len() {
        1 => format!("sector {}", sectors.start),
        _ => format!("sectors {}..{}", sectors.start, sectors.end),
    }
}

/// Loops that poll `object` have something to see.
pub(super) fn changed(object: usize) {
    if let Some(execution) = current() {
        execution.changed(object, 0, 1);
    }
}
