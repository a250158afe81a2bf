//! Two tasks split pages of a btree. The first has page 1 locked and needs a buffer for page 3: it
//! finds page 2, dirty, and wants to write it out. The second has page 2 locked and wants page 1.
//!
//! Not allowed: that they wait for each other. Who looks for a victim has locks of its own, so it
//! must not wait for anybody else's: it gives the victim up (B10).

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, dirty, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two splitters: one wants to write out, as its victim, the page the other has locked",
    rules: &["deadlock", "I-LK1", "I-LK4", "I-LK5", "I-REF3"],
    mutants: &[MutantCase {
        name: "victim.lock_blocking",
        budget: 20_000,
        note: "waits for the content lock of a dirty victim",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B10"],
    script: Some(
        "first until \"takes buffer 1 as victim\"\n\
         second until blocked\n\
         first until blocked\n",
    ),
    script_mutant: Some("victim.lock_blocking"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "victim-write-vs-content-lock-modern",
    body: || victim_write_vs_content_lock(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "victim-write-vs-content-lock-classic",
    body: || victim_write_vs_content_lock(Profile::Classic),
    ..STORY
});

fn victim_write_vs_content_lock(profile: Profile) {
    // Given pages 1 and 2 in two buffers, page 2 dirty,
    let pool = pool_with(options(profile, 2), storage(), &[page(1), page(2)]);
    dirty(&pool, page(2));
    // when a splitter with page 1 locked brings in page 3
    let first = actor("first", &pool, |session| {
        let left = session.read(page(1))?;
        let _locked = left.lock_exclusive();
        session.read(page(3)).map(drop)
    });
    // while another with page 2 locked goes for page 1,
    let second = actor("second", &pool, |session| {
        let right = session.read(page(2))?;
        let _locked = right.lock_exclusive();
        let left = session.read(page(1))?;
        drop(left.lock_exclusive());
        Ok::<_, BufferError>(())
    });
    // then each had its pages, or was told that every buffer is pinned,
    for had in [finish(first), finish(second)] {
        assert!(matches!(had, Ok(()) | Err(BufferError::NoUnpinnedBuffers)), "{had:?}");
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
