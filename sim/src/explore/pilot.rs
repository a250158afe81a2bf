//! Pilots: a few executions with fixed seeds that tell schedulers how long a program is.

use std::borrow::Cow;

use super::{Checker, CrashPoint, LifeSteps};
use crate::core::{Execution, KeepClocks, Setup};
use crate::scheduler::{Pilot, Places, Random, Scheduler, Strategy, Survey, settle};

const PILOTS: u64 = 8;

/// Measures the program, on an OS thread of its own: a pilot may cost its thread.
pub(super) fn measure(checker: &Checker, body: &(dyn Fn() + Sync)) -> Pilot {
    if needs_no_pilot(&checker.scheduler) {
        return Pilot::default();
    }
    measure_contended(checker, body)
}

/// As [`measure`], whatever the scheduler needs to know.
pub(super) fn measure_contended(checker: &Checker, body: &(dyn Fn() + Sync)) -> Pilot {
    let run = || run_pilots(checker, &Execution::new(checker.stack_bytes), body).0;
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_default())
}

/// As [`measure`], in `execution`; also whether its thread must run no other.
pub(super) fn measure_in(
    execution: &Execution,
    checker: &Checker,
    body: &(dyn Fn() + Sync),
) -> (Pilot, bool) {
    if needs_no_pilot(&checker.scheduler) {
        return (Pilot::default(), false);
    }
    run_pilots(checker, execution, body)
}

fn needs_no_pilot(scheduler: &Scheduler) -> bool {
    matches!(
        scheduler,
        Scheduler::Random
            | Scheduler::Sticky
            | Scheduler::Pos
            | Scheduler::Starve
            | Scheduler::Replay(_)
            | Scheduler::Script(_)
    )
}

/// Half of the pilots walk at random, half keep one order of priorities. The upper quartile of the
/// steps is taken: a change point drawn beyond the end of an execution is lost, and one drawn from
/// too short a range never falls into the rest.
fn run_pilots(checker: &Checker, execution: &Execution, body: &(dyn Fn() + Sync)) -> (Pilot, bool) {
    let mut retire = false;
    let mut pilots: Vec<Pilot> = Vec::new();
    let setup = undisturbed(checker);
    // An execution that failed may have shown a part of the program only.
    let (mut whole, mut cut_short) = (Vec::new(), Vec::new());
    for i in 0..PILOTS {
        let survey = match pilots.last() {
            Some(walk) if i % 2 == 1 => Survey::in_order(walk.contended_steps),
            _ => Survey::random(),
        };
        let survey = Strategy::Survey(Box::new(survey));
        let outcome = execution.run(u64::MAX - i, &setup, |_| survey, body, None);
        if let (Strategy::Survey(survey), _) = execution.take_results() {
            let profiles = if outcome.failure.is_none() { &mut whole } else { &mut cut_short };
            profiles.push(survey.profile());
            pilots.push(survey.result());
        }
        if outcome.retire {
            retire = true;
            break;
        }
    }
    let quartile = |of: fn(&Pilot) -> u64| {
        let mut values: Vec<_> = pilots.iter().map(of).collect();
        values.sort_unstable();
        values.get(values.len() * 3 / 4).copied().unwrap_or(0)
    };
    let profiles = if whole.is_empty() { cut_short } else { whole };
    let mut places = Places::default();
    for visits in profiles.iter().flat_map(|profile| &profile.places) {
        places.add(visits);
    }
    let pilot = Pilot {
        contended_steps: quartile(|pilot| pilot.contended_steps),
        held_objects: quartile(|pilot| u64::from(pilot.held_objects)) as u32,
        candidates: quartile(|pilot| pilot.candidates),
        profiles: settle(profiles),
        places: places.into(),
    };
    (pilot, retire)
}

/// How pilots run: a race or a crash would cut them short, and they are to say how long the program
/// is.
fn undisturbed(checker: &Checker) -> Setup {
    let faults = checker.setup.faults.without_crashes();
    Setup { clocks: KeepClocks::Never, faults, ..checker.setup }
}

/// How long the lives of the program are, whoever schedules: what crashes are drawn from must not
/// depend on the scheduler, or a schedule could not be replayed.
fn measure_lives(checker: &Checker, body: &(dyn Fn() + Sync)) -> LifeSteps {
    let run = || {
        let execution = Execution::new(checker.stack_bytes);
        let setup = undisturbed(checker);
        let mut lives = LifeSteps::default();
        for i in 0..PILOTS {
            let random = |_: &mut _| Strategy::Random(Random);
            let outcome = execution.run(u64::MAX - i, &setup, random, body, None);
            lives.merge(&execution.life_steps());
            if outcome.retire {
                break;
            }
        }
        lives
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_default())
}

impl Checker {
    /// The same checker, which knows how long lives are if it draws where they crash.
    pub(super) fn knowing_lives(&self, body: &(dyn Fn() + Sync)) -> Cow<'_, Self> {
        let drawn = matches!(self.setup.faults.crash_point, CrashPoint::Drawn(_));
        if !drawn || self.setup.life_steps.is_known() {
            return Cow::Borrowed(self);
        }
        let mut knowing = self.clone();
        knowing.setup.life_steps = measure_lives(self, body);
        Cow::Owned(knowing)
    }
}
