//! A scan reads a relation ten times as large as the pool, each page twice, and a reader keeps coming
//! back for two pages. The scan has a ring of buffers of its own.
//!
//! Not allowed: that the scan drives the reader's pages out. Its pins must not make its own pages look
//! wanted, or its ring has nothing to use again and takes what others use (B21).

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, large_storage, options, other_page, page, pool_with,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile, Ring, RingKind};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a large scan goes through the pool while a reader has pages it wants to keep",
    rules: &["I-REF5", "I-REF3", "I-ID3"],
    mutants: &[MutantCase {
        name: "pin.ring_bumps",
        budget: 1_000,
        note: "a pin through a ring counts like any other",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B21"],
    script: Some("scan to the end\nreader to the end\n"),
    script_mutant: Some("pin.ring_bumps"),
    default_seeds: 200,
    ..Scenario::BASE
};

/// Buffers of the pool: the ring may have an eighth of them.
const BUFFERS: u32 = 8;

crate::register!(Scenario {
    name: "scan-vs-hot-set-modern",
    body: || scan_vs_hot_set(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "scan-vs-hot-set-classic",
    body: || scan_vs_hot_set(Profile::Classic),
    ..STORY
});

fn scan_vs_hot_set(profile: Profile) {
    // Given a pool that has two pages,
    let hot = [other_page(1), other_page(2)];
    let pool = pool_with(options(profile, BUFFERS), large_storage(10 * BUFFERS), &hot);
    // when a scan reads ten times as much as the pool has room for
    let scan = actor("scan", &pool, |session| {
        let mut ring = Ring::new(RingKind::BulkRead, session.pool());
        for block in 0..10 * BUFFERS {
            drop(session.read_with(&mut ring, page(block))?);
            drop(session.read_with(&mut ring, page(block))?);
        }
        Ok::<_, BufferError>(())
    });
    // while a reader uses the two,
    let reader = actor("reader", &pool, move |session| {
        for tag in hot {
            drop(session.read(tag)?);
        }
        Ok::<_, BufferError>(())
    });
    // then both are done,
    assert!(matches!(finish(scan), Ok(())), "a scan needs one buffer");
    assert!(matches!(finish(reader), Ok(())), "a reader needs one buffer");
    // the two are still there,
    for tag in hot {
        assert!(pool.find(tag).is_some(), "I-REF5: a scan leaves the pool alone, but took {tag}");
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
