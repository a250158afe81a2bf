//! Content locks: who has one may look at a page's bytes, or change them.
//!
//! Three modes in `Modern`, two in `Classic`:
//!
//! | | share | share-exclusive | exclusive |
//! | --- | --- | --- | --- |
//! | share: read | | | conflict |
//! | share-exclusive: read, and write the page out | | conflict | conflict |
//! | exclusive: change | conflict | conflict | conflict |
//!
//! In `Modern` the lock is part of the state word and its wait list is protected by the header
//! lock; in `Classic` it is a word of its own, with its own list lock. One source serves both. The
//! lock is not handed over: who is woken tries again, and a newcomer may be faster.
//!
//! Touches: the lock's word, the wait list, slots of waiters. Keeps: who finds the lock taken,
//! queues and then tries again, so a release in between is not missed; every task that was woken
//! clears `LOCK_WAKE_IN_PROGRESS` on every path, or nobody would be woken again.
//! Source: `BufferLockAcquire` of PostgreSQL 19, `lwlock.c` before.

use super::desc::NOBODY;
use super::header::Change;
use super::session::Session;
use super::slot::{NOT_WAITING, WAITING, WAKING};
use super::state::{
    CONTENT_MASK, EXCLUSIVE, LOCK_HAS_WAITERS, LOCK_WAKE_IN_PROGRESS, REFCOUNT_ONE,
    SHARE_EXCLUSIVE, SHARE_MASK, SHARE_ONE, State,
};
use crate::sync::{AtomicU64, Ordering, mutant, note};

/// What a content lock is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LockMode {
    /// To read.
    Share,
    /// To read and to write the page out, while others read. `Modern` only.
    ShareExclusive,
    /// To change bytes.
    Exclusive,
}

impl LockMode {
    pub(super) const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Share,
            1 => Self::ShareExclusive,
            _ => Self::Exclusive,
        }
    }

    /// What the lock adds to the word.
    const fn value(self) -> u64 {
        match self {
            Self::Share => SHARE_ONE,
            Self::ShareExclusive => SHARE_EXCLUSIVE,
            Self::Exclusive => EXCLUSIVE,
        }
    }

    /// The bits that keep the lock away.
    const fn conflicts(self) -> u64 {
        match self {
            Self::Share => EXCLUSIVE,
            Self::ShareExclusive => EXCLUSIVE | SHARE_EXCLUSIVE,
            Self::Exclusive => CONTENT_MASK,
        }
    }
}

/// Who is to be woken after a release.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// Nobody: others still have the lock.
    Nobody,
    /// Those who may come in beside sharers.
    NotExclusive,
    /// Whoever comes first.
    Any,
}

impl Session<'_> {
    fn lock_word_of(&self, buf_id: u32) -> &AtomicU64 {
        let desc = self.pool.desc(buf_id);
        if self.pool.is_modern() { &desc.state } else { &desc.content }
    }

    /// The content lock this session has on the buffer.
    pub(super) fn content_lock(&self, buf_id: u32) -> Option<LockMode> {
        self.refs.lock(buf_id)
    }

    fn set_content_lock(&self, buf_id: u32, mode: Option<LockMode>) {
        self.refs.set_lock(buf_id, mode);
    }

    /// Waits for the content lock of a buffer that this session has pinned and not locked.
    pub(super) fn lock_content(&self, buf_id: u32, mode: LockMode) {
        assert!(
            self.content_lock(buf_id).is_none(),
            "I-LK2: one content lock per session and buffer, but buffer {buf_id} is to be locked twice"
        );
        let mut absorbed = 0;
        while !self.attempt(buf_id, mode) {
            self.queue(buf_id, mode);
            // The lock may have been released before we stood in the queue.
            let look_again = !mutant::is("lwlock.no_recheck_after_queue");
            if look_again && self.attempt(buf_id, mode) {
                absorbed += self.leave_queue(buf_id);
                break;
            }
            note!("waits for the content lock of buffer {buf_id}");
            absorbed += self.sleep();
            self.allow_wake_ups(buf_id);
        }
        self.repost(absorbed);
        self.locked(buf_id, mode);
    }

    /// Takes the content lock if nobody's is in the way. Fails if this session has one already.
    pub(super) fn try_lock_content(&self, buf_id: u32, mode: LockMode) -> bool {
        if self.content_lock(buf_id).is_some() || !self.attempt(buf_id, mode) {
            note!("finds buffer {buf_id}'s content locked");
            return false;
        }
        self.locked(buf_id, mode);
        true
    }

    fn locked(&self, buf_id: u32, mode: LockMode) {
        self.set_content_lock(buf_id, Some(mode));
        match mode {
            LockMode::Share => note!("locks buffer {buf_id} to read"),
            LockMode::ShareExclusive => note!("locks buffer {buf_id} to write out"),
            LockMode::Exclusive => note!("locks buffer {buf_id} to change"),
        }
    }

    fn attempt(&self, buf_id: u32, mode: LockMode) -> bool {
        let word = self.lock_word_of(buf_id);
        let success = match mutant::is("content.relaxed_acquire") {
            true => Ordering::Release,
            false => Ordering::AcqRel,
        };
        let mut old = word.load(Ordering::Relaxed);
        while old & mode.conflicts() == 0 {
            let new = old + mode.value();
            match word.compare_exchange(old, new, success, Ordering::Relaxed) {
                Ok(_) => {
                    self.pool.ghosts.locked(buf_id, mode);
                    return true;
                }
                Err(current) => old = current,
            }
        }
        false
    }

    /// Gives the content lock back.
    pub(super) fn unlock_content(&self, buf_id: u32) {
        let Some(mode) = self.content_lock(buf_id) else {
            panic!("I-LK2: only the owner unlocks, but buffer {buf_id} was not locked by it");
        };
        self.set_content_lock(buf_id, None);
        let old = self.lock_word_of(buf_id).fetch_sub(mode.value(), Ordering::AcqRel);
        self.pool.ghosts.unlocked(buf_id, mode);
        note!("unlocks the content of buffer {buf_id}");
        self.wake_waiters(buf_id, mode, State(old - mode.value()));
    }

    /// Gives the content lock and the only pin of this session back, in `Modern` in one step.
    ///
    /// The waiters for the lock are woken when the pin is gone already. That is safe: it acts under
    /// the header lock on whoever is queued by then, and wakes at worst somebody for nothing.
    pub(super) fn unlock_and_unpin(&self, buf_id: u32) {
        if !self.pool.is_modern() || self.pin_count(buf_id) > 1 {
            self.unlock_content(buf_id);
            self.unpin(buf_id);
            return;
        }
        let Some(mode) = self.content_lock(buf_id) else {
            panic!("I-LK2: only the owner unlocks, but buffer {buf_id} was not locked by it");
        };
        self.set_content_lock(buf_id, None);
        self.refs.remove_one(buf_id);
        let left = self.subtract(buf_id, mode.value() + REFCOUNT_ONE);
        self.pool.ghosts.unlocked(buf_id, mode);
        note!("unlocks the content of buffer {buf_id}");
        self.wake_waiters(buf_id, mode, left);
        self.after_unpin(buf_id, left);
    }

    /// Stands at the end of the wait list.
    fn queue(&self, buf_id: u32, mode: LockMode) {
        let (desc, slot) = (self.pool.desc(buf_id), self.slot());
        slot.set_mode(mode);
        let list = self.lock_wait_list(buf_id);
        slot.waiting.store(WAITING, Ordering::Relaxed);
        slot.next.store(NOBODY, Ordering::Relaxed);
        match desc.tail.load(Ordering::Relaxed) {
            NOBODY => desc.head.store(self.id, Ordering::Relaxed),
            last => self.pool.slots.get(last).next.store(self.id, Ordering::Relaxed),
        }
        desc.tail.store(self.id, Ordering::Relaxed);
        list.unlock_with(Change { set: LOCK_HAS_WAITERS, ..Change::default() });
    }

    /// Leaves the wait list after all. Returns the posts taken that were meant for something else.
    fn leave_queue(&self, buf_id: u32) -> u32 {
        let (desc, slot) = (self.pool.desc(buf_id), self.slot());
        let list = self.lock_wait_list(buf_id);
        if slot.waiting.load(Ordering::Relaxed) == WAITING {
            self.unlink(buf_id, self.id);
            slot.waiting.store(NOT_WAITING, Ordering::Relaxed);
            let empty = desc.head.load(Ordering::Relaxed) == NOBODY;
            let unset = if empty { LOCK_HAS_WAITERS } else { 0 };
            list.unlock_with(Change { unset, ..Change::default() });
            return 0;
        }
        list.unlock();
        // A waker was faster. It believes that we try again and then let others be woken; so we
        // do the second now, and take the post it is about to send.
        self.allow_wake_ups(buf_id);
        self.sleep()
    }

    /// Takes `id` out of the wait list. The list is locked.
    fn unlink(&self, buf_id: u32, id: u32) {
        let (desc, slots) = (self.pool.desc(buf_id), &self.pool.slots);
        let mut before = NOBODY;
        let mut at = desc.head.load(Ordering::Relaxed);
        while at != id {
            assert!(at != NOBODY, "I-LK3: who waits is on the list, but session {id} was not");
            before = at;
            at = slots.get(at).next.load(Ordering::Relaxed);
        }
        let next = slots.get(id).next.load(Ordering::Relaxed);
        match before {
            NOBODY => desc.head.store(next, Ordering::Relaxed),
            before => slots.get(before).next.store(next, Ordering::Relaxed),
        }
        if next == NOBODY {
            desc.tail.store(before, Ordering::Relaxed);
        }
    }

    /// Sleeps until taken off the list and woken. Returns the posts meant for something else.
    fn sleep(&self) -> u32 {
        let slot = self.slot();
        let mut absorbed = 0;
        loop {
            slot.semaphore.wait();
            if slot.waiting.load(Ordering::Acquire) == NOT_WAITING {
                return absorbed;
            }
            absorbed += 1;
        }
    }

    fn repost(&self, absorbed: u32) {
        for _ in 0..absorbed {
            self.slot().semaphore.post();
        }
    }

    fn allow_wake_ups(&self, buf_id: u32) {
        if mutant::is("lwlock.no_release_ok") {
            return;
        }
        self.lock_word_of(buf_id).fetch_and(!LOCK_WAKE_IN_PROGRESS, Ordering::AcqRel);
    }

    /// After a release of `mode` that left the word `left`.
    fn wake_waiters(&self, buf_id: u32, mode: LockMode, left: State) {
        if !left.has(LOCK_HAS_WAITERS) || left.has(LOCK_WAKE_IN_PROGRESS) {
            return;
        }
        let wake = match mode {
            LockMode::Share if left.has(CONTENT_MASK) => Wake::Nobody,
            _ if left.has(SHARE_MASK) => Wake::NotExclusive,
            _ => Wake::Any,
        };
        if wake != Wake::Nobody {
            self.wake_first(buf_id, wake);
        }
    }

    /// Wakes those at the head of the list that can have the lock together.
    #[cold]
    fn wake_first(&self, buf_id: u32, wake: Wake) {
        let (desc, slots) = (self.pool.desc(buf_id), &self.pool.slots);
        let list = self.lock_wait_list(buf_id);
        // The woken are chained by their own links, since nothing may be allocated here.
        let (mut first, mut last) = (NOBODY, NOBODY);
        let (mut any_woken, mut share_exclusive_woken) = (false, false);
        let mut at = desc.head.load(Ordering::Relaxed);
        while at != NOBODY {
            let slot = slots.get(at);
            let next = slot.next.load(Ordering::Relaxed);
            let mode = slot.mode();
            let skip = match mode {
                LockMode::Share => false,
                LockMode::ShareExclusive => share_exclusive_woken,
                LockMode::Exclusive => any_woken || wake == Wake::NotExclusive,
            };
            if !skip {
                self.unlink(buf_id, at);
                slot.waiting.store(WAKING, Ordering::Relaxed);
                slot.next.store(NOBODY, Ordering::Relaxed);
                match last {
                    NOBODY => first = at,
                    last => slots.get(last).next.store(at, Ordering::Relaxed),
                }
                last = at;
                any_woken = true;
                share_exclusive_woken |= mode == LockMode::ShareExclusive;
                if mode == LockMode::Exclusive {
                    break;
                }
            }
            at = next;
        }
        let empty = desc.head.load(Ordering::Relaxed) == NOBODY;
        list.unlock_with(Change {
            unset: if empty { LOCK_HAS_WAITERS } else { 0 },
            set: if any_woken { LOCK_WAKE_IN_PROGRESS } else { 0 },
            pins: 0,
        });
        while first != NOBODY {
            let slot = slots.get(first);
            // The link is read first: as soon as it is not waiting, the slot may be on a new list.
            let next = slot.next.load(Ordering::Relaxed);
            note!("wakes session {first}");
            slot.waiting.store(NOT_WAITING, Ordering::Release);
            slot.semaphore.post();
            first = next;
        }
    }
}
