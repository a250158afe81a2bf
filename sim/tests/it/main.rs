//! The front door, one module a topic: right programs pass, wrong programs fail, and outside of
//! executions the look-alikes of `std` are what they look like.

mod atomic;
mod barrier;
mod cell;
mod condvar;
mod coverage;
mod crash;
mod determinism;
mod disk;
mod fault;
mod fs;
mod guided;
mod hold;
mod local;
mod lock_bit;
mod mpsc;
mod mutex;
mod note;
mod once;
mod prove;
mod prove_random;
mod race;
mod rwlock;
mod scheduler;
mod script;
mod shrink;
mod spin;
mod spin_lock;
mod strategies;
mod thread;
mod time;

use holdup::{Checker, Failure};

const SEEDS: std::ops::Range<u64> = 0..300;

/// Every seed of the portfolio passes.
#[track_caller]
fn passes(body: impl Fn() + Sync) {
    let report = Checker::new("a right program").seeds(SEEDS).max_steps(100_000).run(&body);
    if let Some(first) = report.first_failure {
        panic!("seed {} failed: {:#?}", first.seed, first.failure);
    }
}

/// Some seed of the portfolio fails; returns the failure of the lowest.
#[track_caller]
fn fails(body: impl Fn() + Sync) -> Failure {
    let checker = Checker::new("a wrong program").seeds(SEEDS).max_steps(100_000);
    let report = checker.stop_at_first(true).run(&body);
    match report.first_failure {
        Some(first) => first.failure,
        None => panic!("no seed found the bug"),
    }
}

/// A panic that the program itself catches; what its message is does not matter.
fn caught(body: impl FnOnce()) {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    assert!(result.is_err());
}
