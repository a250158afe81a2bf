//! Uniform random walk: every interleaving of the program is as likely as any other.
//!
//! From a state in which task `t` has `r` operations left, `r / sum` of all interleavings begin
//! with a step of `t`; so that is the probability with which it goes on. A task's operations
//! include those of the tasks it is yet to spawn. Numbers come from a pilot, so the walk is uniform
//! as far as each task does as much as it did there and nobody has to wait; a task that can run
//! never counts less than one.
//! Source: Zhao, Wolff, Mathur, Roychoudhury, ASPLOS 2025.

use smallvec::SmallVec;

use super::profile::{Counted, Roles};
use super::unraced::Unraced;
use super::{Pilot, Turn};
use crate::core::Draws;

pub(crate) struct Urw {
    unraced: Unraced,
    counted: Counted,
    roles: Roles,
    /// Operations left, the pending one included, and one more before the first.
    left: SmallVec<[u64; 8]>,
}

impl Urw {
    pub(crate) fn new(pilot: &Pilot, draws: &mut Draws) -> Self {
        Self {
            unraced: Unraced::default(),
            counted: Counted::default(),
            roles: Roles::new(pilot.profile(draws, |_| true)),
            left: SmallVec::new(),
        }
    }

    pub(crate) fn spawned(&mut self, task: u32, parent: u32, name: Option<&str>) {
        self.unraced.spawned(task);
        self.counted.spawned();
        let role = self.roles.spawned(parent, name);
        let operations = role.map_or(0, |role| self.roles.profile.operations[role]);
        self.left.push(operations + 1);
        if task > 0 {
            let left = &mut self.left[parent as usize];
            *left = left.saturating_sub(operations);
        }
    }

    #[inline]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        match self.arrives(turn) {
            Some(first) => first,
            None => self.among(turn.runnable, turn.draws),
        }
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        match self.waits(turn) {
            Some(first) => first,
            None => self.among(turn.runnable, turn.draws),
        }
    }

    /// The running task has come to an operation; who goes first without a draw, if anybody does.
    #[inline]
    pub(super) fn arrives(&mut self, turn: &Turn<'_>) -> Option<u32> {
        let pending = turn.tasks[turn.current as usize].pending;
        if self.counted.arrives(turn.current, pending.kind, pending.object).is_some() {
            let left = &mut self.left[turn.current as usize];
            *left = left.saturating_sub(1);
        }
        self.unraced.at_point(turn)
    }

    /// The running task cannot go on; who goes first without a draw, if anybody does.
    pub(super) fn waits(&mut self, turn: &Turn<'_>) -> Option<u32> {
        let (_, looks) = self.counted.waits(turn);
        self.left[turn.current as usize] += u64::from(looks);
        self.unraced.at_block(turn)
    }

    /// One of `tasks`, each as likely as what it has left says.
    #[inline]
    pub(super) fn among(&self, tasks: &[u32], draws: &mut Draws) -> u32 {
        match tasks {
            [alone] => *alone,
            tasks => weighted(tasks, draws, |task| self.left[task as usize].max(1)),
        }
    }
}

/// One of `tasks`, each as likely as its weight says. Some weight must not be 0.
#[inline]
pub(super) fn weighted(tasks: &[u32], draws: &mut Draws, weight: impl Fn(u32) -> u64) -> u32 {
    let total: u64 = tasks.iter().map(|&task| weight(task)).sum();
    let mut at = scaled(draws, total);
    for &task in tasks {
        match at.checked_sub(weight(task)) {
            Some(beyond) => at = beyond,
            None => return task,
        }
    }
    tasks[0]
}

/// A number below `n`, which must not be 0.
#[inline]
pub(super) fn scaled(draws: &mut Draws, n: u64) -> u64 {
    ((u128::from(draws.next_u32()) * u128::from(n)) >> 32) as u64
}
