//! Tallies: what came of some runs. Those of runs that follow each other add up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::proof::ProofFailure;

/// What came of some runs, in the order in which they count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) executions: u64,
    pub(super) blocked: u64,
    pub(super) failures: u64,
    pub(super) rules: BTreeMap<String, u64>,
    pub(super) first_failure: Option<ProofFailure>,
    /// Hashes of the traces that were run, once each execution. Kept elsewhere.
    #[serde(skip)]
    pub(super) traces: Vec<u64>,
    pub(super) gave_up: bool,
    #[serde(skip)]
    pub(super) refused: Option<String>,
}

impl Tally {
    pub(super) fn runs(&self) -> u64 {
        self.executions + self.blocked
    }

    /// Adds the runs that come next.
    pub(super) fn absorb(&mut self, mut next: Self) {
        if self.first_failure.is_none()
            && let Some(first) = &mut next.first_failure
        {
            first.execution += self.executions;
            self.first_failure = next.first_failure;
        }
        self.executions += next.executions;
        self.blocked += next.blocked;
        self.failures += next.failures;
        for (rule, failures) in next.rules {
            *self.rules.entry(rule).or_default() += failures;
        }
        self.traces.append(&mut next.traces);
        self.gave_up |= next.gave_up;
        if self.refused.is_none() {
            self.refused = next.refused;
        }
    }
}
