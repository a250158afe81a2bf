//! Does any schedule break a rule, is every bug caught, does a seed mean the same every time?

use std::fmt::Write as _;

use holdup::explore::{Environment, FirstFailure};
use holdup::{Report, Scheduler};
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::{Scenario, registry};

/// Seeds of every scenario, under each of these schedulers.
const SEEDS: u64 = 300;
const SCHEDULERS: [&str; 9] =
    ["portfolio", "random", "pct", "lens", "pos", "urw", "surw", "starve", "delay"];

fn scheduler(name: &str) -> Scheduler {
    name.parse().unwrap()
}

/// Fails with all findings and one line that replays the first.
#[track_caller]
fn assert_none(findings: &[String], replay: Option<String>) {
    let replay = replay.map(|line| format!("\nreplay  {line}")).unwrap_or_default();
    assert!(findings.is_empty(), "{}{replay}", findings.join("\n"));
}

#[test]
fn no_schedule_breaks_a_rule() {
    let environment = Environment::read().unwrap_or_else(|error| panic!("{error}"));
    let schedulers = match &environment.scheduler {
        Some(scheduler) => vec![scheduler.clone()],
        None => SCHEDULERS.map(scheduler).to_vec(),
    };
    let (mut findings, mut replay) = (Vec::new(), None);
    for scenario in registry::all() {
        for scheduler in &schedulers {
            let checker = scenario.checker(scheduler, None).seeds(0..SEEDS).jobs(2);
            let report = checker.environment(&environment).run(&scenario.body);
            if let Some(FirstFailure { seed, failure, .. }) = report.first_failure {
                let name = scheduler.to_string();
                findings.push(format!("{} under {name}: {failure}", scenario.name));
                replay.get_or_insert(replay_line(scenario, &name, seed, None));
            }
        }
    }
    assert_none(&findings, replay);
}

#[test]
fn every_mutant_is_caught_within_its_budget() {
    let mut findings = Vec::new();
    for scenario in registry::all() {
        for case in scenario.mutants {
            let checker = scenario.checker(&Scheduler::Portfolio, Some(case.name));
            let report =
                checker.seeds(0..case.budget).stop_at_first(true).jobs(2).run(&scenario.body);
            if report.first_failure.is_none() {
                findings.push(format!("{} misses {} in {}", scenario.name, case.name, case.budget));
            }
        }
    }
    assert_none(&findings, None);
}

#[test]
fn missing_orders_are_caught_as_races_and_by_nothing_else() {
    for name in ["bytes-follow-the-lock-modern", "bytes-follow-the-lock-classic"] {
        let scenario = registry::find(name).unwrap();
        for case in scenario.mutants {
            let checker = scenario.checker(&Scheduler::Portfolio, Some(case.name)).seeds(0..3_000);
            let checked = checker.clone().run(&scenario.body);
            let unchecked = checker.race_check(false).run(&scenario.body);

            let rules: Vec<_> = checked.rules.keys().map(String::as_str).collect();
            assert_eq!(rules, ["data-race"], "{name} with {}", case.name);
            assert_eq!(unchecked.failures, 0, "{name} with {}", case.name);
        }
    }
}

#[test]
fn a_seed_means_the_same_every_time_and_on_any_number_of_threads() {
    let mut findings = Vec::new();
    for scenario in registry::all() {
        let run = |jobs| {
            let checker = scenario.checker(&Scheduler::Portfolio, None);
            checker.seeds(0..1_000).jobs(jobs).run(&scenario.body)
        };
        let (once, again, together) = (run(1), run(1), run(2));
        if summary(&once) != summary(&again) || summary(&once) != summary(&together) {
            let mut finding = format!("{} is not deterministic:", scenario.name);
            for report in [once, again, together] {
                let _ = write!(finding, " {:?}", summary(&report));
            }
            findings.push(finding);
        }
    }
    assert_none(&findings, None);
}

fn summary(report: &Report) -> (u64, u64, u64, u64) {
    (report.executions, report.steps, report.failures, report.hash)
}

#[test]
fn a_trace_is_of_the_execution_that_was_swept() {
    for scenario in registry::all() {
        let checker = scenario.checker(&Scheduler::Portfolio, None);
        let steps = |seed| {
            let report = checker.clone().seeds(seed..seed + 1).run(&scenario.body);
            (report.steps, checker.trace(seed, &scenario.body).steps)
        };
        for seed in 0..10 {
            let (swept, traced) = steps(seed);
            assert_eq!(swept, traced, "{} at seed {seed}", scenario.name);
        }
    }
}

#[test]
fn every_script_meets_its_bug() {
    let scripted = |scenario: &&Scenario| scenario.script_mutant.is_some();
    for scenario in registry::all().into_iter().filter(scripted) {
        let script = Scheduler::Script(scenario.parsed_script().unwrap());
        let trace =
            |mutant| scenario.checker(&script, mutant).trace(scenario.script_seed, &scenario.body);

        assert!(trace(scenario.script_mutant).failure.is_some(), "{}", scenario.name);
        assert!(trace(None).failure.is_none(), "{} fails without its bug", scenario.name);
    }
}
