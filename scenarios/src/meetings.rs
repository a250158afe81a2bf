//! Meetings: the coverage of a sweep in words, so that it can be kept in a store and drawn.
//!
//! Places are `file:line:column operation`. Counts are executions that showed the meeting.

use std::collections::BTreeMap;

use holdup::coverage::{Coverage, Richness};
use serde::{Deserialize, Serialize};

/// Executions by what stands in the row, and by what met it.
pub type Matrix = BTreeMap<String, BTreeMap<String, u64>>;

/// What the executions of a sample showed of each other's doings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meetings {
    /// Executions looked at.
    pub executions: u64,
    /// Hand-offs: the place of a change, then the place where another task touched it.
    pub hand_offs: Matrix,
    /// Holds met: the kind of a hold, then the place where another task did something meanwhile.
    pub holds: Matrix,
}

impl Meetings {
    /// Adds what other executions showed.
    pub fn absorb(&mut self, other: Self) {
        self.executions += other.executions;
        absorb(&mut self.hand_offs, other.hand_offs);
        absorb(&mut self.holds, other.holds);
    }

    /// How many hand-offs there are.
    #[must_use]
    pub fn hand_off_richness(&self) -> Richness {
        richness(self.executions, &self.hand_offs)
    }

    /// How many holds met there are.
    #[must_use]
    pub fn hold_richness(&self) -> Richness {
        richness(self.executions, &self.holds)
    }

    /// New meetings to expect in the next 1,000 executions, at today's rate.
    #[must_use]
    pub fn new_per_1000(&self) -> f64 {
        self.hand_off_richness().new_per_1000 + self.hold_richness().new_per_1000
    }

    /// Whether the next 1,000 executions are expected to show less than one new meeting.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.executions >= 1_000 && self.new_per_1000() < 1.0
    }
}

impl From<&Coverage> for Meetings {
    fn from(coverage: &Coverage) -> Self {
        let mut meetings = Self { executions: coverage.executions, ..Self::default() };
        for (hand_off, executions) in &coverage.hand_offs {
            let row = meetings.hand_offs.entry(hand_off.from.to_string()).or_default();
            *row.entry(hand_off.to.to_string()).or_default() += executions;
        }
        for (met, executions) in &coverage.holds {
            let row = if met.same_object { "itself" } else { "something else" };
            let row = meetings.holds.entry(format!("{}: {row}", met.hold)).or_default();
            *row.entry(met.by.to_string()).or_default() += executions;
        }
        meetings
    }
}

fn absorb(matrix: &mut Matrix, other: Matrix) {
    for (row, counts) in other {
        let known = matrix.entry(row).or_default();
        for (column, executions) in counts {
            *known.entry(column).or_default() += executions;
        }
    }
}

fn richness(executions: u64, matrix: &Matrix) -> Richness {
    Richness::of(executions, matrix.values().flat_map(BTreeMap::values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meetings(executions: u64, count: u64) -> Meetings {
        let row: BTreeMap<_, _> = [("b".to_owned(), count)].into();
        Meetings { executions, hand_offs: [("a".to_owned(), row)].into(), holds: Matrix::new() }
    }

    #[test]
    fn meetings_of_two_samples_add_up() {
        let mut sum = meetings(10, 1);
        sum.absorb(meetings(20, 4));

        assert_eq!(sum, meetings(30, 5));
        assert_eq!(sum.hand_off_richness().seen, 1);
    }

    #[test]
    fn a_sweep_is_saturated_when_it_has_seen_much_and_nothing_only_once() {
        assert!(meetings(1_000, 2).is_saturated());
        assert!(!meetings(1_000, 1).is_saturated());
        assert!(meetings(1_001, 1).is_saturated());
        assert!(!meetings(999, 2).is_saturated());
    }
}
