//! Probes: how large is the tree that was not searched to its end?
//!
//! A probe is one random execution. At each step it looks at what the tasks are about to do: a task
//! whose operation no other pending one depends on goes first, which is no choice; among tasks that
//! are about to do dependent things one is drawn, and the sample is multiplied by their number. The
//! mean of the samples estimates the number of executions. It is exact on average where dependent
//! operations meet as they become pending, as with locks; it leaves out what only later becomes
//! dependent, and counts waiting loops too often.
//!
//! Source: Knuth, "Estimating the efficiency of backtrack programs" (1975), as GenMC uses it; mean
//! and variance after Welford (1962).

use super::event::{TaskSet, bit, tasks_of};
use super::path::Reduction;
use super::tasks::waits;
use crate::core::Task;
use crate::scheduler::Turn;
use crate::trace::OpKind;

/// One random execution, measured.
pub(crate) struct Probe {
    reduction: Reduction,
    begun: TaskSet,
    preemptions: u32,
    /// The product of the numbers of choices.
    pub(super) product: f64,
}

impl Probe {
    pub(super) fn new(reduction: Reduction) -> Self {
        Self { reduction, begun: bit(0), preemptions: 0, product: 1.0 }
    }

    pub(crate) fn decide(&mut self, turn: &mut Turn<'_>, at_point: bool) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let runnable = turn.runnable.iter().fold(0, |set, &task| set | bit(task % 64));
        if let Some(new) = tasks_of(runnable & !self.begun).next() {
            self.begun |= bit(new);
            return new;
        }
        let ready = tasks_of(runnable).filter(|&task| !waits(turn, task) && !spins(turn, task));
        let ready = ready.fold(0, |set, task| set | bit(task));
        let ready = if ready == 0 { runnable } else { ready };
        let stays = at_point && ready & bit(turn.current) != 0;
        let choices = match self.reduction {
            Reduction::Traces => choices(turn, ready),
            Reduction::Preemptions(bound) if stays && self.preemptions >= bound => {
                bit(turn.current)
            }
            Reduction::Preemptions(_) => ready,
        };
        let n = choices.count_ones();
        self.product *= f64::from(n);
        let nth = if n > 1 { turn.draws.below(n) } else { 0 };
        let chosen = tasks_of(choices).nth(nth as usize).unwrap_or(turn.current);
        self.preemptions += u32::from(stays && chosen != turn.current);
        chosen
    }
}

/// The tasks among which there is a choice: one that meets nobody, or a group that meets.
fn choices(turn: &Turn<'_>, ready: TaskSet) -> TaskSet {
    let mut smallest = ready;
    let mut left = ready;
    while let Some(first) = tasks_of(left).next() {
        let mut group = bit(first);
        loop {
            let meets = |task: &u32| tasks_of(group).any(|other| meet(turn, *task, other));
            let more = tasks_of(ready & !group).filter(meets).fold(0, |set, task| set | bit(task));
            if more == 0 {
                break;
            }
            group |= more;
        }
        if group.count_ones() < smallest.count_ones() {
            smallest = group;
        }
        left &= !group;
    }
    smallest
}

/// Whether the pending operations of two tasks depend on each other, as far as one can tell.
fn meet(turn: &Turn<'_>, a: u32, b: u32) -> bool {
    let pending = |task: u32| turn.tasks[task as usize].pending;
    let (a, b) = (pending(a), pending(b));
    let looks = |kind| matches!(kind, OpKind::Load | OpKind::CellRead | OpKind::LockShared);
    let same = a.object == b.object && a.object != 0 || a.kind == b.kind && a.kind == OpKind::Spawn;
    same && !(looks(a.kind) && looks(b.kind))
}

/// Whether the task is about to look at a lock word that another task holds.
fn spins(turn: &Turn<'_>, task: u32) -> bool {
    let object = turn.tasks[task as usize].pending.object;
    let holds = |task: &Task| task.holds.iter().any(|hold| hold.object == object);
    object != 0
        && !holds(&turn.tasks[task as usize])
        && turn.tasks.iter().any(|task| !task.finished && holds(task))
}

/// Mean and standard error of the samples, kept as they come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Welford {
    n: f64,
    mean: f64,
    squares: f64,
}

impl Welford {
    pub(super) fn add(&mut self, sample: f64) {
        self.n += 1.0;
        let off = sample - self.mean;
        self.mean += off / self.n;
        self.squares += off * (sample - self.mean);
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    pub(super) fn standard_error(&self) -> f64 {
        if self.n < 2.0 { 0.0 } else { (self.squares / (self.n - 1.0) / self.n).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_error_are_those_of_the_textbook() {
        let mut samples = Welford::default();
        for sample in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            samples.add(sample);
        }

        assert!((samples.mean() - 5.0).abs() < 1e-9);
        // The sum of squares is 32; the variance of the mean is 32 / 7 / 8.
        assert!((samples.standard_error() - (32.0f64 / 56.0).sqrt()).abs() < 1e-9);
    }
}
