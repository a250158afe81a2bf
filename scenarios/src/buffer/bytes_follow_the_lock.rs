//! A writer and a reader want page 1, which is in no buffer: one of them reads it in, one changes it,
//! one looks at it. Who may look at the bytes must see all that was done to them before.
//!
//! Nothing but the orders of two words says so. The loader writes bytes without a content lock, and
//! the release of the header that makes the page valid is what publishes them; from then on it is
//! the content lock. A release or an acquire that is missing breaks no value here, since the
//! simulated memory is not weak: it is found as a race on the page.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a page is read in, changed and looked at; each sees what was done to it before",
    rules: &["data-race", "I-ID3", "I-REF3", "I-LK1"],
    mutants: &[
        MutantCase {
            name: "hdr.relaxed_release",
            budget: 20_000,
            note: "the release that makes a page valid does not publish its bytes",
            ..MutantCase::BASE
        },
        MutantCase {
            name: "content.relaxed_acquire",
            budget: 20_000,
            note: "who locks the content does not acquire what was done under the lock before",
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "writer until \"loads page 1 into buffer 0\"\n\
         writer until holding \"header lock\"\n\
         writer for 3 steps\n\
         reader to the end\n",
    ),
    script_mutant: Some("hdr.relaxed_release"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "bytes-follow-the-lock-modern",
    body: || bytes_follow_the_lock(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "bytes-follow-the-lock-classic",
    body: || bytes_follow_the_lock(Profile::Classic),
    ..STORY
});

fn bytes_follow_the_lock(profile: Profile) {
    // Given two empty buffers,
    let pool = pool_with(options(profile, 2), storage(), &[]);
    // when a writer changes page 1
    let writer = actor("writer", &pool, |session| {
        let pin = session.read(page(1))?;
        let mut locked = pin.lock_exclusive();
        locked.bytes_mut()[0] += 10;
        locked.mark_dirty();
        Ok::<_, BufferError>(())
    });
    // while a reader looks at it,
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // then the reader saw it as it was before the change or after it,
    assert!(matches!(finish(writer), Ok(())), "a page of an empty pool is to be had");
    let read = finish(reader);
    assert!(matches!(read, Ok(1 | 11)), "I-ID3: page 1 was read as {read:?}");
    // the change is there,
    let session = pool.session();
    let again = session.read(page(1)).map(|pin| pin.lock_share().bytes()[0]);
    assert!(matches!(again, Ok(11)), "I-ID3: page 1 was changed, but is {again:?}");
    drop(session);
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
