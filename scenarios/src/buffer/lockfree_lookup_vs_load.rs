//! Two readers want page 1, which no buffer has, and both look it up without a lock. One of them
//! misses and brings it in; the other may miss as well, or find the entry while the page is not
//! there yet.
//!
//! Allowed: that both look for a buffer, and one does so for nothing. Not allowed: that the page
//! ends in two buffers, or that a reader sees bytes before they are there.
//!
//! Without a lock no miss is the truth, so whoever misses looks again with the lock, and once more
//! when it has a buffer and the partition to itself. A page that is not valid is never a hit
//! without the lock; with it, its reader is waited for.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Lookup, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two readers miss the same page without a lock",
    rules: &["I-ID1", "I-ID3", "I-IO1", "I-MAP2", "I-MAP4", "I-MAP5", "I-REF1", "I-REF3"],
    mutants: &[MutantCase {
        name: "alloc.no_collision_check",
        budget: 20_000,
        note: "does not look again once it has a buffer for the page",
        catalogue: &["B84"],
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B84"],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "lockfree-lookup-vs-load-modern",
    body: || lockfree_lookup_vs_load(Profile::Modern),
    script: Some(
        "reader until \"takes buffer 0 as victim\"\n\
         other reader to the end\n\
         reader to the end\n"
    ),
    script_mutant: Some("alloc.no_collision_check"),
    script_seed: 0,
    ..STORY
});
crate::register!(Scenario {
    name: "lockfree-lookup-vs-load-classic",
    body: || lockfree_lookup_vs_load(Profile::Classic),
    script: Some(
        "main until blocked\n\
         reader until \"takes free buffer 0\"\n\
         other reader to the end\n"
    ),
    script_mutant: Some("alloc.no_collision_check"),
    script_seed: 0,
    ..STORY
});

fn lockfree_lookup_vs_load(profile: Profile) {
    // Given two empty buffers,
    let options = PoolOptions { lookup: Lookup::LockFree, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[]);
    // when a reader reads page 1
    let reader = actor("reader", &pool, |session| match session.read(page(1)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // while another does, too,
    let other = actor("other reader", &pool, |session| match session.read(page(1)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // then both had page 1, or came when the other had both buffers in hand,
    for read in [finish(reader), finish(other)] {
        match read {
            Ok(1) | Err(BufferError::NoUnpinnedBuffers) => {}
            other => {
                panic!("I-ID3: a pin is on the page that was asked for, but page 1 was {other:?}")
            }
        }
    }
    // and nothing is left behind: one buffer has the page, the other none.
    check_nothing_is_left(&pool);
}
