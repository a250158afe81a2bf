//! The picture of a scenario: the interleaving worth drawing, as the text of its snapshot.
//!
//! Drawn from the script, not from a seed, so that it stays while the code moves. It holds nothing
//! that differs between machines, and no line numbers.

use holdup::Scheduler;

use crate::scenario::Scenario;

/// Columns of a picture.
const COLUMNS: usize = 120;

/// Draws `scenario` under its script and the script's mutant; `None` where it has no script.
#[must_use]
pub fn draw(scenario: &Scenario) -> Option<String> {
    let script = Scheduler::Script(scenario.parsed_script()?);
    let trace = scenario
        .checker(&script, scenario.script_mutant)
        .trace(scenario.script_seed, &scenario.body);
    let bug = match scenario.script_mutant.and_then(|name| scenario.mutant(name)) {
        Some(case) => format!("with the bug {}: {}", case.name, case.note),
        None => "as the code is".into(),
    };
    let left =
        trace.divergence.as_ref().map(|how| format!("\nthe script {how}")).unwrap_or_default();
    let verdict = match &trace.failure {
        Some(failure) => format!("fails with {}: {}", failure.rule, failure.message),
        None => "passes".into(),
    };
    let verdict = textwrap::fill(&verdict, COLUMNS);
    let timeline = trace.timeline();
    Some(format!("{}\n{bug}\n\n{}\n\n{verdict}{left}\n", scenario.summary, timeline.trim_end()))
}
