//! An evictor takes page 1 from its buffer while a reader finds it in the mapping. The reader holds
//! the page's partition and wants the header; whoever holds the header must not want the partition.
//!
//! Not allowed: that they wait for each other, or that the reader finds an entry for a buffer that
//! has lost its name.
//!
//! Both bugs are from a proposed patch (B07) that wanted to hold the partition for a shorter time.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "an evictor unmaps a page that a reader is just finding",
    rules: &["deadlock", "I-LK5", "I-ID1", "I-ID2", "I-MAP3", "I-MAP4", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "invalidate.part_inside_hdr",
            budget: 20_000,
            note: "takes the partition lock while it holds the header lock",
            critical_pair: Some([("evictor", "buffer 0 state"), ("reader", "buffer 0 state")]),
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "invalidate.part_after_hdr",
            budget: 20_000,
            note: "takes the partition lock when the tag is gone already",
            critical_pair: Some([("evictor", "buffer 0 state"), ("reader", "buffer 0 state")]),
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    catalogue: &["B07"],
    script: Some(
        "reader until \"finds page 1 in buffer 0\"\n\
         evictor until \"takes buffer 0 as victim\"\n\
         evictor until blocked\n\
         reader until blocked\n",
    ),
    script_mutant: Some("invalidate.part_inside_hdr"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "mapping-lock-vs-header-lock-modern",
    body: || mapping_lock_vs_header_lock(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "mapping-lock-vs-header-lock-classic",
    body: || mapping_lock_vs_header_lock(Profile::Classic),
    ..STORY
});

fn mapping_lock_vs_header_lock(profile: Profile) {
    // Given one buffer that has page 1, unpinned,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    // when a reader looks page 1 up
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // while an evictor empties the buffer,
    let evictor = actor("evictor", &pool, |session| session.evict(0));
    // then the reader read page 1, or met the evictor's pin,
    match finish(reader) {
        Ok(1) | Err(BufferError::NoUnpinnedBuffers) => {}
        other => panic!("I-ID3: a pin is on the page that was asked for, but page 1 was {other:?}"),
    }
    // the evictor did its work, or met the reader's pin,
    finish(evictor).unwrap_or_else(|error| panic!("a clean page needs no storage: {error}"));
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
