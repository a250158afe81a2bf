//! A cleaner wants page 1 for itself and counts two pins, its own and a reader's; just then the
//! reader gives its pin back. Either the cleaner sees that, or the reader sees that somebody waits.
//!
//! Not allowed: that both look before the other writes, so that the cleaner sleeps for ever. Nor
//! that the cleaner forgets a wake-up it had before it slept (B73), or that the reader wakes it
//! inside of the spinlock (B77).
//!
//! In PostgreSQL 19 a pin can go while somebody has the header locked, so the cleaner has to publish
//! first and count then (B04). Until 18 it could count first: nobody touches the word under its
//! header lock. So the mutant `cleanup.check_then_publish` is a bug in one profile and right in the
//! other; `scenarios/tests/profiles.rs` holds that.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const IGNORE_PINS: MutantCase = MutantCase {
    name: "cleanup.ignore_pins",
    budget: 20_000,
    note: "a conditional cleanup lock does not count pins",
    catalogue: &["B04"],
    critical_pair: Some([("reader", "buffer 0 state"), ("cleaner", "buffer 0 state")]),
    ..MutantCase::BASE
};

const RESET_AFTER_ENQUEUE: MutantCase = MutantCase {
    name: "cv.reset_after_enqueue",
    budget: 20_000,
    note: "the cleaner forgets a wake-up that came between its publishing and its sleep",
    catalogue: &["B73"],
    // The catalogue says 1: but the reader must pin first, and then unpin in the gap.
    preemptions: Some(2),
    ..MutantCase::BASE
};

const WAKE_UNDER_HEADER: MutantCase = MutantCase {
    name: "unpin.wake_under_hdr",
    budget: 20_000,
    note: "the reader wakes the cleaner while it has the header locked",
    catalogue: &["B77"],
    critical_pair: Some([("cleaner", "buffer 0 state"), ("reader", "buffer 0 state")]),
    preemptions: Some(1),
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a cleaner counts pins while a reader gives the last foreign one back",
    rules: &["deadlock", "I-LK4", "I-CL1", "I-CL2", "I-REF1", "I-REF3"],
    catalogue: &["B04", "B73", "B77"],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "cleanup-lock-vs-unpin-modern",
    body: || cleanup_lock_vs_unpin(Profile::Modern),
    mutants: &[
        MutantCase {
            name: "cleanup.check_then_publish",
            budget: 20_000,
            note: "the cleaner counts pins before it publishes that it waits",
            catalogue: &["B04"],
            critical_pair: Some([("reader", "buffer 0 state"), ("cleaner", "buffer 0 state")]),
            // The catalogue says 1: but the reader must pin first, and then unpin in the gap.
            preemptions: Some(2),
        },
        RESET_AFTER_ENQUEUE,
        WAKE_UNDER_HEADER,
        IGNORE_PINS,
    ],
    script: Some(
        "reader until \"pins buffer 0\"\n\
         reader for 1 step\n\
         cleaner until holding \"header lock\"\n\
         reader until \"unpins buffer 0\"\n\
         cleaner until blocked\n",
    ),
    script_mutant: Some("cleanup.check_then_publish"),
    ..STORY
});
crate::register!(Scenario {
    name: "cleanup-lock-vs-unpin-classic",
    body: || cleanup_lock_vs_unpin(Profile::Classic),
    mutants: &[RESET_AFTER_ENQUEUE, WAKE_UNDER_HEADER, IGNORE_PINS],
    script: Some(
        "reader until \"pins buffer 0\"\n\
         reader for 1 step\n\
         cleaner until holding \"header lock\"\n\
         reader until \"waits for header of buffer 0\"\n\
         cleaner until blocked\n\
         reader to the end\n",
    ),
    ..STORY
});

fn cleanup_lock_vs_unpin(profile: Profile) {
    // Given page 1 in a buffer, unpinned,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    // when a reader pins it and gives the pin back
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(drop)
    });
    // while a cleaner waits until nobody else has it pinned, and then tries once more,
    let cleaner = actor("cleaner", &pool, |session| {
        let pin = session.read(page(1))?;
        drop(pin.lock_for_cleanup()?);
        Ok::<_, BufferError>(pin.try_lock_for_cleanup().is_some())
    });
    // then the reader had its page,
    finish(reader).unwrap_or_else(|error| panic!("page 1 is in the pool: {error}"));
    // the cleaner had its turn
    finish(cleaner).unwrap_or_else(|error| panic!("nobody else waits: {error}"));
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
