//! A reader finds page 1 in buffer 0 without a lock. By the time it pins the buffer, that has page
//! 2; by the time it looks again with the lock, page 1 has come back.
//!
//! Losing the page is allowed, and so is being told that every buffer is pinned. Not allowed: to
//! take one page for the other, or to pin what was found at last without room in the session's own
//! books: the first pin took it, and was given back.
//!
//! Real threads met this once in some ten thousand reads.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Lookup, PoolOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a page leaves and comes back while a reader looks for it without a lock",
    rules: &["I-ID1", "I-ID2", "I-ID3", "I-MAP3", "I-MAP4", "I-REF1", "I-REF3", "panic"],
    mutants: &[MutantCase {
        name: "lookup.reserve_once",
        budget: 20_000,
        note: "reserves room for one pin, and may need it twice",
        critical_pair: Some([("reader", "buffer 0 state"), ("allocator", "buffer 0 state")]),
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    script: Some(
        "reader until \"finds page 1 in buffer 0\"\n\
         allocator until \"unpins buffer 0\"\n\
         reader until \"unpins buffer 0\"\n\
         allocator to the end\n\
         reader to the end\n",
    ),
    script_mutant: Some("lookup.reserve_once"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "lockfree-lookup-vs-return-modern",
    body: || lockfree_lookup_vs_return(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "lockfree-lookup-vs-return-classic",
    body: || lockfree_lookup_vs_return(Profile::Classic),
    ..STORY
});

fn lockfree_lookup_vs_return(profile: Profile) {
    // Given one buffer that has page 1, unpinned,
    let options = PoolOptions { lookup: Lookup::LockFree, ..options(profile, 1) };
    let pool = pool_with(options, storage(), &[page(1)]);
    // when a reader looks page 1 up
    let reader = actor("reader", &pool, |session| match session.read(page(1)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // while an allocator brings in page 2 and then page 1 again,
    let allocator = actor("allocator", &pool, |session| {
        let second = session.read(page(2)).map(drop);
        let first = session.read(page(1)).map(drop);
        second.and(first)
    });
    // then the reader had page 1, or met the allocator's pin,
    match finish(reader) {
        Ok(1) | Err(BufferError::NoUnpinnedBuffers) => {}
        other => panic!("I-ID3: a pin is on the page that was asked for, but page 1 was {other:?}"),
    }
    // the allocator had both pages, or met the reader's pin,
    match finish(allocator) {
        Ok(()) | Err(BufferError::NoUnpinnedBuffers) => {}
        Err(error) => panic!("both pages are there: {error}"),
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
