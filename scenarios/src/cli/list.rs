//! `holdup list`: the scenarios there are.

use holdup_scenarios::{Scenario, registry};
use serde_json::{Value, json};

use super::{Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only the scenarios of this area.
    area: Option<String>,
    /// One JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenarios = match &arguments.area {
        Some(area) => registry::in_area(area)?,
        None => registry::all(),
    };
    if arguments.json {
        let rows: Vec<_> = scenarios.iter().map(|scenario| to_json(scenario)).collect();
        output::print_json(&json!({ "scenarios": rows }))?;
    } else {
        let header = ["scenario", "area", "summary", "rules", "mutants", "catalogue"];
        let columns = if output::width() < output::NARROW { 3 } else { header.len() };
        let rows = scenarios.iter().map(|scenario| to_row(scenario, columns));
        output::print(&output::table(&header[..columns], &[], rows))?;
    }
    Ok(Exit::Expected)
}

fn to_json(scenario: &Scenario) -> Value {
    json!({
        "name": scenario.name,
        "area": scenario.area,
        "summary": scenario.summary,
        "rules": scenario.rules,
        "mutants": mutants(scenario),
        "catalogue": scenario.all_catalogue(),
    })
}

/// The first `columns` cells of its row.
fn to_row(scenario: &Scenario, columns: usize) -> Vec<String> {
    let mut row = vec![
        scenario.name.into(),
        scenario.area.into(),
        scenario.summary.into(),
        scenario.rules.join(" "),
        mutants(scenario).join(" "),
        scenario.all_catalogue().join(" "),
    ];
    row.truncate(columns);
    row
}

fn mutants(scenario: &Scenario) -> Vec<&'static str> {
    scenario.mutants.iter().map(|case| case.name).collect()
}
