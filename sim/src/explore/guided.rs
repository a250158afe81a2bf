//! Coverage-guided search: what showed something new is varied.
//!
//! Each execution is written down and looked at. Where it shows a meeting that none has shown
//! before, the priorities of its events go into the corpus; most executions take priorities from
//! there and draw some of them again, those of one task, of one object, or a few anywhere. It costs
//! about ten times a plain execution and depends on all executions before, so it is no arm of the
//! portfolio: it stands beside it, for bugs that a sweep does not meet. What it finds is a
//! [`Schedule`], which replays alone.
//!
//! The search is a pure function of program, first seed and number of executions.

use std::collections::BTreeMap;

use super::{Checker, pilot};
use crate::core::{Domain, Draws, Execution};
use crate::coverage::Coverage;
use crate::scheduler::{Keyed, Keys, Pilot, Schedule, Strategy};
use crate::trace::Trace;

/// A failure that the search met.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which execution of the search it was, from 1.
    pub execution: u64,
    /// The seed of its draws and faults.
    pub seed: u64,
    /// What went wrong.
    pub failure: super::Failure,
    /// What happened: with the seed, all it takes to run it again.
    pub schedule: Schedule,
}

/// What came of a guided search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guided {
    /// Executions run.
    pub executions: u64,
    /// Scheduling points passed.
    pub steps: u64,
    /// Executions that failed.
    pub failures: u64,
    /// The first failure of each rule.
    pub findings: BTreeMap<String, Finding>,
    /// Executions that showed something new.
    pub corpus: u64,
    /// All that was seen.
    pub coverage: Coverage,
}

/// The state of a search.
struct Search<'a> {
    checker: &'a Checker,
    pilot: Pilot,
    draws: Draws,
    corpus: Vec<Keys>,
    result: Guided,
}

impl Checker {
    /// Searches with as many executions as there are seeds, from the first on, guided by what they
    /// show; with `stop_at_first`, to the first failure. One job, whatever `jobs` says.
    pub fn guided(&self, body: &(dyn Fn() + Sync)) -> Guided {
        let knowing = self.knowing_lives(body);
        let mut search = Search {
            checker: &knowing,
            pilot: pilot::measure_contended(self, body),
            draws: Draws::new(Domain::Guide),
            corpus: Vec::new(),
            result: Guided::default(),
        };
        search.draws.start(self.seeds.start);
        // A thread that must retire ends; the next one goes on.
        while std::thread::scope(|scope| {
            let thread = scope.spawn(|| search.work(body));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }) {}
        search.result
    }
}

impl Search<'_> {
    /// Runs executions until the search is over, or until this thread must retire.
    fn work(&mut self, body: &(dyn Fn() + Sync)) -> bool {
        let execution = Execution::new(self.checker.stack_bytes);
        while self.result.executions < self.checker.n_seeds() {
            let seed = self.checker.seed_at(self.result.executions);
            let given = self.choose();
            let keyed = Box::new(Keyed::new(given, &self.pilot));
            let recorded =
                self.checker.record_under(&execution, |_| Strategy::Keyed(keyed), seed, body);
            let failed = recorded.trace.failure.is_some();
            if let Strategy::Keyed(keyed) = recorded.strategy {
                self.learn(&recorded.trace, keyed.into_used());
            }
            if failed && self.checker.stop_at_first {
                return false;
            }
            if recorded.retire {
                return true;
            }
        }
        false
    }

    /// Priorities to begin with: none, or those of the corpus with some to be drawn again.
    fn choose(&mut self) -> Keys {
        let n = self.corpus.len() as u32;
        // One in four begins anew, so that the corpus does not decide what can be found.
        if n == 0 || self.draws.below(4) == 0 {
            return Keys::new();
        }
        // The later ones are rarer: they showed what many before them did not.
        let newest = self.draws.below(2) == 0;
        let chosen = if newest { n - 1 - self.draws.below(n.min(8)) } else { self.draws.below(n) };
        let mut keys = self.corpus[chosen as usize].clone();
        let nth = self.draws.below(keys.len() as u32) as usize;
        let Some((&picked, _)) = keys.iter().nth(nth) else { return keys };
        match self.draws.below(4) {
            0 => keys.retain(|key, _| key.task != picked.task),
            1 => keys.retain(|key, _| key.object != picked.object),
            2 => _ = keys.remove(&picked),
            _ => {
                let (draws, n) = (&mut self.draws, keys.len() as u32);
                keys.retain(|_, _| draws.below(n) >= 3);
            }
        }
        keys
    }

    fn learn(&mut self, trace: &Trace, used: Keys) {
        let result = &mut self.result;
        result.executions += 1;
        result.steps += trace.steps;
        let known = |coverage: &Coverage| coverage.hand_offs.len() + coverage.holds.len();
        let before = known(&result.coverage);
        result.coverage.observe(trace);
        if known(&result.coverage) > before {
            result.corpus += 1;
            self.corpus.push(used);
        }
        if let Some(failure) = &trace.failure {
            result.failures += 1;
            let execution = result.executions;
            result.findings.entry(failure.rule.clone()).or_insert_with(|| Finding {
                execution,
                seed: trace.seed,
                failure: failure.clone(),
                schedule: Schedule::from(trace),
            });
        }
    }
}
