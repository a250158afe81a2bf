//! Turns: a list of who runs how far, and nobody is preempted otherwise.
//!
//! What shrinking and explaining work with. A turn ends before an operation that is named by the
//! task's *own* step, which does not move when turns of other tasks are left out; so any part of a
//! list is a list again. A turn that cannot be had, because its task waits, has ended or is beyond
//! the turn's end, is left out. Behind the last turn the running task goes on, and where it cannot,
//! the lowest that can.
//!
//! Keeps: no draw is taken, so an execution is a function of program and list. `taken` is a list
//! that gives the same execution again.

use super::Turn;

/// One task runs, at most up to a scheduling point of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stretch {
    pub(crate) task: u32,
    /// The own step of the task before whose operation it is taken off; without one, it runs until
    /// it cannot go on.
    pub(crate) cut: Option<u64>,
}

/// Where a task could not go on and others could.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// How many stretches had been taken when it was made.
    pub(crate) at: usize,
    /// Who could run.
    pub(crate) among: Vec<u32>,
}

#[derive(Default)]
pub(crate) struct Turns {
    plan: Vec<Stretch>,
    at: usize,
    taken: Vec<Stretch>,
    /// The own step at which each stretch of `taken` ended.
    ends: Vec<u64>,
    choices: Vec<Choice>,
    running: u32,
    /// The step at which it was switched in, and its own steps then.
    since: (u64, u64),
}

impl Turns {
    pub(crate) fn new(plan: Vec<Stretch>) -> Self {
        Self { plan, ..Self::default() }
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.running = turn.current;
        let own = own_steps(turn, turn.current);
        turn.next_event = Turn::NEVER;
        while let Some(next) = self.plan.get(self.at).copied() {
            let passed = own_steps(turn, next.task);
            let over = next.cut.is_some_and(|cut| cut <= passed);
            if over || !turn.runnable.contains(&next.task) {
                self.at += 1;
                continue;
            }
            if let Some(cut) = next.cut {
                turn.next_event = turn.step + (cut - passed);
            }
            if next.task != turn.current {
                self.take(turn, Some(own), own, next.task);
            }
            return next.task;
        }
        turn.current
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        let current = turn.current;
        self.running = current;
        turn.next_event = Turn::ALWAYS;
        if turn.runnable.contains(&current) {
            // Time leapt, and the task that waited goes on itself.
            return current;
        }
        if self.plan.get(self.at).is_some_and(|next| next.task == current) {
            self.at += 1;
        }
        let next = loop {
            match self.plan.get(self.at) {
                None => break turn.runnable.iter().copied().min().unwrap_or(current),
                Some(next)
                    if turn.runnable.contains(&next.task)
                        && next.cut.is_none_or(|cut| cut > own_steps(turn, next.task)) =>
                {
                    break next.task;
                }
                Some(_) => self.at += 1,
            }
        };
        if turn.runnable.len() > 1 {
            let at = self.taken.len() + 1;
            self.choices.push(Choice { at, among: turn.runnable.to_vec() });
        }
        self.take(turn, None, own_steps(turn, current), next);
        next
    }

    fn take(&mut self, turn: &Turn<'_>, cut: Option<u64>, end: u64, next: u32) {
        self.taken.push(Stretch { task: turn.current, cut });
        self.ends.push(end);
        self.running = next;
        self.since = (turn.step, own_steps(turn, next));
    }

    /// What was really done in an execution of `steps` steps, the choices there were, and the own
    /// steps at which the stretches ended.
    pub(crate) fn into_taken(mut self, steps: u64) -> (Vec<Stretch>, Vec<Choice>, Vec<u64>) {
        self.taken.push(Stretch { task: self.running, cut: None });
        let (step, own) = self.since;
        self.ends.push(own + (steps - step));
        (self.taken, self.choices, self.ends)
    }
}

/// Scheduling points that `task` has passed, the present one included.
fn own_steps(turn: &Turn<'_>, task: u32) -> u64 {
    let Some(known) = turn.tasks.get(task as usize) else { return 0 };
    let now = if task == turn.current { turn.step - known.switched_in } else { 0 };
    known.own_steps + now
}
