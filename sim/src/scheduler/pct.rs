//! Probabilistic concurrency testing, with the paper's ranks.
//!
//! Tasks get random base priorities; the highest that can run runs. `d - 1` change points are drawn
//! from the `k` steps at which there was a choice; at the `i`-th of them *by index, not by time*
//! the running task's priority becomes `d - i`, below every base priority. An execution finds a bug
//! of depth `d` with probability at least `1 / (n k^(d-1))`.
//!
//! Others hand out "the lowest so far" at each change point. That loses bugs that need an earlier
//! demotion to stay below a later one: of the 150 cases of a three-task example the paper's rule
//! hits 1 and the other rule none.
//!
//! Where we leave the paper: only steps with two or more runnable tasks count (the paper allows
//! it), and long after the expected end the walk becomes random, so that a livelock is a finding
//! and not a hang. `k` comes from the pilot.
//! Source: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010.

use smallvec::SmallVec;

use super::{Pilot, Turn};
use crate::core::Draws;

/// The bug depth PCT aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Drawn per execution: 1, 2, 3, 4 with weights 1, 4, 3, 2.
    Drawn,
    /// Always this one, from 1.
    Fixed(u32),
}

impl Depth {
    fn draw(self, draws: &mut Draws) -> u32 {
        match self {
            Self::Fixed(depth) => depth,
            Self::Drawn => [1, 2, 2, 2, 2, 3, 3, 3, 4, 4][draws.below(10) as usize],
        }
    }
}

pub(crate) const MAX_DEPTH: usize = 9;

/// Priorities of tasks: high runs first. Base priorities lie above [`BASE`].
#[derive(Default)]
pub(crate) struct Priorities {
    of: SmallVec<[u64; 8]>,
    yields: u64,
}

const BASE: u64 = 1 << 32;
/// Demotions of tasks that offer the processor lie between change points and base priorities.
const YIELDED: u64 = 1 << 24;

impl Priorities {
    /// A random rank among the existing ones: independent uniform priorities, ties by age.
    pub(crate) fn spawned(&mut self, task: u32, draws: &mut Draws) {
        debug_assert_eq!(self.of.len(), task as usize);
        self.of.push(BASE + u64::from(draws.next_u32()));
    }

    pub(crate) fn redraw(&mut self, task: u32, draws: &mut Draws) {
        self.of[task as usize] = BASE + u64::from(draws.next_u32());
    }

    pub(crate) fn set(&mut self, task: u32, rank: u64) {
        self.of[task as usize] = rank;
    }

    /// Below every task that has not offered the processor since.
    pub(crate) fn yielded(&mut self, task: u32) {
        self.yields += 1;
        let rank = &mut self.of[task as usize];
        if *rank >= YIELDED / 2 {
            *rank = YIELDED - self.yields.min(YIELDED / 2);
        }
    }

    pub(crate) fn highest(&self, runnable: &[u32]) -> u32 {
        let mut best = runnable[0];
        for &task in &runnable[1..] {
            let (a, b) = (self.of[task as usize], self.of[best as usize]);
            if a > b || a == b && task < best {
                best = task;
            }
        }
        best
    }
}

/// Contended steps after which a program that should take `expected` is no longer run in one order.
pub(crate) fn patience(expected: u64) -> u64 {
    expected * 4 + 1_000
}

pub(crate) struct Pct {
    priorities: Priorities,
    /// Contended steps at which change points lie, ascending, with the rank each one gives.
    changes: [(u64, u32); MAX_DEPTH],
    n_changes: usize,
    next_change: usize,
    contended: Contended,
    /// Contended steps after which the walk becomes random.
    patience: u64,
    depth: u32,
}

/// Counts the steps at which two or more tasks could run.
#[derive(Default)]
pub(crate) struct Contended {
    pub(crate) steps: u64,
    since: u64,
    counting: bool,
}

impl Contended {
    /// To be called whenever the scheduler is asked.
    #[inline]
    pub(crate) fn update(&mut self, turn: &Turn<'_>) {
        if self.counting {
            self.steps += turn.step - self.since;
        }
        self.since = turn.step;
        self.counting = turn.runnable.len() > 1;
    }
}

impl Pct {
    pub(crate) fn new(depth: Depth, pilot: &Pilot, draws: &mut Draws) -> Self {
        let depth = depth.draw(draws);
        let steps = pilot.contended_steps.clamp(1, u64::from(u32::MAX)) as u32;
        Self::with(depth, steps, || u64::from(draws.below(steps)) + 1)
    }

    /// With the change points that `point` gives, the one with the highest rank first.
    fn with(depth: u32, steps: u32, mut point: impl FnMut() -> u64) -> Self {
        let mut changes = [(0, 0); MAX_DEPTH];
        let n_changes = depth as usize - 1;
        for (i, change) in changes[..n_changes].iter_mut().enumerate() {
            *change = (point(), depth - 1 - i as u32);
        }
        changes[..n_changes].sort_unstable();
        let patience = patience(u64::from(steps));
        Self {
            priorities: Priorities::default(),
            changes,
            n_changes,
            next_change: 0,
            contended: Contended::default(),
            patience,
            depth,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        ["pct0", "pct1", "pct2", "pct3", "pct4", "pct5", "pct6", "pct7", "pct8", "pct9"]
            [self.depth as usize]
    }

    pub(crate) fn spawned(&mut self, task: u32, draws: &mut Draws) {
        self.priorities.spawned(task, draws);
    }

    pub(crate) fn yielded(&mut self, task: u32) {
        self.priorities.yielded(task);
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        while let Some(&(at, rank)) = self.changes[..self.n_changes].get(self.next_change)
            && at <= self.contended.steps
        {
            self.priorities.set(turn.current, u64::from(rank));
            self.next_change += 1;
        }
        self.choose(turn)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        self.choose(turn)
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        if turn.runnable.len() == 1 {
            turn.next_event = Turn::NEVER;
            return turn.runnable[0];
        }
        if self.contended.steps >= self.patience {
            turn.next_event = Turn::ALWAYS;
            return turn.pick();
        }
        let next = self.changes[..self.n_changes]
            .get(self.next_change)
            .map_or(self.patience, |&(at, _)| at);
        turn.next_event = turn.step + (next.max(self.contended.steps + 1) - self.contended.steps);
        self.priorities.highest(turn.runnable)
    }
}

#[cfg(test)]
mod tests;
