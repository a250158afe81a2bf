//! A reader looks page 1 up and finds it in buffer 0, just as an allocator takes the buffer for
//! page 2. Between what the mapping said and the pin lies the whole way of the allocator.
//!
//! Losing the page is allowed, and so is being told that every buffer is pinned. Not allowed: to
//! take page 2 for page 1, or to pin a buffer while it has no name.
//!
//! Two designs keep that apart. With the partition's lock the reader pins before it lets the
//! partition go, and the allocator needs the partition to take the page (I-MAP6); InnoDB let go
//! first (B90). Without a lock the reader pins only what is valid and compares the name again once
//! it has the pin.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Lookup, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    rules: &["I-ID1", "I-ID2", "I-ID3", "I-MAP3", "I-MAP4", "I-REF1", "I-REF3"],
    ..Scenario::BASE
};

const PARTITIONED: Scenario = Scenario {
    summary: "a reader finds a page under the partition lock while its buffer is given away",
    mutants: &[MutantCase {
        name: "hit.pin_after_unlock",
        budget: 20_000,
        note: "lets the partition go before the buffer found is pinned",
        catalogue: &["B90"],
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B90"],
    script: Some(
        "reader until \"finds page 1 in buffer 0\"\n\
         reader for 1 step\n\
         allocator until \"loads page 2 into buffer 0\"\n\
         reader to the end\n",
    ),
    script_mutant: Some("hit.pin_after_unlock"),
    ..STORY
};

const LOCK_FREE: Scenario = Scenario {
    summary: "a reader finds a page without a lock while its buffer is given away",
    mutants: &[
        MutantCase {
            name: "lookup.no_recheck",
            budget: 20_000,
            note: "does not compare the name again once the pin is held",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "lookup.pin_any",
            budget: 20_000,
            note: "pins whatever the buffer has, a page or none",
            // The allocator has to come back before the reader unpins.
            preemptions: Some(3),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "reader until \"finds page 1 in buffer 0\"\n\
         allocator to the end\n\
         reader to the end\n",
    ),
    script_mutant: Some("lookup.no_recheck"),
    ..STORY
};

crate::register!(Scenario {
    name: "lookup-vs-reuse-modern",
    body: || lookup_vs_reuse(Profile::Modern, Lookup::Partitioned),
    ..PARTITIONED
});
crate::register!(Scenario {
    name: "lookup-vs-reuse-classic",
    body: || lookup_vs_reuse(Profile::Classic, Lookup::Partitioned),
    ..PARTITIONED
});
crate::register!(Scenario {
    name: "lockfree-lookup-vs-reuse-modern",
    body: || lookup_vs_reuse(Profile::Modern, Lookup::LockFree),
    ..LOCK_FREE
});
crate::register!(Scenario {
    name: "lockfree-lookup-vs-reuse-classic",
    body: || lookup_vs_reuse(Profile::Classic, Lookup::LockFree),
    ..LOCK_FREE
});

fn lookup_vs_reuse(profile: Profile, lookup: Lookup) {
    // Given one buffer that has page 1, unpinned,
    let options = PoolOptions { lookup, ..options(profile, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when a reader looks page 1 up
    let reader = actor("reader", &pool, |session| match session.read(page(1)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // while an allocator brings in page 2,
    let allocator = actor("allocator", &pool, |session| match session.read(page(2)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // then the reader had page 1, or met the allocator's pin,
    match finish(reader) {
        Ok(1) | Err(BufferError::NoUnpinnedBuffers) => {}
        other => panic!("I-ID3: a pin is on the page that was asked for, but page 1 was {other:?}"),
    }
    // the allocator had page 2, or met the reader's pin,
    match finish(allocator) {
        Ok(2) | Err(BufferError::NoUnpinnedBuffers) => {}
        other => panic!("I-ID3: a pin is on the page that was asked for, but page 2 was {other:?}"),
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
