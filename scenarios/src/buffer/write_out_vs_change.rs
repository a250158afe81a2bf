//! A writer changes page 1 while a flusher writes it out.
//!
//! Not allowed: a page on disk that is half of what it was and half of what it became. So who writes a
//! page out has its content locked.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, dirty, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a page is written out while somebody changes it",
    rules: &["I-WAL3", "data-race", "I-LK1", "I-REF3", "I-IO1"],
    mutants: &[MutantCase {
        name: "flush.no_lock",
        budget: 20_000,
        note: "writes the page out without its content lock",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B14"],
    script: Some(
        "flusher until \"flushes buffer 0\"\n\
         writer to the end\n\
         flusher to the end\n",
    ),
    script_mutant: Some("flush.no_lock"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "write-out-vs-change-modern",
    body: || write_out_vs_change(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "write-out-vs-change-classic",
    body: || write_out_vs_change(Profile::Classic),
    ..STORY
});

fn write_out_vs_change(profile: Profile) {
    // Given page 1 in a buffer, dirty,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    dirty(&pool, page(1));
    // when a flusher writes it out
    let flusher = actor("flusher", &pool, |session| session.flush(0));
    // while a writer changes it,
    let writer = actor("writer", &pool, |session| {
        let pin = session.read(page(1))?;
        let mut locked = pin.lock_exclusive();
        locked.bytes_mut()[0] += 10;
        locked.mark_dirty();
        Ok::<_, BufferError>(())
    });
    // then both are done,
    assert!(finish(flusher).is_ok(), "the storage works");
    assert!(matches!(finish(writer), Ok(())), "the page is in the pool");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
