//! The normal form of a schedule: each task's operations pulled together as far as the order of
//! dependent ones allows.
//!
//! The recorded slices are put in order anew: the running task goes on as long as all that its next
//! slice depends on has been; otherwise the task that can then go furthest does. Most switches of a
//! random walk disappear, without a rerun but the one that checks the result.
//!
//! Source: the normal form of schedules in dejafu (Walker and Runciman), by list scheduling.

use super::slices::{Slice, plan, slices};
use crate::scheduler::Stretch;
use crate::trace::Trace;

/// Executions of more slices are left as they are: the comparison of all pairs would take long.
const MOST_SLICES: usize = 4_000;

/// The turns of the normal form of `trace`, or none where it is too long.
pub(super) fn normal_form(trace: &Trace) -> Option<Vec<Stretch>> {
    let slices = slices(trace);
    if slices.len() > MOST_SLICES {
        return None;
    }
    let order = order(&slices);
    Some(plan(order.into_iter().map(|i| (slices[i].task, slices[i].own))))
}

/// By slice, the earlier ones that it must come after; of its own task only the latest.
fn dependencies(slices: &[Slice]) -> Vec<Vec<usize>> {
    let of = |j: usize| {
        let before = |i: &usize| slices[*i].task != slices[j].task;
        let others = (0..j).filter(before).filter(|&i| slices[i].conflicts(&slices[j]));
        let own = (0..j).rev().find(|i| !before(i));
        others.chain(own).collect()
    };
    (0..slices.len()).map(of).collect()
}

fn order(slices: &[Slice]) -> Vec<usize> {
    let after = dependencies(slices);
    let mut done = vec![false; slices.len()];
    let mut order = Vec::with_capacity(slices.len());
    let n_tasks = slices.iter().map(|slice| slice.task + 1).max().unwrap_or(0);
    while order.len() < slices.len() {
        // The slice to begin with is always among them, so that each round does something.
        let runs = (0..n_tasks).map(|task| run_of(slices, &after, &done, task));
        let Some(run) = runs.max_by_key(|run| (run.len(), run.first().map(|&i| usize::MAX - i)))
        else {
            break;
        };
        run.iter().for_each(|&i| done[i] = true);
        order.extend(run);
    }
    order
}

/// The slices that `task` can carry out in a row.
fn run_of(slices: &[Slice], after: &[Vec<usize>], done: &[bool], task: u32) -> Vec<usize> {
    let mut run: Vec<usize> = Vec::new();
    for i in (0..slices.len()).filter(|&i| slices[i].task == task && !done[i]) {
        if !after[i].iter().all(|before| done[*before] || run.contains(before)) {
            break;
        }
        run.push(i);
    }
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::rerun;
    use crate::explore::shrink::slices::stretches;
    use crate::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use crate::{Checker, Scheduler, thread};

    #[test]
    fn tasks_that_share_nothing_run_one_after_the_other() {
        let body = || {
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let word = AtomicU32::new(0);
                        (0..5).for_each(|_| _ = word.fetch_add(1, SeqCst));
                    });
                }
            });
        };
        let trace = Checker::new("apart").scheduler(Scheduler::Random).trace(1, &body);

        let plan = normal_form(&trace).unwrap();

        assert!(stretches(&trace).len() > 10, "a random walk switches often");
        // The first task spawns three, each runs, and then the first waits for all.
        assert!(plan.len() <= 8, "{plan:?}");
    }

    #[test]
    fn the_normal_form_of_a_failure_fails_alike() {
        let body = || {
            let count = AtomicU32::new(0);
            let add_one = || count.store(count.load(SeqCst) + 1, SeqCst);
            thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(add_one)));
            let count = count.into_inner();
            assert!(count == 3, "C-{count}: all count");
        };
        let checker = Checker::new("lost").scheduler(Scheduler::Random);
        let failing: Vec<_> = (0..100).map(|seed| checker.trace(seed, &body)).collect();
        let failing = failing.iter().filter(|trace| trace.failure.is_some());

        for trace in failing {
            let rule = &trace.failure.as_ref().unwrap().rule;
            let plan = normal_form(trace).unwrap();
            let run = rerun::with(&checker, trace.seed, trace.steps, rule, &body, |reruns| {
                reruns.turns(plan)
            });
            assert_eq!(run.rule.as_ref(), Some(rule), "seed {}", trace.seed);
            assert!(run.taken.len() <= stretches(trace).len());
        }
    }
}
