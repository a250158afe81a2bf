//! A reader has page 1 pinned and remembers what it saw there. Another task asks for the same page
//! zeroed and for a cleanup lock, as the replay of a log does, and moves things about in it.
//!
//! The page is valid, so it is not zeroed, and the lock must wait for the reader's pin to go. Not
//! allowed: that the page changes under the reader, which had found its place in it.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a page is asked for zeroed and free of pins while a reader has it pinned",
    rules: &["I-CL1", "I-CL2", "I-LK1", "I-LK4", "I-REF3"],
    mutants: &[MutantCase {
        name: "zero.plain_lock_for_cleanup",
        budget: 20_000,
        note: "a valid page is locked to change, whoever else has it pinned",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    script: Some(
        "reader until \"remembers its place\"\n\
         restorer to the end\n\
         reader to the end\n",
    ),
    script_mutant: Some("zero.plain_lock_for_cleanup"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "zeroed-page-vs-pin-modern",
    body: || zeroed_page_vs_pin(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "zeroed-page-vs-pin-classic",
    body: || zeroed_page_vs_pin(Profile::Classic),
    ..STORY
});

fn zeroed_page_vs_pin(profile: Profile) {
    // Given page 1 in a buffer,
    let pool = pool_with(options(profile, 2), storage(), &[page(1)]);
    // when a reader finds its place there and comes back to it,
    let reader = actor("reader", &pool, |session| {
        let pin = session.read(page(1))?;
        let first = pin.lock_share().bytes()[0];
        holdup::note!("remembers its place");
        let second = pin.lock_share().bytes()[0];
        Ok::<_, BufferError>((first, second))
    });
    // while another wants it without anybody's pin,
    let restorer = actor("restorer", &pool, |session| {
        let mut locked = session.zero_and_lock_for_cleanup(page(1))?;
        let was = locked.bytes()[0];
        locked.bytes_mut()[0] = 9;
        locked.mark_dirty();
        Ok::<_, BufferError>(was)
    });
    // then the page did not change under the reader,
    let seen = finish(reader);
    assert!(
        matches!(seen, Ok((1, 1) | (9, 9))),
        "I-CL1: who has the cleanup lock has the only pin, but a pinned page was {seen:?}"
    );
    // and was not zeroed.
    let was = finish(restorer);
    assert!(matches!(was, Ok(1)), "I-LK7: a valid page is not zeroed, but was {was:?}");
    check_nothing_is_left(&pool);
}
