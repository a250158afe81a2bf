//! `Checker`: which program runs under which seeds, schedulers and faults.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::{Environment, Faults, LifeSteps, Report, pilot, sweep};
use crate::core::{Draws, Execution, KeepClocks, Recorder, Setup};
use crate::scheduler::{Pilot, Scheduler, Strategy};
use crate::trace::Trace;

/// Seeds that [`check`] and `#[holdup::test]` run if nobody says otherwise.
pub(crate) const DEFAULT_SEEDS: Range<u64> = 0..1_000;

/// Runs a program under many schedules.
///
/// ```
/// use holdup::sync::atomic::{AtomicU32, Ordering};
/// use holdup::{Checker, thread};
///
/// let lost_update = || {
///     let count = AtomicU32::new(0);
///     thread::scope(|scope| {
///         for _ in 0..2 {
///             scope.spawn(|| count.store(count.load(Ordering::SeqCst) + 1, Ordering::SeqCst));
///         }
///     });
///     assert_eq!(count.load(Ordering::SeqCst), 2);
/// };
/// let report = Checker::new("lost update").seeds(0..100).run(&lost_update);
/// assert!(report.failures > 0);
/// ```
#[derive(Clone, Debug)]
pub struct Checker {
    pub(super) name: String,
    pub(super) seeds: Range<u64>,
    pub(super) shard: (u64, u64),
    pub(super) jobs: usize,
    pub(super) scheduler: Scheduler,
    pub(super) setup: Setup,
    pub(super) stop_at_first: bool,
    pub(super) stack_bytes: usize,
}

impl Checker {
    /// A checker for the program called `name`: seeds 0 to 999, the portfolio, one job, at most
    /// 1,000,000 steps an execution, no faults, races looked for.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            seeds: DEFAULT_SEEDS,
            shard: (0, 1),
            jobs: 1,
            scheduler: Scheduler::Portfolio,
            setup: Setup {
                mutant: None,
                faults: Faults::NONE,
                max_steps: 1_000_000,
                spin_budget: false,
                leak_unfinished: false,
                clocks: KeepClocks::Unneeded,
                life_steps: LifeSteps::default(),
            },
            stop_at_first: false,
            stack_bytes: 256 * 1024,
        }
    }

    /// Runs these seeds.
    #[must_use]
    pub fn seeds(mut self, seeds: Range<u64>) -> Self {
        self.seeds = seeds;
        self
    }

    /// Runs only the seeds that leave `index` when divided by `of`.
    #[must_use]
    pub fn shard(mut self, index: u64, of: u64) -> Self {
        assert!(index < of, "shard {index} of {of}: shards are counted from 0");
        self.shard = (index, of);
        self
    }

    /// Uses this many OS threads. The report is the same for any number.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs.max(1);
        self
    }

    /// Decides with this scheduler.
    #[must_use]
    pub fn scheduler(mut self, scheduler: Scheduler) -> Self {
        self.scheduler = scheduler;
        self
    }

    /// Switches a known bug on, for [`mutant::is`](crate::mutant::is).
    #[must_use]
    pub fn mutant(mut self, mutant: Option<&'static str>) -> Self {
        self.setup.mutant = mutant;
        self.setup.life_steps = LifeSteps::default();
        self
    }

    /// Injects these faults.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.setup.faults = faults;
        self.setup.life_steps = LifeSteps::default();
        self
    }

    /// An execution that takes more steps fails with the rule `step-limit`.
    #[must_use]
    pub fn max_steps(mut self, steps: u64) -> Self {
        self.setup.max_steps = steps;
        self
    }

    /// Stops at the lowest failing seed.
    #[must_use]
    pub fn stop_at_first(mut self, stop: bool) -> Self {
        self.stop_at_first = stop;
        self
    }

    /// Lock bits spin through their backoff in virtual time instead of blocking: for questions of
    /// performance, and for code that gives up on a spinlock that seems stuck.
    #[must_use]
    pub fn spin_budget(mut self, spin: bool) -> Self {
        self.setup.spin_budget = spin;
        self
    }

    /// Tasks that have not finished when an execution fails are dropped without running their
    /// destructors. Faster by microseconds; leaks what their stacks own.
    #[must_use]
    pub fn leak_unfinished(mut self, leak: bool) -> Self {
        self.setup.leak_unfinished = leak;
        self
    }

    /// Whether accesses to plain memory that race fail with the rule `data-race`; if nobody says
    /// otherwise, they do. What counts is [`cell`](crate::cell) and [`memory`](crate::memory); a
    /// program that uses neither pays nothing.
    ///
    /// Whether this is on changes no schedule: only that an execution ends at its first race.
    #[must_use]
    pub fn race_check(mut self, check: bool) -> Self {
        self.setup.clocks = if check { KeepClocks::Unneeded } else { KeepClocks::Never };
        self
    }

    /// Gives each task a stack of this size; 256 KiB if nobody says otherwise, at least 64 KiB.
    #[must_use]
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Takes over what the environment asks for: seeds, shard, scheduler, jobs.
    #[must_use]
    pub fn environment(mut self, environment: &Environment) -> Self {
        if let Some(seed) = environment.seed {
            self.seeds = seed..seed.saturating_add(1);
        }
        if let Some(seeds) = &environment.seeds {
            self.seeds = seeds.clone();
        }
        if let Some((index, of)) = environment.shard {
            self.shard = (index, of);
        }
        if let Some(scheduler) = &environment.scheduler {
            self.scheduler = scheduler.clone();
        }
        if let Some(jobs) = environment.jobs {
            self.jobs = jobs;
        }
        self
    }

    /// How many seeds of the range belong to the shard.
    pub(super) fn n_seeds(&self) -> u64 {
        let (index, of) = self.shard;
        let below = |bound: u64| bound / of + u64::from(bound % of > index);
        below(self.seeds.end).saturating_sub(below(self.seeds.start))
    }

    /// The seed at `position` among those of the shard.
    pub(super) fn seed_at(&self, position: u64) -> u64 {
        let (index, of) = self.shard;
        let start = self.seeds.start;
        let first = start + (index + of - start % of) % of;
        first + position * of
    }

    /// Runs all seeds, silently.
    pub fn run(&self, body: &(dyn Fn() + Sync)) -> Report {
        self.run_observed(body, &AtomicBool::new(false), &|_| ())
    }

    /// As [`Checker::run`]; ends early once `stop` is set, and tells `done` how many more
    /// executions were run.
    pub fn run_observed(
        &self,
        body: &(dyn Fn() + Sync),
        stop: &AtomicBool,
        done: &(dyn Fn(u64) + Sync),
    ) -> Report {
        sweep::run(self, body, stop, done)
    }

    /// Runs one seed and writes down everything: the second pass.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn trace(&self, seed: u64, body: &(dyn Fn() + Sync)) -> Trace {
        self.trace_hashed(seed, body).0
    }

    /// As [`Checker::trace`], with a hash over everything written down.
    pub(super) fn trace_hashed(&self, seed: u64, body: &(dyn Fn() + Sync)) -> (Trace, u64) {
        let knowing = self.knowing_lives(body);
        std::thread::scope(|scope| {
            let run = || {
                let execution = Execution::new(self.stack_bytes);
                let recorded = knowing.record(&execution, &pilot::measure(self, body), seed, body);
                (recorded.trace, recorded.hash)
            };
            let builder = std::thread::Builder::new().name(format!("{}@{seed}", self.name));
            match builder.spawn_scoped(scope, run).map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                Ok(Err(payload)) => std::panic::resume_unwind(payload),
                Err(error) => panic!("no thread for an execution: {error}"),
            }
        })
    }

    /// How an execution runs that is not written down and not run again: it looks for data races, as
    /// one that is written down does.
    pub(super) fn looking_for_races(&self) -> Setup {
        let clocks = match self.setup.clocks {
            KeepClocks::Never => KeepClocks::Never,
            KeepClocks::Unneeded | KeepClocks::Always => KeepClocks::Always,
        };
        Setup { clocks, ..self.setup }
    }

    /// Runs one seed in `execution` and writes down everything.
    pub(super) fn record(
        &self,
        execution: &Execution,
        pilot: &Pilot,
        seed: u64,
        body: &(dyn Fn() + Sync),
    ) -> Recorded {
        let strategy = |draws: &mut _| self.scheduler.strategy(pilot, draws);
        self.record_under(execution, strategy, seed, body)
    }

    /// Runs one seed under `strategy`, whatever the scheduler, and writes down everything.
    pub(super) fn record_under(
        &self,
        execution: &Execution,
        strategy: impl FnOnce(&mut Draws) -> Strategy,
        seed: u64,
        body: &(dyn Fn() + Sync),
    ) -> Recorded {
        let recorder = Some(Box::<Recorder>::default());
        let outcome = execution.run(seed, &self.setup, strategy, body, recorder);
        let (strategy, recorder) = execution.take_results();
        let recorder = recorder.map(|recorder| *recorder).unwrap_or_default();
        let hash = recorder.hash();
        let mut failure = outcome.failure;
        let divergence = strategy.divergence();
        if let Some(divergence) = &divergence
            && let Some(failure) = &mut failure
        {
            failure.detail.push(format!("the schedule {divergence}"));
        }
        let trace = Trace {
            name: self.name.clone(),
            seed,
            scheduler: self.scheduler.to_string(),
            arm: outcome.arm.to_owned(),
            mutant: self.setup.mutant.map(str::to_owned),
            tasks: recorder.tasks,
            objects: recorder.objects,
            events: recorder.events,
            divergence,
            failure,
            steps: outcome.steps,
            hash: outcome.hash,
            faults: outcome.faults.map(|faults| *faults).unwrap_or_default(),
        };
        Recorded { trace, hash, strategy, retire: outcome.retire }
    }
}

/// An execution that was written down.
pub(super) struct Recorded {
    pub(super) trace: Trace,
    /// Over everything in it.
    pub(super) hash: u64,
    /// The scheduler, as it ended.
    pub(super) strategy: Strategy,
    /// The OS thread is not to run another.
    pub(super) retire: bool,
}

/// Runs `body` under seeds 0 to 999, or what the environment asks for (`HOLDUP_SEED` and the
/// others, see [`Environment`]).
///
/// # Panics
///
/// Panics with the drawn interleaving and one line that replays it if an execution fails.
pub fn check(body: impl Fn() + Send + Sync + 'static) {
    let name = std::thread::current().name().unwrap_or("check").to_owned();
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let replay = super::replay_line::for_test(&package, &name);
    Checker::new(name).check(&replay, &body);
}

impl Checker {
    /// Runs the program as a test does: under what the environment asks for, with a report and a
    /// panic at the first failure. `replay` is the command that runs this test alone.
    ///
    /// # Panics
    ///
    /// Panics if an execution fails, if the environment is malformed, or, with
    /// `HOLDUP_CHECK_DETERMINISM`, if a seed run twice gives two executions.
    pub fn check(self, replay: &str, body: &(dyn Fn() + Sync)) {
        let environment = match Environment::read() {
            Ok(environment) => environment,
            Err(bad) => panic!("{bad}"),
        };
        let default_scheduler = self.scheduler.clone();
        let checker = self.environment(&environment).stop_at_first(true);
        if environment.check_determinism {
            checker.check_determinism(body);
        }
        let report = checker.run(body);
        let Some(first) = report.first_failure else {
            if environment.trace && environment.seed.is_some() {
                let trace = checker.trace(checker.seeds.start, body);
                println!("{}", trace.timeline());
            }
            return;
        };
        let (trace, hash) = checker.trace_hashed(first.seed, body);
        let (_, again) = checker.trace_hashed(first.seed, body);
        let same = hash == again
            && trace.failure.as_ref().map(|failure| &failure.rule) == Some(&first.failure.rule);
        let scheduler = if checker.scheduler == default_scheduler {
            String::new()
        } else {
            format!("HOLDUP_SCHEDULER={} ", checker.scheduler)
        };
        let line = format!("HOLDUP_SEED={} {scheduler}{replay}", first.seed);
        let mut text = trace.failure_report_with(&line, environment.trace);
        if !same {
            text = format!(
                "not deterministic: seed {} gave another execution when it was run again;\n\
                 something the program does depends on more than the seed\n{text}",
                first.seed
            );
        }
        panic!(
            "{} failed on execution {} of {}\n{text}",
            checker.name, first.execution, report.executions
        );
    }

    /// Runs a sample of the seeds twice and compares everything that is written down.
    fn check_determinism(&self, body: &(dyn Fn() + Sync)) {
        for position in 0..self.n_seeds().min(20) {
            let seed = self.seed_at(position);
            let (first, hash) = self.trace_hashed(seed, body);
            let (second, again) = self.trace_hashed(seed, body);
            let mut pairs = first.events.iter().zip(&second.events);
            let differ = |(a, b): &(&_, &_)| format!("{a:?}") != format!("{b:?}");
            if hash != again || first.hash != second.hash {
                let at = pairs.find(differ).map_or_else(
                    || "one of them goes on".to_owned(),
                    |(a, b)| format!("first {a:?}, then {b:?}"),
                );
                panic!("not deterministic: seed {seed} run twice gave two executions: {at}");
            }
        }
    }
}
