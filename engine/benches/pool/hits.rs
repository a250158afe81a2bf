//! A page is there: look-up, pin, unpin.

use std::cell::LazyCell;
use std::time::{Duration, Instant};

use holdup_engine::{Lookup, Pin, PoolOptions, Profile, Session};

use crate::harness::Bench;
use crate::storage::{BUFFERS, page, read, small_pool};

/// Operations of one thread in one round.
const HITS: u32 = 40_000;
/// The same where threads meet, which needs more time than it takes to start them.
const MET_HITS: u32 = 400_000;
/// Pins taken before they are given back: what a session holds without its hash table.
const BATCH: u32 = 8;
const BATCHES: u32 = 2_000;

pub(crate) fn cases(bench: &mut Bench<'_>) {
    for (profile, profile_name) in [(Profile::Classic, "classic"), (Profile::Modern, "modern")] {
        for (lookup, lookup_name) in [(Lookup::Partitioned, ""), (Lookup::LockFree, "-lock-free")] {
            let options = PoolOptions { profile, lookup, ..PoolOptions::default() };
            let pool = LazyCell::new(|| small_pool(options));
            let name = format!("{profile_name}{lookup_name}");
            for work in [(1, HITS), (2, MET_HITS)] {
                bench.threads(
                    &format!("hit-hot-{name}"),
                    work,
                    || &pool,
                    |session, _, _| {
                        read(session, 7);
                    },
                );
                bench.threads(
                    &format!("hit-apart-{name}"),
                    work,
                    || &pool,
                    |session, thread, _| {
                        read(session, 7 + 100 * thread);
                    },
                );
                bench.threads(
                    &format!("hit-spread-{name}"),
                    work,
                    || &pool,
                    |session, thread, n| {
                        read(
                            session,
                            n.wrapping_mul(0x9E37_79B1).wrapping_add(thread << 16) % BUFFERS,
                        );
                    },
                );
            }
            bench.rounds(&format!("pin-{name}"), 1, || batches(&pool.session()).0);
            bench.rounds(&format!("unpin-{name}"), 1, || batches(&pool.session()).1);
        }
    }
}

/// Times pins and unpins apart, less what it takes to look at the clock.
fn batches(session: &Session<'_>) -> ((Duration, u32), (Duration, u32)) {
    let (mut pins, mut unpins, mut clock) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for batch in 0..BATCHES {
        let first = batch.wrapping_mul(0x9E37_79B1) % (BUFFERS - BATCH);
        let start = Instant::now();
        let held: [Pin<'_, '_>; BATCH as usize] =
            std::array::from_fn(|i| session.read(page(first + i as u32)).expect("the page exists"));
        let pinned = Instant::now();
        drop(held);
        let unpinned = Instant::now();
        clock += unpinned.elapsed();
        pins += pinned - start;
        unpins += unpinned - pinned;
    }
    let count = BATCH * BATCHES;
    ((pins.saturating_sub(clock), count), (unpins.saturating_sub(clock), count))
}
