//! Shrinking: from a failing seed to the schedule with the fewest preemptions, and its script.
//!
//! The recorded schedule is brought into normal form, then reduced by delta debugging over
//! preemptions, each list of turns run again in microseconds. An execution counts as the same
//! failure if the same *rule* breaks; what the message says may differ. In the end preemptions move
//! to where the program says what it does, and the schedule is told as a script.
//!
//! Keeps: no draws but those of fixed seeds, and no wall clock; the same program and seed give the
//! same result. What comes out was
//! run, and breaks the rule.

mod anchors;
mod normal_form;
mod reduce;
pub(super) mod slices;
mod words;

use super::rerun::{self, Reruns, Run};
use super::{Checker, Failure};
use crate::scheduler::{Schedule, Scheduler};
use crate::script::Script;
use crate::trace::Trace;

/// A failing execution made small.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The failure of the small execution: of the same rule as that of the seed.
    pub failure: Failure,
    /// The small execution, written down.
    pub trace: Trace,
    /// Its schedule, for [`Scheduler::Replay`].
    pub schedule: Schedule,
    /// The turns that give it again, for [`Scheduler::Script`], in the words of the program's notes
    /// where it has some. `None` if no script leads there.
    pub script: Option<Script>,
    /// How often a task is taken off that could have gone on.
    pub preemptions: usize,
    /// The same, of the execution that was to be shrunk.
    pub preemptions_before: usize,
    /// Whether every schedule with fewer preemptions was tried, and none breaks the rule.
    pub fewest: bool,
    /// Executions it took.
    pub reruns: u64,
}

impl Checker {
    /// Shrinks the failure of `seed`: the same rule broken with as few preemptions as can be
    /// found. `None` if the seed passes.
    ///
    /// ```
    /// use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use holdup::{Checker, Scheduler, thread};
    ///
    /// let lost_update = || {
    ///     let count = AtomicU32::new(0);
    ///     let add_one = || count.store(count.load(SeqCst) + 1, SeqCst);
    ///     thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(add_one)));
    ///     assert_eq!(count.into_inner(), 2);
    /// };
    /// let checker = Checker::new("lost update");
    /// let found = checker.run(&lost_update).first_failure.unwrap();
    /// let shrunk = checker.shrink(found.seed, &lost_update).unwrap();
    ///
    /// assert_eq!((shrunk.preemptions, shrunk.fewest), (1, true));
    /// let scripted = checker.scheduler(Scheduler::Script(shrunk.script.unwrap()));
    /// assert!(scripted.trace(found.seed, &lost_update).failure.is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn shrink(&self, seed: u64, body: &(dyn Fn() + Sync)) -> Option<Shrunk> {
        self.shrink_trace(&self.trace(seed, body), body)
    }

    /// As [`Checker::shrink`], of an execution that was recorded by this checker under whatever
    /// scheduler.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn shrink_trace(&self, failing: &Trace, body: &(dyn Fn() + Sync)) -> Option<Shrunk> {
        let rule = &failing.failure.as_ref()?.rule;
        Some(rerun::with(self, failing.seed, failing.steps, rule, body, |reruns| {
            shrink(reruns, failing, rule)
        }))
    }
}

fn shrink(reruns: &mut Reruns<'_, '_>, failing: &Trace, rule: &str) -> Shrunk {
    let start = reruns.turns(slices::stretches(failing));
    let breaks = |run: &Run| run.rule.as_deref() == Some(rule);
    if !breaks(&start) {
        // Something the program does depends on more than the schedule.
        return told(failing.clone(), None, failing, false, reruns.count);
    }
    let normal = normal_form::normal_form(failing).map(|plan| reruns.turns(plan));
    let start = match normal {
        Some(run) if breaks(&run) && run.cost() < start.cost() => run,
        _ => start,
    };
    let best = reduce::reduce(reruns, rule, start);
    let mut best = reduce::sample(reruns, rule, best);
    let (found, fewest) = reduce::search(reruns, rule, best.preemptions());
    if let Some(found) = found {
        best = reduce::reduce(reruns, rule, found);
    }
    let best = anchors::move_to_anchors(reruns, rule, best);
    let trace = reruns.record_turns(best.taken);
    match words::script(reruns, rule, &trace) {
        Some((script, trace)) => told(trace, Some(script), failing, fewest, reruns.count),
        None => told(trace, None, failing, fewest, reruns.count),
    }
}

fn told(
    mut trace: Trace,
    script: Option<Script>,
    failing: &Trace,
    fewest: bool,
    reruns: u64,
) -> Shrunk {
    let schedule = Schedule::from(&trace);
    trace.scheduler = match &script {
        Some(script) => Scheduler::Script(script.clone()).to_string(),
        None => Scheduler::Replay(schedule.clone()).to_string(),
    };
    trace.arm.clone_from(&trace.scheduler);
    Shrunk {
        failure: trace.failure.clone().unwrap_or_default(),
        schedule,
        script,
        preemptions: trace.preemptions(),
        preemptions_before: failing.preemptions(),
        fewest,
        reruns,
        trace,
    }
}
