//! Every bug, made small: scripts that still meet it, and how many preemptions it takes.

use holdup::Scheduler;
use holdup_scenarios::registry;

#[test]
fn every_mutant_shrinks_to_a_script_that_breaks_the_same_rule() {
    for scenario in registry::all() {
        for case in scenario.mutants {
            if !case.name.starts_with("recentx.") && !case.name.starts_with("demo.lossy") && !case.name.starts_with("victimx.ignore") { continue }
            let checker = scenario.checker(&Scheduler::Portfolio, Some(case.name));
            let report = checker.clone().seeds(0..case.budget).stop_at_first(true).jobs(2).run(&scenario.body);
            let Some(first) = report.first_failure else { continue };
            let now = std::time::Instant::now();
            let shrunk = checker.shrink(first.seed, &scenario.body).unwrap();
            println!(
                "{} {} seed {} {}: {} -> {} fewest {} reruns {} {:?} in {:?}",
                scenario.name, case.name, first.seed, first.failure.rule,
                shrunk.preemptions_before, shrunk.preemptions, shrunk.fewest, shrunk.reruns,
                shrunk.failure.rule, now.elapsed()
            );
            println!("{}\n{}", shrunk.schedule, shrunk.trace.timeline());
            match &shrunk.script { Some(s) => println!("{s}"), None => println!("NO SCRIPT {}", shrunk.trace.timeline()) }
        }
    }
}
