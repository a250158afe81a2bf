//! shuttle's schedulers on the same programs.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use holdup_scenarios::{MutantCase, Scenario};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::door::{PROGRAMS, mutant};
use crate::hunt::{Arm, Found, Peer, timed};

const SCHEDULERS: &[&str] = &["random", "pct3", "urw"];

pub(crate) fn arms() -> impl Iterator<Item = Arm> {
    SCHEDULERS.iter().map(|name| Arm::new(Peer::Shuttle, name))
}

/// Steps after which an execution is given up; it counts as one that found nothing. A thread that
/// spins while nobody else is chosen would otherwise pass for a bug.
const MAX_STEPS: usize = 100_000;

thread_local! {
    static EXECUTIONS: Cell<u64> = const { Cell::new(0) };
}

/// The program that `scenario` is here.
fn program(scenario: &Scenario) -> &'static Scenario {
    let program = PROGRAMS.iter().find(|program| program.name == scenario.name);
    program.expect("both compile the same files")
}

pub(crate) fn find(
    arm: &Arm,
    scenario: &Scenario,
    case: &MutantCase,
    trials: u64,
    budget: u64,
) -> Found {
    let trial = |seed| trial(arm, scenario, Some(case.name), seed, budget);
    timed(budget, || (0..trials).map(trial).collect())
}

/// Executions to the first failure, within `budget`; with no mutant there must be none.
pub(crate) fn trial(
    arm: &Arm,
    scenario: &Scenario,
    bug: Option<&'static str>,
    seed: u64,
    budget: u64,
) -> Option<u64> {
    be_quiet();
    let n = budget as usize;
    let body = program(scenario).body;
    mutant::switch_to(bug);
    match &*arm.scheduler {
        "random" => run(RandomScheduler::new_from_seed(seed, n), body),
        "urw" => run(UrwRandomScheduler::new_from_seed(seed, n), body),
        _ => run(PctScheduler::new_from_seed(seed, 3, n), body),
    }
}

fn run<S: Scheduler + 'static>(scheduler: S, body: fn()) -> Option<u64> {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::ContinueAfter(MAX_STEPS);
    EXECUTIONS.set(0);
    let runner = Runner::new(scheduler, config);
    let counted = move || {
        EXECUTIONS.set(EXECUTIONS.get() + 1);
        body();
    };
    let result = catch_unwind(AssertUnwindSafe(|| runner.run(counted)));
    result.is_err().then(|| EXECUTIONS.get())
}

/// shuttle tells of each failure on standard error, from a hook that it sets in its first run.
fn be_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        run(RandomScheduler::new_from_seed(0, 1), || ());
        std::panic::set_hook(Box::new(|_| ()));
    });
}
