//! The strategy: what all sessions share when they look for a victim.
//!
//! In order: a buffer of the caller's ring, if it has one; a free buffer, if there is a list of
//! them; whatever the clock sweep finds.
//!
//! Touches: the clock hand, the count of allocations, the head of the free list.
//! Keeps: a victim leaves here pinned, so that nobody else takes it.
//! Source: `StrategyGetBuffer`, `StrategySyncStart` and `BufferStrategyControl` in PostgreSQL's
//! `freelist.c`.

use super::BufferPool;
use super::desc::NOBODY;
use super::error::BufferError;
use super::free_list::END;
use super::options::VictimStrategy;
use super::ring::Ring;
use super::session::Session;
use super::state::State;
use crate::sync::hold::{HoldKind, Rules};
use crate::sync::{AtomicU32, Ordering, SpinLock, mutant, name, note};

static STRATEGY_LOCK: HoldKind = HoldKind::new("strategy lock", Rules::SPINLOCK);

#[derive(Debug)]
pub(super) struct Strategy {
    pub(super) n_buffers: u32,
    /// Buffers taken from the hand at one time.
    pub(super) batch: u32,
    pub(super) has_free_list: bool,
    /// Buffer the hand comes to next. Beyond the last one until whoever moved it there has counted
    /// the lap.
    pub(super) hand: AtomicU32,
    /// The free buffer that is taken next, or [`END`]. Looked at without the lock.
    pub(super) first_free: AtomicU32,
    /// Victims asked for since the background writer last looked; those from rings do not count.
    allocations: AtomicU32,
    /// The session to wake at the next allocation, or [`NOBODY`].
    sleeper: AtomicU32,
    pub(super) locked: SpinLock<Locked>,
}

/// What only the holder of the strategy lock sees.
#[derive(Debug)]
pub(super) struct Locked {
    /// Laps the hand has completed. With the hand it tells how many buffers were visited.
    pub(super) complete_passes: u32,
    /// Buffers from here on have never been used; see [`free_list`](super::free_list).
    pub(super) fresh: u32,
}

/// Where the clock sweep was at one instant.
///
/// Source: what PostgreSQL's `StrategySyncStart` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockPosition {
    /// The buffer the hand comes to next.
    pub hand: u32,
    /// Laps it has completed. Wraps around.
    pub complete_passes: u32,
    /// Victims asked for since a background writer last looked, those from rings left out.
    pub allocations: u32,
}

impl Strategy {
    pub(super) fn new(n_buffers: u32, victims: VictimStrategy) -> Self {
        let has_free_list = victims == VictimStrategy::FreeListAndSweep;
        let batch = match victims {
            VictimStrategy::BatchedHand { batch } => batch.min(n_buffers),
            _ => 1,
        };
        let locked = Locked { complete_passes: 0, fresh: 0 };
        Self {
            n_buffers,
            batch,
            has_free_list,
            hand: AtomicU32::new(0),
            first_free: AtomicU32::new(if has_free_list { 0 } else { END }),
            allocations: AtomicU32::new(0),
            sleeper: AtomicU32::new(NOBODY),
            locked: SpinLock::with_kind(locked, &STRATEGY_LOCK),
        }
    }

    /// Names the parts in timelines. Called when it does not move any more.
    pub(super) fn name(&self) {
        name!(&self.hand, "clock hand");
        name!(&self.first_free, "head of the free list");
        name!(&self.allocations, "allocations");
        name!(&self.sleeper, "sleeping background writer");
        name!(&self.locked, "strategy lock");
    }

    /// Hand and laps as they belong together.
    fn position(&self) -> ClockPosition {
        let locked = self.locked.lock();
        let hand = self.hand.load(Ordering::Relaxed);
        // A lap that nobody has counted yet shows in the hand.
        let complete_passes = locked.complete_passes.wrapping_add(hand / self.n_buffers);
        ClockPosition { hand: hand % self.n_buffers, complete_passes, allocations: 0 }
    }

    /// The position, and how many victims were asked for since this was last called.
    pub(super) fn sync_start(&self) -> ClockPosition {
        let position = self.position();
        ClockPosition { allocations: self.allocations.swap(0, Ordering::Relaxed), ..position }
    }

    /// Asks for `session` to be woken at the next allocation, or for nobody to be.
    pub(super) fn set_sleeper(&self, session: u32) {
        self.sleeper.store(session, Ordering::Relaxed);
    }
}

impl BufferPool {
    /// Where the clock sweep was a moment ago.
    #[must_use]
    pub fn clock(&self) -> ClockPosition {
        let allocations = self.strategy.allocations.load(Ordering::Relaxed);
        ClockPosition { allocations, ..self.strategy.position() }
    }
}

impl Session<'_> {
    /// Finds a victim and pins it. Returns the word this left, and whether it is of the ring.
    pub(super) fn take_victim(
        &self,
        mut ring: Option<&mut Ring>,
    ) -> Result<(u32, State, bool), BufferError> {
        if let Some(ring) = ring.as_deref_mut()
            && let Some((buf_id, left)) = self.take_from_ring(ring)
        {
            return Ok((buf_id, left, true));
        }
        self.count_allocation();
        let free = if self.pool.strategy.has_free_list { self.take_free() } else { None };
        let (buf_id, left) = match free {
            Some(taken) => taken,
            None => self.sweep()?,
        };
        if let Some(ring) = ring {
            ring.keep(buf_id);
        }
        Ok((buf_id, left, false))
    }

    fn count_allocation(&self) {
        let strategy = &self.pool.strategy;
        // Without a lock: who is missed now is woken by a later allocation, or by the clock.
        let sleeper = strategy.sleeper.load(Ordering::Relaxed);
        if sleeper != NOBODY && !mutant::is("bgwriter.not_woken") {
            strategy.set_sleeper(NOBODY);
            note!("wakes the background writer");
            self.pool.slots.get(sleeper).latch.set();
        }
        strategy.allocations.fetch_add(1, Ordering::Relaxed);
    }

    /// A buffer from the list of free ones, pinned. One that somebody uses is dropped from the list:
    /// the sweep may have found it before.
    fn take_free(&self) -> Option<(u32, State)> {
        while let Some(buf_id) = self.pool.pop_free() {
            let header = self.lock_header(buf_id);
            let state = header.state();
            let is_free = state.refcount() == 0 && state.usage() == 0;
            if is_free || mutant::is("freelist.no_recheck") {
                let left = self.pin_locked(buf_id, header);
                note!("takes free buffer {buf_id}");
                return Some((buf_id, left));
            }
            header.unlock();
            note!("finds free buffer {buf_id} in use");
        }
        None
    }
}
