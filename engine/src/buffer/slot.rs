//! Slots: what other sessions know of a session, and how they wake it.
//!
//! A session occupies one slot while it lives. The links and the lock mode belong to the wait list
//! the session is on, and are protected as that list is.

use super::content_lock::LockMode;
use super::desc::NOBODY;
use crate::sync::{AtomicU32, Condvar, Duration, Mutex, Ordering, lock, name, wait, wait_for};

/// Not on a wait list, and not between being taken off one and being woken.
pub(super) const NOT_WAITING: u32 = 0;
/// On a wait list.
pub(super) const WAITING: u32 = 1;
/// Taken off the list by a waker that has not woken it yet.
pub(super) const WAKING: u32 = 2;

#[derive(Debug)]
pub(super) struct Slot {
    /// One of the three above.
    pub(super) waiting: AtomicU32,
    mode: AtomicU32,
    /// Who stands behind in the wait list.
    pub(super) next: AtomicU32,
    /// Sleeping for a content lock. May carry posts meant for an earlier sleep.
    pub(super) semaphore: Semaphore,
    /// Sleeping for the only pin, or for an I/O. May be set for no reason.
    pub(super) latch: Latch,
}

impl Slot {
    fn new() -> Self {
        Self {
            waiting: AtomicU32::new(NOT_WAITING),
            mode: AtomicU32::new(0),
            next: AtomicU32::new(NOBODY),
            semaphore: Semaphore::default(),
            latch: Latch::default(),
        }
    }

    pub(super) fn mode(&self) -> LockMode {
        LockMode::from_number(self.mode.load(Ordering::Relaxed))
    }

    pub(super) fn set_mode(&self, mode: LockMode) {
        self.mode.store(mode as u32, Ordering::Relaxed);
    }
}

/// Every slot of a pool, and which are free.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    /// Boxed, so that it stays where it is named.
    free: Box<Mutex<Vec<u32>>>,
}

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        let slots: Box<[Slot]> = (0..count).map(|_| Slot::new()).collect();
        for (_id, _slot) in slots.iter().enumerate() {
            name!(&_slot.waiting, "waiting of session {_id}");
            name!(&_slot.semaphore.posts, "semaphore of session {_id}");
            name!(&_slot.semaphore.posted, "post to session {_id}");
            name!(&_slot.latch.state, "latch of session {_id}");
            name!(&_slot.latch.was_set, "wake-up of session {_id}");
        }
        // The last is taken first, so that sessions are numbered from 0.
        let free = Box::new(Mutex::new((0..count).rev().collect()));
        name!(&*free, "free sessions");
        Self { slots, free }
    }

    pub(super) fn get(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    pub(super) fn take(&self) -> Option<u32> {
        lock(&self.free).pop()
    }

    pub(super) fn give_back(&self, id: u32) {
        lock(&self.free).push(id);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter()
    }
}

/// Counts posts; a wait takes one.
#[derive(Debug, Default)]
pub(super) struct Semaphore {
    posts: Mutex<u32>,
    posted: Condvar,
}

impl Semaphore {
    pub(super) fn wait(&self) {
        let mut posts = lock(&self.posts);
        while *posts == 0 {
            posts = wait(&self.posted, posts);
        }
        *posts -= 1;
    }

    pub(super) fn post(&self) {
        *lock(&self.posts) += 1;
        self.posted.notify_one();
    }
}

/// Remembers one wake-up; a wait takes it, or ends for no reason.
#[derive(Debug, Default)]
pub(super) struct Latch {
    state: Mutex<LatchState>,
    was_set: Condvar,
}

#[derive(Debug, Default)]
struct LatchState {
    is_set: bool,
    sleeps: bool,
    cancelled: bool,
}

impl Latch {
    /// Sleeps. True if the sleeper is to give up.
    pub(super) fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        if !state.is_set {
            state.sleeps = true;
            state = wait(&self.was_set, state);
            state.sleeps = false;
        }
        state.is_set = false;
        std::mem::take(&mut state.cancelled)
    }

    /// Sleeps, and cannot be told to give up.
    pub(super) fn wait_to_the_end(&self) {
        let mut state = lock(&self.state);
        if !state.is_set {
            state = wait(&self.was_set, state);
        }
        state.is_set = false;
    }

    /// As [`Latch::wait`], for at most `timeout`. Whether it was set.
    pub(super) fn wait_for(&self, timeout: Duration) -> bool {
        let mut state = lock(&self.state);
        if !state.is_set {
            state = wait_for(&self.was_set, state, timeout);
        }
        std::mem::take(&mut state.is_set)
    }

    /// Forgets a wake-up. Whoever may be woken already must not do this (B73).
    pub(super) fn reset(&self) {
        lock(&self.state).is_set = false;
    }

    pub(super) fn set(&self) {
        lock(&self.state).is_set = true;
        self.was_set.notify_one();
    }

    /// Tells the sleeper to give up. False if nobody sleeps.
    pub(super) fn cancel(&self) -> bool {
        let mut state = lock(&self.state);
        let sleeps = state.sleeps;
        state.cancelled = sleeps;
        drop(state);
        if sleeps {
            self.was_set.notify_one();
        }
        sleeps
    }
}
