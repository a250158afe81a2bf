//! Two sessions want the header of one buffer. Whoever has it may be taken off the processor for
//! milliseconds, and the other spins, sleeps, spins, and is disturbed in its sleep by signals.
//!
//! Waiting for as long as the holder is away is allowed. Not allowed: to call the lock stuck, which
//! ends the server, because sleeps that were cut short were counted as whole ones (B74).
//!
//! Waiters spin here in virtual time. The lock counts as stuck after five sleeps instead of 1000, at
//! least 5 ms, and holders are away for 2 ms at most, two of them in a row.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup_engine::{PoolOptions, Profile, SpinLimits};

/// Almost every holder is taken off the processor, and nobody sleeps well for a while.
const BUSY_MACHINE: Faults = Faults {
    descheduled: 60_000,
    descheduled_ms: 2,
    spurious_wakeup: 60_000,
    storm_steps: 1_000,
    ..Faults::NONE
};

crate::register!(Scenario {
    name: "holder-off-the-processor-modern",
    area: "buffer",
    summary: "the holder of a header lock is off the processor while signals disturb who waits",
    rules: &["I-SP3", "I-SP4", "I-REF3"],
    mutants: &[MutantCase {
        name: "spin.count_interrupted_sleeps",
        budget: 20_000,
        note: "a sleep that was cut short counts as a whole one",
        // The fault does what the catalogue's preemption does.
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B74"],
    script: Some("main until blocked\nfirst until blocked\nsecond until blocked\n"),
    script_seed: 1,
    script_mutant: Some("spin.count_interrupted_sleeps"),
    faults: BUSY_MACHINE,
    spin_budget: true,
    body: holder_off_the_processor,
    ..Scenario::BASE
});

fn holder_off_the_processor() {
    // Given page 1 in a buffer and little patience,
    let spin = SpinLimits { spins_per_delay: 10, delays: 5 };
    let options = PoolOptions { spin, ..options(Profile::Modern, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when two sessions look at its header,
    let flushes = ["first", "second"].map(|role| actor(role, &pool, |session| session.flush(0)));
    // then both saw that there is nothing to do
    for flushed in flushes {
        let flushed = finish(flushed);
        assert!(matches!(flushed, Ok(false)), "I-IO3: a clean page is not written: {flushed:?}");
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
