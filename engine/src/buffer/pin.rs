//! Pin and unpin: a pinned buffer keeps its page.
//!
//! The first pin of a session counts in the state word, further ones only in the session. A pin by
//! compare-and-swap never happens under somebody else's header lock; an unpin may, in `Modern`.
//!
//! Touches: the reference count and usage count. Keeps: who pins through the mapping holds the
//! partition lock meanwhile, so the buffer pinned is the buffer found.
//! Source: `PinBuffer`, `PinBuffer_Locked` and `UnpinBuffer` in PostgreSQL's `bufmgr.c`.

use super::error::BufferError;
use super::header::{Change, Header};
use super::session::Session;
use super::state::{LOCKED, PIN_COUNT_WAITER, REFCOUNT_ONE, State, USAGE_MAX, VALID};
use crate::sync::{Ordering, mutant, note};

/// Two bugs begin with a pin on a buffer without a page: what comes after it differs.
#[inline]
fn pins_any() -> bool {
    mutant::is("recent.pin_any") || mutant::is("alloc.reset_refcount_on_retag")
}

impl Session<'_> {
    /// Makes room for one more pin; to be called before anything that may lock a header.
    ///
    /// # Errors
    ///
    /// [`BufferError::PinMemory`] if more than eight buffers are pinned and memory is short.
    #[inline(always)]
    pub(super) fn reserve_pin(&self) -> Result<(), BufferError> {
        if self.refs.reserve() {
            return Ok(());
        }
        Err(BufferError::PinMemory)
    }

    /// Pins a buffer and returns the word this left. With `skip_invalid`, a buffer without a good
    /// page is not pinned.
    #[inline(always)]
    pub(super) fn pin(&self, buf_id: u32, skip_invalid: bool) -> Option<State> {
        if self.refs.count(buf_id) > 0 {
            return self.pin_own(buf_id, skip_invalid);
        }
        let desc = self.pool.desc(buf_id);
        let mut old = desc.load();
        if !old.has(LOCKED) && (!skip_invalid || old.has(VALID)) {
            let new = old.pinned();
            match desc.swap_for_pin(old, new) {
                Ok(()) => {
                    self.pool.ghosts.used(buf_id, USAGE_MAX, new);
                    self.note_pinned(buf_id);
                    return Some(new);
                }
                Err(current) => old = current,
            }
        }
        self.pin_from(buf_id, skip_invalid, old)
    }

    /// Pins a buffer that this session has pinned already.
    ///
    /// Tests validity before it counts the pin, so that "not pinned" is the truth (I-REF6);
    /// PostgreSQL 19 counts first (B03).
    #[inline(never)]
    fn pin_own(&self, buf_id: u32, skip_invalid: bool) -> Option<State> {
        let state = self.pool.desc(buf_id).load();
        if skip_invalid && !state.has(VALID) {
            return None;
        }
        self.refs.add_one(buf_id);
        Some(state)
    }

    /// Pins a buffer whose word was `old` a moment ago.
    #[inline(never)]
    fn pin_from(&self, buf_id: u32, skip_invalid: bool, mut old: State) -> Option<State> {
        let desc = self.pool.desc(buf_id);
        loop {
            if skip_invalid && !old.has(VALID) && !pins_any() {
                note!("finds buffer {buf_id} not valid");
                return None;
            }
            if old.has(LOCKED) {
                old = self.wait_header_unlocked(buf_id);
                // Validity may have gone during the wait, so the test above is made again (B02).
                if !mutant::is("recent.no_restart") {
                    continue;
                }
            }
            let new = old.pinned();
            match desc.swap_for_pin(old, new) {
                Ok(()) => {
                    self.pool.ghosts.used(buf_id, USAGE_MAX, new);
                    self.note_pinned(buf_id);
                    return Some(new);
                }
                Err(current) => old = current,
            }
        }
    }

    /// Pins the buffer of a locked header and unlocks it, in one step. For every pin that was
    /// decided from what the lock protects. No point of usage.
    pub(super) fn pin_locked(&self, buf_id: u32, header: Header<'_>) -> State {
        if mutant::is("priv.insert_under_hdr") {
            let reserved = self.refs.reserve();
            assert!(reserved, "I-SP1: nothing fails under a header lock, but memory is short");
        }
        let left = header.unlock_with(Change { pins: REFCOUNT_ONE, ..Change::default() });
        self.note_pinned(buf_id);
        left
    }

    /// Enters a first pin in the books of the session.
    #[inline(always)]
    pub(super) fn note_pinned(&self, buf_id: u32) {
        self.refs.insert(buf_id);
        note!("pins buffer {buf_id}");
    }

    /// Counts one more pin of a buffer that this session has pinned.
    pub(super) fn pin_again(&self, buf_id: u32) {
        self.refs.add_one(buf_id);
    }

    /// Gives one pin back. After the last one the buffer may have another page at once.
    #[inline(always)]
    pub(super) fn unpin(&self, buf_id: u32) {
        if self.pool.is_modern() && self.refs.remove_latest(buf_id) {
            let left = self.subtract(buf_id, REFCOUNT_ONE);
            self.after_unpin(buf_id, left);
        } else {
            self.unpin_any(buf_id);
        }
    }

    #[inline(never)]
    fn unpin_any(&self, buf_id: u32) {
        if let Some(left) = self.take_pin(buf_id) {
            self.after_unpin(buf_id, left);
        }
    }

    /// Takes one pin off the books and returns the word this left, if it was the last of the session.
    pub(super) fn take_pin(&self, buf_id: u32) -> Option<State> {
        if self.refs.remove_one(buf_id) > 0 {
            return None;
        }
        Some(if self.pool.is_modern() {
            self.subtract(buf_id, REFCOUNT_ONE)
        } else {
            self.unpin_classic(buf_id)
        })
    }

    /// Takes `value`, a pin and possibly a lock, from the state word in one step.
    #[inline(always)]
    pub(super) fn subtract(&self, buf_id: u32, value: u64) -> State {
        let old = State(self.pool.desc(buf_id).state.fetch_sub(value, Ordering::AcqRel));
        self.check_counted(buf_id, old);
        let left = State(old.0 - value);
        self.pool.ghosts.unpinned(buf_id, left);
        left
    }

    fn unpin_classic(&self, buf_id: u32) -> State {
        let desc = self.pool.desc(buf_id);
        let mut old = desc.load();
        loop {
            if old.has(LOCKED) {
                old = self.wait_header_unlocked(buf_id);
                continue;
            }
            self.check_counted(buf_id, old);
            let new = State(old.0 - REFCOUNT_ONE);
            match desc.swap(old, new) {
                Ok(()) => {
                    self.pool.ghosts.unpinned(buf_id, new);
                    return new;
                }
                Err(current) => old = current,
            }
        }
    }

    #[inline(always)]
    fn check_counted(&self, buf_id: u32, state: State) {
        if state.refcount() == 0 {
            not_counted(buf_id);
        }
    }

    #[inline(always)]
    pub(super) fn after_unpin(&self, buf_id: u32, left: State) {
        note!("unpins buffer {buf_id}");
        if left.has(PIN_COUNT_WAITER) {
            self.wake_pin_waiter(buf_id);
        }
    }

    /// Wakes who waits for the only pin, if that pin is now the only one. The buffer has the same
    /// page still: the waiter has it pinned.
    #[cold]
    fn wake_pin_waiter(&self, buf_id: u32) {
        let header = self.lock_header(buf_id);
        // Somebody else may have woken the waiter already, or a new pin may have come.
        let state = header.state();
        if !state.has(PIN_COUNT_WAITER) || state.refcount() != 1 {
            header.unlock();
            return;
        }
        let waiter = self.pool.desc(buf_id).pin_waiter.load(Ordering::Relaxed);
        if mutant::is("unpin.wake_under_hdr") {
            self.pool.slots.get(waiter).latch.set();
        }
        header.unlock_with(Change { unset: PIN_COUNT_WAITER, ..Change::default() });
        note!("wakes the pin waiter of buffer {buf_id}");
        self.pool.slots.get(waiter).latch.set();
    }
}

// Panics of the hot paths are functions of their own: a message that is put together in place needs
// what it tells of in memory, and those stores go before every locked operation.
#[cold]
#[inline(never)]
fn not_counted(buf_id: u32) -> ! {
    panic!(
        "I-REF2: the reference count is never below 0, but buffer {buf_id} had no pin to give back"
    )
}
