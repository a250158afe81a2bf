//! Pages come and go: misses, scans, write-back, checkpoints.

use std::cell::LazyCell;
use std::hint::black_box;

use holdup_engine::{PoolOptions, Profile, Ring, RingKind, Session};

use crate::harness::{Bench, Round, processor_time};
use crate::storage::{BLOCKS, BUFFERS, Blank, RELATION, page, pool_with, read, small_pool};

const MISSES: u32 = 4_096;
/// Buffers of the pool whose pages are written out: 128 MB.
const DIRTY: u32 = 16_384;

pub(crate) fn cases(bench: &mut Bench<'_>) {
    for (profile, name) in [(Profile::Classic, "classic"), (Profile::Modern, "modern")] {
        let options = PoolOptions { profile, ..PoolOptions::default() };
        let pool = LazyCell::new(|| small_pool(options.clone()));
        // Each page is gone by the time it comes again.
        bench.threads(
            &format!("miss-{name}"),
            (1, MISSES),
            || &pool,
            |session, _, n| {
                read(session, n % BLOCKS);
            },
        );
        bench.threads(
            &format!("miss-dirty-{name}"),
            (1, MISSES),
            || &pool,
            |session, _, n| {
                change(session, n % BLOCKS);
            },
        );
        let options = PoolOptions { n_buffers: DIRTY, ..options };
        let pool = LazyCell::new(|| pool_with(options, Blank, DIRTY));
        bench.rounds(&format!("write-back-{name}"), 1, || {
            let session = pool.session();
            (0..DIRTY).for_each(|block| change(&session, block));
            let start = processor_time();
            let written = session.flush_relation(RELATION).expect("the storage takes everything");
            Round::alone(processor_time() - start, written)
        });
        bench.rounds(&format!("checkpoint-{name}"), 1, || {
            let session = pool.session();
            (0..DIRTY).for_each(|block| change(&session, block));
            let start = processor_time();
            let counts = session.checkpoint().expect("the storage takes everything");
            Round::alone(processor_time() - start, counts.written)
        });
        let pool = LazyCell::new(|| small_pool(PoolOptions { profile, ..PoolOptions::default() }));
        bench.rounds(&format!("scan-ring-{name}"), 1, || {
            let session = pool.session();
            let mut ring = Ring::new(RingKind::BulkRead, &pool);
            let start = processor_time();
            for block in 0..BLOCKS {
                let read = session.read_with(&mut ring, page(block));
                black_box(read.expect("the page exists").lock_share().bytes()[0]);
            }
            Round::alone(processor_time() - start, BLOCKS)
        });
    }
    let pool = LazyCell::new(|| small_pool(PoolOptions::default()));
    bench.threads("scan-misses", (1, BLOCKS), || &pool, |session, _, n| look(session, n));
    bench.threads(
        "scan-hits",
        (1, 100 * BUFFERS),
        || &pool,
        |session, _, n| {
            // The scan above left the last pages behind.
            look(session, BLOCKS - BUFFERS + n % BUFFERS);
        },
    );
}

fn change(session: &Session<'_>, block: u32) {
    session.read(page(block)).expect("the page exists").lock_exclusive().mark_dirty();
}

/// Reads the first byte of a page.
pub(crate) fn look(session: &Session<'_>, block: u32) {
    let pin = session.read(page(block)).expect("the page exists");
    black_box(pin.lock_share().bytes()[0]);
}
