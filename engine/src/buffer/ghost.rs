//! Ghosts: a second set of books, to hold the first against.
//!
//! No part of the program: an entry here is no scheduling point, and in an execution it is made in
//! the same step as the atomic operation it belongs to. So the two sets agree after every step, and
//! the first step after which they do not is the bug. Off unless [`PoolOptions::ghosts`] asks.
//!
//! [`PoolOptions::ghosts`]: super::PoolOptions::ghosts

use super::content_lock::LockMode;
use super::state::State;
use crate::sync::ghost::{Mutex, PoisonError};
use crate::tag::BufferTag;

#[derive(Debug)]
pub(super) struct Ghosts {
    buffers: Box<[Mutex<Ghost>]>,
    /// Pins given back so far in the pool: the clock of the books.
    unpins: Mutex<u64>,
}

/// What should be true of one buffer.
#[derive(Debug, Default)]
struct Ghost {
    tag: Option<BufferTag>,
    /// Goes up whenever the tag is written or cleared.
    incarnation: u64,
    /// Sessions with a pin.
    pins: u32,
    /// When the last of them left, in pins given back so far in the pool; 0 if there never was one.
    unpinned_at: u64,
    usage: u32,
    /// The session that reads or writes the page.
    io_owner: Option<u32>,
    sharers: u32,
    share_exclusive: bool,
    exclusive: bool,
}

impl Ghosts {
    pub(super) fn new(n_buffers: u32) -> Self {
        Self {
            buffers: (0..n_buffers).map(|_| Mutex::default()).collect(),
            unpins: Mutex::default(),
        }
    }

    /// Runs `f` on the books of a buffer, if books are kept.
    #[inline]
    fn with<R>(&self, buf_id: u32, f: impl FnOnce(&mut Ghost) -> R) -> Option<R> {
        if self.buffers.is_empty() {
            return None;
        }
        let ghost = &self.buffers[buf_id as usize];
        Some(f(&mut ghost.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Whether books are kept. Asked first on the paths of a pin, with the entry apart: what an
    /// entry is given would otherwise be put in memory for nothing.
    #[inline(always)]
    fn are_kept(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// The tag is written, or cleared, by a session that has `own` pins on the buffer: 1 or, in a
    /// drop, 0. The header is locked.
    pub(super) fn tag_changed(&self, buf_id: u32, tag: Option<BufferTag>, own: u32) {
        self.with(buf_id, |ghost| {
            let others = ghost.pins.saturating_sub(own);
            assert!(
                others == 0,
                "I-ID1: a buffer that others pinned keeps its tag, but buffer {buf_id} had \
                 {others} such pins"
            );
            ghost.tag = tag;
            ghost.usage = u32::from(tag.is_some());
            ghost.incarnation += 1;
        });
    }

    /// Which page in the life of the buffer it has, for a session that pinned it for `tag`.
    #[inline(always)]
    pub(super) fn identify(&self, buf_id: u32, tag: BufferTag) -> u64 {
        if self.are_kept() { self.identify_in_books(buf_id, tag) } else { 0 }
    }

    #[cold]
    fn identify_in_books(&self, buf_id: u32, tag: BufferTag) -> u64 {
        let incarnation = self.with(buf_id, |ghost| {
            assert!(
                ghost.tag == Some(tag),
                "I-ID1: a pinned buffer keeps its tag, but buffer {buf_id}, pinned for {tag}, has {}",
                ghost.name()
            );
            ghost.incarnation
        });
        incarnation.unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn check_identity(&self, buf_id: u32, incarnation: u64) {
        if self.are_kept() {
            self.check_identity_in_books(buf_id, incarnation);
        }
    }

    #[cold]
    fn check_identity_in_books(&self, buf_id: u32, incarnation: u64) {
        self.with(buf_id, |ghost| {
            assert!(
                ghost.incarnation == incarnation,
                "I-ID1: a pinned buffer keeps its tag, but buffer {buf_id}, pinned for another page, \
                 has {}",
                ghost.name()
            );
        });
    }

    /// A session got its first pin; `left` is the word it left behind.
    #[inline(always)]
    pub(super) fn pinned(&self, buf_id: u32, left: State) {
        if self.are_kept() {
            self.pins_changed(buf_id, 1, left);
        }
    }

    /// A session gave back its last pin; `left` is the word it left behind.
    #[inline(always)]
    pub(super) fn unpinned(&self, buf_id: u32, left: State) {
        if self.are_kept() {
            self.pins_changed(buf_id, -1, left);
        }
    }

    #[cold]
    fn pins_changed(&self, buf_id: u32, by: i32, left: State) {
        self.with(buf_id, |ghost| {
            ghost.pins = ghost.pins.saturating_add_signed(by);
            if ghost.pins == 0 {
                ghost.unpinned_at = self.tick();
            }
            ghost.check(buf_id, left);
        });
    }

    /// The word is stored as a whole: `left`.
    #[inline]
    pub(super) fn stored(&self, buf_id: u32, left: State) {
        self.with(buf_id, |ghost| ghost.check(buf_id, left));
    }

    /// As [`Ghosts::pinned`], by a pin that earns the buffer a point of usage, up to `limit`.
    #[inline(always)]
    pub(super) fn used(&self, buf_id: u32, limit: u64, left: State) {
        if self.are_kept() {
            self.add_usage(buf_id, limit, left);
        }
    }

    #[cold]
    fn add_usage(&self, buf_id: u32, limit: u64, left: State) {
        self.with(buf_id, |ghost| ghost.usage += u32::from(u64::from(ghost.usage) < limit));
        self.pins_changed(buf_id, 1, left);
    }

    /// The clock hand takes a point of usage.
    pub(super) fn aged(&self, buf_id: u32) {
        self.with(buf_id, |ghost| ghost.usage = ghost.usage.saturating_sub(1));
    }

    /// Now, for [`Ghosts::check_each_was_pinned`].
    pub(super) fn now(&self) -> u64 {
        if self.buffers.is_empty() { 0 } else { self.tick() }
    }

    /// A sweep that began at `since` says that it met pinned buffers only.
    pub(super) fn check_each_was_pinned(&self, since: u64) {
        for buf_id in 0..self.buffers.len() as u32 {
            self.with(buf_id, |ghost| {
                assert!(
                    ghost.pins > 0 || ghost.unpinned_at > since,
                    "I-PR3: who is told that every buffer is pinned came by each while it was, but \
                     buffer {buf_id} was not all the time"
                );
            });
        }
    }

    fn tick(&self) -> u64 {
        let mut unpins = self.unpins.lock().unwrap_or_else(PoisonError::into_inner);
        *unpins += 1;
        *unpins
    }

    /// A session gets the cleanup lock. The header is locked, so nobody pins the buffer now.
    pub(super) fn cleanup_granted(&self, buf_id: u32) {
        self.with(buf_id, |ghost| {
            let pins = ghost.pins;
            assert!(
                pins == 1,
                "I-CL1: who has the cleanup lock has the only pin, but buffer {buf_id} had {pins}"
            );
        });
    }

    pub(super) fn io_started(&self, buf_id: u32, session: u32) {
        self.with(buf_id, |ghost| {
            let other = ghost.io_owner.replace(session);
            assert!(other.is_none(), "I-IO1: one I/O at a time, but buffer {buf_id} had two");
        });
    }

    pub(super) fn io_ended(&self, buf_id: u32, session: u32) {
        self.with(buf_id, |ghost| {
            let owner = ghost.io_owner.take();
            assert!(
                owner == Some(session),
                "I-IO1: who starts an I/O ends it, but buffer {buf_id}'s was of {owner:?}"
            );
        });
    }

    pub(super) fn locked(&self, buf_id: u32, mode: LockMode) {
        self.with(buf_id, |ghost| {
            let free = match mode {
                LockMode::Share => !ghost.exclusive,
                LockMode::ShareExclusive => !ghost.exclusive && !ghost.share_exclusive,
                LockMode::Exclusive => {
                    !ghost.exclusive && !ghost.share_exclusive && ghost.sharers == 0
                }
            };
            assert!(free, "I-LK1: content locks conflict, but buffer {buf_id} was locked {mode:?}");
            match mode {
                LockMode::Share => ghost.sharers += 1,
                LockMode::ShareExclusive => ghost.share_exclusive = true,
                LockMode::Exclusive => ghost.exclusive = true,
            }
        });
    }

    pub(super) fn unlocked(&self, buf_id: u32, mode: LockMode) {
        self.with(buf_id, |ghost| match mode {
            LockMode::Share => ghost.sharers = ghost.sharers.saturating_sub(1),
            LockMode::ShareExclusive => ghost.share_exclusive = false,
            LockMode::Exclusive => ghost.exclusive = false,
        });
    }
}

impl Ghost {
    fn name(&self) -> String {
        self.tag.map_or("no page".to_owned(), |tag| tag.to_string())
    }

    fn check(&self, buf_id: u32, left: State) {
        self.check_pins(buf_id, left);
        let (counted, usage) = (left.usage(), self.usage);
        assert!(
            counted == usage,
            "I-REF5: usage counts pins up to 5, or up to 1 for a ring, but buffer {buf_id} counted \
             {counted} for {usage}"
        );
    }

    fn check_pins(&self, buf_id: u32, left: State) {
        let (counted, pins) = (left.refcount(), self.pins);
        assert!(
            counted == pins,
            "I-REF1: the reference count is the number of pins, but buffer {buf_id} \
             counted {counted} with {pins} pins"
        );
    }
}
