//! Proofs: all executions of a small program, one of each kind.
//!
//! Sweeps sample; this searches. Executions that differ only in the order of independent steps end
//! alike, so one of each *trace* is enough: four tasks that lock one mutex once have 24. The search
//! is depth-first and keeps nothing but its path; each run replays the path and goes on from there.
//!
//! - [`event`]: steps, what they touch, what happened before what;
//! - [`path`]: the decisions of the run under way, races, sleep sets;
//! - [`search`]: the search as a scheduler, and when a run is given up;
//! - [`tasks`]: who must wait;
//! - [`probe`]: an estimate of what is left;
//! - [`proof`]: what is asked, and what came of it.
//!
//! What is searched is schedules. A program that draws, reads the clock, waits for a time or meets
//! faults has executions for other reasons too, and is refused. A task that waits in a loop counts
//! as waiting until what it looks at changes: a loop that gives up after some laps does so in a
//! proof only when nobody else can go on, and then the proof is not complete. An `RwLock` is asked
//! for by a writer when the writer gets it: that readers which lock again wait for a writer that
//! waits is not searched. A loop that waits and gives no hint has no end to search: it is refused.
//! An address that is used again counts as the same object.

mod event;
mod path;
mod probe;
mod proof;
mod search;
mod tasks;

pub use proof::{Proof, ProofFailure, ProofOptions, Remaining};

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::fast::FixedState;

use self::path::Reduction;
pub(crate) use self::probe::Probe;
use self::probe::Welford;
pub(crate) use self::search::Search;
use self::search::Verdict;
use super::Checker;
use crate::core::Execution;
use crate::scheduler::{Schedule, Strategy, Systematic};

/// Random executions behind an estimate; their seeds begin at 0.
const PROBES: u64 = 256;

impl Checker {
    /// Runs `body` under every schedule, or one of each trace: see
    /// [`ProofOptions`]. Seeds, shard, jobs and scheduler play no part;
    /// [`Checker::stop_at_first`] does.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use holdup::explore::ProofOptions;
    /// use holdup::sync::Mutex;
    /// use holdup::{Checker, thread};
    ///
    /// let four_tasks_one_lock = || {
    ///     let count = Arc::new(Mutex::new(0));
    ///     let tasks = [(); 4].map(|()| {
    ///         let count = count.clone();
    ///         thread::spawn(move || *count.lock().unwrap() += 1)
    ///     });
    ///     tasks.map(|task| task.join().unwrap());
    ///     assert_eq!(*count.lock().unwrap(), 4);
    /// };
    /// let proof = Checker::new("counts").prove(ProofOptions::new(), &four_tasks_one_lock);
    /// assert!(proof.complete && proof.failures == 0);
    /// assert_eq!(proof.executions, 24); // in which order they got the lock
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    #[must_use]
    pub fn prove(&self, options: ProofOptions, body: &(dyn Fn() + Sync)) -> Proof {
        self.prove_observed(options, body, &AtomicBool::new(false), &|_| ())
    }

    /// As [`Checker::prove`]; ends early once `stop` is set, and tells `done` how many more runs
    /// there were.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    #[must_use]
    pub fn prove_observed(
        &self,
        options: ProofOptions,
        body: &(dyn Fn() + Sync),
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Proof {
        let reduction = options.preemptions.map_or(Reduction::Traces, Reduction::Preemptions);
        let mut prover = Prover {
            checker: self,
            body,
            options,
            search: Some(Box::new(Search::new(reduction))),
            proof: Proof::default(),
            traces: HashSet::default(),
            searched: false,
        };
        if self.setup.faults.any() {
            prover.proof.refused = Some("it runs with faults: only schedules are searched".into());
        } else if self.setup.spin_budget {
            prover.proof.refused =
                Some("its lock bits spin in virtual time, which passes with the steps".into());
        }
        if prover.proof.refused.is_some() {
            return prover.proof;
        }
        while on_a_thread(|| prover.work(stop, done)) {}
        if !prover.proof.complete && prover.proof.refused.is_none() && !prover.searched {
            let probed = on_a_thread(|| prover.probe(reduction));
            prover.proof.remaining_estimate = Some(prover.remaining(probed));
        }
        prover.proof.distinct_traces = prover.traces.len() as u64;
        prover.proof
    }
}

/// Executions leave an OS thread unusable now and then.
fn on_a_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| match std::thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload)),
        Err(error) => panic!("no thread for an execution: {error}"),
    })
}

/// A search under way.
struct Prover<'a> {
    checker: &'a Checker,
    body: &'a (dyn Fn() + Sync),
    options: ProofOptions,
    /// Away while an execution has it.
    search: Option<Box<Search>>,
    proof: Proof,
    traces: HashSet<u64, FixedState>,
    /// Nothing is left to run.
    searched: bool,
}

impl Prover<'_> {
    /// Runs until all is searched, or it is to end early. True if it is to go on on another
    /// thread.
    fn work(&mut self, stop: &AtomicBool, done: &(dyn Fn(u64) + Sync)) -> bool {
        let execution = Execution::new(self.checker.stack_bytes);
        loop {
            let runs = self.proof.executions + self.proof.blocked;
            if self.options.max_executions.is_some_and(|max| runs >= max)
                || stop.load(Ordering::Relaxed)
            {
                return false;
            }
            let retire = self.run(&execution);
            done(1);
            if self.proof.refused.is_some() || self.checker.stop_at_first && self.proof.failures > 0
            {
                return false;
            }
            if !self.search.as_mut().is_some_and(|search| search.path.advance()) {
                self.searched = true;
                self.proof.complete = !self.proof.gave_up;
                return false;
            }
            if retire {
                return true;
            }
        }
    }

    /// One run. Returns whether this OS thread must not be used for another.
    fn run(&mut self, execution: &Execution) -> bool {
        let Some(mut search) = self.search.take() else { return false };
        search.rewind();
        let strategy = Strategy::Systematic(Systematic::Search(search));
        let setup = self.checker.looking_for_races();
        let outcome = execution.run(0, &setup, |_| strategy, self.body, None);
        let (Strategy::Systematic(Systematic::Search(mut search)), _) = execution.take_results()
        else {
            unreachable!("an execution gives back the strategy it was given")
        };
        let failed = outcome.failure.is_some();
        search.close_last(failed, execution.changes());
        match &search.verdict {
            Verdict::Refused(why) => self.proof.refused = Some(why.clone()),
            Verdict::Futile | Verdict::Redundant => self.proof.blocked += 1,
            Verdict::Ran => {
                self.proof.executions += 1;
                self.traces.insert(search.path.trace_hash());
                self.proof.gave_up |= search.stuck && !failed;
                if failed && !search.stuck {
                    search.path.failed();
                }
            }
        }
        if let (Verdict::Ran, Some(failure)) = (&search.verdict, outcome.failure) {
            self.proof.failures += 1;
            *self.proof.rules.entry(failure.rule.clone()).or_default() += 1;
            let execution = self.proof.executions;
            let schedule = Schedule::from(&search.switches[..]);
            let first = ProofFailure { execution, failure, schedule };
            self.proof.first_failure.get_or_insert(first);
        }
        self.search = Some(search);
        outcome.retire
    }

    /// What random executions say of the size of the tree.
    fn probe(&self, reduction: Reduction) -> Welford {
        let execution = Execution::new(self.checker.stack_bytes);
        let mut samples = Welford::default();
        for seed in 0..PROBES {
            let strategy = Strategy::Systematic(Systematic::Probe(Probe::new(reduction)));
            let setup = self.checker.looking_for_races();
            let outcome = execution.run(seed, &setup, |_| strategy, self.body, None);
            if let (Strategy::Systematic(Systematic::Probe(probe)), _) = execution.take_results() {
                samples.add(probe.product);
            }
            if outcome.retire {
                break;
            }
        }
        samples
    }

    fn remaining(&self, samples: Welford) -> Remaining {
        // Probes do not see what only later becomes dependent; the path knows some of it.
        let known = self
            .search
            .as_ref()
            .map_or(0.0, |search| search.path.known_left(self.proof.executions));
        Remaining {
            executions: (samples.mean() - self.proof.executions as f64).max(known),
            standard_error: samples.standard_error(),
        }
    }
}
