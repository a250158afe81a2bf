//! Two readers want page 1 at the same time, and no buffer has it. Each finds a buffer for it; the
//! second one to enter it in the mapping finds the other's entry there.
//!
//! Not allowed: two buffers with the same page, where a change to one is lost to who reads the other.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile, Session};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two readers miss the same page and each finds a buffer for it",
    rules: &["I-MAP1", "I-MAP2", "I-MAP5", "I-ID3", "I-REF3", "I-FREE1"],
    mutants: &[MutantCase {
        name: "alloc.no_collision_check",
        budget: 20_000,
        note: "maps the page although another buffer has it by now",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B84"],
    script: Some(
        "first until \"pins buffer 0\"\n\
         second to the end\n\
         first to the end\n",
    ),
    script_mutant: Some("alloc.no_collision_check"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "same-page-read-twice-modern",
    body: || same_page_read_twice(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "same-page-read-twice-classic",
    body: || same_page_read_twice(Profile::Classic),
    ..STORY
});

fn same_page_read_twice(profile: Profile) {
    // Given two empty buffers,
    let pool = pool_with(options(profile, 2), storage(), &[]);
    // when two readers come for page 1 and each adds to it,
    let add = |session: &Session<'_>| {
        let pin = session.read(page(1))?;
        let mut locked = pin.lock_exclusive();
        locked.bytes_mut()[0] += 10;
        locked.mark_dirty();
        Ok::<_, BufferError>(())
    };
    let first = actor("first", &pool, add);
    let second = actor("second", &pool, add);
    // then both had it,
    for had in [finish(first), finish(second)] {
        assert!(matches!(had, Ok(())), "a page of an empty pool is to be had, but {had:?}");
    }
    // once,
    check_nothing_is_left(&pool);
    // with both changes.
    let read = pool.session().read(page(1)).map(|pin| pin.lock_share().bytes()[0]);
    assert!(matches!(read, Ok(21)), "I-ID3: page 1 was changed twice, but is {read:?}");
}
