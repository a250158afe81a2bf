//! Victims: how a buffer loses its page.
//!
//! Three callers: an allocation needs a buffer, any; an evictor wants this one empty; a drop wants
//! a page forgotten. The order is the same for all: exclusive partition lock, header lock, look
//! again, clear tag and flags, unlock the header, remove the entry, unlock the partition. The
//! partition is held from before the header until after the entry is gone: otherwise somebody could
//! find the buffer when its tag is cleared (B07).
//!
//! Touches: tag, flags, usage count, mapping. Keeps: a page that is dirty or pinned by somebody
//! else keeps its buffer.
//! Source: `GetVictimBuffer`, `InvalidateVictimBuffer`, `InvalidateBuffer` in PostgreSQL's `bufmgr.c`.

use super::content_lock::LockMode;
use super::error::BufferError;
use super::header::{Change, Header};
use super::io::Interrupts;
use super::mapping::ExclusivePartition;
use super::ring::Ring;
use super::session::Session;
use super::state::{DIRTY, PAGE_FLAGS, TAG_VALID, USAGE_MASK, VALID};
use crate::page::lsn;
use crate::sync::{mutant, note};
use crate::tag::BufferTag;

impl Session<'_> {
    /// A buffer that is pinned once, by us, and has no page, no tag and no entry.
    ///
    /// Retries have no bound of their own, as in PostgreSQL: each either found a buffer that
    /// somebody else came to use meanwhile, or ends in [`BufferError::NoUnpinnedBuffers`].
    pub(super) fn victim(&self, mut ring: Option<&mut Ring>) -> Result<u32, BufferError> {
        loop {
            self.reserve_pin()?;
            let (buf_id, state, of_ring) = self.take_victim(ring.as_deref_mut())?;
            let ring = if of_ring { ring.as_deref_mut() } else { None };
            if state.has(DIRTY) && !self.clean_victim(buf_id, ring)? {
                self.unpin(buf_id);
                continue;
            }
            // The word is looked at again: what we pinned may since have been given up by others,
            // but not been given another page.
            if self.pool.desc(buf_id).load().has(TAG_VALID) && !self.invalidate_victim(buf_id) {
                self.unpin(buf_id);
                continue;
            }
            return Ok(buf_id);
        }
    }

    /// Writes a dirty victim out, unless somebody has its content locked: they may wait for a lock
    /// our caller has (B10); or unless it is of a ring that does not wait for the log. An error
    /// leaves it unpinned.
    fn clean_victim(&self, buf_id: u32, ring: Option<&mut Ring>) -> Result<bool, BufferError> {
        let mode = self.write_out_mode();
        if mutant::is("victim.lock_blocking") {
            self.lock_content(buf_id, mode);
        } else if !self.try_lock_content(buf_id, mode) {
            return Ok(false);
        }
        if let Some(ring) = ring
            && self.needs_log_flush(buf_id)
            && ring.reject(buf_id)
        {
            self.unlock_content(buf_id);
            note!("gives buffer {buf_id} up for the log");
            return Ok(false);
        }
        let flushed = self.flush_locked(buf_id);
        self.unlock_content(buf_id);
        if flushed.is_err() {
            self.unpin(buf_id);
        }
        flushed.map(|_| true)
    }

    /// Whether the log must be flushed before the page in a buffer, whose content we have locked, is
    /// written out.
    fn needs_log_flush(&self, buf_id: u32) -> bool {
        let log = self.pool.options.log.as_ref();
        log.is_some_and(|log| log.needs_flush(lsn(self.page(buf_id))))
    }

    /// The lock under which a page is written out.
    pub(super) fn write_out_mode(&self) -> LockMode {
        if self.pool.is_modern() { LockMode::ShareExclusive } else { LockMode::Share }
    }

    /// Takes the page from a buffer that we have pinned. False if somebody else has it pinned too,
    /// or changed it since it was written out.
    pub(super) fn invalidate_victim(&self, buf_id: u32) -> bool {
        let tag = self.pinned_tag(buf_id);
        let partition = self.lock_for_removal(tag);
        let header = self.lock_header(buf_id);
        let state = header.state();
        let alone = state.refcount() == 1 || mutant::is("victim.ignore_refcount");
        if !alone || state.has(DIRTY) {
            header.unlock();
            note!("finds buffer {buf_id} in use again");
            return false;
        }
        self.forget(buf_id, tag, header, partition);
        true
    }

    /// The partition of `tag`, taken before the header as it must be.
    fn lock_for_removal(&self, tag: BufferTag) -> Option<ExclusivePartition<'_>> {
        if mutant::is("invalidate.part_inside_hdr") || mutant::is("invalidate.part_after_hdr") {
            return None;
        }
        Some(self.pool.mapping.exclusive(self.pool.mapping.key(tag)))
    }

    /// Clears tag, flags and usage, unlocks the header, and removes the entry.
    fn forget<'a>(
        &'a self,
        buf_id: u32,
        tag: BufferTag,
        header: Header<'_>,
        mut partition: Option<ExclusivePartition<'a>>,
    ) {
        let key = self.pool.mapping.key(tag);
        let was_mapped = header.state().has(TAG_VALID);
        if mutant::is("invalidate.part_inside_hdr") {
            // A spinlock's rules would speak up at once; this shows what they are there for.
            header.waive_rules();
            partition = Some(self.pool.mapping.exclusive(key));
        }
        self.pool.ghosts.tag_changed(buf_id, None, u32::from(self.pin_count(buf_id) > 0));
        self.pool.desc(buf_id).clear_tag();
        header.unlock_with(Change { unset: PAGE_FLAGS | USAGE_MASK, ..Change::default() });
        note!("clears the tag of buffer {buf_id}");
        if mutant::is("victim.unmap_late") {
            drop(partition.take());
            // By then the page may be in another buffer, whose entry this takes.
            let mut late = self.pool.mapping.exclusive(key);
            if let Some(other) = late.find(key, &self.pool.descs) {
                late.remove(key, other);
            }
            partition = Some(late);
        }
        let mut partition = partition.unwrap_or_else(|| self.pool.mapping.exclusive(key));
        if was_mapped {
            let removed = partition.remove(key, buf_id);
            assert!(
                removed,
                "I-MAP4: a tag is mapped to its buffer, but {tag} of buffer {buf_id} was not"
            );
        }
    }

    /// Takes the page from the buffer of a locked header, for a drop: whatever it is, it is not
    /// needed any more. Waits for an I/O on it. True if this call took the page.
    pub(super) fn invalidate(
        &self,
        buf_id: u32,
        tag: BufferTag,
        header: Header<'_>,
    ) -> Result<bool, BufferError> {
        header.unlock();
        loop {
            let partition = self.lock_for_removal(tag);
            let header = self.lock_header(buf_id);
            // Somebody may have given the buffer to another page before we got the partition.
            if !self.pool.desc(buf_id).tag_is(tag) {
                header.unlock();
                return Ok(false);
            }
            let seen = header.state();
            if seen.refcount() == 0 || mutant::is("invalidate.ignore_stray_pin") {
                self.forget(buf_id, tag, header, partition);
                self.pool.push_free(buf_id);
                return Ok(true);
            }
            header.unlock();
            drop(partition);
            if self.pin_count(buf_id) > 0 && !mutant::is("invalidate.no_own_pin_check") {
                return Err(BufferError::PinnedByCaller { tag });
            }
            note!("finds buffer {buf_id} pinned");
            if mutant::is("invalidate.no_waitio") {
                return Ok(false);
            }
            // A writer must finish before the file goes away. If the pin is not for I/O, or not
            // yet, that wait returns at once. PostgreSQL looks again at once then; nothing can have
            // come of it until the word says something else.
            self.wait_io(buf_id, Interrupts::Held)?;
            self.pool.desc(buf_id).wait_for_change(seen);
        }
    }

    /// Empties one buffer, whatever the clock hand thinks of it: writes it out if it is dirty, then
    /// takes its page. False if it has none, or if somebody uses it.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] if the page could not be written out; it keeps its buffer.
    /// [`BufferError::Options`] if the pool has no such buffer.
    ///
    /// Source: `EvictUnpinnedBuffer` in PostgreSQL's `bufmgr.c`.
    pub fn evict(&self, buf_id: u32) -> Result<bool, BufferError> {
        self.check_buf_id(buf_id)?;
        self.reserve_pin()?;
        let header = self.lock_header(buf_id);
        let state = header.state();
        if !state.has(VALID) || state.refcount() > 0 {
            header.unlock();
            return Ok(false);
        }
        self.pin_locked(buf_id, header);
        if state.has(DIRTY) && !self.clean_victim(buf_id, None)? {
            self.unpin(buf_id);
            return Ok(false);
        }
        note!("takes buffer {buf_id} as victim");
        let emptied = self.invalidate_victim(buf_id);
        self.unpin(buf_id);
        Ok(emptied)
    }
}
