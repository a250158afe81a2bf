//! Every bug, made small: scripts that still meet it, and how many preemptions it takes.

use holdup::sync::Arc;
use holdup::sync::atomic::{AtomicU32, Ordering};
use holdup::{Scheduler, thread};
use holdup_scenarios::{MutantCase, Scenario, registry};

/// The story as it might be after a commit that changes nothing it is about: other steps come
/// first, and there is a task more, so that all steps and numbers of tasks are others.
fn edited(story: fn()) {
    let word = Arc::new(AtomicU32::new(0));
    (0..5).for_each(|_| _ = word.load(Ordering::SeqCst));
    let work = {
        let word = Arc::clone(&word);
        move || (0..7).for_each(|_| _ = word.fetch_add(1, Ordering::SeqCst))
    };
    let newcomer = thread::Builder::new().name("newcomer".into()).spawn(work).unwrap();
    story();
    newcomer.join().unwrap();
}

/// Preemptions of the first failures beyond `seed`, shrunk, where they break another rule than
/// `rule`; the fewest, if there are such.
fn fewest_of_other_rules(
    scenario: &Scenario,
    case: &MutantCase,
    seed: u64,
    rule: &str,
) -> Option<usize> {
    let checker = scenario.checker(&Scheduler::Portfolio, Some(case.name));
    let mut from = seed + 1;
    let failures = std::iter::from_fn(|| {
        let hunt = checker.clone().seeds(from..case.budget).stop_at_first(true);
        let first = hunt.run(&scenario.body).first_failure?;
        from = first.seed + 1;
        Some(first)
    });
    let others = failures.take(50).filter(|first| first.failure.rule != rule).take(2);
    others.map(|first| checker.shrink(first.seed, &scenario.body).unwrap().preemptions).min()
}

#[test]
fn every_mutant_shrinks_to_a_script_that_breaks_the_same_rule() {
    for scenario in registry::all() {
        for case in scenario.mutants {
            let name = format!("{}, {}", scenario.name, case.name);
            let checker = scenario.checker(&Scheduler::Portfolio, Some(case.name));
            let hunt = checker.clone().seeds(0..case.budget).stop_at_first(true).jobs(2);
            let first = hunt.run(&scenario.body).first_failure.expect("every mutant is caught");

            let shrunk = checker.shrink(first.seed, &scenario.body).expect("the seed fails");

            let (rule, hash) = (&first.failure.rule, shrunk.trace.hash);
            let script = shrunk.script.unwrap_or_else(|| panic!("no script leads to {name}"));
            let scripted = checker.scheduler(Scheduler::Script(script));
            let again = scripted.trace(first.seed, &scenario.body);
            let broken = again.failure.expect("a script that was shrunk fails").rule;
            assert_eq!((&broken, again.divergence, again.hash), (rule, None, hash), "{name}");
            let later = scripted.trace(first.seed, &|| edited(scenario.body)).failure;
            assert_eq!(later.as_ref().map(|failure| &failure.rule), Some(rule), "{name}, edited");
            assert!(shrunk.preemptions <= shrunk.preemptions_before, "{name}");
            // A bug may break several rules, one of which takes more preemptions than another.
            let most = case.preemptions.map_or(u32::MAX, |known| known + 1) as usize;
            let others = || fewest_of_other_rules(scenario, case, first.seed, rule);
            let is_small = shrunk.preemptions <= most || others().is_some_and(|n| n <= most);
            assert!(is_small, "{name} takes {}", shrunk.preemptions);
        }
    }
}
