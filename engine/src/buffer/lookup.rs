//! Looking a page up: with the partition's lock, or without a lock.
//!
//! With the lock the entry stands still, so the buffer found is pinned before the lock is given back
//! (I-MAP6). That is two atomic operations on a line that every reader of the partition writes, and
//! two more for pin and unpin.
//!
//! Without it an entry is a hint, and is treated as [`recent`](super::recent) treats one: compare
//! the name, pin if the page is valid, compare the name again now that it stands still. Nobody gives
//! a buffer another page while it is pinned, and a buffer with a valid page has a name, so what is
//! pinned is either the page or, for moments, another valid page. Where no hint holds, somebody
//! looks with the lock before a miss is believed: an entry that was just being moved, or a page that
//! is just being read in, is found then.
//!
//! Touches: the table, tags, state words; the partition's lock in one variant. Keeps: what is
//! returned is pinned and has the page; nobody pins a buffer without a name (I-ID2).
//! Source: `BufTableLookup` and `BufferAlloc` in PostgreSQL's `bufmgr.c` with the lock. Without it
//! is ours; the discipline is `ReadRecentBuffer`'s of 19.

#[cfg(test)]
mod tests;

use super::mapping::Key;
use super::options::Lookup;
use super::session::Session;
use super::state::{State, TAG_VALID};
use crate::sync::{mutant, note};
use crate::tag::BufferTag;

impl Session<'_> {
    /// Pins the buffer that has the page, and returns the word this left. `None` if no buffer has
    /// it; by the time the caller acts, one may.
    ///
    /// The caller has reserved a pin.
    #[inline(always)]
    pub(super) fn look_up(&self, tag: BufferTag, key: Key) -> Option<(u32, State)> {
        if self.pool.options.lookup == Lookup::LockFree {
            if let Some(found) = self.look_up_unlocked(tag, key) {
                return Some(found);
            }
            // A pin that was given back again took the room that was reserved.
            if !mutant::is("lookup.reserve_once") {
                let again = self.refs.reserve();
                debug_assert!(again, "the room is still there");
            }
        }
        self.look_up_locked(tag, key)
    }

    #[inline(always)]
    fn look_up_locked(&self, tag: BufferTag, key: Key) -> Option<(u32, State)> {
        let partition = self.pool.mapping.shared(key);
        let buf_id = partition.find(key, &self.pool.descs)?;
        note!("finds page {} in buffer {buf_id}", tag.block);
        if mutant::is("hit.pin_after_unlock") {
            drop(partition);
            let state = self.pin(buf_id, false)?;
            return Some((buf_id, state));
        }
        Some((buf_id, self.pin_found(buf_id, tag)))
    }

    #[inline(always)]
    fn look_up_unlocked(&self, tag: BufferTag, key: Key) -> Option<(u32, State)> {
        let buf_id = self.pool.mapping.find_unlocked(key, &self.pool.descs)?;
        note!("finds page {} in buffer {buf_id}", tag.block);
        let state = self.pin(buf_id, !mutant::is("lookup.pin_any"))?;
        self.keep_if_same(tag, buf_id, mutant::is("lookup.no_recheck")).then_some((buf_id, state))
    }

    /// Pins what the mapping has; the caller holds the partition.
    #[inline(always)]
    pub(super) fn pin_found(&self, buf_id: u32, tag: BufferTag) -> State {
        let Some(state) = self.pin(buf_id, false) else {
            unreachable!("only a pin that skips invalid pages fails");
        };
        if !state.has(TAG_VALID) {
            found_nameless(buf_id, tag);
        }
        state
    }
}

#[cold]
#[inline(never)]
fn found_nameless(buf_id: u32, tag: BufferTag) -> ! {
    panic!(
        "I-MAP3: an entry points to a buffer with its tag, but buffer {buf_id} of {tag} has none"
    )
}
