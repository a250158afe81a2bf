//! What is a bug in one profile may be right in the other.
//!
//! Until PostgreSQL 18 nobody but its holder writes a word under its header lock; in 19 pins and
//! content locks may go meanwhile. Code written for the first is wrong in the second only.

use holdup::Scheduler;
use holdup_scenarios::registry;

const SEEDS: u64 = 5_000;

/// Runs `scenario` with the bug `mutant`, which it need not list.
fn failures(scenario: &str, mutant: &'static str) -> u64 {
    let scenario = registry::find(scenario).unwrap();
    let checker = scenario.checker(&Scheduler::Portfolio, Some(mutant));
    checker.seeds(0..SEEDS).jobs(2).run(&scenario.body).failures
}

#[test]
fn counting_pins_before_publishing_the_waiter_is_right_in_classic_and_wrong_in_modern() {
    let mutant = "cleanup.check_then_publish";

    assert_eq!(failures("cleanup-lock-vs-unpin-classic", mutant), 0);
    assert_ne!(failures("cleanup-lock-vs-unpin-modern", mutant), 0);
}

#[test]
fn releasing_the_header_by_a_plain_store_is_right_in_classic_and_wrong_in_modern() {
    let mutant = "hdr.unlock_plain_store";

    assert_eq!(failures("header-release-vs-unpin-classic", mutant), 0);
    assert_ne!(failures("header-release-vs-unpin-modern", mutant), 0);
}
