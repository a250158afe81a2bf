//! The guided search of `holdup sweep --guided N`.

use holdup::explore::Guided;
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::sweep::Plan;
use serde_json::{Value, json};

use super::output::{self, Column};
use super::progress;
use super::signals::Stop;

/// Searches one scenario after the other.
pub(super) fn run_all<'a>(
    rows: impl ExactSizeIterator<Item = (&'a Plan, &'a mut Option<Guided>)>,
    executions: u64,
    stop: &Stop,
) {
    let bar = progress::bar(rows.len() as u64, "searches");
    for (plan, guided) in rows {
        if stop.is_asked() {
            break;
        }
        bar.set_message(plan.scenario.name);
        *guided = Some(plan.guided(executions));
        bar.inc(1);
    }
    bar.finish_and_clear();
}

/// One row a search, and what each found.
pub(super) fn table<'a>(rows: impl Iterator<Item = (&'a Plan, Option<&'a Guided>)>) -> String {
    let columns = [
        Column::Text("guided search"),
        Column::Number("executions"),
        Column::Number("failures"),
        Column::SpareNumber("corpus"),
        Column::SpareNumber("hand-offs"),
        Column::SpareNumber("holds met"),
    ];
    let rows: Vec<_> = rows.filter_map(|(plan, guided)| Some((plan, guided?))).collect();
    let cells = rows.iter().map(|(plan, guided)| {
        vec![
            plan.scenario.name.into(),
            output::grouped(guided.executions),
            output::grouped(guided.failures),
            output::grouped(guided.corpus),
            output::grouped(guided.coverage.hand_offs.len() as u64),
            output::grouped(guided.coverage.holds.len() as u64),
        ]
    });
    let mut text = output::table(&columns, cells);
    for (plan, guided) in rows {
        for (rule, found) in &guided.findings {
            text += &format!(
                "\n{} failed with {rule} on execution {} of the guided search: {}\n  replay  {}\n",
                plan.scenario.name,
                output::grouped(found.execution),
                found.failure.message.lines().next().unwrap_or(""),
                replay_line(plan.scenario, &found.schedule.to_string(), found.seed, plan.mutant),
            );
        }
    }
    text
}

/// Counts, and each finding with its schedule.
pub(super) fn to_json(plan: &Plan, guided: &Guided) -> Value {
    let findings = guided.findings.iter().map(|(rule, found)| {
        let schedule = found.schedule.to_string();
        json!({
            "rule": rule,
            "execution": found.execution,
            "seed": found.seed,
            "message": found.failure.message,
            "schedule": schedule,
            "replay": replay_line(plan.scenario, &schedule, found.seed, plan.mutant),
        })
    });
    json!({
        "executions": guided.executions,
        "steps": guided.steps,
        "failures": guided.failures,
        "corpus": guided.corpus,
        "hand_offs": guided.coverage.hand_offs.len(),
        "holds": guided.coverage.holds.len(),
        "findings": findings.collect::<Vec<_>>(),
    })
}
