//! Programs whose executions can be counted by hand, for whoever judges a search.
//!
//! What is counted is orders: four tasks that take one lock have 4! of them, two tasks that add
//! twice 4! / (2! 2!). A search that runs more has run some twice. Correct until the mutant is
//! switched on, which makes two holds, or two operations, of each addition.

mod additions;
mod locks;
mod spinlock;

use crate::actor::{actor, finish};
use crate::scenario::{MutantCase, Scenario};

const MUTANT: &str = "counts.read_then_write";

/// What the programs have in common.
const BASE: Scenario = Scenario {
    area: "counts",
    rules: &["I-SUM"],
    mutants: &[MutantCase {
        name: MUTANT,
        budget: 1_000,
        note: "an addition reads and writes in two steps, so that others in between are lost",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    script: Some("first until \"reads 0\"\nsecond to the end\nfirst to the end\n"),
    script_mutant: Some(MUTANT),
    ..Scenario::BASE
};

/// Runs `part` as that many actors, and waits for all.
fn all(n: usize, part: impl Fn() + Clone + Send + 'static) {
    let roles = ["first", "second", "third", "fourth"];
    let actors: Vec<_> = roles[..n].iter().map(|role| actor(role, part.clone())).collect();
    actors.into_iter().for_each(finish);
}

/// The rule of all these programs.
fn check_sum(sum: u32, additions: u32) {
    assert!(sum == additions, "I-SUM: every addition counts, but {additions} came to {sum}");
}
