//! Two tasks, each with two pages pinned, ask for many new pages in a pool of six buffers: two for
//! each of the three sessions that may exist. Both have their share already.
//!
//! Not allowed: that one takes what the other needs, so that this is told that every buffer is
//! pinned; or that a task whose share is used up gets no page at all (B20).

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, page, pool_over, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BlockNumber, BufferError, Fork, PoolOptions, Profile, Session};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two tasks with their share of pins ask for many new pages in a small pool",
    rules: &["I-EXT2", "I-EXT5", "I-PR3", "I-REF1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "pinlimit.off_by_one",
            budget: 20_000,
            note: "who has its share of pins may take none more",
            catalogue: &["B20"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "pinlimit.forgets_own",
            budget: 20_000,
            note: "what a session has pinned does not count towards its share",
            catalogue: &[],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "second until \"pins buffer 1\"\n\
         first to the end\n",
    ),
    script_mutant: Some("pinlimit.off_by_one"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "small-pool-is-shared-modern",
    body: || small_pool_is_shared(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "small-pool-is-shared-classic",
    body: || small_pool_is_shared(Profile::Classic),
    ..STORY
});

/// Pins two pages and adds as many as it may. Returns how many that were.
fn add(session: &Session<'_>, blocks: [BlockNumber; 2]) -> Result<usize, BufferError> {
    let _first = session.read(page(blocks[0]))?;
    let _second = session.read(page(blocks[1]))?;
    let added = session.extend_by(RELATION, Fork::Main, 100)?;
    Ok(1 + added.others.len())
}

fn small_pool_is_shared(profile: Profile) {
    // Given a small pool,
    let options = PoolOptions { max_sessions: 3, ..options(profile, 6) };
    let pool = pool_over(options, storage());
    // when two tasks with pins ask for many pages,
    let first = actor("first", &pool, |session| add(session, [0, 1]));
    let second = actor("second", &pool, |session| add(session, [2, 3]));
    // then each has one.
    for added in [finish(first), finish(second)] {
        assert!(
            matches!(added, Ok(1)),
            "I-EXT5: who extends pins its share of the pool and one page at least, but: {added:?}"
        );
    }
    check_nothing_is_left(&pool);
}
