//! The header lock: a spinlock that is one bit of the state word.
//!
//! Between [`Session::lock_header`] and one of the unlocks nothing may sleep, allocate, fail or
//! take another lock. A hold does not unlock itself when dropped: what is written at the release is
//! the point of it, so every path says so.
//!
//! Released in `Classic` by a plain store of the whole word, since nobody else writes it meanwhile;
//! in `Modern` by a read-modify-write, since pins and content locks may have changed meanwhile.
//! Source: `LockBufHdr`, `UnlockBufHdr` and `UnlockBufHdrExt` in PostgreSQL's `bufmgr.c`.

use super::delay::SpinDelay;
use super::ghost::Ghosts;
use super::options::Profile;
use super::session::Session;
use super::state::{LOCKED, REFCOUNT_ONE, State};
use crate::sync::hold::{self, HoldKind, Rules};
use crate::sync::{AtomicU64, LockBit, Ordering, mutant, note};

static HEADER_LOCK: HoldKind = HoldKind::new("header lock", Rules::SPINLOCK);
static LIST_LOCK: HoldKind = HoldKind::new("wait list lock", Rules::SPINLOCK);
/// A header lock under a mutant that breaks its rules on purpose.
static UNRULY_HEADER_LOCK: HoldKind = HoldKind::new("header lock", Rules::NONE);
static HEADER_BIT: LockBit<AtomicU64> = LockBit::new(&HEADER_LOCK, LOCKED);
static LIST_BIT: LockBit<AtomicU64> = LockBit::new(&LIST_LOCK, LOCKED);

/// Bits to change when a header is unlocked: first `unset`, then `set`, then `pins` are added. A
/// bit in both sets is set (B05).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub(super) unset: u64,
    pub(super) set: u64,
    pub(super) pins: u64,
}

impl Change {
    fn apply(self, word: u64) -> u64 {
        if mutant::is("hdr.set_then_clear") {
            return ((word | self.set) & !self.unset) + self.pins;
        }
        (word & !self.unset | self.set) + self.pins
    }
}

/// A locked header, or a locked list of waiters.
#[must_use = "a header stays locked until it is unlocked"]
pub(super) struct Header<'a> {
    ghosts: &'a Ghosts,
    word: &'a AtomicU64,
    bit: &'static LockBit<AtomicU64>,
    buf_id: u32,
    /// Whether others may write the word while we hold the lock.
    shared: bool,
    state: State,
}

impl Session<'_> {
    /// Locks the header of a buffer.
    #[inline]
    #[track_caller]
    pub(super) fn lock_header(&self, buf_id: u32) -> Header<'_> {
        let word = &self.pool.desc(buf_id).state;
        self.lock_word(word, &HEADER_BIT, "header lock", buf_id)
    }

    /// Locks the list of those who wait for the content of a buffer. In `Modern` that is the
    /// header lock.
    #[track_caller]
    pub(super) fn lock_wait_list(&self, buf_id: u32) -> Header<'_> {
        let desc = self.pool.desc(buf_id);
        match self.pool.options.profile {
            Profile::Modern => self.lock_header(buf_id),
            Profile::Classic => Header {
                shared: true,
                ..self.lock_word(&desc.content, &LIST_BIT, "wait list lock", buf_id)
            },
        }
    }

    #[inline]
    #[track_caller]
    fn lock_word<'a>(
        &'a self,
        word: &'a AtomicU64,
        bit: &'static LockBit<AtomicU64>,
        what: &'static str,
        buf_id: u32,
    ) -> Header<'a> {
        let state = State(match bit.try_lock(word) {
            Ok(state) => state,
            Err(state) if state & LOCKED == 0 && mutant::is("spin.assume_first_try") => state,
            Err(_) => {
                let mut delay = SpinDelay::new(self, what, buf_id);
                let state = bit.lock_with(word, &mut delay);
                delay.finish();
                state
            }
        });
        let shared = self.pool.options.profile == Profile::Modern;
        Header { ghosts: &self.pool.ghosts, word, bit, buf_id, shared, state }
    }

    /// Waits until a header is not locked, and returns the word that said so. It may be locked
    /// again by then, so this is of use before a compare-and-swap only.
    #[cold]
    #[track_caller]
    pub(super) fn wait_header_unlocked(&self, buf_id: u32) -> State {
        note!("waits for header of buffer {buf_id}");
        let mut delay = SpinDelay::new(self, "header lock", buf_id);
        let state = HEADER_BIT.wait_unlocked_with(&self.pool.desc(buf_id).state, &mut delay);
        delay.finish();
        State(state)
    }
}

impl Header<'_> {
    /// The word when it was locked. In `Modern`, pins and content locks may since have gone.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Sets `flag` while the lock is held, and returns the word as it then is.
    #[track_caller]
    pub(super) fn publish(&self, flag: u64) -> State {
        State(self.word.fetch_or(flag, Ordering::AcqRel) | flag)
    }

    /// From here on the hold keeps no rules, so that a mutant shows what they prevent.
    #[cold]
    #[track_caller]
    pub(super) fn waive_rules(&self) {
        let object = self.object();
        hold::end(object);
        hold::begin(&UNRULY_HEADER_LOCK, object);
    }

    /// Whether the whole word may be stored at the release.
    fn is_stored(&self) -> bool {
        !self.shared || (self.is_of_header() && mutant::is("hdr.unlock_plain_store"))
    }

    fn is_of_header(&self) -> bool {
        std::ptr::eq(self.bit, &HEADER_BIT)
    }

    /// Unlocks and changes nothing.
    #[inline]
    #[track_caller]
    pub(super) fn unlock(self) {
        if self.is_stored() {
            self.bit.unlock_store(self.word, self.state.0);
            self.after_store(self.state);
        } else {
            self.bit.unlock_sub(self.word);
        }
    }

    /// Unlocks with a change, and returns the word as it was then left.
    #[track_caller]
    pub(super) fn unlock_with(self, change: Change) -> State {
        if self.is_stored() {
            let new = change.apply(self.state.0) & !LOCKED;
            self.store(new);
            self.after_change(change, State(new));
            self.after_store(State(new));
            return State(new);
        }
        let mut current = self.word.load(Ordering::Relaxed);
        loop {
            let new = change.apply(current) & !LOCKED;
            match self.replace(current, new) {
                Ok(_) => {
                    self.after_change(change, State(new));
                    return State(new);
                }
                Err(word) => current = word,
            }
        }
    }

    #[track_caller]
    fn store(&self, new: u64) {
        if mutant::is("hdr.relaxed_release") {
            self.word.store(new, Ordering::Relaxed);
            return hold::end(self.object());
        }
        self.bit.unlock_store(self.word, new);
    }

    #[track_caller]
    fn replace(&self, current: u64, new: u64) -> Result<u64, u64> {
        if mutant::is("hdr.relaxed_release") {
            let relaxed = Ordering::Relaxed;
            let old = self.word.compare_exchange(current, new, relaxed, relaxed)?;
            hold::end(self.object());
            return Ok(old);
        }
        self.bit.unlock_cas(self.word, current, new)
    }

    fn object(&self) -> usize {
        std::ptr::from_ref(self.word).addr()
    }

    fn after_change(&self, change: Change, left: State) {
        if change.pins == REFCOUNT_ONE {
            self.ghosts.pinned(self.buf_id, left);
        }
    }

    fn after_store(&self, left: State) {
        if self.is_of_header() {
            self.ghosts.stored(self.buf_id, left);
        }
    }
}
