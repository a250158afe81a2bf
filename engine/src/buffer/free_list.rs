//! The free list: buffers without a page, in front of the clock sweep.
//!
//! A list through the descriptors, whose head is looked at without the lock and changed under it. A
//! new pool's list has every buffer, in order; so that opening one touches no descriptor, those that
//! were never used are not linked but counted. A buffer that loses its page to a drop goes to the
//! head.
//!
//! Between losing its page and being put on the list, and for as long as it is on it, a buffer can be
//! found by the sweep as well. So who takes one from the list looks again whether it is in use.
//!
//! Touches: the head, the links, the strategy lock.
//! Keeps: the list is a set (I-FREE1): what is on it is linked once, and says so in its link.
//! Source: `StrategyFreeBuffer` and the list in `StrategyGetBuffer` in PostgreSQL's `freelist.c`, up
//! to 18.

use super::BufferPool;
use super::strategy::Locked;
use crate::sync::{Ordering, mutant, note};

/// The link of a buffer that is not on the list. Zero, as descriptors begin.
pub(super) const NOT_ON_LIST: u32 = 0;
/// No buffer: the end of the list.
pub(super) const END: u32 = u32::MAX;

impl BufferPool {
    /// Ids of the free buffers in the order in which they will be taken. Empty if the pool has no
    /// such list. For tests and checkers: it takes the strategy lock for as long as the list is.
    #[must_use]
    pub fn free_list(&self) -> Vec<u32> {
        let locked = self.strategy.locked.lock();
        let first = self.strategy.first_free.load(Ordering::Relaxed);
        let rest = |buf_id: &u32| Some(self.link(*buf_id, &locked)).filter(|next| *next != END);
        // A list that runs in a circle is cut off when it is longer than the pool.
        let most = self.n_buffers() as usize + 1;
        std::iter::successors(Some(first).filter(|first| *first != END), rest).take(most).collect()
    }

    /// Takes the head off the list.
    pub(super) fn pop_free(&self) -> Option<u32> {
        let head = &self.strategy.first_free;
        // Without the lock first: mostly the list is empty.
        if head.load(Ordering::Relaxed) == END {
            return None;
        }
        if mutant::is("freelist.aba") {
            return self.pop_by_compare_and_swap();
        }
        let mut locked = self.strategy.locked.lock();
        let first = head.load(Ordering::Relaxed);
        if first == END {
            return None;
        }
        let next = self.link(first, &locked);
        head.store(next, Ordering::Relaxed);
        self.unlink(first, &mut locked);
        Some(first)
    }

    /// Puts a buffer at the head of the list, unless it is on it or the pool has none.
    pub(super) fn push_free(&self, buf_id: u32) {
        if !self.strategy.has_free_list {
            return;
        }
        let locked = self.strategy.locked.lock();
        if self.is_on_free_list(buf_id, &locked) {
            return;
        }
        let head = &self.strategy.first_free;
        let first = head.load(Ordering::Relaxed);
        self.desc(buf_id).free_link.store(encode(first), Ordering::Relaxed);
        head.store(buf_id, Ordering::Relaxed);
        note!("puts buffer {buf_id} on the free list");
    }

    /// Whether the descriptor says that the buffer is on the list.
    pub(super) fn is_on_free_list(&self, buf_id: u32, locked: &Locked) -> bool {
        self.strategy.has_free_list
            && (buf_id >= locked.fresh
                || self.desc(buf_id).free_link.load(Ordering::Relaxed) != NOT_ON_LIST)
    }

    /// The buffer behind one that is on the list.
    fn link(&self, buf_id: u32, locked: &Locked) -> u32 {
        if buf_id >= locked.fresh {
            return if buf_id + 1 < self.n_buffers() { buf_id + 1 } else { END };
        }
        match self.desc(buf_id).free_link.load(Ordering::Relaxed) {
            NOT_ON_LIST | END => END,
            link => link - 1,
        }
    }

    fn unlink(&self, buf_id: u32, locked: &mut Locked) {
        if buf_id >= locked.fresh {
            locked.fresh = buf_id + 1;
        } else {
            self.desc(buf_id).free_link.store(NOT_ON_LIST, Ordering::Relaxed);
        }
    }

    /// What the head was and what was behind it may both be old news when they are compared: the
    /// same buffer may have come back with another one behind it.
    #[cold]
    fn pop_by_compare_and_swap(&self) -> Option<u32> {
        let head = &self.strategy.first_free;
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let mut first = head.load(Ordering::Acquire);
        while first != END {
            let next = self.link(first, &self.strategy.locked.lock());
            match head.compare_exchange(first, next, success, failure) {
                Ok(_) => {
                    self.unlink(first, &mut self.strategy.locked.lock());
                    return Some(first);
                }
                Err(current) => first = current,
            }
        }
        None
    }
}

/// The link to `next`: one more than its id, so that no buffer's link is [`NOT_ON_LIST`].
const fn encode(next: u32) -> u32 {
    if next == END { END } else { next + 1 }
}
