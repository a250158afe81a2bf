//! Writing pages out.
//!
//! A page is copied before it is written, because its checksum goes into its header and others may
//! be reading. PostgreSQL 19 writes the checksum in place; the copy costs about a tenth of a
//! microsecond a page, next to a system call.
//!
//! Touches: flags, content locks. Keeps: a page changed during the write stays dirty: in `Modern`
//! nobody can change it, in `Classic` `JUST_DIRTIED` tells.
//! Source: `FlushBuffer`, `SyncOneBuffer`, `FlushRelationBuffers` in PostgreSQL's `bufmgr.c`, without
//! a log.

use super::bgwriter::Synced;
use super::error::BufferError;
use super::header::{Change, Header};
use super::io::Direction;
use super::session::Session;
use super::state::{DIRTY, JUST_DIRTIED, LOCKED, State, VALID};
use crate::page::set_checksum;
use crate::sync::{mutant, note};
use crate::tag::{Fork, RelationId};

impl Session<'_> {
    /// Marks the page in a buffer changed. Pinned, and locked to change.
    pub(super) fn mark_dirty(&self, buf_id: u32) {
        let desc = self.pool.desc(buf_id);
        let flags = if self.pool.is_modern() { DIRTY } else { DIRTY | JUST_DIRTIED };
        let mut old = desc.load();
        loop {
            // The end of a write decides from the flags under the header lock, so we wait for it.
            if old.has(LOCKED) && !mutant::is("dirty.ignore_locked") {
                old = self.wait_header_unlocked(buf_id);
                continue;
            }
            match desc.swap(old, State(old.0 | flags)) {
                Ok(()) => break,
                Err(current) => old = current,
            }
        }
        note!("marks buffer {buf_id} dirty");
    }

    /// Writes the page in a buffer out if it is dirty. The caller has it pinned, and locked to
    /// write out or to change. False if there was nothing to do.
    pub(super) fn flush_locked(&self, buf_id: u32) -> Result<bool, BufferError> {
        if !self.start_io(buf_id, Direction::Output)? {
            return Ok(false);
        }
        if !self.pool.is_modern() {
            let header = self.lock_header(buf_id);
            header.unlock_with(Change { unset: JUST_DIRTIED, ..Change::default() });
        }
        let tag = self.pinned_tag(buf_id);
        note!("flushes buffer {buf_id}");
        let mut scratch = self.scratch.borrow_mut();
        scratch.resize(self.pool.options.page_size, 0);
        self.copy_page(buf_id, &mut scratch);
        set_checksum(&mut scratch, tag.block);
        let written = self.check_for_cancel();
        let written = written.and_then(|()| Ok(self.pool.storage.write(tag, &scratch)?));
        if let Err(error) = written
            && !mutant::is("flush.ignore_error")
        {
            self.abort_io(buf_id, Direction::Output);
            return Err(error);
        }
        // Before the page is clean: who finds it so finds the request.
        if !mutant::is("sync.request_late") {
            self.pool.syncs.request(tag.relation, tag.fork);
        }
        self.finish_io(buf_id, Direction::Output);
        if mutant::is("sync.request_late") {
            note!("has yet to ask for a sync");
            self.pool.syncs.request(tag.relation, tag.fork);
        }
        Ok(true)
    }

    /// Writes the page in a buffer out if it is valid and dirty. Not durable before the storage is
    /// synced. False if there was nothing to do.
    ///
    /// Waits for whoever has the content locked, so a caller should have no other page locked.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] if the write failed; the page is still dirty.
    /// [`BufferError::Options`] if the pool has no such buffer.
    ///
    /// # Panics
    ///
    /// With rule I-LK2 if this session has the dirty page's content locked: its guard can flush.
    pub fn flush(&self, buf_id: u32) -> Result<bool, BufferError> {
        self.check_buf_id(buf_id)?;
        self.flush_if(buf_id, |_| true)
    }

    /// As [`Session::flush`], if `wanted` of the buffer under its header lock.
    fn flush_if(&self, buf_id: u32, wanted: impl FnOnce(u32) -> bool) -> Result<bool, BufferError> {
        if !mutant::is("priv.insert_under_hdr") {
            self.reserve_pin()?;
        }
        let header = self.lock_header(buf_id);
        let state = header.state();
        if !state.has(VALID) || !state.has(DIRTY) || !wanted(buf_id) {
            header.unlock();
            return Ok(false);
        }
        self.pin_and_flush(buf_id, header)
    }

    /// Writes the page in a buffer out if it is valid and dirty; with `skip_recent`, only if nobody
    /// has it pinned and it has no point of usage.
    pub(super) fn sync_buffer(
        &self,
        buf_id: u32,
        skip_recent: bool,
    ) -> Result<Synced, BufferError> {
        self.reserve_pin()?;
        let header = self.lock_header(buf_id);
        let state = header.state();
        let is_reusable = state.refcount() == 0 && state.usage() == 0;
        let is_skipped = skip_recent && !is_reusable;
        if is_skipped || !state.has(VALID) || !state.has(DIRTY) {
            header.unlock();
            return Ok(Synced { is_reusable, written: false });
        }
        let written = self.pin_and_flush(buf_id, header)?;
        Ok(Synced { is_reusable, written })
    }

    /// Writes the page out in the buffer of a locked header. Pins and unlocks in one step: between
    /// the two, the buffer could be given another page, or none.
    fn pin_and_flush(&self, buf_id: u32, header: Header<'_>) -> Result<bool, BufferError> {
        if self.pin_count(buf_id) > 0 {
            header.unlock();
            self.pin_again(buf_id);
        } else if mutant::is("sync.pin_after_unlock") {
            header.unlock();
            note!("has yet to pin buffer {buf_id}");
            self.pin(buf_id, false);
        } else {
            self.pin_locked(buf_id, header);
        }
        let mode = self.write_out_mode();
        if mutant::is("flush.no_lock") {
            let flushed = self.flush_locked(buf_id);
            self.unpin(buf_id);
            return flushed;
        }
        if !mutant::is("checkpoint.skip_locked") {
            self.lock_content(buf_id, mode);
        } else if !self.try_lock_content(buf_id, mode) {
            self.unpin(buf_id);
            return Ok(false);
        }
        let flushed = self.flush_locked(buf_id);
        self.unlock_content(buf_id);
        self.unpin(buf_id);
        flushed
    }

    /// Writes every dirty page of `relation` out and makes them durable. Returns how many were
    /// written. The caller keeps others from changing pages meanwhile, or they may stay dirty.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] at the first write or sync that fails, and [`BufferError::SyncLost`]
    /// after such a sync.
    ///
    /// # Panics
    ///
    /// As [`Session::flush`].
    pub fn flush_relation(&self, relation: RelationId) -> Result<u32, BufferError> {
        let mut written = 0;
        for buf_id in 0..self.pool.n_buffers() {
            let is_wanted = |buf_id| self.pool.desc(buf_id).relation_is(relation);
            // An unlocked look first. A mismatch is the truth: nobody loads pages meanwhile that
            // the caller needs flushed.
            if is_wanted(buf_id) && self.flush_if(buf_id, is_wanted)? {
                written += 1;
            }
        }
        for fork in Fork::ALL {
            self.sync_file(relation, fork)?;
        }
        Ok(written)
    }
}
