//! A session drops a relation and has forgotten that it still has a page of it pinned, while a
//! stranger follows a stale hint into the same buffer.
//!
//! The stranger's pin goes away by itself and is waited for. The session's own does not: not allowed
//! is to wait for it (B12). The drop says so and forgets nothing that is pinned.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile, RecentVariant};

const STORY: Scenario = Scenario {
    area: "drop",
    summary: "a relation is dropped by a session that has one of its pages pinned",
    rules: &["deadlock", "I-DROP1", "I-ID1", "I-PR2", "I-REF1", "I-REF3"],
    mutants: &[MutantCase {
        name: "invalidate.no_own_pin_check",
        budget: 1_000,
        note: "a drop waits for a pin of its own session",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B12"],
    script: Some("dropper to the end\n"),
    script_mutant: Some("invalidate.no_own_pin_check"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "drop-with-own-pin-modern",
    body: || drop_with_own_pin(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "drop-with-own-pin-classic",
    body: || drop_with_own_pin(Profile::Classic),
    ..STORY
});

fn drop_with_own_pin(profile: Profile) {
    // Given page 1 in a buffer,
    let options = PoolOptions { recent: RecentVariant::PinFirst, ..options(profile, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when a stranger looks for page 3 where it once was
    let stranger = actor("stranger", &pool, |session| session.read_recent(page(3), 0).is_some());
    // while a session that has page 1 pinned drops the relation, and once more without the pin,
    let dropper = actor("dropper", &pool, |session| {
        let pin = session.read(page(1))?;
        let refused = session.drop_buffers(RELATION);
        pin.check_identity();
        drop(pin);
        session.drop_buffers(RELATION).map(|counts| (refused, counts))
    });
    // then the stranger found nothing,
    assert!(!finish(stranger), "I-ID3: page 3 is in no buffer, but was found");
    // the first drop was refused and the second was not,
    let (refused, counts) = finish(dropper).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        matches!(refused, Err(BufferError::PinnedByCaller { tag }) if tag == page(1)),
        "I-PR2: who drops what it has pinned is told so, but was told {refused:?}"
    );
    assert!(counts.invalidations == 1, "I-DROP1: one buffer is emptied, but it was {counts:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
