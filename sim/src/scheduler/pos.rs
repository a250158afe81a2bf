//! Partial order sampling: every pending operation has a random priority, drawn anew when another
//! operation that races with it has run.
//!
//! The highest that can run runs. Two operations race if they are on the same object and one of
//! them changes it; the new draw makes each race a toss of its own, so that what is sampled are
//! partial orders instead of orders. It needs no pilot and no parameter.
//! Source: Yuan, Yang, Gu, CAV 2018.
//!
//! A draw is made when the task is asked for next, not when the operation ends, so an attempt that
//! only found its lock taken has not run and has raced with nobody.

use smallvec::SmallVec;

use super::Turn;
use super::unraced::{Unraced, reads};
use crate::core::Draws;

/// What of a pending operation decides whether it races with another.
#[derive(Clone, Copy)]
struct Visible {
    /// Address of the object; 0 for none.
    object: usize,
    reads: bool,
}

impl Visible {
    const NOTHING: Self = Self { object: 0, reads: true };
}

#[derive(Default)]
pub(crate) struct Pos {
    unraced: Unraced,
    /// Of each task's pending operation.
    priorities: SmallVec<[u32; 8]>,
    pending: SmallVec<[Visible; 8]>,
    /// The task that was given the processor, until it is known that its operation has run.
    chosen: Option<u32>,
}

impl Pos {
    pub(crate) fn spawned(&mut self, task: u32) {
        self.unraced.spawned(task);
        self.priorities.push(0);
        self.pending.push(Visible::NOTHING);
    }

    #[inline]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        self.has_run(turn.draws);
        let pending = turn.tasks[turn.current as usize].pending;
        self.pending[turn.current as usize] =
            Visible { object: pending.object, reads: reads(pending.kind) };
        self.priorities[turn.current as usize] = turn.draws.next_u32();
        let first = self.unraced.at_point(turn);
        self.choose(turn, first)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let current = turn.current as usize;
        let waits_for = turn.tasks[current].wait.map_or(0, |wait| wait.object);
        if waits_for == 0 || waits_for != self.pending[current].object {
            self.has_run(turn.draws);
            self.priorities[current] = turn.draws.next_u32();
        }
        self.pending[current] = Visible { object: waits_for, reads: false };
        let first = self.unraced.at_block(turn);
        self.choose(turn, first)
    }

    /// The operation that was chosen last has run: those that race with it are drawn anew.
    #[inline]
    fn has_run(&mut self, draws: &mut Draws) {
        let Some(chosen) = self.chosen.take() else { return };
        let ran = std::mem::replace(&mut self.pending[chosen as usize], Visible::NOTHING);
        if ran.object == 0 {
            return;
        }
        for (pending, priority) in self.pending.iter().zip(&mut self.priorities) {
            if pending.object == ran.object && !(pending.reads && ran.reads) {
                *priority = draws.next_u32();
            }
        }
    }

    #[inline]
    fn choose(&mut self, turn: &Turn<'_>, first: Option<u32>) -> u32 {
        let next = first.unwrap_or_else(|| {
            let mut best = turn.runnable[0];
            for &task in &turn.runnable[1..] {
                let (a, b) = (self.priorities[task as usize], self.priorities[best as usize]);
                if a > b || a == b && task < best {
                    best = task;
                }
            }
            best
        });
        self.chosen = Some(next);
        next
    }
}
