//! Reading a page in: allocate a buffer, then bring the bytes unless they are there.
//!
//! Source: `ReadBuffer` in PostgreSQL's `bufmgr.c`, one page at a time.

use super::content_lock::LockMode;
use super::error::BufferError;
use super::guard::{IoPage, Pin};
use super::io::Direction;
use super::locked::LockedPage;
use super::ring::Ring;
use super::session::Session;
use super::state::IO_ERROR;
use crate::page::is_intact;
use crate::storage::StorageError;
use crate::sync::{mutant, note};
use crate::tag::BufferTag;

impl<'p> Session<'p> {
    /// Pins the buffer of a page, and reads the page in if no buffer has it.
    ///
    /// # Errors
    ///
    /// [`BufferError::NoUnpinnedBuffers`] if every buffer is pinned, [`BufferError::Corrupt`] if
    /// the bytes do not match their checksum, [`BufferError::Storage`] if there is no such page or
    /// the storage failed, for this page or for a dirty one that had to go. No pin is left behind.
    #[inline(always)]
    pub fn read(&self, tag: BufferTag) -> Result<Pin<'_, 'p>, BufferError> {
        let (buf_id, valid) = self.alloc(tag)?;
        if !valid {
            self.load(buf_id, tag)?;
        }
        Ok(Pin::new(self, buf_id, tag))
    }

    /// As [`Session::read`], for a scan with a ring of buffers: the page comes into one of them, and
    /// its usage count goes no higher than 1 by this.
    ///
    /// # Errors
    ///
    /// As [`Session::read`].
    pub fn read_with(&self, ring: &mut Ring, tag: BufferTag) -> Result<Pin<'_, 'p>, BufferError> {
        let (buf_id, valid) = self.alloc_with(tag, ring)?;
        if !valid {
            self.load(buf_id, tag)?;
        }
        Ok(Pin::new(self, buf_id, tag))
    }

    /// Brings the bytes of a page into its buffer, which is ours to unpin if that fails.
    #[cold]
    fn load(&self, buf_id: u32, tag: BufferTag) -> Result<(), BufferError> {
        if mutant::is("read.error_is_final") && self.pool.desc(buf_id).load().has(IO_ERROR) {
            self.unpin(buf_id);
            return Err(StorageError::PastEnd { tag }.into());
        }
        if !self.start_input(buf_id)? {
            return Ok(());
        }
        note!("loads page {} into buffer {buf_id}", tag.block);
        if let Err(error) = self.read_in(IoPage::new(self, buf_id), tag) {
            self.abort_io(buf_id, Direction::Input);
            self.unpin(buf_id);
            return Err(error);
        }
        self.finish_io(buf_id, Direction::Input);
        Ok(())
    }

    /// As [`Session::start_io`], for the page in a buffer that is ours to unpin if that fails.
    fn start_input(&self, buf_id: u32) -> Result<bool, BufferError> {
        let started = self.start_io(buf_id, Direction::Input);
        if started.is_err() {
            self.unpin(buf_id);
        }
        started
    }

    fn read_in(&self, mut page: IoPage<'_, '_>, tag: BufferTag) -> Result<(), BufferError> {
        self.check_for_cancel()?;
        self.pool.storage.read(tag, page.bytes_mut())?;
        // Asked for again: until now the storage wrote.
        let is_good = is_intact(page.bytes_mut(), tag.block) || mutant::is("read.no_verify");
        if is_good { Ok(()) } else { Err(BufferError::Corrupt { tag }) }
    }

    /// Pins the buffer of a page that is about to be written anew, and locks it to change. The
    /// page is zeroes if no buffer had it; if one had, it is as it was (B17). Nobody sees the zeroes
    /// before the lock is given back (B16).
    ///
    /// # Errors
    ///
    /// As [`Session::read`], except that nothing is read.
    ///
    /// Source: `RBM_ZERO_AND_LOCK` and `ZeroAndLockBuffer` in PostgreSQL's `bufmgr.c`.
    pub fn zero_and_lock(&self, tag: BufferTag) -> Result<LockedPage<'_, 'p>, BufferError> {
        let (buf_id, is_locked) = self.zero(tag)?;
        if !is_locked {
            self.lock_content(buf_id, LockMode::Exclusive);
        }
        let mut page = LockedPage::locked(Pin::new(self, buf_id, tag));
        if !is_locked && mutant::is("zero.always") {
            page.bytes_mut().fill(0);
        }
        Ok(page)
    }

    /// As [`Session::zero_and_lock`], and nobody else has a pin from before: what is in the page may
    /// be moved about.
    ///
    /// # Errors
    ///
    /// As [`Session::zero_and_lock`] and [`Pin::lock_for_cleanup`].
    ///
    /// # Panics
    ///
    /// As [`Pin::lock_for_cleanup`].
    ///
    /// Source: `RBM_ZERO_AND_CLEANUP_LOCK` in PostgreSQL.
    pub fn zero_and_lock_for_cleanup(
        &self,
        tag: BufferTag,
    ) -> Result<LockedPage<'_, 'p>, BufferError> {
        let (buf_id, is_locked) = self.zero(tag)?;
        if is_locked {
            // Others may have it pinned, but nobody has been able to look.
        } else if mutant::is("zero.plain_lock_for_cleanup") {
            self.lock_content(buf_id, LockMode::Exclusive);
        } else if let Err(error) = self.lock_cleanup(buf_id) {
            self.unpin(buf_id);
            return Err(error);
        }
        Ok(LockedPage::locked(Pin::new(self, buf_id, tag)))
    }

    /// Pins the buffer of a page. If no buffer had it, it is zeroes and locked to change; whether it
    /// is so is returned too.
    fn zero(&self, tag: BufferTag) -> Result<(u32, bool), BufferError> {
        let (buf_id, valid) = self.alloc(tag)?;
        if valid || !self.start_input(buf_id)? {
            return Ok((buf_id, false));
        }
        IoPage::new(self, buf_id).bytes_mut().fill(0);
        note!("zeroes buffer {buf_id} for page {}", tag.block);
        if mutant::is("zero.valid_before_lock") {
            self.finish_io(buf_id, Direction::Input);
            self.lock_content(buf_id, LockMode::Exclusive);
            return Ok((buf_id, true));
        }
        self.lock_content(buf_id, LockMode::Exclusive);
        self.finish_io(buf_id, Direction::Input);
        Ok((buf_id, true))
    }
}
