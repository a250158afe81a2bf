//! Clock sweep: picks the buffer to give up when a page needs one.
//!
//! One hand walks the buffers round and round. Passing an unpinned buffer costs that buffer a point
//! of usage; the first unpinned buffer met with no points left is the victim. A buffer survives at
//! most six laps.
//!
//! Touches: the hand, usage counts, and the reference count of the victim.
//! Keeps: a victim leaves here pinned, so that nobody else takes it. That every buffer is pinned is
//! said when each was pinned at its own visit, not all at one instant (I-PR3).
//! Source: `ClockSweepTick` and `StrategyGetBuffer` in PostgreSQL's `freelist.c`.

use super::error::BufferError;
use super::header::Change;
use super::session::Session;
use super::state::{LOCKED, REFCOUNT_ONE, State, USAGE_MASK, USAGE_ONE};
use super::strategy::Strategy;
use crate::sync::{Ordering, mutant, note};

impl Strategy {
    /// Takes `count` buffers, no more than the pool has, from the hand. Returns the first; the
    /// others follow it around the pool.
    fn take_from_hand(&self, count: u32) -> u32 {
        let first = self.hand.fetch_add(count, Ordering::Relaxed);
        let end = first + count;
        if end <= self.n_buffers {
            return first;
        }
        // Whose buffers include the first one of a lap counts the lap before.
        let lap = (end - 1) / self.n_buffers * self.n_buffers;
        if lap >= first {
            self.wrap(end);
        }
        first % self.n_buffers
    }

    /// Brings the hand back by one lap and counts it, both under the strategy lock, so that who reads
    /// the two under it reads one position. `hand` is where we left it.
    ///
    /// PostgreSQL takes the remainder of the hand instead. Where the hand comes round again before
    /// this lock is had, that takes two laps back and counts one, until the other one is counted,
    /// too.
    fn wrap(&self, mut hand: u32) {
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        if mutant::is("sweep.wrap_without_lock") {
            while let Err(current) =
                self.hand.compare_exchange(hand, hand - self.n_buffers, success, failure)
            {
                hand = current;
            }
            self.locked.lock().complete_passes += 1;
            return;
        }
        loop {
            let mut locked = self.locked.lock();
            let wrapped = if mutant::is("sweep.wrap_takes_remainder") {
                hand % self.n_buffers
            } else {
                hand - self.n_buffers
            };
            match self.hand.compare_exchange(hand, wrapped, success, failure) {
                Ok(_) => {
                    locked.complete_passes = locked.complete_passes.wrapping_add(1);
                    return;
                }
                Err(current) => hand = current,
            }
        }
    }
}

impl Session<'_> {
    /// Finds a victim with the clock hand and pins it. Returns the word this left.
    ///
    /// A sweep gives up after a lap's worth of pinned buffers. PostgreSQL counts visits only, and
    /// two sweepers that take turns at the hand may each see half of the buffers twice; so before
    /// we say that every buffer is pinned, we look at each.
    pub(super) fn sweep(&self) -> Result<(u32, State), BufferError> {
        let mut tries = self.pool.n_buffers();
        let began = self.pool.ghosts.now();
        loop {
            let buf_id = self.tick();
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
                if self.is_any_unpinned() && !mutant::is("sweep.count_visits") {
                    tries = self.pool.n_buffers();
                    continue;
                }
                self.pool.ghosts.check_each_was_pinned(began);
                note!("finds every buffer pinned");
                return Err(BufferError::NoUnpinnedBuffers);
            }
        }
    }

    #[cold]
    fn is_any_unpinned(&self) -> bool {
        (0..self.pool.n_buffers()).any(|buf_id| self.pool.desc(buf_id).load().refcount() == 0)
    }

    /// The buffer to look at next.
    fn tick(&self) -> u32 {
        let strategy = &self.pool.strategy;
        if strategy.batch == 1 {
            return strategy.take_from_hand(1);
        }
        let (next, left) = match self.batch.get() {
            (_, 0) => (strategy.take_from_hand(strategy.batch), strategy.batch),
            batch => batch,
        };
        let behind = if next + 1 < strategy.n_buffers { next + 1 } else { 0 };
        self.batch.set((behind, left - 1));
        next
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
            self.pool.ghosts.aged(buf_id);
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
                    match visit {
                        Visit::Victim(_) => self.pool.ghosts.pinned(buf_id, new),
                        _ => self.pool.ghosts.aged(buf_id),
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
