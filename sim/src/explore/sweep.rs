//! Sweeps: many seeds on several OS threads, with a result that does not depend on their number.
//!
//! Seeds are handed out in chunks of consecutive ones. A worker that finds a failure keeps it; with
//! `stop_at_first` no worker goes beyond the lowest failing seed known, and what was run beyond the
//! lowest one in the end is not counted, so that one job and two report the same.
//!
//! Executions keep no clocks until one of them touches plain memory. That one is run again with
//! clocks, and so are all that come after it. An execution is the same with clocks and without as
//! long as it touches no plain memory, so no seed depends on what was run before it.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::checker::Checker;
use super::{ArmCount, FirstFailure, Report, pilot};
use crate::core::{Execution, KeepClocks, Setup, mix};
use crate::scheduler::Pilot;

const CHUNK: u64 = 256;

/// What one chunk gave.
struct Part {
    /// Position of its first seed among the seeds of this shard.
    from: u64,
    report: Report,
}

struct Sweep<'a> {
    checker: &'a Checker,
    body: &'a (dyn Fn() + Sync),
    stop: &'a AtomicBool,
    done: &'a (dyn Fn(u64) + Sync),
    /// Number of seeds of this shard.
    n_seeds: u64,
    next: AtomicU64,
    /// Lowest position that failed, for `stop_at_first`.
    lowest: AtomicU64,
    parts: Mutex<Vec<Part>>,
    pilot: Mutex<Option<Pilot>>,
    /// The program is known to touch plain memory.
    needs_clocks: AtomicBool,
}

/// Runs all seeds of `checker`.
pub(super) fn run(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Report {
    let checker = &*checker.knowing_lives(body);
    let sweep = Sweep {
        checker,
        body,
        stop,
        done,
        n_seeds: checker.n_seeds(),
        next: AtomicU64::new(0),
        lowest: AtomicU64::new(u64::MAX),
        parts: Mutex::new(Vec::new()),
        pilot: Mutex::new(None),
        needs_clocks: AtomicBool::new(false),
    };
    let workers = (checker.jobs as u64).min(sweep.n_seeds.div_ceil(CHUNK)).max(1);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            spawn_worker(scope, &sweep, None);
        }
    });
    sweep.finish()
}

/// Starts an OS thread that works until no chunk is left, or until it must retire; then another
/// takes its place and the rest of its chunk.
fn spawn_worker<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    sweep: &'scope Sweep<'env>,
    rest: Option<Range<u64>>,
) {
    let name = format!("{} worker", sweep.checker.name);
    let work = move || {
        if let Some(rest) = sweep.work(rest) {
            spawn_worker(scope, sweep, Some(rest));
        }
    };
    let spawned = std::thread::Builder::new().name(name).spawn_scoped(scope, work);
    if let Err(error) = spawned {
        panic!("no thread for a worker: {error}");
    }
}

impl Sweep<'_> {
    /// Returns what is left of its chunk if this thread must retire.
    fn work(&self, rest: Option<Range<u64>>) -> Option<Range<u64>> {
        let execution = Execution::new(self.checker.stack_bytes);
        let pilot = {
            let mut known = self.pilot.lock().unwrap_or_else(|broken| broken.into_inner());
            match &*known {
                Some(pilot) => pilot.clone(),
                None => {
                    let (pilot, retire) = pilot::measure_in(&execution, self.checker, self.body);
                    *known = Some(pilot.clone());
                    if retire {
                        return Some(rest.unwrap_or(0..0));
                    }
                    pilot
                }
            }
        };
        let mut chunk = rest.or_else(|| self.take());
        while let Some(range) = chunk {
            if let Some(rest) = self.chunk(&execution, &pilot, range) {
                return Some(rest);
            }
            chunk = self.take();
        }
        None
    }

    fn take(&self) -> Option<Range<u64>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let from = self.next.fetch_add(CHUNK, Ordering::Relaxed);
        let lowest = self.lowest.load(Ordering::Relaxed);
        (from < self.n_seeds && from <= lowest).then(|| from..(from + CHUNK).min(self.n_seeds))
    }

    fn setup(&self) -> Setup {
        let mut setup = self.checker.setup;
        if setup.clocks == KeepClocks::Unneeded && self.needs_clocks.load(Ordering::Relaxed) {
            setup.clocks = KeepClocks::Always;
        }
        setup
    }

    fn chunk(&self, execution: &Execution, pilot: &Pilot, range: Range<u64>) -> Option<Range<u64>> {
        let checker = self.checker;
        let mut report = Report::default();
        let mut arms: Vec<(&'static str, ArmCount)> = Vec::new();
        let mut rest = None;
        let mut setup = self.setup();
        let mut positions = range.clone();
        let mut again = None;
        while let Some(position) = again.take().or_else(|| positions.next()) {
            let seed = checker.seed_at(position);
            let strategy = |draws: &mut _| checker.scheduler.strategy(pilot, draws);
            let outcome = execution.run(seed, &setup, strategy, self.body, None);
            if outcome.needed_clocks {
                self.needs_clocks.store(true, Ordering::Relaxed);
                if outcome.retire {
                    rest = Some(position..range.end);
                    break;
                }
                setup = self.setup();
                again = Some(position);
                continue;
            }
            report.executions += 1;
            report.steps += outcome.steps;
            report.hash = report.hash.wrapping_add(mix(outcome.hash, seed));
            if let Some(faults) = &outcome.faults {
                report.faults.add(faults);
            }
            let known = arms.iter().position(|&(arm, _)| std::ptr::eq(arm, outcome.arm));
            let at = known.unwrap_or_else(|| {
                arms.push((outcome.arm, ArmCount::default()));
                arms.len() - 1
            });
            let arm = &mut arms[at].1;
            arm.executions += 1;
            let retire = outcome.retire;
            if let Some(failure) = outcome.failure {
                arm.failures += 1;
                report.failures += 1;
                *report.rules.entry(failure.rule.clone()).or_default() += 1;
                let execution = position + 1;
                report.first_failure.get_or_insert(FirstFailure { seed, execution, failure });
                if checker.stop_at_first {
                    self.lowest.fetch_min(position, Ordering::Relaxed);
                    if retire {
                        rest = Some(0..0);
                    }
                    break;
                }
            }
            if retire {
                rest = Some(position + 1..range.end);
                break;
            }
        }
        for (arm, count) in arms {
            report.arms.entry(arm.to_owned()).or_default().add(count);
        }
        (self.done)(report.executions);
        let mut parts = self.parts.lock().unwrap_or_else(|broken| broken.into_inner());
        parts.push(Part { from: range.start, report });
        rest
    }

    fn finish(self) -> Report {
        let lowest = self.lowest.into_inner();
        let mut report = Report::default();
        let parts = self.parts.into_inner().unwrap_or_else(|broken| broken.into_inner());
        for part in parts.iter().filter(|part| part.from <= lowest) {
            report.merge(&part.report);
        }
        let wanted = if lowest == u64::MAX { self.n_seeds } else { lowest + 1 };
        report.stopped = report.executions < wanted;
        report
    }
}
