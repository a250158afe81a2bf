//! One run of a search, and many searches on several OS threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::path::Reduction;
use super::proof::ProofFailure;
use super::search::{Search, Verdict};
use super::tally::Tally;
use crate::core::Execution;
use crate::explore::Checker;
use crate::scheduler::{Schedule, Strategy, Systematic};

/// What all runs of a proof have in common.
pub(super) struct Runner<'a> {
    pub(super) checker: &'a Checker,
    pub(super) body: &'a (dyn Fn() + Sync),
    pub(super) reduction: Reduction,
    pub(super) most_faults: u32,
    pub(super) stop: &'a AtomicBool,
    pub(super) done: &'a (dyn Fn(u64) + Sync),
}

/// How one run ended.
pub(super) struct Ran {
    pub(super) verdict: Verdict,
    /// This OS thread must not be used for another.
    pub(super) retire: bool,
}

impl Runner<'_> {
    /// Whether the proof is to end early.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether what was found ends the search.
    pub(super) fn ends(&self, tally: &Tally) -> bool {
        tally.refused.is_some() || self.checker.stop_at_first && tally.failures > 0
    }

    /// Runs the path of `search`, and counts what comes of it.
    pub(super) fn run(
        &self,
        execution: &Execution,
        search: &mut Box<Search>,
        tally: &mut Tally,
    ) -> Ran {
        search.rewind();
        let mine = std::mem::replace(search, Box::new(Search::nothing()));
        let strategy = Strategy::Systematic(Systematic::Search(mine));
        let setup = self.checker.looking_for_races();
        let outcome = execution.run(0, &setup, |_| strategy, self.body, None);
        if let (Strategy::Systematic(Systematic::Search(back)), _) = execution.take_results() {
            *search = back;
        }
        let failed = outcome.failure.is_some();
        search.close_last(failed, execution.changes());
        match &search.verdict {
            Verdict::Refused(why) => tally.refused = Some(why.clone()),
            Verdict::Futile | Verdict::Redundant => tally.blocked += 1,
            Verdict::Ran => {
                tally.executions += 1;
                tally.traces.push(search.path.trace_hash());
                tally.gave_up |= search.stuck && !failed;
                if failed && !search.stuck && self.reduction == Reduction::Traces {
                    search.path.failed();
                }
            }
        }
        if let (Verdict::Ran, Some(failure)) = (&search.verdict, outcome.failure) {
            tally.failures += 1;
            *tally.rules.entry(failure.rule.clone()).or_default() += 1;
            let execution = tally.executions;
            let schedule = Schedule::from(&search.switches[..]).with_picks(&search.picks);
            tally.first_failure.get_or_insert(ProofFailure { execution, failure, schedule });
        }
        (self.done)(1);
        Ran { verdict: search.verdict.clone(), retire: outcome.retire }
    }

    /// Runs the decisions that `search` begins with, up to the last, to have its path again.
    pub(super) fn rebuild(&self, execution: &Execution, search: &mut Box<Search>) {
        search.rewind();
        search.rebuild();
        let mine = std::mem::replace(search, Box::new(Search::nothing()));
        let strategy = Strategy::Systematic(Systematic::Search(mine));
        let setup = self.checker.looking_for_races();
        _ = execution.run(0, &setup, |_| strategy, self.body, None);
        if let (Strategy::Systematic(Systematic::Search(back)), _) = execution.take_results() {
            *search = back;
        }
    }

    /// Executions on an OS thread of their own, and on another whenever they have spoilt it, until
    /// `work` returns false.
    pub(super) fn on_threads(&self, mut work: impl FnMut(&Execution) -> bool + Send) {
        while on_a_thread(|| work(&Execution::new(self.checker.stack_bytes))) {}
    }

    /// Works at all `items`, at as many at once as there are jobs.
    pub(super) fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        if self.checker.jobs <= 1 || items.len() <= 1 {
            return items.iter_mut().for_each(work);
        }
        let next = AtomicUsize::new(0);
        let items: Vec<_> = items.iter_mut().map(Mutex::new).collect();
        let worker = || {
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                work(&mut item.lock().unwrap_or_else(PoisonError::into_inner));
            }
        };
        std::thread::scope(|scope| {
            (1..self.checker.jobs.min(items.len())).for_each(|_| _ = scope.spawn(worker));
            worker();
        });
    }
}

fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)),
        Err(error) => panic!("no thread for an execution: {error}"),
    })
}
