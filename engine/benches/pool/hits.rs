//! A page is there: look-up, pin, unpin.

use std::cell::LazyCell;
use std::time::Instant;

use holdup_engine::{Lookup, Pin, PoolOptions, Profile, Session};

use crate::harness::{Bench, Round};
use crate::storage::{BUFFERS, page, read, small_pool};

/// Operations of one thread in one round.
const HITS: u32 = 40_000;
/// The same where threads meet, which needs more time than it takes to start them.
const MET_HITS: u32 = 200_000;
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

/// Times pins and unpins apart, less what it takes to look at the clock. A median batch, since a
/// batch is over too soon to be interrupted in most cases.
fn batches(session: &Session<'_>) -> (Round, Round) {
    let (mut pins, mut unpins, mut clock) = (Vec::new(), Vec::new(), Vec::new());
    for batch in 0..BATCHES {
        let first = batch.wrapping_mul(0x9E37_79B1) % (BUFFERS - BATCH);
        let start = Instant::now();
        let held: [Pin<'_, '_>; BATCH as usize] =
            std::array::from_fn(|i| session.read(page(first + i as u32)).expect("the page exists"));
        let pinned = Instant::now();
        drop(held);
        let unpinned = Instant::now();
        clock.push(unpinned.elapsed());
        pins.push(pinned - start);
        unpins.push(unpinned - pinned);
    }
    let median = |mut times: Vec<_>| *times.select_nth_unstable(BATCHES as usize / 2).1;
    let clock = median(clock);
    let less = |times| Round::alone(median(times).saturating_sub(clock), BATCH);
    (less(pins), less(unpins))
}
