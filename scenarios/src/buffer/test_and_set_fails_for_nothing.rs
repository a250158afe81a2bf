//! A writer and a reader use one page on a machine whose test-and-set fails now and then although
//! the lock is free.
//!
//! Not allowed: to take such a failure for a lock that one has (B75), as the bit is clear and nobody
//! else can have it.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, dirty, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup_engine::Profile;

/// Every eighth test-and-set fails for no reason.
const SLIPPERY: Faults = Faults { spurious_failure: 1 << 13, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "header locks are taken where a test-and-set may fail for no reason",
    rules: &["I-SP1", "I-SP4", "I-IO1", "I-REF1", "I-REF2", "I-REF3", "I-MAP4"],
    mutants: &[MutantCase {
        name: "spin.assume_first_try",
        budget: 5_000,
        note: "takes a test-and-set that failed for a lock it has",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B75"],
    script: Some("writer to the end\nevictor to the end\n"),
    script_mutant: Some("spin.assume_first_try"),
    faults: SLIPPERY,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "test-and-set-fails-for-nothing-modern",
    body: || test_and_set_fails_for_nothing(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "test-and-set-fails-for-nothing-classic",
    body: || test_and_set_fails_for_nothing(Profile::Classic),
    ..STORY
});

fn test_and_set_fails_for_nothing(profile: Profile) {
    // Given page 1 in a buffer, dirty,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    dirty(&pool, page(1));
    // when a writer writes it out while an evictor wants the buffer empty,
    let writer = actor("writer", &pool, |session| session.flush(0));
    let evictor = actor("evictor", &pool, |session| session.evict(0));
    // then it is written out,
    finish(writer).unwrap_or_else(|error| panic!("the disk works: {error}"));
    let evicted = finish(evictor).unwrap_or_else(|error| panic!("the disk works: {error}"));
    let left = pool.state(0);
    assert!(!left.is_dirty(), "I-WAL4: a dirty page is written out, but it was left {left}");
    // the buffer has its page unless it was emptied,
    assert!(
        evicted != pool.state(0).is_valid(),
        "I-MAP4: a buffer has its page unless it was evicted, but that was {evicted}"
    );
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
