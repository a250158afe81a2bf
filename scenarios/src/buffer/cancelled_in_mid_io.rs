//! Two readers want page 1, which is in no buffer, a writer writes page 2 out, and its relation is
//! dropped meanwhile. Requests to cancel come: to who waits for somebody else's I/O, and to who is in
//! the middle of its own.
//!
//! Who is cancelled leaves nothing behind: its I/O fails, so that a waiter wakes and makes it its own;
//! a page that was being written stays dirty; nobody stays on a list of those to be woken. A drop waits
//! for the write whatever comes. Not allowed: an I/O that nobody will end, a waiter that sleeps on.

use crate::actor::finish;
use crate::buffer::stage::{
    OTHER_RELATION, actor, check_nothing_is_left, dirty, options, other_page, page, pool_with,
    storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup_engine::{BufferError, PoolOptions, Profile};

/// One request in eight interruptible points.
const FAULTS: Faults = Faults { cancel: 1 << 13, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "readers, a writer and a drop meet in I/O that is cancelled in the middle",
    rules: &["deadlock", "I-IO1", "I-IO4", "I-IO5", "I-WAL4", "I-DROP1", "I-MAP2", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "cv.test_then_prepare",
            budget: 20_000,
            note: "looks whether the I/O is over, and stands on the list to be woken after that",
            catalogue: &["B73"],
            preemptions: Some(2),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "cv.reset_after_enqueue",
            budget: 20_000,
            note: "forgets a wake-up that came between its look and its sleep",
            catalogue: &["B73"],
            preemptions: Some(2),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "abort.keeps_io",
            budget: 20_000,
            note: "who is cancelled in the middle of an I/O leaves it in progress",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "abort.wakes_nobody",
            budget: 20_000,
            note: "who is cancelled in the middle of an I/O ends it and wakes nobody",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    catalogue: &["B73"],
    faults: FAULTS,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "cancelled-in-mid-io-modern",
    body: || cancelled_in_mid_io(Profile::Modern),
    script: Some(SCRIPT),
    script_mutant: Some("cv.test_then_prepare"),
    ..STORY
});
crate::register!(Scenario {
    name: "cancelled-in-mid-io-classic",
    body: || cancelled_in_mid_io(Profile::Classic),
    script: Some(SCRIPT),
    script_mutant: Some("cv.test_then_prepare"),
    ..STORY
});

const SCRIPT: &str = "first until \"loads page 1 into buffer 1\"\n\
     second until \"finds an I/O on buffer 1\"\n\
     first to the end\n\
     second until blocked\n";

fn cancelled_in_mid_io(profile: Profile) {
    // Given a dirty page of another relation in buffer 0, and room for two more,
    let options = PoolOptions { max_sessions: 4, ..options(profile, 3) };
    let pool = pool_with(options, storage(), &[]);
    while pool.session().read(other_page(2)).is_err() {}
    dirty(&pool, other_page(2));
    // when two readers want page 1,
    let [first, second] = ["first", "second"].map(|role| {
        actor(role, &pool, |session| {
            let pinned = session.read(page(1));
            pinned.map(|pin| pin.lock_share().bytes()[0])
        })
    });
    // while a writer writes the other page out and its relation is dropped,
    let writer = actor("writer", &pool, |session| {
        let flushed = session.flush(0);
        let left = session.pool().state(0);
        (flushed, left)
    });
    let dropper = actor("dropper", &pool, |session| session.drop_relation(OTHER_RELATION));
    // then each reader has the page or was cancelled,
    for read in [finish(first), finish(second)] {
        let allowed = matches!(read, Ok(1) | Err(BufferError::Cancelled));
        assert!(allowed, "I-IO4: a reader has page 1 or was cancelled, but it was {read:?}");
    }
    let (flushed, left) = finish(writer);
    let allowed = matches!(flushed, Ok(_) | Err(BufferError::Cancelled));
    assert!(allowed, "I-IO4: a write is done or was cancelled, but it was {flushed:?} of {left}");
    // the drop is done,
    finish(dropper).unwrap_or_else(|error| panic!("I-DROP1: a drop cannot be cancelled: {error}"));
    let found = pool.find(other_page(2));
    assert!(found.is_none(), "I-DROP1: a dropped page is in no buffer, but was in {found:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
