//! `holdup shrink`: a failing seed as a script with few preemptions.

use std::path::PathBuf;

use holdup::explore::Shrunk;
use holdup_scenarios::seed_file::{self, SeedEntry, Written};

use super::selection::{Selection, Which};
use super::{Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Puts the script into DIR/AREA/SCENARIO.toml: with the entry of this seed, or with a new one.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let selection = arguments.which.selection()?;
    let (checker, trace) = selection.trace();
    let Some(shrunk) = checker.shrink_trace(&trace, &selection.scenario.body) else {
        output::print(&format!("{} passes: there is nothing to shrink\n", selection.title()))?;
        return Ok(Exit::Failed);
    };
    output::print(&format!(
        "{}\n\n{}\n\n{}",
        heading(&selection, &shrunk),
        shrunk.trace.timeline().trim_end(),
        script(&selection, &shrunk)
    ))?;
    if let Some(folder) = &arguments.write {
        write(folder, &selection, &shrunk)?;
    }
    Ok(Exit::Expected)
}

/// What was shrunk, and how small it got.
pub(super) fn heading(selection: &Selection, shrunk: &Shrunk) -> String {
    let failure = &shrunk.failure;
    format!(
        "{}\nfails with {}: {}\n{}",
        selection.title(),
        failure.rule,
        failure.message.lines().next().unwrap_or(""),
        size(shrunk)
    )
}

/// `shrunk from 12 preemptions to 2, and fewer do not do; 3,456 executions`.
pub(super) fn size(shrunk: &Shrunk) -> String {
    let fewest = match (shrunk.preemptions, shrunk.fewest) {
        (0, _) => ": it needs none",
        (_, true) => ", and no schedule with fewer does it",
        (_, false) => ", the fewest found",
    };
    format!(
        "shrunk from {} preemptions to {}{fewest} ({} executions)",
        output::grouped(shrunk.preemptions_before as u64),
        shrunk.preemptions,
        output::grouped(shrunk.reruns)
    )
}

/// The script as a file for `holdup replay`.
fn script(selection: &Selection, shrunk: &Shrunk) -> String {
    let Some(script) = &shrunk.script else {
        return format!("no script leads there; the schedule is\n{}\n", shrunk.schedule);
    };
    let mutant = selection.mutant.map(|mutant| format!("# mutant: {mutant}\n")).unwrap_or_default();
    let none = if script.turns.is_empty() { "# no turn is needed\n" } else { "" };
    format!(
        "# scenario: {}\n{mutant}# rule: {}\n# seed: {}\n{none}{script}",
        selection.scenario.name, shrunk.failure.rule, selection.seed
    )
}

fn write(folder: &std::path::Path, selection: &Selection, shrunk: &Shrunk) -> anyhow::Result<()> {
    let note = format!("shrunk to {} preemptions", shrunk.preemptions);
    let entry = SeedEntry {
        scheduler: selection.scheduler.to_string(),
        seed: selection.seed,
        mutant: selection.mutant.map(Into::into),
        rule: Some(shrunk.failure.rule.clone()),
        script: shrunk.script.as_ref().map(ToString::to_string),
        note,
    };
    let (path, written) = seed_file::complete(folder, selection.scenario, &entry)?;
    let what = match written {
        Written::Appended => "added to",
        Written::Completed => "has a script now in",
        Written::Unchanged => "has a script already in",
    };
    eprintln!("seed {} of {} {what} {}", entry.seed, selection.scenario.name, path.display());
    Ok(())
}
