//! Trials: how many executions it takes to catch a mutant.
//!
//! Trial `t` draws its seeds from `t * budget .. (t + 1) * budget`, so that trials share none, and
//! ends at the first failure. What was not caught counts as later than everything that was.

use std::sync::atomic::AtomicBool;

use holdup::Scheduler;
use holdup::explore::FirstFailure;

use crate::scenario::Scenario;

/// What came of some trials.
#[derive(Clone, Debug, Default)]
pub struct Trials {
    /// For each trial, the executions to the first failure, the failing one included; `None`
    /// where the budget was not enough.
    pub executions: Vec<Option<u64>>,
    /// The first failure of each trial that met one.
    pub failures: Vec<FirstFailure>,
    /// Whether a signal ended it early; the trial under way is not counted.
    pub stopped: bool,
}

/// What to try.
#[derive(Clone, Debug)]
pub struct Hunt {
    /// The story.
    pub scenario: &'static Scenario,
    /// The bug that is switched on.
    pub mutant: &'static str,
    /// Who decides.
    pub scheduler: Scheduler,
    /// Executions a trial may take.
    pub budget: u64,
    /// How many trials.
    pub trials: u64,
    /// Threads that run executions.
    pub jobs: usize,
}

impl Hunt {
    /// Carries the trials out, until `stop` is set; `done(n)` is called as trials end.
    #[must_use]
    pub fn run(&self, stop: &AtomicBool, done: &dyn Fn(u64)) -> Trials {
        let mut trials = Trials::default();
        for trial in 0..self.trials {
            let from = trial.saturating_mul(self.budget);
            let checker = self
                .scenario
                .checker(&self.scheduler, Some(self.mutant))
                .seeds(from..from.saturating_add(self.budget))
                .jobs(self.jobs)
                .stop_at_first(true);
            let report = checker.run_observed(&self.scenario.body, stop, &|_| ());
            if report.stopped {
                trials.stopped = true;
                break;
            }
            let first = report.first_failure;
            trials.executions.push(first.as_ref().map(|first| first.execution));
            trials.failures.extend(first);
            done(1);
        }
        trials
    }
}

impl Trials {
    /// In how many trials the mutant was caught.
    #[must_use]
    pub fn caught(&self) -> u64 {
        self.executions.iter().flatten().count() as u64
    }

    /// Executions within which a `part` of the trials caught it, for example 0.5 for the median;
    /// `None` where fewer did.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let mut sorted = self.executions.clone();
        sorted.sort_by_key(|executions| executions.unwrap_or(u64::MAX));
        let rank = (part * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(executions: &[Option<u64>]) -> Trials {
        Trials { executions: executions.to_vec(), ..Trials::default() }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let trials = trials(&[Some(5), Some(1), Some(3), Some(4), Some(2)]);

        assert_eq!(trials.quantile(0.5), Some(3));
        assert_eq!(trials.quantile(0.95), Some(5));
        assert_eq!(trials.caught(), 5);
    }

    #[test]
    fn a_bug_missed_by_most_has_no_median() {
        let trials = trials(&[None, Some(7), None]);

        assert_eq!(trials.quantile(0.5), None);
        assert_eq!(trials.quantile(0.3), Some(7));
        assert_eq!(trials.caught(), 1);
    }

    #[test]
    fn no_trials_have_no_quantiles() {
        assert_eq!(trials(&[]).quantile(0.5), None);
    }
}
