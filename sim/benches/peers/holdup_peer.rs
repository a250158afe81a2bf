//! `holdup` itself.

use std::sync::Arc;

use holdup::hint::spin_loop;
use holdup::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use holdup::thread::spawn;
use holdup::{Checker, Scheduler, memory};

use crate::sample::{Config, Program};

include!("workloads.rs");

fn touch(page: &[u64; 8]) {
    memory::write(page.as_ptr().cast(), size_of_val(page));
}

fn config(name: &'static str, scheduler: &'static str, race_check: bool) -> Config {
    Config {
        peer: "holdup",
        scheduler: name,
        // Only there is something to check.
        can: if race_check { |_| true } else { |program| program == Program::Page },
        run: Box::new(move |wanted, n| {
            let scheduler: Scheduler = scheduler.parse().unwrap();
            let body = program(wanted);
            let checker = Checker::new(name).seeds(0..n).scheduler(scheduler);
            let report = checker.race_check(race_check).run(&body);
            assert_eq!(report.failures, 0, "{:?}", report.first_failure);
            (report.executions, report.steps)
        }),
    }
}

pub(crate) fn configs() -> Vec<Config> {
    let checked =
        ["random", "sticky", "pct3", "lens", "pos", "urw", "surw", "starve", "delay", "portfolio"];
    let unchecked = [("random/off", "random"), ("pct3/off", "pct3")];
    let checked = checked.map(|name| config(name, name, true));
    checked.into_iter().chain(unchecked.map(|(name, of)| config(name, of, false))).collect()
}
