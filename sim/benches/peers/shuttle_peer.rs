//! shuttle: random walk, URW, and PCT of depth 3.

use std::sync::atomic::{AtomicU64 as Count, Ordering::Relaxed};

use shuttle::hint::spin_loop;
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId, UrwRandomScheduler,
};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::thread::spawn;
use shuttle::{Config as ShuttleConfig, FailurePersistence, Runner};

use crate::sample::{Config, Program};

include!("workloads.rs");

fn touch(page: &[u64; 8]) {
    std::hint::black_box(page);
}

static DECISIONS: Count = Count::new(0);

/// Counts the decisions its inner scheduler makes; used apart from the timed runs.
struct Counting<S>(S);

impl<S: Scheduler> Scheduler for Counting<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        DECISIONS.fetch_add(1, Relaxed);
        self.0.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

fn run<S: Scheduler + 'static>(scheduler: S, body: fn()) -> u64 {
    let mut config = ShuttleConfig::new();
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(body) as u64
}

fn run_named(name: &str, n: u64, body: fn(), counting: bool) -> u64 {
    let n = n as usize;
    match (name, counting) {
        ("random", false) => run(RandomScheduler::new_from_seed(1, n), body),
        ("random", true) => run(Counting(RandomScheduler::new_from_seed(1, n)), body),
        ("urw", false) => run(UrwRandomScheduler::new_from_seed(1, n), body),
        ("urw", true) => run(Counting(UrwRandomScheduler::new_from_seed(1, n)), body),
        (_, false) => run(PctScheduler::new_from_seed(1, 3, n), body),
        (_, true) => run(Counting(PctScheduler::new_from_seed(1, 3, n)), body),
    }
}

pub(crate) fn configs() -> Vec<Config> {
    ["random", "urw", "pct3"]
        .map(|name| Config {
            peer: "shuttle",
            scheduler: name,
            can: |_| true,
            run: Box::new(move |wanted, n| {
                let done = run_named(name, n, program(wanted), false);
                // Two executions are enough to know how many decisions one takes.
                DECISIONS.store(0, Relaxed);
                let counted = run_named(name, 2, program(wanted), true);
                (done, DECISIONS.load(Relaxed) * done / counted)
            }),
        })
        .into()
}
