//! Our schedulers, as `holdup mutants` runs them.

use std::sync::atomic::AtomicBool;

use holdup::Scheduler;
use holdup_scenarios::trials::Hunt;
use holdup_scenarios::{MutantCase, Scenario};

use crate::hunt::{Arm, Found, Peer, timed};

/// All that decide by a seed, the default first.
pub(crate) fn arms() -> impl Iterator<Item = Arm> {
    Scheduler::NAMES.iter().map(|name| Arm::new(Peer::Holdup, name))
}

fn scheduler(arm: &Arm) -> Scheduler {
    arm.scheduler.parse().expect("it is one of the names")
}

pub(crate) fn find(
    arm: &Arm,
    scenario: &'static Scenario,
    case: &MutantCase,
    trials: u64,
    budget: u64,
) -> Found {
    let mutant = case.name;
    let hunt = Hunt { scenario, mutant, scheduler: scheduler(arm), budget, trials, jobs: 1 };
    timed(budget, || hunt.run(&AtomicBool::new(false), &|_| ()).executions)
}

/// Whether one of the first `n` executions fails without a bug.
pub(crate) fn fails(arm: &Arm, scenario: &'static Scenario, n: u64) -> bool {
    scenario.checker(&scheduler(arm), None).seeds(0..n).run(&scenario.body).failures > 0
}
