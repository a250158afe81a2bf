//! Renewing committed seeds: what a change of the code has killed is found again.
//!
//! An entry that is dead gets the lowest seed that breaks its rule today, and the script of that
//! failure, shrunk. One that diverges keeps its seed where that still does, and gets a new script.
//! What holds is left alone. Nothing is written here: whoever asks first sees whether all was found.
//!
//! Keeps: an entry is never given up; one for which nothing is found stays as it is.

use std::sync::atomic::{AtomicBool, Ordering};

use holdup::Scheduler;
use holdup::explore::Shrunk;
use holdup::trace::Trace;

use crate::corpus::{self, Standing, Verdict};
use crate::scenario::Scenario;
use crate::seed_file::{CheckedEntry, Renewal};

/// How far to look.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Seeds that are tried for an entry, where its mutant's budget is not larger.
    pub seeds: u64,
    /// Threads that run executions.
    pub jobs: usize,
    /// Whether an entry that holds by its script is given a new seed where its own fails no more.
    pub all: bool,
}

/// What came of one entry.
#[derive(Clone, Debug)]
pub enum Refreshed {
    /// It holds.
    AsItIs,
    /// It holds again with this.
    Renewed {
        /// What takes the place of its seed and script.
        renewal: Renewal,
        /// Preemptions of the script, where it is a new one.
        preemptions: Option<usize>,
    },
    /// Nothing was found; the sentence says what was tried.
    NotFound(String),
    /// The search was stopped.
    Stopped,
}

impl Search {
    /// Looks at entry `index` of a file, and looks for what it needs.
    #[must_use]
    pub fn refresh(
        &self,
        scenario: &Scenario,
        checked: &CheckedEntry,
        index: usize,
        stop: &AtomicBool,
    ) -> Refreshed {
        let (standing, verdict) = corpus::standing(scenario, checked);
        let new_script = match standing {
            Standing::Fails => return Refreshed::NotFound(verdict.says),
            Standing::Holds if !self.all || verdict.by_seed => return Refreshed::AsItIs,
            Standing::Holds => false,
            Standing::Diverges | Standing::Dead => true,
        };
        let seed = match self.seed(scenario, checked, &verdict, stop) {
            Some(seed) => seed,
            None if stop.load(Ordering::Relaxed) => return Refreshed::Stopped,
            None => return self.without_seed(scenario, checked, index, verdict),
        };
        if !new_script {
            let script = checked.entry.script.clone();
            return settled(scenario, checked, Renewal { index, seed, script }, None);
        }
        let trace = checker(scenario, checked).trace(seed, &scenario.body);
        shrunk(scenario, checked, index, seed, &trace)
    }

    /// The entry's seed where it still does what is recorded, or else the lowest that does.
    fn seed(
        &self,
        scenario: &Scenario,
        checked: &CheckedEntry,
        verdict: &Verdict,
        stop: &AtomicBool,
    ) -> Option<u64> {
        if verdict.by_seed {
            return Some(checked.entry.seed);
        }
        let mut from = 0;
        loop {
            let hunt = checker(scenario, checked)
                .seeds(from..self.n_seeds(scenario, checked))
                .jobs(self.jobs)
                .stop_at_first(true);
            let report = hunt.run_observed(&scenario.body, stop, &|_| ());
            let first = report.first_failure?;
            let rule = checked.entry.rule.as_ref();
            if rule.is_none_or(|rule| *rule == first.failure.rule) {
                return Some(first.seed);
            }
            from = first.seed + 1;
        }
    }

    fn n_seeds(&self, scenario: &Scenario, checked: &CheckedEntry) -> u64 {
        let case = checked.mutant.and_then(|mutant| scenario.mutant(mutant));
        self.seeds.max(case.map_or(0, |case| case.budget))
    }

    /// No seed was found: a neighbour of the script may still give it a new one.
    fn without_seed(
        &self,
        scenario: &Scenario,
        checked: &CheckedEntry,
        index: usize,
        verdict: Verdict,
    ) -> Refreshed {
        if let Some(found) = &verdict.neighbour {
            return shrunk(scenario, checked, index, checked.entry.seed, &found.trace);
        }
        let n = self.n_seeds(scenario, checked);
        let rule = checked.entry.rule.as_deref().unwrap_or("any rule");
        Refreshed::NotFound(format!(
            "none of seeds 0 to {} fails with {rule}; try more with --seeds",
            n.saturating_sub(1)
        ))
    }
}

fn checker(scenario: &Scenario, checked: &CheckedEntry) -> holdup::Checker {
    scenario.checker(&checked.scheduler, checked.mutant)
}

/// The entry with the script of `trace`, shrunk.
fn shrunk(
    scenario: &Scenario,
    checked: &CheckedEntry,
    index: usize,
    seed: u64,
    trace: &Trace,
) -> Refreshed {
    let shrunk = checker(scenario, checked).shrink_trace(trace, &scenario.body);
    let preemptions = shrunk.as_ref().map(|shrunk| shrunk.preemptions);
    let script = shrunk.as_ref().and_then(script_text);
    settled(scenario, checked, Renewal { index, seed, script }, preemptions)
}

/// The renewal, if the entry holds with it.
fn settled(
    scenario: &Scenario,
    checked: &CheckedEntry,
    renewal: Renewal,
    preemptions: Option<usize>,
) -> Refreshed {
    let mut renewed = checked.clone();
    renewed.entry.seed = renewal.seed;
    renewed.entry.script.clone_from(&renewal.script);
    renewed.script = renewal.script.as_ref().and_then(|text| text.parse().ok());
    match corpus::standing(scenario, &renewed) {
        (Standing::Holds, _) => Refreshed::Renewed { renewal, preemptions },
        (_, verdict) => {
            Refreshed::NotFound(format!("with seed {} it {}", renewal.seed, verdict.says))
        }
    }
}

/// The text of a shrunk failure's script, unless it has no turn to tell.
#[must_use]
pub fn script_text(shrunk: &Shrunk) -> Option<String> {
    let script = shrunk.script.as_ref().filter(|script| !script.turns.is_empty());
    script.map(ToString::to_string)
}

/// Preemptions of the execution that an entry names, by its script where it has one; `None` where
/// it does not break its rule.
#[must_use]
pub fn preemptions(scenario: &Scenario, checked: &CheckedEntry) -> Option<usize> {
    let scheduler = match &checked.script {
        Some(script) => Scheduler::Script(script.clone()),
        None => checked.scheduler.clone(),
    };
    let checker = scenario.checker(&scheduler, checked.mutant);
    let trace = checker.trace(checked.entry.seed, &scenario.body);
    let rule = &trace.failure.as_ref()?.rule;
    let same = checked.entry.rule.as_ref().is_none_or(|recorded| recorded == rule);
    same.then(|| trace.preemptions())
}
