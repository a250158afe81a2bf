//! loom: exhaustive search, cut off. It cannot run the spinlock (its paths overflow a counter), nor
//! more than five tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64 as Count, Ordering::Relaxed};

use loom::hint::spin_loop;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread::spawn;

use crate::sample::{Config, Program};

include!("workloads.rs");

fn touch(page: &[u64; 8]) {
    std::hint::black_box(page);
}

pub(crate) fn configs() -> Vec<Config> {
    vec![Config {
        peer: "loom",
        scheduler: "exhaustive",
        can: |program| matches!(program, Program::FetchAdd | Program::SpawnJoin),
        run: Box::new(|wanted, n| {
            let done = std::sync::Arc::new(Count::new(0));
            let counter = done.clone();
            let body = program(wanted);
            let mut model = loom::model::Builder::new();
            model.max_branches = 1_000_000;
            model.checkpoint_interval = 1;
            // It stops when its counter, which starts at 1, reaches the maximum.
            model.max_permutations = Some(n as usize + 1);
            model.check(move || {
                counter.fetch_add(1, Relaxed);
                body();
            });
            let done = done.load(Relaxed).max(1);
            (done, done)
        }),
    }]
}
