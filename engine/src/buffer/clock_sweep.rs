//! Clock sweep: picks the buffer to give up when a page needs one.
//!
//! One hand walks the buffers round and round. Passing an unpinned buffer costs that buffer a point
//! of usage; the first unpinned buffer met with no points left is the victim. A buffer survives at
//! most six laps.
//!
//! Touches: the hand, usage counts, and the reference count of the victim.
//! Keeps: a victim leaves here pinned, so that nobody else takes it. That every buffer is pinned is
//! said when each was pinned at its own visit, not all at one instant.
//! Source: `StrategyGetBuffer` in PostgreSQL's `freelist.c`, without the list of free buffers.

use super::error::BufferError;
use super::header::Change;
use super::session::Session;
use super::state::{LOCKED, REFCOUNT_ONE, State, USAGE_MASK, USAGE_ONE};
use crate::sync::hold::{HoldKind, Rules};
use crate::sync::{AtomicU32, Ordering, SpinLock, name, note};

static STRATEGY_LOCK: HoldKind = HoldKind::new("strategy lock", Rules::SPINLOCK);

#[derive(Debug)]
pub(super) struct ClockSweep {
    n_buffers: u32,
    /// Buffer the hand comes to next, modulo the number of buffers.
    hand: AtomicU32,
    /// Laps the hand has completed. With the hand it tells how many buffers were visited.
    complete_passes: SpinLock<u32>,
}

impl ClockSweep {
    pub(super) fn new(n_buffers: u32) -> Self {
        let complete_passes = SpinLock::with_kind(0, &STRATEGY_LOCK);
        Self { n_buffers, hand: AtomicU32::new(0), complete_passes }
    }

    /// Names the parts in timelines. Called when it does not move any more.
    pub(super) fn name(&self) {
        name!(&self.hand, "clock hand");
        name!(&self.complete_passes, "strategy lock");
    }

    /// Moves the hand by one and returns the buffer it came from.
    fn tick(&self) -> u32 {
        let hand = self.hand.fetch_add(1, Ordering::Relaxed);
        if hand < self.n_buffers {
            return hand;
        }
        let buf_id = hand % self.n_buffers;
        if buf_id == 0 {
            self.wrap(hand + 1);
        }
        buf_id
    }

    /// Brings the hand back into range and counts the lap, both under the strategy lock, so that
    /// who reads the two under it reads one position.
    fn wrap(&self, mut hand: u32) {
        loop {
            let mut passes = self.complete_passes.lock();
            let wrapped = hand % self.n_buffers;
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.hand.compare_exchange(hand, wrapped, success, failure) {
                Ok(_) => {
                    *passes = passes.wrapping_add(1);
                    return;
                }
                Err(current) => hand = current,
            }
        }
    }
}

impl Session<'_> {
    /// Finds a victim and pins it. Returns the word this left.
    pub(super) fn sweep(&self) -> Result<(u32, State), BufferError> {
        let mut tries = self.pool.n_buffers();
        loop {
            let buf_id = self.pool.sweep.tick();
            let visit = if self.pool.is_modern() {
                self.visit_modern(buf_id)
            } else {
                self.visit_classic(buf_id)
            };
            match visit {
                Visit::Victim(left) => {
                    self.note_pinned(buf_id);
                    note!("takes buffer {buf_id} as victim");
                    return Ok((buf_id, left));
                }
                Visit::Used => tries = self.pool.n_buffers(),
                Visit::Pinned => tries -= 1,
            }
            if tries == 0 {
                note!("finds every buffer pinned");
                return Err(BufferError::NoUnpinnedBuffers);
            }
        }
    }

    fn visit_classic(&self, buf_id: u32) -> Visit {
        let header = self.lock_header(buf_id);
        let state = header.state();
        if state.refcount() != 0 {
            header.unlock();
            return Visit::Pinned;
        }
        if state.usage() > 0 {
            let set = u64::from(state.usage() - 1) * USAGE_ONE;
            header.unlock_with(Change { unset: USAGE_MASK, set, pins: 0 });
            return Visit::Used;
        }
        Visit::Victim(header.unlock_with(Change { pins: REFCOUNT_ONE, ..Change::default() }))
    }

    fn visit_modern(&self, buf_id: u32) -> Visit {
        let desc = self.pool.desc(buf_id);
        let mut old = desc.load();
        loop {
            if old.refcount() != 0 {
                return Visit::Pinned;
            }
            if old.has(LOCKED) {
                old = self.wait_header_unlocked(buf_id);
                continue;
            }
            let (new, visit) = if old.usage() > 0 {
                (State(old.0 - USAGE_ONE), Visit::Used)
            } else {
                let new = State(old.0 + REFCOUNT_ONE);
                (new, Visit::Victim(new))
            };
            match desc.swap(old, new) {
                Ok(()) => {
                    if matches!(visit, Visit::Victim(_)) {
                        self.pool.ghosts.pinned(buf_id, new);
                    }
                    return visit;
                }
                Err(current) => old = current,
            }
        }
    }
}

/// What the hand met.
enum Visit {
    /// A buffer to give up, now pinned; the word it has.
    Victim(State),
    /// An unpinned buffer that had a point of usage to give.
    Used,
    /// A pinned buffer.
    Pinned,
}
