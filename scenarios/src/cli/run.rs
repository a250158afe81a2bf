//! `holdup run`: one seed of one scenario.
//!
//! As text, the last line of standard output is `hash: ` and the hash of the schedule. A document
//! (`--json`, or a `--format` other than text) stands alone; its hash is in the document or, where
//! the format has no place for it, on standard error.

use holdup::Scheduler;
use holdup::trace::Trace;
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::numbers::parse_seed;
use holdup_scenarios::{Scenario, registry};
use serde_json::Value;

use super::{Exit, output, scheduler};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Which scenario.
    scenario: String,
    /// Which seed.
    #[arg(long, value_name = "N", value_parser = parse_seed, allow_negative_numbers = true)]
    seed: u64,
    /// Who decides: portfolio, random, sticky, pct, pct2, pct3, lens, pos, urw,
    /// surw, starve or delay; or a schedule, as `holdup prove` prints it.
    #[arg(long, value_name = "S", value_parser = scheduler_or_schedule,
          default_value = "portfolio")]
    scheduler: Scheduler,
    /// Switches this bug on.
    #[arg(long, value_name = "M")]
    mutant: Option<String>,
    /// Draws the timeline, of an execution that passed too.
    #[arg(long)]
    trace: bool,
    /// How to print the execution.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// One JSON document: the verdict, and with --trace all events.
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// Every event, as JSON.
    Json,
    /// For ui.perfetto.dev and chrome://tracing.
    Perfetto,
    /// A page of its own.
    Html,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenario = registry::find(&arguments.scenario)?;
    let mutant = match &arguments.mutant {
        Some(name) => Some(registry::find_mutant(scenario, name)?.name),
        None => None,
    };
    let checker = scenario.checker(&arguments.scheduler, mutant);
    let trace = checker.trace(arguments.seed, &scenario.body);
    match arguments.format {
        _ if arguments.json => output::print_json(&document(&trace, arguments.trace))?,
        Format::Text => output::print(&text(scenario, arguments, &trace))?,
        Format::Json => output::print_json(&trace.to_json())?,
        Format::Perfetto => output::print_json(&trace.to_perfetto())?,
        Format::Html => output::print(&trace.to_html())?,
    }
    if matches!(arguments.format, Format::Perfetto | Format::Html) {
        eprintln!("hash: {}", output::hex(trace.hash));
    }
    Ok(Exit::failed_if(trace.failure.is_some()))
}

/// The value of `--scheduler`, which here may also be a schedule.
fn scheduler_or_schedule(text: &str) -> Result<Scheduler, String> {
    if !text.starts_with("v1:") {
        return scheduler(text);
    }
    text.parse().map(Scheduler::Replay).map_err(|error| format!("{error}"))
}

fn text(scenario: &Scenario, arguments: &Arguments, trace: &Trace) -> String {
    let timeline = arguments.trace;
    let scheduler = match &arguments.scheduler {
        Scheduler::Replay(schedule) => schedule.to_string(),
        other => other.to_string(),
    };
    let replay = replay_line(scenario, &scheduler, trace.seed, trace.mutant.as_deref());
    let mut text = match &trace.failure {
        Some(_) => trace.failure_report_with(&replay, timeline),
        None if timeline => format!("{}\n\n{}", passed(trace), trace.timeline()),
        None => passed(trace),
    };
    text.truncate(text.trim_end().len());
    if !trace.faults.is_empty() {
        text += &format!("\nfaults: {}", trace.faults);
    }
    format!("{text}\nhash: {}\n", output::hex(trace.hash))
}

fn passed(trace: &Trace) -> String {
    let arm =
        if trace.arm == trace.scheduler { String::new() } else { format!(" ({})", trace.arm) };
    let mutant = trace.mutant.as_ref().map(|name| format!(", mutant {name}")).unwrap_or_default();
    format!(
        "passed: {}, seed {}, scheduler {}{arm}{mutant}, {} steps",
        trace.name,
        trace.seed,
        trace.scheduler,
        output::grouped(trace.steps)
    )
}

/// The trace as JSON; without its events only the verdict.
fn document(trace: &Trace, events: bool) -> Value {
    let mut document = trace.to_json();
    if !events && let Some(keys) = document.as_object_mut() {
        for key in ["tasks", "objects", "events"] {
            keys.shift_remove(key);
        }
    }
    document
}
