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
pub(super) struct Ghosts(Box<[Mutex<Ghost>]>);

/// What should be true of one buffer.
#[derive(Debug, Default)]
struct Ghost {
    tag: Option<BufferTag>,
    /// Goes up whenever the tag is written or cleared.
    incarnation: u64,
    /// Sessions with a pin.
    pins: u32,
    /// The session that reads or writes the page.
    io_owner: Option<u32>,
    sharers: u32,
    share_exclusive: bool,
    exclusive: bool,
}

impl Ghosts {
    pub(super) fn new(n_buffers: u32) -> Self {
        Self((0..n_buffers).map(|_| Mutex::default()).collect())
    }

    /// Runs `f` on the books of a buffer, if books are kept.
    #[inline]
    fn with<R>(&self, buf_id: u32, f: impl FnOnce(&mut Ghost) -> R) -> Option<R> {
        if self.0.is_empty() {
            return None;
        }
        let ghost = &self.0[buf_id as usize];
        Some(f(&mut ghost.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(super) fn tag_changed(&self, buf_id: u32, tag: Option<BufferTag>) {
        self.with(buf_id, |ghost| {
            ghost.tag = tag;
            ghost.incarnation += 1;
        });
    }

    pub(super) fn incarnation(&self, buf_id: u32) -> u64 {
        self.with(buf_id, |ghost| ghost.incarnation).unwrap_or(0)
    }

    pub(super) fn check_identity(&self, buf_id: u32, tag: BufferTag, incarnation: u64) {
        self.with(buf_id, |ghost| {
            let found = ghost.tag.map_or("no page".to_owned(), |tag| tag.to_string());
            let same = ghost.tag == Some(tag) && ghost.incarnation == incarnation;
            assert!(
                same,
                "I-ID1: the tag of a pinned buffer does not change, but buffer {buf_id} was pinned \
                 for {tag} and has {found}"
            );
        });
    }

    /// A session got its first pin; `left` is the word it left behind.
    #[inline]
    pub(super) fn pinned(&self, buf_id: u32, left: State) {
        self.with(buf_id, |ghost| {
            ghost.pins += 1;
            ghost.check_pins(buf_id, left);
        });
    }

    /// A session gave back its last pin; `left` is the word it left behind.
    #[inline]
    pub(super) fn unpinned(&self, buf_id: u32, left: State) {
        self.with(buf_id, |ghost| {
            ghost.pins = ghost.pins.saturating_sub(1);
            ghost.check_pins(buf_id, left);
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
    fn check_pins(&self, buf_id: u32, left: State) {
        let (counted, pins) = (left.refcount(), self.pins);
        assert!(
            counted == pins,
            "I-REF1: the reference count is the number of pins, but buffer {buf_id} \
             counted {counted} with {pins} pins"
        );
    }
}
