//! The critical pair of a bug, where it is known, is the one that `holdup explain` finds.

use std::sync::atomic::AtomicBool;

use holdup::Scheduler;
use holdup::explore::Moment;
use holdup_scenarios::trials::Hunt;
use holdup_scenarios::{MutantCase, Scenario, registry};

/// Failures of each bug that are explained.
const FAILURES: u64 = 2;

fn known() -> Vec<(&'static Scenario, &'static MutantCase)> {
    let cases = registry::all()
        .into_iter()
        .flat_map(|scenario| scenario.mutants.iter().map(move |case| (scenario, case)));
    cases.filter(|(_, case)| case.critical_pair.is_some()).collect()
}

/// What was found instead of the pair that is stated, in each of some failures.
fn astray(
    scenario: &'static Scenario,
    case: &MutantCase,
    stated: [(&str, &str); 2],
) -> Vec<String> {
    let scheduler = Scheduler::Portfolio;
    let (mutant, budget, trials) = (case.name, case.budget.max(20_000), FAILURES);
    let hunt = Hunt { scenario, mutant, scheduler: scheduler.clone(), budget, trials, jobs: 1 };
    let failures = hunt.run(&AtomicBool::new(false), &|_| ()).failures;
    assert_eq!(failures.len() as u64, FAILURES, "{} is not caught", case.name);
    let checker = scenario.checker(&scheduler, Some(case.name));
    let found = failures.into_iter().filter_map(|failure| {
        let explained = checker.explain(failure.seed, &scenario.body);
        let Some(pair) = explained.and_then(|explained| explained.pair) else {
            return Some(format!("seed {}: none", failure.seed));
        };
        let is = |moment: &Moment, (task, object): (&str, &str)| {
            moment.task == task && moment.what.contains(object)
        };
        let right = is(&pair.first, stated[0]) && is(&pair.second, stated[1]);
        let told = |moment: &Moment| format!("{} {}", moment.task, moment.what);
        (!right).then(|| {
            format!("seed {}: {}, {}", failure.seed, told(&pair.first), told(&pair.second))
        })
    });
    found.collect()
}

#[test]
fn explain_names_the_pairs_that_are_known() {
    let known = known();
    let half = known.len().div_ceil(2);

    let wrong = std::thread::scope(|scope| {
        let workers: Vec<_> =
            known.chunks(half).map(|some| scope.spawn(move || all_astray(some))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });

    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(known.len() >= 35, "only {} pairs are stated", known.len());
}

fn all_astray(cases: &[(&'static Scenario, &'static MutantCase)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (scenario, case) in cases {
        let Some(stated) = case.critical_pair else { continue };
        let astray = astray(scenario, case, stated);
        if !astray.is_empty() {
            wrong.push(format!("{} {}: {}", scenario.name, case.name, astray.join("; ")));
        }
    }
    wrong
}

#[test]
fn another_pair_does_not_pass() {
    let scenario = registry::find("lossy-unpin").unwrap();
    let case = scenario.mutant("demo.lossy_unpin").unwrap();
    let [first, second] = case.critical_pair.unwrap();

    assert_eq!(astray(scenario, case, [second, first]).len() as u64, FAILURES);
}
