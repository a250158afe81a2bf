//! `holdup` itself.

use std::sync::Arc;

use holdup::hint::spin_loop;
use holdup::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use holdup::thread::spawn;
use holdup::{Checker, Scheduler};

use crate::sample::{Config, Program};

include!("workloads.rs");

pub(crate) fn configs() -> Vec<Config> {
    ["random", "sticky", "pct3", "lens", "pos", "urw", "surw", "starve", "portfolio"]
        .map(|name| Config {
            peer: "holdup",
            scheduler: name,
            can: |_| true,
            run: Box::new(move |wanted, n| {
                let scheduler: Scheduler = name.parse().unwrap();
                let body = program(wanted);
                let report = Checker::new(name).seeds(0..n).scheduler(scheduler).run(&body);
                assert_eq!(report.failures, 0, "{:?}", report.first_failure);
                (report.executions, report.steps)
            }),
        })
        .into()
}
