//! Large pools: a gigabyte of pages, more than the caches know of; twenty gigabytes at start-up.

use std::cell::LazyCell;
use std::fs;
use std::hint::black_box;

use holdup_engine::{BufferPool, Lookup, PoolOptions};

use crate::harness::{Bench, Round, processor_time};
use crate::recent::VARIANTS;
use crate::storage::{Blank, page, pool_with, read};
use crate::traffic::look;

/// Pages read, a gigabyte less a few.
const BLOCKS: u32 = 128_000;
/// Buffers in a gigabyte.
const GIGABYTE: u32 = 131_072;
/// Operations of one thread in one round.
const READS: u32 = 128_000;

pub(crate) fn cases(bench: &mut Bench<'_>) {
    for (lookup, name) in [(Lookup::Partitioned, ""), (Lookup::LockFree, "-lock-free")] {
        for (huge_pages, pages) in [(true, ""), (false, "-small-pages")] {
            let pool = LazyCell::new(|| {
                let options = PoolOptions { lookup, huge_pages, ..gigabyte() };
                pool_with(options, Blank, BLOCKS)
            });
            let case = format!("hit-in-order-1gb{name}{pages}");
            bench.threads(&case, (1, READS), || &pool, |session, _, n| read(session, n % BLOCKS));
            for threads in [1, 2] {
                let case = format!("hit-random-1gb{name}{pages}");
                bench.threads(
                    &case,
                    (threads, READS),
                    || &pool,
                    |session, thread, n| {
                        read(session, random(thread, n));
                    },
                );
            }
            // As in a descent: which page is next, the one before tells.
            bench.rounds(&format!("hit-chased-1gb{name}{pages}"), 1, || {
                let (session, start) = (pool.session(), processor_time());
                let mut before = 0;
                for n in 0..READS {
                    let pin = session.read(page(random(before, n))).expect("the page exists");
                    before = pin.tag().block & 0xFF;
                }
                Round::alone(processor_time() - start, READS)
            });
            bench.threads(
                &format!("scan-1gb{name}{pages}"),
                (1, READS),
                || &pool,
                |session, _, n| {
                    look(session, n % BLOCKS);
                },
            );
        }
    }
    for (recent, name) in VARIANTS {
        let pool = LazyCell::new(|| pool_with(PoolOptions { recent, ..gigabyte() }, Blank, BLOCKS));
        let hints = LazyCell::new(|| {
            let hint = |block| pool.find(page(block)).expect("the page was read");
            (0..BLOCKS).map(hint).collect::<Vec<_>>()
        });
        bench.rounds(&format!("recent-random-1gb-{name}"), 1, || {
            let (session, hints) = (pool.session(), &**hints);
            let start = processor_time();
            for n in 0..READS {
                let block = random(0, n);
                let pin = session.read_recent(page(block), hints[block as usize]);
                black_box(pin.is_some());
            }
            Round::alone(processor_time() - start, READS)
        });
    }
    start_up(bench);
}

fn gigabyte() -> PoolOptions {
    PoolOptions { n_buffers: GIGABYTE, ..PoolOptions::default() }
}

/// A block, in no order: the steps of a generator whose state is scattered by `n`.
#[inline]
fn random(thread: u32, n: u32) -> u32 {
    let mut x = u64::from(n) << 8 | u64::from(thread);
    x = (x ^ x >> 12).wrapping_mul(0x9FB2_1C65_1E98_DF25);
    x = (x ^ x >> 28).wrapping_mul(0x9FB2_1C65_1E98_DF25);
    (((x >> 32) * u64::from(BLOCKS)) >> 32) as u32
}

/// Opens a pool of twenty gigabytes, and drops it.
fn start_up(bench: &mut Bench<'_>) {
    let mut resident = 0_u64;
    let case = "open-20gb";
    bench.rounds(case, 1, || {
        let options = PoolOptions { n_buffers: 20 * GIGABYTE, ..PoolOptions::default() };
        let before = resident_bytes();
        let start = processor_time();
        let pool = BufferPool::open(options, Blank).unwrap_or_else(|error| panic!("{error}"));
        let opened = processor_time() - start;
        resident = resident.max(resident_bytes().saturating_sub(before));
        drop(black_box(pool));
        Round::alone(opened, 1)
    });
    bench.resident(case, resident);
}

/// Memory of this process that is in use, in bytes; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let resident = maps.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
