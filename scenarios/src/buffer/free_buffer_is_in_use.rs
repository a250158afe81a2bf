//! Two readers read page 1 at the same time. The second finds that it came too late and puts the
//! buffer it had taken back on the list of free ones; but before it does, the clock hand comes by and
//! gives that buffer to somebody else. So the list has a buffer that is in use.
//!
//! The same may happen between taking a buffer off the list and looking at it.
//!
//! That is allowed; who takes a buffer from the list looks again whether it is free. Not allowed: that
//! two have one buffer for two pages.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, PoolOptions, Profile, VictimStrategy};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a buffer comes on the free list after the clock hand has given it away",
    rules: &["I-ID1", "I-ID2", "I-FREE1", "I-MAP2", "I-MAP4", "I-REF3"],
    mutants: &[MutantCase {
        name: "freelist.no_recheck",
        budget: 100_000,
        note: "takes what is on the free list for free",
        ..MutantCase::BASE
    }],
    script: Some(SCRIPT),
    script_mutant: Some("freelist.no_recheck"),
    ..Scenario::BASE
};

const SCRIPT: &str = "main until blocked\n\
     first to the end\n\
     second until holding \"strategy lock\" of \"strategy lock\"\n\
     second for 2 steps\n\
     third until \"takes buffer 1 as victim\"\n";

crate::register!(Scenario {
    name: "free-buffer-is-in-use-modern",
    body: || free_buffer_is_in_use(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "free-buffer-is-in-use-classic",
    body: || free_buffer_is_in_use(Profile::Classic),
    ..STORY
});

fn free_buffer_is_in_use(profile: Profile) {
    // Given two free buffers,
    let victims = Some(VictimStrategy::FreeListAndSweep);
    let options = PoolOptions { victims, max_sessions: 3, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[]);
    // when two readers want page 1, one of them page 3 after that,
    let first = actor("first", &pool, |session| session.read(page(1)).map(drop));
    let second = actor("second", &pool, |session| {
        drop(session.read(page(1))?);
        session.read(page(3)).map(drop)
    });
    // and a third page 2,
    let third = actor("third", &pool, |session| {
        let pinned = session.read(page(2));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // then each has it, or every buffer was pinned.
    for read in [finish(first), finish(second)] {
        let allowed = matches!(read, Ok(()) | Err(BufferError::NoUnpinnedBuffers));
        assert!(allowed, "the storage works, but: {read:?}");
    }
    let read = finish(third);
    let allowed = matches!(read, Ok(2) | Err(BufferError::NoUnpinnedBuffers));
    assert!(allowed, "I-ID1: a pin is on page 2, but: {read:?}");
    check_nothing_is_left(&pool);
}
