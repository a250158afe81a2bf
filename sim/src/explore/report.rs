//! What came of a sweep.

use std::collections::BTreeMap;

use super::{Failure, FaultCounts};

/// The failing execution with the lowest seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstFailure {
    /// Its seed.
    pub seed: u64,
    /// Which execution of the sweep it was, from 1, counting the seeds of the shard in order.
    pub execution: u64,
    /// What went wrong.
    pub failure: Failure,
}

/// How one scheduler of a portfolio fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmCount {
    /// Executions it decided.
    pub executions: u64,
    /// Those that failed.
    pub failures: u64,
}

impl ArmCount {
    /// Adds what it did elsewhere.
    pub fn add(&mut self, other: Self) {
        self.executions += other.executions;
        self.failures += other.failures;
    }
}

/// What came of many executions. The same for any number of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Executions run.
    pub executions: u64,
    /// Scheduling points passed.
    pub steps: u64,
    /// Executions that failed.
    pub failures: u64,
    /// Failing executions by rule.
    pub rules: BTreeMap<String, u64>,
    /// The failing execution with the lowest seed.
    pub first_failure: Option<FirstFailure>,
    /// All schedule hashes, folded so that order does not matter.
    pub hash: u64,
    /// Whether the caller stopped it before the end of its seeds.
    pub stopped: bool,
    /// Executions and failures by the scheduler that decided.
    pub arms: BTreeMap<String, ArmCount>,
    /// How often each fault struck.
    pub faults: FaultCounts,
}

impl Report {
    /// Failures with different rules.
    #[must_use]
    pub fn distinct_failures(&self) -> u64 {
        self.rules.len() as u64
    }

    /// Adds what another part of the same sweep found.
    pub fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        self.steps += other.steps;
        self.failures += other.failures;
        for (rule, count) in &other.rules {
            *self.rules.entry(rule.clone()).or_default() += count;
        }
        for (arm, count) in &other.arms {
            self.arms.entry(arm.clone()).or_default().add(*count);
        }
        self.faults.add(&other.faults);
        self.hash = self.hash.wrapping_add(other.hash);
        self.stopped |= other.stopped;
        let earlier = |a: &FirstFailure, b: &FirstFailure| a.seed < b.seed;
        if let Some(theirs) = &other.first_failure
            && self.first_failure.as_ref().is_none_or(|mine| earlier(theirs, mine))
        {
            self.first_failure = Some(theirs.clone());
        }
    }
}
