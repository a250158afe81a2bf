//! A page is where it was: pinned again without a look-up, in three designs.

use std::cell::LazyCell;
use std::hint::black_box;

use holdup_engine::{PoolOptions, RecentVariant};

use crate::harness::Bench;
use crate::storage::{page, small_pool};

/// Operations of one thread in one round.
const READS: u32 = 40_000;
/// The same where threads meet, which needs more time than it takes to start them.
const MET_READS: u32 = 200_000;
/// The same where there are more threads than processors: long enough that they are taken off them
/// at bad moments.
const CROWDED_READS: u32 = 500_000;

pub(crate) const VARIANTS: [(RecentVariant, &str); 3] = [
    (RecentVariant::HeaderLock, "header-lock"),
    (RecentVariant::PinFirst, "pin-first"),
    (RecentVariant::SkipInvalid, "skip-invalid"),
];

pub(crate) fn cases(bench: &mut Bench<'_>) {
    for (recent, name) in VARIANTS {
        let options = PoolOptions { recent, ..PoolOptions::default() };
        let pool = LazyCell::new(|| small_pool(options));
        let hint = LazyCell::new(|| pool.find(page(7)).expect("the page was read"));
        for work in [(1, READS), (2, MET_READS), (4, CROWDED_READS)] {
            let case = format!("recent-{name}");
            bench.threads(&case, work, || &pool, {
                let hint = *hint;
                move |session, _, _| {
                    black_box(session.read_recent(page(7), hint).is_some());
                }
            });
        }
    }
}
