//! The background writer comes to a dirty page that nobody uses, just as an evictor takes its buffer
//! for another page.
//!
//! Not allowed: that it pins a buffer that has no page by then. What it decided from the header it does
//! before it lets the header go: it pins and unlocks in one step.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, dirty, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BgWriter, BgWriterOptions, BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "the background writer wants to write the page whose buffer is being taken",
    rules: &["I-ID1", "I-ID2", "I-IO1", "I-REF1", "I-REF3", "I-MAP4"],
    mutants: &[MutantCase {
        name: "sync.pin_after_unlock",
        budget: 20_000,
        note: "unlocks the header, then pins",
        preemptions: Some(3),
        critical_pair: Some([("writer", "buffer 0 state"), ("evictor", "buffer 0 state")]),
        ..MutantCase::BASE
    }],
    script: Some(
        "writer until \"has yet to pin buffer 0\"\n\
         evictor until \"clears the tag of buffer 0\"\n\
         writer until \"pins buffer 0\"\n\
         evictor to the end\n",
    ),
    script_mutant: Some("sync.pin_after_unlock"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "background-write-vs-eviction-modern",
    body: || background_write_vs_eviction(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "background-write-vs-eviction-classic",
    body: || background_write_vs_eviction(Profile::Classic),
    ..STORY
});

fn background_write_vs_eviction(profile: Profile) {
    // Given page 1 in buffer 0, dirty, with no point of usage left, and the hand before it,
    let pool = pool_with(options(profile, 2), storage(), &[page(1), page(2)]);
    dirty(&pool, page(1));
    let session = pool.session();
    assert!(session.read(page(3)).is_ok(), "page 3 takes buffer 1");
    drop(session);
    // when the background writer makes a round
    let writer = actor("writer", &pool, |session| {
        BgWriter::new(BgWriterOptions::default()).round(session).map(drop)
    });
    // while an evictor needs a buffer for page 0,
    let evictor = actor("evictor", &pool, |session| session.read(page(0)).map(drop));
    // then both are done, or the evictor was told that every buffer is pinned,
    assert!(matches!(finish(writer), Ok(())), "the storage works");
    let had = finish(evictor);
    assert!(matches!(had, Ok(()) | Err(BufferError::NoUnpinnedBuffers)), "{had:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
