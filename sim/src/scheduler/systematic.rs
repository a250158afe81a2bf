//! Systematic search: every schedule, or one of each trace. See
//! [`Checker::prove`](crate::Checker::prove), whose search and probes answer here.

use super::Turn;
use crate::explore::{Probe, Search};

/// The answer that nobody goes on: the run is given up.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What the machine tells a search beyond the operations that it sees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told {
    /// The running task gave a hint that it waits in a loop.
    Hint,
    /// It begins to wait for the value of a word.
    WaitsForWord,
    /// Its latest step tried to take a lock and failed; it will try again.
    FailedAttempt,
    /// Its latest step changed this object too.
    Writes(usize),
    /// It reads the virtual clock.
    ReadsClock,
    /// It draws from the seed.
    Draws,
}

/// Who is asked at every scheduling point of a proof.
pub(crate) enum Systematic {
    Search(Box<Search>),
    Probe(Probe),
}

impl Systematic {
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.decide(turn, true)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.decide(turn, false)
    }

    #[inline(never)]
    fn decide(&mut self, turn: &mut Turn<'_>, at_point: bool) -> u32 {
        match self {
            Self::Search(search) => search.decide(turn, at_point),
            Self::Probe(probe) => probe.decide(turn, at_point),
        }
    }

    /// Which of `n` outcomes: the machine is to draw where the answer is `None`.
    pub(crate) fn pick(&mut self, n: u32) -> Option<u32> {
        match self {
            Self::Search(search) => search.pick(n),
            Self::Probe(_) => None,
        }
    }

    /// Whether a fault strikes where one can.
    pub(crate) fn strikes(&mut self) -> Option<bool> {
        match self {
            Self::Search(search) => Some(search.strikes()),
            Self::Probe(_) => Some(false),
        }
    }

    pub(crate) fn told(&mut self, task: u32, told: Told) {
        if let Self::Search(search) = self {
            search.told(task, told);
        }
    }
}
