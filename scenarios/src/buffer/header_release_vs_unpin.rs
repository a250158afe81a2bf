//! A background writer looks at a clean buffer under its header lock while a reader comes and goes.
//! The lock's release must lose nothing that the reader did to the word in the meantime.
//!
//! In PostgreSQL 19 a reader may give its pin back under somebody else's header lock, so the release
//! is a read-modify-write. Until 18 nobody touches the word meanwhile, and the release is a store of
//! all of it: the mutant `hdr.unlock_plain_store` is a bug in one profile and right in the other,
//! which `scenarios/tests/profiles.rs` holds. But then every other change must be a true
//! read-modify-write, and a compare-and-swap made of a load and a store is none (B22).

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::Profile;

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a header lock is released while a reader changes the same word",
    rules: &["I-REF1", "I-REF2", "I-REF3", "I-SP4", "I-LK1"],
    catalogue: &["B22"],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "header-release-vs-unpin-modern",
    body: || header_release_vs_unpin(Profile::Modern),
    mutants: &[MutantCase {
        name: "hdr.unlock_plain_store",
        budget: 20_000,
        note: "the release stores the word as it was, and with it a pin that is gone",
        critical_pair: Some([("writer", "buffer 0 state"), ("reader", "buffer 0 state")]),
        // The catalogue says 1: but the reader must pin first, and then unpin in the gap.
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    script: Some(
        "reader until \"locks buffer 0 to read\"\n\
         writer until holding \"header lock\"\n\
         reader until \"unpins buffer 0\"\n\
         writer to the end\n",
    ),
    script_mutant: Some("hdr.unlock_plain_store"),
    ..STORY
});
crate::register!(Scenario {
    name: "header-release-vs-unpin-classic",
    body: || header_release_vs_unpin(Profile::Classic),
    mutants: &[MutantCase {
        name: "atomics.plain_store_not_rmw_safe",
        budget: 20_000,
        note: "the pin's compare-and-swap is a load, a compare and a store",
        critical_pair: Some([("writer", "buffer 0 state"), ("reader", "buffer 0 state")]),
        // The catalogue says 1. The pin must fall into the header lock, and the lock into the gap
        // of the pin: no schedule with 2 breaks I-REF1.
        preemptions: Some(3),
        ..MutantCase::BASE
    }],
    script: Some(
        "reader until \"compares, and has yet to store\"\n\
         writer until holding \"header lock\"\n\
         reader until \"pins buffer 0\"\n\
         writer to the end\n",
    ),
    script_mutant: Some("atomics.plain_store_not_rmw_safe"),
    ..STORY
});

fn header_release_vs_unpin(profile: Profile) {
    // Given page 1 in a buffer, clean and unpinned,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    // when a reader pins it, reads it and unpins it
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // while a background writer looks whether there is something to write,
    let writer = actor("writer", &pool, |session| session.flush(0));
    // then the reader read page 1,
    let read = finish(reader);
    assert!(matches!(read, Ok(1)), "I-ID3: page 1 was read as {read:?}");
    // there was nothing to write,
    let written = finish(writer);
    assert!(matches!(written, Ok(false)), "I-IO3: a clean page was written: {written:?}");
    // and nothing is left behind, above all no pin.
    check_nothing_is_left(&pool);
}
