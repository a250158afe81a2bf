//! What is asked of a proof, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::state::ProofState;
use crate::explore::Failure;
use crate::scheduler::Schedule;

/// How far [`Checker::prove`](crate::Checker::prove) goes.
///
/// ```
/// use holdup::explore::ProofOptions;
///
/// let options = ProofOptions::new().max_executions(10_000);
/// assert_eq!(options, ProofOptions::default().max_executions(10_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProofOptions {
    pub(super) preemptions: Option<u32>,
    pub(super) max_executions: Option<u64>,
    pub(super) faults: Option<u32>,
}

impl ProofOptions {
    /// One execution a trace, to the end.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A search that has not begun.
    pub(super) fn start(&self) -> ProofState {
        ProofState::new(self.preemptions)
    }

    /// Every schedule with at most `bound` preemptions instead of one execution a trace: a proof is
    /// then a proof within that bound. A task is preempted where another goes on though it could
    /// have itself; a task that waits is not.
    #[must_use]
    pub fn preemptions(mut self, bound: u32) -> Self {
        self.preemptions = Some(bound);
        self
    }

    /// Of a program that runs with faults: executions with at most so many, 1 if nobody says so.
    /// Each may strike, or not, wherever its rate is not 0.
    #[must_use]
    pub fn faults(mut self, most: u32) -> Self {
        self.faults = Some(most);
        self
    }

    /// Gives up after so many runs, blocked ones included, and estimates what is left.
    #[must_use]
    pub fn max_executions(mut self, executions: u64) -> Self {
        self.max_executions = Some(executions);
        self
    }
}

/// An execution that fails, and how to run it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFailure {
    /// Which of the executions it was, from 1.
    pub execution: u64,
    /// What went wrong.
    pub failure: Failure,
    /// Replays it: [`Scheduler::Replay`](crate::Scheduler::Replay), with seed 0.
    pub schedule: Schedule,
}

/// As it is kept: without the place, which the replay tells again.
#[derive(Serialize, Deserialize)]
struct KeptFailure {
    execution: u64,
    rule: String,
    message: String,
    task: String,
    schedule: String,
}

impl Serialize for ProofFailure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { execution, failure, schedule } = self;
        let kept = KeptFailure {
            execution: *execution,
            rule: failure.rule.clone(),
            message: failure.message.clone(),
            task: failure.task.clone(),
            schedule: schedule.to_string(),
        };
        kept.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ProofFailure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kept = KeptFailure::deserialize(deserializer)?;
        let schedule = kept.schedule.parse().map_err(serde::de::Error::custom)?;
        let KeptFailure { execution, rule, message, task, .. } = kept;
        let failure = Failure { rule, message, task, ..Failure::default() };
        Ok(Self { execution, failure, schedule })
    }
}

/// How many executions are left, as random probes see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remaining {
    /// Executions, in addition to those that were run; at least as many as are known to be left.
    pub executions: f64,
    /// Its standard error. Few probes of a large program may all miss its large part: then both
    /// are too low.
    pub standard_error: f64,
}

/// What came of searching the executions of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proof {
    /// Every execution there is was run, or one that is equivalent to it; with a bound, every one
    /// within the bound.
    pub complete: bool,
    /// Executions that ran to their end, failed ones included.
    pub executions: u64,
    /// Runs that were given up since they would have repeated others: what they were about to do
    /// had been tried, or would have waited.
    pub blocked: u64,
    /// Executions that differ in the order of dependent steps, or in what was picked.
    pub distinct_traces: u64,
    /// Executions that failed.
    pub failures: u64,
    /// Failed executions by rule.
    pub rules: BTreeMap<String, u64>,
    /// The first that failed.
    pub first_failure: Option<ProofFailure>,
    /// What is left, where the search was cut off.
    pub remaining_estimate: Option<Remaining>,
    /// Why the program cannot be searched, or not to the end. The counts are those up to there.
    pub refused: Option<String>,
    /// A loop that waits gave up when nobody else could go on; the executions in which it gives up
    /// earlier were not searched, so the proof is not complete.
    pub gave_up: bool,
}
