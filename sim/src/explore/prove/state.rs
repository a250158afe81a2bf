//! A search that can be taken up again: what was found, and what is left.

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::runner::Runner;
use super::spread::Spread;
use super::tally::Tally;
use super::units::Units;

/// What is left of a search.
#[derive(Serialize, Deserialize)]
enum Frontier {
    Traces(Units),
    Bounded(Spread),
}

/// A search as far as it has come.
#[derive(Serialize, Deserialize)]
pub(super) struct ProofState {
    frontier: Frontier,
    pub(super) tally: Tally,
    /// Traces that were run.
    #[serde(skip)]
    pub(super) traces: std::collections::HashSet<u64, FixedState>,
}

impl ProofState {
    pub(super) fn new(preemptions: Option<u32>) -> Self {
        let frontier = match preemptions {
            None => Frontier::Traces(Units::new()),
            Some(bound) => Frontier::Bounded(Spread::new(bound)),
        };
        Self { frontier, tally: Tally::default(), traces: std::collections::HashSet::default() }
    }

    /// Whether nothing is left to run.
    #[must_use]
    pub(super) fn is_searched(&self) -> bool {
        match &self.frontier {
            Frontier::Traces(units) => units.is_searched(),
            Frontier::Bounded(spread) => spread.is_searched(),
        }
    }

    /// Runs, at most `limit` times. False if there is no more room.
    pub(super) fn round(&mut self, runner: &Runner<'_>, limit: u64) -> bool {
        let room = match &mut self.frontier {
            Frontier::Traces(units) => {
                units.round(runner, limit, &mut self.tally);
                true
            }
            Frontier::Bounded(spread) => spread.round(runner, limit, &mut self.tally),
        };
        self.traces.extend(self.tally.traces.drain(..));
        room
    }

    /// What came of all runs so far.
    pub(super) fn total(&self) -> Tally {
        let mut total = self.tally.clone();
        if let Frontier::Traces(units) = &self.frontier {
            units.unfinished().for_each(|tally| total.absorb(tally.clone()));
        }
        total
    }

    pub(super) fn choices_left(&self) -> u64 {
        match &self.frontier {
            Frontier::Traces(units) => units.choices_left(),
            Frontier::Bounded(spread) => spread.choices_left(),
        }
    }

    /// Ready to be written down.
    pub(super) fn keep(&mut self) {
        if let Frontier::Traces(units) = &mut self.frontier {
            for traces in units.keep() {
                self.traces.extend(traces.drain(..));
            }
        }
    }
}
