//! A writer changes page 1, which is in no buffer at first, while another task is about to write the
//! same page anew and asks for it without reading it. A reader looks on.
//!
//! If no buffer has the page, it may become zeroes. If one has it by then, it may not: the writer's
//! change, and what others remember of the page, would be gone (B17). Nor may anybody see the zeroes
//! before something is written there (B16).

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_over, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a page is asked for zeroed while a writer changes it and a reader looks on",
    rules: &["I-IO1", "I-IO2", "I-LK1", "I-LK7", "I-MAP2", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "zero.always",
            budget: 20_000,
            note: "the page is zeroed although a buffer has it",
            catalogue: &["B17"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "zero.valid_before_lock",
            budget: 20_000,
            note: "the zeroed page is valid before it is locked",
            catalogue: &["B16"],
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    catalogue: &["B16", "B17"],
    script: Some(
        "writer to the end\n\
         restorer to the end\n",
    ),
    script_mutant: Some("zero.always"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "valid-page-is-not-zeroed-modern",
    body: || valid_page_is_not_zeroed(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "valid-page-is-not-zeroed-classic",
    body: || valid_page_is_not_zeroed(Profile::Classic),
    ..STORY
});

fn valid_page_is_not_zeroed(profile: Profile) {
    // Given an empty pool,
    let options = PoolOptions { max_sessions: 3, ..options(profile, 4) };
    let pool = pool_over(options, storage());
    // when a writer changes byte 1 of page 1,
    let writer = actor("writer", &pool, |session| {
        let pin = session.read(page(1))?;
        let mut locked = pin.lock_exclusive();
        locked.bytes_mut()[1] = 7;
        locked.mark_dirty();
        Ok::<_, BufferError>(())
    });
    // another writes byte 2 and does not care what the page was,
    let restorer = actor("restorer", &pool, |session| {
        let mut locked = session.zero_and_lock(page(1))?;
        locked.bytes_mut()[2] = 8;
        locked.mark_dirty();
        Ok::<_, BufferError>(())
    });
    // and a reader looks,
    let reader = actor("reader", &pool, |session| {
        session.read(page(1)).map(|pin| {
            let locked = pin.lock_share();
            [locked.bytes()[0], locked.bytes()[2]]
        })
    });
    // then the reader saw the page of the disk, or the new one,
    let seen = finish(reader);
    assert!(
        matches!(seen, Ok([1, _] | [_, 8])),
        "I-IO2: a page is seen when it has been read or written, but was {seen:?}"
    );
    // and both changes are there.
    for done in [finish(writer), finish(restorer)] {
        assert!(done.is_ok(), "a page of an empty pool is to be had, but: {done:?}");
    }
    let left = pool.session().read(page(1)).map(|pin| {
        let locked = pin.lock_share();
        [locked.bytes()[1], locked.bytes()[2]]
    });
    assert!(
        matches!(left, Ok([7, 8])),
        "I-LK7: who changes a page has what it was before, but the changes left {left:?}"
    );
    check_nothing_is_left(&pool);
}
