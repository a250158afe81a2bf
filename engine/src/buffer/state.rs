//! The state word of a buffer: pins, usage and flags in one atomic word.
//!
//! | bits | what | who may change it |
//! | --- | --- | --- |
//! | 0..18 | reference count: sessions with a pin | up: CAS with `LOCKED` clear, or the header lock; down: as up, in `Modern` also under another's header lock |
//! | 18..22 | usage count, at most 5 | CAS with `LOCKED` clear, or the header lock |
//! | 22 | `LOCKED`: the header lock | whoever sets it |
//! | 23..32 | flags | CAS with `LOCKED` clear, or the header lock |
//! | 32..34 | `LOCK_HAS_WAITERS`, `LOCK_WAKE_IN_PROGRESS` (`Modern`) | the header lock; the woken may clear the second |
//! | 34..54 | content lock (`Modern`): share count 34..52, share-exclusive 52, exclusive 53 | anybody at any time, by CAS or subtraction |
//!
//! PostgreSQL's classic word is exactly the low 32 bits. One `AtomicU64` serves both profiles, so
//! the logic exists once; a real 32-bit word would save four bytes of the descriptor's line and
//! no instruction. The classic content lock is a second word of the same layout, of which it uses
//! bit 22 (as the lock of its wait list) and bits 32 and up.

use std::fmt;

pub(crate) const REFCOUNT_ONE: u64 = 1;
pub(crate) const REFCOUNT_MASK: u64 = (1 << 18) - 1;
pub(crate) const USAGE_ONE: u64 = 1 << 18;
pub(crate) const USAGE_MASK: u64 = 15 << 18;
pub(crate) const USAGE_MAX: u64 = 5;

pub(crate) const LOCKED: u64 = 1 << 22;
pub(crate) const DIRTY: u64 = 1 << 23;
pub(crate) const VALID: u64 = 1 << 24;
pub(crate) const TAG_VALID: u64 = 1 << 25;
pub(crate) const IO_IN_PROGRESS: u64 = 1 << 26;
pub(crate) const IO_ERROR: u64 = 1 << 27;
/// `Classic` only: dirtied again since the write began.
pub(crate) const JUST_DIRTIED: u64 = 1 << 28;
pub(crate) const PIN_COUNT_WAITER: u64 = 1 << 29;
pub(crate) const CHECKPOINT_NEEDED: u64 = 1 << 30;
pub(crate) const PERMANENT: u64 = 1 << 31;
pub(crate) const LOCK_HAS_WAITERS: u64 = 1 << 32;
pub(crate) const LOCK_WAKE_IN_PROGRESS: u64 = 1 << 33;
pub(crate) const SHARE_ONE: u64 = 1 << 34;
pub(crate) const SHARE_MASK: u64 = ((1 << 18) - 1) << 34;
pub(crate) const SHARE_EXCLUSIVE: u64 = 1 << 52;
pub(crate) const EXCLUSIVE: u64 = 1 << 53;
pub(crate) const CONTENT_MASK: u64 = SHARE_MASK | SHARE_EXCLUSIVE | EXCLUSIVE;

/// Every flag that speaks of the page, none that speaks of locks.
pub(crate) const PAGE_FLAGS: u64 = DIRTY
    | VALID
    | TAG_VALID
    | IO_IN_PROGRESS
    | IO_ERROR
    | JUST_DIRTIED
    | PIN_COUNT_WAITER
    | CHECKPOINT_NEEDED
    | PERMANENT;

const NAMES: [(u64, &str); 12] = [
    (LOCKED, "LOCKED"),
    (DIRTY, "DIRTY"),
    (VALID, "VALID"),
    (TAG_VALID, "TAG_VALID"),
    (IO_IN_PROGRESS, "IO_IN_PROGRESS"),
    (IO_ERROR, "IO_ERROR"),
    (JUST_DIRTIED, "JUST_DIRTIED"),
    (PIN_COUNT_WAITER, "PIN_COUNT_WAITER"),
    (CHECKPOINT_NEEDED, "CHECKPOINT_NEEDED"),
    (LOCK_HAS_WAITERS, "LOCK_HAS_WAITERS"),
    (LOCK_WAKE_IN_PROGRESS, "LOCK_WAKE_IN_PROGRESS"),
    (EXCLUSIVE, "EXCLUSIVE"),
];

/// A state word as it was at one instant. Prints as `refs 1 usage 1 VALID TAG_VALID`.
///
/// Source: PostgreSQL `BufferDesc.state`, `src/include/storage/buf_internals.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(pub(crate) u64);

impl State {
    /// Sessions that have the buffer pinned.
    #[must_use]
    pub const fn refcount(self) -> u32 {
        (self.0 & REFCOUNT_MASK) as u32
    }

    /// Laps of the clock hand the buffer survives unpinned. 0 to 5.
    #[must_use]
    pub const fn usage(self) -> u32 {
        ((self.0 & USAGE_MASK) >> USAGE_ONE.trailing_zeros()) as u32
    }

    /// Whether somebody has the header lock.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        self.has(LOCKED)
    }

    /// Whether the page's bytes are good.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.has(VALID)
    }

    /// Whether the mapping has an entry for the buffer's tag.
    #[must_use]
    pub const fn is_tag_valid(self) -> bool {
        self.has(TAG_VALID)
    }

    /// Whether the page differs from what the storage has.
    #[must_use]
    pub const fn is_dirty(self) -> bool {
        self.has(DIRTY)
    }

    /// Whether the last I/O on the buffer failed.
    #[must_use]
    pub const fn has_io_error(self) -> bool {
        self.has(IO_ERROR)
    }

    /// Whether the page is being read or written.
    #[must_use]
    pub const fn is_io_in_progress(self) -> bool {
        self.has(IO_IN_PROGRESS)
    }

    /// Whether somebody waits to have the only pin.
    #[must_use]
    pub const fn has_pin_waiter(self) -> bool {
        self.has(PIN_COUNT_WAITER)
    }

    pub(crate) const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// One pin more, and a point of usage up to the limit.
    pub(crate) const fn pinned(self) -> Self {
        let used = if (self.usage() as u64) < USAGE_MAX { USAGE_ONE } else { 0 };
        Self(self.0 + REFCOUNT_ONE + used)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refs {} usage {}", self.refcount(), self.usage())?;
        for (_, name) in NAMES.iter().filter(|(flag, _)| self.has(*flag)) {
            write!(f, " {name}")?;
        }
        if self.has(SHARE_EXCLUSIVE) {
            write!(f, " SHARE_EXCLUSIVE")?;
        }
        match (self.0 & SHARE_MASK) / SHARE_ONE {
            0 => Ok(()),
            sharers => write!(f, " SHARE {sharers}"),
        }
    }
}

/// Shows a state word in timelines.
pub(crate) fn show(word: u64) -> String {
    State(word).to_string()
}
