//! Proofs: all executions of a small program, one of each kind.
//!
//! Sweeps sample; this searches. Executions that differ only in the order of independent steps end
//! alike, so one of each *trace* is enough: four tasks that lock one mutex once have 24. The search
//! is depth-first in each of some dozen parts of the tree, and keeps nothing but their paths; each
//! run replays a path and goes on from there. Within a bound on preemptions it is every schedule
//! instead, spread evenly.
//!
//! - [`event`]: steps, what they touch, what happened before what;
//! - [`path`]: the decisions of the run under way, races, sleep sets;
//! - [`search`]: the search as a scheduler, and when a run is given up;
//! - [`tasks`]: who must wait;
//! - [`decision`]: what is kept of a path;
//! - [`units`]: the tree in parts, for several OS threads; [`spread`]: the same within a bound;
//! - [`runner`], [`tally`]: runs, and what comes of them;
//! - [`state`]: a search that can be taken up again;
//! - [`probe`]: an estimate of what is left;
//! - [`proof`]: what is asked, and what came of it.
//!
//! What is searched is schedules, and what the machine would draw for them: which of several waiting
//! tasks a wake-up reaches, whether a fault strikes, each of at most 16 outcomes. A program that
//! draws numbers for itself or reads the clock has executions for other reasons too, and is refused.
//! A task that waits in a loop counts as waiting until what it looks at changes: a loop that gives up
//! after some laps does so in a proof only when nobody else can go on, and then the proof is not
//! complete. An `RwLock` is asked for by a writer when the writer gets it: that readers which lock
//! again wait for a writer that waits is not searched. A loop that waits and gives no hint has no end
//! to search: beyond 20,000 decisions an execution is refused, and so are more than 128 tasks. An
//! address that is used again counts as the same object.

mod decision;
mod event;
mod path;
mod probe;
mod proof;
mod runner;
mod search;
mod spread;
mod state;
mod tally;
mod tasks;
mod units;

pub use proof::{Proof, ProofFailure, ProofOptions, Remaining};
use state::ProofState;

use std::sync::atomic::AtomicBool;

use self::path::Reduction;
pub(crate) use self::probe::Probe;
use self::probe::Welford;
use self::runner::Runner;
pub(crate) use self::search::Search;
use super::Checker;
use crate::scheduler::{Strategy, Systematic};

/// Random executions behind an estimate; their seeds begin at 0.
const PROBES: u64 = 256;
/// Faults of an execution, if nobody says how many.
const MOST_FAULTS: u32 = 1;
/// Runs after which a search is kept for the first time; then each time that their number has
/// doubled.
const FIRST_KEPT: u64 = 1 << 16;

impl Checker {
    /// Runs `body` under every schedule, or one of each trace: see [`ProofOptions`]. Seeds, shard
    /// and scheduler play no part; [`Checker::stop_at_first`] does, and [`Checker::jobs`] changes
    /// nothing but how long it takes.
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
        self.prove_from(options, body, &mut options.start(), stop, done, &mut |_| ())
    }

    fn prove_from(
        &self,
        options: ProofOptions,
        body: &(dyn Fn() + Sync),
        state: &mut ProofState,
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
        keep: &mut dyn FnMut(&ProofState),
    ) -> Proof {
        if self.setup.spin_budget {
            let refused = "its lock bits spin in virtual time, which passes with the steps";
            return Proof { refused: Some(refused.into()), ..Proof::default() };
        }
        if self.setup.faults.storm_steps > 0 {
            let refused = "its faults end after so many steps, which differ from order to order";
            return Proof { refused: Some(refused.into()), ..Proof::default() };
        }
        let reduction = options.preemptions.map_or(Reduction::Traces, Reduction::Preemptions);
        let most_faults = options.faults.unwrap_or(MOST_FAULTS);
        let runner = Runner { checker: self, body, reduction, most_faults, stop, done };
        let mut kept = FIRST_KEPT;
        let total = loop {
            let total = state.total();
            let limit = options.max_executions.unwrap_or(u64::MAX).saturating_sub(total.runs());
            if state.is_searched() || limit == 0 || runner.is_stopped() || runner.ends(&total) {
                break total;
            }
            if total.runs() >= kept {
                kept = total.runs() * 2;
                state.keep();
                keep(state);
            }
            if !state.round(&runner, limit) {
                break state.total();
            }
        };
        state.keep();
        let searched = state.is_searched() && total.refused.is_none();
        let mut proof = Proof {
            complete: searched && !total.gave_up,
            executions: total.executions,
            blocked: total.blocked,
            distinct_traces: state.traces.len() as u64,
            failures: total.failures,
            rules: total.rules,
            first_failure: total.first_failure,
            remaining_estimate: None,
            refused: total.refused,
            gave_up: total.gave_up,
        };
        if !searched && proof.refused.is_none() {
            let known = state.choices_left();
            proof.remaining_estimate = Some(remaining(&probe(&runner), proof.executions, known));
        }
        proof
    }
}

/// What random executions say of the size of the tree.
fn probe(runner: &Runner<'_>) -> Welford {
    let (mut samples, mut seed) = (Welford::default(), 0);
    runner.on_threads(|execution| {
        while seed < PROBES {
            let probe = Probe::new(runner.reduction);
            let strategy = Strategy::Systematic(Systematic::Probe(probe));
            let setup = runner.checker.looking_for_races();
            let outcome = execution.run(seed, &setup, |_| strategy, runner.body, None);
            if let (Strategy::Systematic(Systematic::Probe(probe)), _) = execution.take_results() {
                samples.add(probe.product);
            }
            seed += 1;
            if outcome.retire {
                return true;
            }
        }
        false
    });
    samples
}

fn remaining(samples: &Welford, executions: u64, known: u64) -> Remaining {
    Remaining {
        executions: (samples.mean() - executions as f64).max(known as f64),
        standard_error: samples.standard_error(),
    }
}
