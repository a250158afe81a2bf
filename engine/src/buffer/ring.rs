//! Rings: a few buffers that a large scan uses over and over, so that it does not empty the pool.
//!
//! A ring is private to who scans. Its next slot's buffer is used again if nobody has it pinned and
//! its usage count is at most 1, that is if nobody but the scan wanted the page; otherwise a victim
//! is found as for anybody and takes the slot. A pin through a ring raises a usage count only from 0
//! to 1 (B21).
//!
//! Touches: usage counts, and the reference count of the buffer used again.
//! Keeps: pages that are in use stay in the pool, however long the scan.
//! Source: `GetBufferFromRing`, `AddBufferToRing` and `StrategyRejectBuffer` in PostgreSQL's
//! `freelist.c`. From 18 on a ring for reads is larger by what is read ahead; this one is not.

use super::BufferPool;
use super::desc::NOBODY;
use super::options::Profile;
use super::session::Session;
use super::state::{LOCKED, REFCOUNT_ONE, State, USAGE_ONE};
use crate::sync::{mutant, note};

/// What a ring is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RingKind {
    /// Reading a large relation: 256 KiB. Gives up a buffer that cannot be written out before the
    /// log is flushed.
    BulkRead,
    /// Writing many pages anew: 16 MiB.
    BulkWrite,
    /// Cleaning a relation up: 2 MiB.
    Vacuum,
}

impl RingKind {
    /// Size of such a ring in a large pool, in bytes.
    #[must_use]
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::BulkRead => 256 << 10,
            Self::BulkWrite => 16 << 20,
            Self::Vacuum => 2 << 20,
        }
    }
}

/// A ring of buffers, of one scan. Pass it to [`Session::read_with`].
///
/// Source: PostgreSQL's `BufferAccessStrategy`.
#[derive(Clone, Debug)]
pub struct Ring {
    kind: RingKind,
    /// Buffers by id; [`NOBODY`] where there is none yet.
    slots: Box<[u32]>,
    current: usize,
}

impl Ring {
    /// A ring for a scan through `pool`: as large as `kind` says, at most an eighth of the pool, at
    /// least one buffer.
    #[must_use]
    pub fn new(kind: RingKind, pool: &BufferPool) -> Self {
        let wanted = kind.size_bytes() / pool.options().page_size;
        let count = wanted.min(pool.options().n_buffers as usize / 8).max(1);
        Self { kind, slots: vec![NOBODY; count].into(), current: count - 1 }
    }

    /// What it is for.
    #[must_use]
    pub fn kind(&self) -> RingKind {
        self.kind
    }

    /// Buffers it may have.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The buffers it has, by id, in no order.
    pub fn buffers(&self) -> impl Iterator<Item = u32> {
        self.slots.iter().copied().filter(|&buf_id| buf_id != NOBODY)
    }

    /// Goes on to the next slot and returns its buffer.
    fn advance(&mut self) -> Option<u32> {
        self.current = (self.current + 1) % self.slots.len();
        Some(self.slots[self.current]).filter(|&buf_id| buf_id != NOBODY)
    }

    /// Gives a victim the current slot.
    pub(super) fn keep(&mut self, buf_id: u32) {
        self.slots[self.current] = buf_id;
    }

    /// Whether a dirty buffer of this ring is rather given up than written out, given that the log
    /// would have to be flushed for it. Empties the slot if so.
    pub(super) fn reject(&mut self, buf_id: u32) -> bool {
        if self.kind != RingKind::BulkRead || self.slots[self.current] != buf_id {
            return false;
        }
        self.slots[self.current] = NOBODY;
        true
    }
}

impl Session<'_> {
    /// The buffer of the ring's next slot, pinned, if it may be used again. Returns the word this
    /// left.
    pub(super) fn take_from_ring(&self, ring: &mut Ring) -> Option<(u32, State)> {
        let buf_id = ring.advance()?;
        let left = match self.pool.options.profile {
            Profile::Classic => {
                let header = self.lock_header(buf_id);
                if !may_be_used_again(header.state()) {
                    header.unlock();
                    return None;
                }
                self.pin_locked(buf_id, header)
            }
            Profile::Modern => {
                let left = self.pin_unused(buf_id)?;
                self.note_pinned(buf_id);
                left
            }
        };
        note!("takes buffer {buf_id} of its ring");
        Some((buf_id, left))
    }

    /// Pins a page that the mapping has; the caller holds the partition. Returns the word this left.
    pub(super) fn pin_for_ring(&self, buf_id: u32) -> State {
        let desc = self.pool.desc(buf_id);
        if self.pin_count(buf_id) > 0 {
            self.pin_again(buf_id);
            return desc.load();
        }
        let mut old = desc.load();
        loop {
            if old.has(LOCKED) {
                old = self.wait_header_unlocked(buf_id);
                continue;
            }
            let used = if old.usage() == 0 { USAGE_ONE } else { 0 };
            let new = match mutant::is("pin.ring_bumps") {
                true => old.pinned(),
                false => State(old.0 + REFCOUNT_ONE + used),
            };
            match desc.swap(old, new) {
                Ok(()) => {
                    self.pool.ghosts.used(buf_id, 1, new);
                    self.note_pinned(buf_id);
                    return new;
                }
                Err(current) => old = current,
            }
        }
    }

    fn pin_unused(&self, buf_id: u32) -> Option<State> {
        let desc = self.pool.desc(buf_id);
        let mut old = desc.load();
        loop {
            if !may_be_used_again(old) {
                return None;
            }
            if old.has(LOCKED) {
                old = self.wait_header_unlocked(buf_id);
                continue;
            }
            let new = State(old.0 + REFCOUNT_ONE);
            match desc.swap(old, new) {
                Ok(()) => {
                    self.pool.ghosts.pinned(buf_id, new);
                    return Some(new);
                }
                Err(current) => old = current,
            }
        }
    }
}

fn may_be_used_again(state: State) -> bool {
    state.refcount() == 0 && state.usage() <= 1
}
