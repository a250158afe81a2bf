//! Three writers want the same page, one after the other. Whoever finds the content locked stands in
//! the queue and sleeps; who gives the lock back wakes the first, who tries again.
//!
//! Not allowed: that two change the page at one time, that a change is lost, and that somebody
//! sleeps for ever: because the lock was given back just before it stood in the queue and it did not
//! look again, or because who was woken does not let others be woken after it (B71).

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "three writers queue for one page's content lock",
    rules: &["deadlock", "I-LK1", "I-LK2", "I-LK3", "I-LK4", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "lwlock.no_recheck_after_queue",
            budget: 20_000,
            note: "sleeps without a second look once it stands in the queue",
            // The catalogue says 1: but the holder must be taken off the processor first.
            preemptions: Some(2),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "lwlock.no_release_ok",
            budget: 20_000,
            note: "who was woken does not let others be woken again",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    catalogue: &["B71"],
    script_mutant: Some("lwlock.no_recheck_after_queue"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "content-lock-queue-modern",
    body: || content_lock_queue(Profile::Modern),
    script: Some(
        "third to the end\n\
         first until \"marks buffer 0 dirty\"\n\
         second until holding \"header lock\"\n\
         first to the end\n\
         second until blocked\n",
    ),
    ..STORY
});
crate::register!(Scenario {
    name: "content-lock-queue-classic",
    body: || content_lock_queue(Profile::Classic),
    script: Some(
        "third to the end\n\
         first until \"marks buffer 0 dirty\"\n\
         second until holding \"wait list lock\"\n\
         first to the end\n\
         second until blocked\n",
    ),
    ..STORY
});

fn content_lock_queue(profile: Profile) {
    // Given page 1 in a buffer,
    let options = PoolOptions { max_sessions: 3, ..options(profile, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when three writers count it up
    let writers = ["first", "second", "third"].map(|role| {
        actor(role, &pool, |session| {
            let pin = session.read(page(1))?;
            let mut body = pin.lock_exclusive();
            body.bytes_mut()[0] += 1;
            body.mark_dirty();
            Ok::<_, BufferError>(())
        })
    });
    // then each had its turn,
    for writer in writers {
        finish(writer).unwrap_or_else(|error| panic!("page 1 is in the pool: {error}"));
    }
    let session = pool.session();
    let pin = session.read(page(1)).unwrap_or_else(|error| panic!("page 1 is there: {error}"));
    let counted = pin.lock_share().bytes()[0];
    assert!(counted == 4, "I-LK1: three changes make 1 a 4, but it was {counted}");
    drop(pin);
    drop(session);
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
