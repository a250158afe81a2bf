//! Two readers move the clock hand round and round, and an observer asks where it is.
//!
//! The hand and its laps are two words that change one after the other. Not allowed: that they are seen
//! as they do not belong together, as if the hand had gone back. The background writer reckons from
//! them.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, ClockPosition, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "an observer asks for the clock hand while it is brought back to the first buffer",
    rules: &["I-CLK1", "I-PR3", "I-REF3", "I-REF5"],
    mutants: &[
        MutantCase {
            name: "sweep.wrap_without_lock",
            budget: 20_000,
            note: "brings the hand back, then counts the lap",
            preemptions: Some(2),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "sweep.wrap_takes_remainder",
            budget: 50_000,
            note: "takes two laps off the hand where the hand came round again, and counts one",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    ..Scenario::BASE
};

/// Buffers in the pool.
const BUFFERS: u32 = 2;

crate::register!(Scenario {
    name: "clock-hand-wraps-modern",
    body: || clock_hand_wraps(Profile::Modern),
    script: Some(
        "main until blocked\n\
         observer until holding \"strategy lock\" of \"strategy lock\"\n\
         observer until holding \"strategy lock\" of \"strategy lock\"\n"
    ),
    script_mutant: Some("sweep.wrap_without_lock"),
    script_seed: 5,
    ..STORY
});
crate::register!(Scenario {
    name: "clock-hand-wraps-classic",
    body: || clock_hand_wraps(Profile::Classic),
    script: Some(
        "main until blocked\n\
         second until holding \"header lock\" of \"buffer 1 state\"\n\
         observer until holding \"strategy lock\" of \"strategy lock\"\n\
         observer until holding \"strategy lock\" of \"strategy lock\"\n\
         second until blocked\n\
         observer to the end\n"
    ),
    script_mutant: Some("sweep.wrap_without_lock"),
    script_seed: 50,
    ..STORY
});

/// Buffers that the hand has passed.
fn passed(clock: ClockPosition) -> u32 {
    clock.complete_passes * BUFFERS + clock.hand
}

fn clock_hand_wraps(profile: Profile) {
    // Given two pages in two buffers,
    let options = PoolOptions { max_sessions: 3, ..options(profile, BUFFERS) };
    let pool = pool_with(options, storage(), &[page(1), page(2)]);
    // when two readers need them for other pages
    let first = actor("first", &pool, |session| session.read(page(3)).map(drop));
    let second = actor("second", &pool, |session| session.read(page(0)).map(drop));
    // while an observer looks at the hand,
    let observer = actor("observer", &pool, |session| {
        let mut before = 0;
        for _ in 0..3 {
            let now = passed(session.pool().clock());
            assert!(now >= before, "I-CLK1: the hand goes on, but from {before} it came to {now}");
            before = now;
        }
        before
    });
    // then it had not gone back,
    let before = finish(observer);
    for had in [finish(first), finish(second)] {
        assert!(matches!(had, Ok(()) | Err(BufferError::NoUnpinnedBuffers)), "{had:?}");
    }
    let now = passed(pool.clock());
    assert!(now >= before, "I-CLK1: the hand goes on, but from {before} it came to {now}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
