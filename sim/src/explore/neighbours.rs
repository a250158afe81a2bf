//! Neighbours: what a script that no longer meets its bug led near to.
//!
//! A script that does not fit any more still names the beginning of a schedule. Behind each part of
//! it that fits, the longest first, the execution goes on at random under some seeds; one that
//! breaks the rule is a neighbour, from which a new script can be shrunk.

use super::{Checker, Failure, rerun};
use crate::script::Script;
use crate::trace::Trace;

/// Random suffixes behind each prefix.
pub const SUFFIXES: u64 = 200;

/// An execution near a script that breaks the rule which the script no longer does.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// How many turns of the script it begins with.
    pub turns: usize,
    /// The seed of its random rest.
    pub suffix: u64,
    /// How many neighbours were run until it was found.
    pub tried: u64,
    /// The execution.
    pub trace: Trace,
}

impl Checker {
    /// Looks among the neighbours of `script` for one that breaks `rule`, or any rule if none is
    /// given. Only beginnings of it that can be kept are gone on from.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn neighbour(
        &self,
        seed: u64,
        script: &Script,
        rule: Option<&str>,
        body: &(dyn Fn() + Sync),
    ) -> Option<Neighbour> {
        let steps = self.setup.max_steps;
        rerun::with(self, seed, steps, "", body, |reruns| {
            for turns in (0..=script.turns.len()).rev() {
                for suffix in 0..SUFFIXES {
                    let trace = reruns.neighbour(script.clone(), turns, suffix);
                    if trace.divergence.is_some() {
                        // This beginning does not fit; a shorter one may.
                        break;
                    }
                    let breaks = |failure: &Failure| rule.is_none_or(|rule| failure.rule == rule);
                    if trace.failure.as_ref().is_some_and(breaks) {
                        return Some(Neighbour { turns, suffix, tried: reruns.count, trace });
                    }
                }
            }
            None
        })
    }
}
