//! Allocation: a buffer for a page, the one that has it or another.
//!
//! On a hit the buffer comes pinned from [`lookup`](super::lookup). On a miss a victim is found
//! first, then mapped under the exclusive partition lock, unless somebody brought the page in
//! meanwhile.
//!
//! Touches: mapping, tag, flags, usage count. Keeps: one buffer per page (I-MAP1, I-MAP2); nobody
//! pins a buffer without a name (I-ID2), so the victim is still ours alone when it gets one.
//! Source: `BufferAlloc` in PostgreSQL's `bufmgr.c`, as of 16.

use super::error::BufferError;
use super::header::Change;
use super::mapping::Key;
use super::ring::Ring;
use super::session::Session;
use super::state::{
    DIRTY, IO_IN_PROGRESS, PERMANENT, REFCOUNT_MASK, REFCOUNT_ONE, TAG_VALID, USAGE_ONE, VALID,
};
use crate::sync::{mutant, note};
use crate::tag::{BufferTag, Fork};

impl Session<'_> {
    /// A pinned buffer with the tag of the page, and whether its bytes are good.
    #[inline(always)]
    pub(super) fn alloc(&self, tag: BufferTag) -> Result<(u32, bool), BufferError> {
        self.reserve_pin()?;
        let key = self.pool.mapping.key(tag);
        match self.look_up(tag, key) {
            Some((buf_id, state)) => Ok((buf_id, state.has(VALID))),
            None => self.alloc_miss(tag, key, None),
        }
    }

    /// As [`Session::alloc`], for a scan with a ring. Looks up with the lock.
    pub(super) fn alloc_with(
        &self,
        tag: BufferTag,
        ring: &mut Ring,
    ) -> Result<(u32, bool), BufferError> {
        self.reserve_pin()?;
        let key = self.pool.mapping.key(tag);
        let partition = self.pool.mapping.shared(key);
        if let Some(buf_id) = partition.find(key, &self.pool.descs) {
            note!("finds page {} in buffer {buf_id}", tag.block);
            return Ok((buf_id, self.pin_for_ring(buf_id).has(VALID)));
        }
        drop(partition);
        self.alloc_miss(tag, key, Some(ring))
    }

    #[cold]
    fn alloc_miss(
        &self,
        tag: BufferTag,
        key: Key,
        mut ring: Option<&mut Ring>,
    ) -> Result<(u32, bool), BufferError> {
        let buf_id = self.victim(ring.as_deref_mut())?;
        self.give_page(buf_id, tag, key, ring)
    }

    /// Makes a victim the buffer of a page. If another buffer has the page already, that one is
    /// pinned and the victim given back. Returns which it is, and whether its bytes are good; an
    /// error leaves neither pinned.
    pub(super) fn give_page(
        &self,
        buf_id: u32,
        tag: BufferTag,
        key: Key,
        ring: Option<&mut Ring>,
    ) -> Result<(u32, bool), BufferError> {
        if let Err(error) = self.reserve_pin() {
            self.unpin(buf_id);
            return Err(error);
        }
        let mut partition = self.pool.mapping.exclusive(key);
        let existing = match mutant::is("alloc.no_collision_check") {
            true => None,
            false => partition.find(key, &self.pool.descs),
        };
        if let Some(existing) = existing {
            note!("finds page {} in buffer {existing}", tag.block);
            self.give_victim_back(buf_id);
            let state = match ring {
                Some(_) => self.pin_for_ring(existing),
                None => self.pin_found(existing, tag),
            };
            return Ok((existing, state.has(VALID)));
        }
        partition.insert(key, buf_id);
        self.name_buffer(buf_id, tag);
        Ok((buf_id, false))
    }

    /// Unpins a victim that is not needed.
    pub(super) fn give_victim_back(&self, buf_id: u32) {
        self.unpin(buf_id);
        // It has no page, so let it be found soon.
        self.pool.push_free(buf_id);
    }

    /// Gives a victim its new tag. The caller holds the partition exclusively.
    fn name_buffer(&self, buf_id: u32, tag: BufferTag) {
        let is_init = tag.fork == Fork::Init && !mutant::is("alloc.init_not_permanent");
        let is_permanent = is_init || !self.pool.options.unlogged.contains(&tag.relation);
        let header = self.lock_header(buf_id);
        let state = header.state();
        let pins = state.refcount();
        let resets = mutant::is("alloc.reset_refcount_on_retag");
        assert!(
            pins == 1 || resets,
            "I-ID2: nobody pins a nameless frame, but buffer {buf_id} had {pins} pins"
        );
        assert!(
            !state.has(TAG_VALID | VALID | DIRTY | IO_IN_PROGRESS),
            "I-ID2: a nameless frame has no page, but buffer {buf_id} was {state}"
        );
        note!("writes page {}'s tag into buffer {buf_id}", tag.block);
        self.pool.desc(buf_id).write_tag(tag);
        self.pool.ghosts.tag_changed(buf_id, Some(tag), 1);
        // Nothing to unset: a buffer without a page has no flags, and no points of usage.
        let set = TAG_VALID | USAGE_ONE | if is_permanent { PERMANENT } else { 0 };
        if resets {
            let set = set | REFCOUNT_ONE;
            header.unlock_with(Change { unset: REFCOUNT_MASK, set, pins: 0 });
            return;
        }
        header.unlock_with(Change { set, ..Change::default() });
    }
}
