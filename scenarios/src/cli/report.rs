//! `holdup report`: a page of what a store has, and its summary.

use std::path::PathBuf;

use anyhow::{Context, bail};
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::page::page;
use holdup_scenarios::registry;
use holdup_scenarios::store::{Store, StoredSweep};
use serde_json::{Value, json};

use super::output::Column;
use super::{Exit, arms, coverage, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The store that sweeps were kept in.
    store: PathBuf,
    /// Writes the page to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The revision to report, where the store has several.
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// One JSON document instead of a table, with the keys of sweep.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let store = Store::existing(&arguments.store)?;
    let revisions = store.revisions()?;
    let shown = arguments.store.display();
    let rev = match (&arguments.rev, &revisions[..]) {
        (_, []) => bail!("store {shown} is empty: sweep with --store {shown} first"),
        (Some(rev), known) if known.contains(rev) => rev,
        (None, [only]) => only,
        (Some(rev), known) => {
            bail!("store {shown} has nothing of revision `{rev}`; it has {}", known.join(", "))
        }
        (None, known) => {
            bail!("store {shown} has several revisions; say which with --rev: {}", known.join(", "))
        }
    };
    let contents = store.contents(rev)?;
    if let Some(out) = &arguments.out {
        std::fs::write(out, page(&contents))
            .with_context(|| format!("cannot write the page to {}", out.display()))?;
    }
    if arguments.json {
        let rows: Vec<_> = contents.sweeps.iter().map(to_json).collect();
        output::print_json(&json!({ "scenarios": rows, "rev": contents.rev }))?;
    } else {
        print(&contents.sweeps)?;
    }
    Ok(Exit::failed_if(contents.sweeps.iter().any(|sweep| sweep.tally.failures > 0)))
}

fn print(sweeps: &[StoredSweep]) -> anyhow::Result<()> {
    let columns = [
        Column::Text("scenario"),
        Column::Number("executions"),
        Column::Number("failures"),
        Column::Spare("scheduler"),
        Column::Spare("mutant"),
        Column::Spare("hash"),
    ];
    let cells = sweeps.iter().map(|sweep| {
        vec![
            sweep.scenario.clone(),
            output::grouped(sweep.tally.executions),
            output::grouped(sweep.tally.failures),
            sweep.scheduler.clone(),
            sweep.mutant.clone().unwrap_or_default(),
            output::hex(sweep.tally.hash),
        ]
    });
    let mut text = output::table(&columns, cells);
    if sweeps.iter().any(|sweep| sweep.tally.meetings.executions > 0) {
        let rows = sweeps.iter().map(|sweep| (&*sweep.scenario, &sweep.tally));
        text += &format!("\n{}", coverage::table(rows));
    }
    output::print(&text)
}

fn to_json(sweep: &StoredSweep) -> Value {
    let tally = &sweep.tally;
    let first = tally.first_failure().map(|first| {
        let replay = registry::find(&sweep.scenario).ok().map(|scenario| {
            replay_line(scenario, &sweep.scheduler, first.seed, sweep.mutant.as_deref())
        });
        json!({
            "seed": first.seed,
            "execution": sweep.first_failure_execution,
            "rule": first.rule,
            "message": first.message,
            "replay": replay,
        })
    });
    json!({
        "name": sweep.scenario,
        "scheduler": sweep.scheduler,
        "mutant": sweep.mutant,
        "executions": tally.executions,
        "steps": tally.steps,
        "seconds": sweep.seconds,
        "failures": tally.failures,
        "distinct_failures": tally.rules.len(),
        "first_failure": first,
        "hash": output::hex(tally.hash),
        "rules": tally.rules,
        "arms": arms::to_json(tally),
        "coverage": (tally.meetings.executions > 0).then(|| coverage::to_json(&tally.meetings)),
    })
}
