//! `holdup list`: the scenarios there are.

use holdup_scenarios::{Scenario, registry};
use serde_json::{Value, json};

use super::{Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only the scenarios of this area.
    area: Option<String>,
    /// One JSON document instead of text.
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
        let blocks = scenarios.iter().map(|scenario| to_text(scenario, output::width()));
        output::print(&blocks.collect::<Vec<_>>().join("\n"))?;
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

/// A paragraph: names are long, so that columns would leave no room for anything else.
fn to_text(scenario: &Scenario, width: u16) -> String {
    let details = [
        ("", scenario.summary.into()),
        ("area", scenario.area.into()),
        ("rules", scenario.rules.join(" ")),
        ("mutants", mutants(scenario).join(" ")),
        ("catalogue", scenario.all_catalogue().join(" ")),
    ];
    let mut text = format!("{}\n", scenario.name);
    for (name, detail) in details.iter().filter(|(_, detail)| !detail.is_empty()) {
        let first = if name.is_empty() { "  ".into() } else { format!("  {name:<9} ") };
        let rest = " ".repeat(first.len());
        let options = textwrap::Options::new(usize::from(width)).break_words(false);
        let options = options.initial_indent(&first).subsequent_indent(&rest);
        text += &textwrap::fill(detail, options);
        text.push('\n');
    }
    text
}

fn mutants(scenario: &Scenario) -> Vec<&'static str> {
    scenario.mutants.iter().map(|case| case.name).collect()
}
