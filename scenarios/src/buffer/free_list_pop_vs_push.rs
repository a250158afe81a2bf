//! A reader takes the first free buffer from the list while another takes two, gives one of them back
//! and so puts it in front again. To the first the head looks as it did.
//!
//! Not allowed: a list that leads to a buffer that is in use, or from which a buffer is lost.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, other_page, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile, VictimStrategy};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a free buffer is taken from a list to which it has just come back",
    rules: &["I-FREE1", "I-ID1", "I-ID2", "I-REF3", "I-MAP4"],
    mutants: &[MutantCase {
        name: "freelist.aba",
        budget: 20_000,
        note: "compares the head and does not see that what is behind it has changed",
        catalogue: &["B82"],
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B82"],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "free-list-pop-vs-push-modern",
    body: || free_list_pop_vs_push(Profile::Modern),
    script: Some(
        "main until blocked\n\
         first until holding \"strategy lock\" of \"strategy lock\"\n\
         first for 1 step\n\
         second to the end\n"
    ),
    script_mutant: Some("freelist.aba"),
    script_seed: 204,
    ..STORY
});
crate::register!(Scenario {
    name: "free-list-pop-vs-push-classic",
    body: || free_list_pop_vs_push(Profile::Classic),
    script: Some(
        "main until blocked\n\
         first until holding \"strategy lock\" of \"strategy lock\"\n\
         first for 1 step\n\
         second to the end\n"
    ),
    script_mutant: Some("freelist.aba"),
    script_seed: 204,
    ..STORY
});

fn free_list_pop_vs_push(profile: Profile) {
    // Given three free buffers,
    let victims = Some(VictimStrategy::FreeListAndSweep);
    let options = PoolOptions { victims, ..options(profile, 3) };
    let pool = pool_with(options, storage(), &[]);
    // when a reader takes one of them
    let first = actor("first", &pool, |session| session.read(other_page(1)).map(drop));
    // while another takes two and drops the page in the first of them,
    let second = actor("second", &pool, |session| {
        drop(session.read(page(1))?);
        drop(session.read(other_page(2))?);
        session.drop_buffers(RELATION)?;
        Ok::<_, BufferError>(())
    });
    // then each got what it came for,
    assert!(matches!(finish(first), Ok(())), "three buffers are enough for two pages");
    assert!(matches!(finish(second), Ok(())), "three buffers are enough for three pages");
    // and the list has what is free.
    check_nothing_is_left(&pool);
}
