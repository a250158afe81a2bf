//! One bug, one scheduler: how many executions and how much time until it shows.

use std::fmt;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Who runs the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Peer {
    Shuttle,
    Holdup,
}

/// Who runs a program, and who decides in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Arm {
    peer: Peer,
    /// As the peer calls it.
    pub(crate) scheduler: String,
}

impl Arm {
    pub(crate) fn new(peer: Peer, scheduler: &str) -> Self {
        Self { peer, scheduler: scheduler.to_owned() }
    }

    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = match self.peer {
            Peer::Shuttle => "shuttle",
            Peer::Holdup => "holdup",
        };
        write!(f, "{peer} {}", self.scheduler)
    }
}

/// What one arm did on one bug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) program: String,
    pub(crate) mutant: String,
    #[serde(flatten)]
    pub(crate) arm: Arm,
    #[serde(flatten)]
    pub(crate) found: Found,
}

/// What came of the trials of one arm on one bug.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// For each trial the executions to the first failure, that one included; `None` where the
    /// budget was not enough.
    pub(crate) executions: Vec<Option<u64>>,
    /// Executions of a trial that found nothing.
    pub(crate) budget: u64,
    /// Processor seconds of all trials.
    pub(crate) seconds: f64,
}

impl Found {
    /// In how many trials the bug was found.
    pub(crate) fn count(&self) -> usize {
        self.executions.iter().flatten().count()
    }

    /// Executions to a failure in the long run: all that were spent over the failures found. That
    /// is the most likely mean of a geometric distribution, of which some trials were cut off.
    /// `None` where nothing was found.
    pub(crate) fn mean(&self) -> Option<f64> {
        let spent: u64 = self.executions.iter().map(|found| found.unwrap_or(self.budget)).sum();
        (self.count() > 0).then(|| spent as f64 / self.count() as f64)
    }

    /// Processor seconds to a failure in the long run; `None` where nothing was found.
    pub(crate) fn mean_seconds(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.seconds / self.count() as f64)
    }

    /// The median of the trials; `None` where fewer than half found it.
    pub(crate) fn median(&self) -> Option<u64> {
        let mut sorted = self.executions.clone();
        sorted.sort_by_key(|found| found.unwrap_or(u64::MAX));
        sorted.get(sorted.len().div_ceil(2).max(1) - 1).copied().flatten()
    }
}

/// Takes the trials that `run` carries out, and the processor time that they take.
pub(crate) fn timed(budget: u64, run: impl FnOnce() -> Vec<Option<u64>>) -> Found {
    let from = processor_time();
    let executions = run();
    Found { executions, budget, seconds: (processor_time() - from).as_secs_f64() }
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}
