//! Buffer 0 is pinned all the time, buffer 1 is not. Two readers look for a victim with one hand, so
//! that one of them may come by buffer 0 again and again while the other one looks at buffer 1.
//!
//! Not allowed: to say that every buffer is pinned because one was, twice.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two sweepers take turns at the hand, and one of them sees only what is pinned",
    rules: &["I-PR3", "I-REF3", "I-REF5", "I-ID2"],
    mutants: &[MutantCase {
        name: "sweep.count_visits",
        budget: 20_000,
        note: "counts visits to pinned buffers, as PostgreSQL does, not the buffers",
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "two-sweepers-one-hand-modern",
    body: || two_sweepers_one_hand(Profile::Modern),
    script: Some(
        "main until blocked\n\
         second until holding \"strategy lock\" of \"strategy lock\"\n\
         first until holding \"partition lock\" of \"partition 0\"\n\
         first for 8 steps\n\
         second to the end\n"
    ),
    script_mutant: Some("sweep.count_visits"),
    script_seed: 15,
    ..STORY
});
crate::register!(Scenario {
    name: "two-sweepers-one-hand-classic",
    body: || two_sweepers_one_hand(Profile::Classic),
    script: Some(
        "main until blocked\n\
         second until holding \"header lock\" of \"buffer 0 state\"\n\
         first until holding \"header lock\" of \"buffer 1 state\"\n\
         second to the end\n"
    ),
    script_mutant: Some("sweep.count_visits"),
    script_seed: 7,
    ..STORY
});

fn two_sweepers_one_hand(profile: Profile) {
    // Given pages 1 and 2 in two buffers, the first one pinned,
    let options = PoolOptions { max_sessions: 3, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[page(1), page(2)]);
    let session = pool.session();
    let held = session.read(page(1));
    // when two readers need a buffer each,
    let first = actor("first", &pool, |session| session.read(page(3)).map(drop));
    let second = actor("second", &pool, |session| session.read(page(0)).map(drop));
    // then each got the other one, or met it pinned,
    for had in [finish(first), finish(second)] {
        assert!(matches!(had, Ok(()) | Err(BufferError::NoUnpinnedBuffers)), "{had:?}");
    }
    // and nothing is left behind.
    drop(held);
    drop(session);
    check_nothing_is_left(&pool);
}
