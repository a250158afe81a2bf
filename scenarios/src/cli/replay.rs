//! `holdup replay FILE`: a seed file or a script, run again.
//!
//! A seed file is `*.toml`, named after its scenario. A script says in comments what it is of:
//! `# scenario: NAME`, and where it matters `# mutant: NAME`, `# rule: ID`, `# seed: N`.
//!
//! What was recorded as failing and no longer does is looked for nearby before it is given up: each
//! beginning of its script that still fits is gone on from at random. What is found is shrunk to a
//! new script.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use holdup::Scheduler;
use holdup::explore::Neighbour;
use holdup::script::Script;
use holdup_scenarios::numbers::parse_seed;
use holdup_scenarios::seed_file::SeedFile;
use holdup_scenarios::{Scenario, corpus, registry};
use serde_json::{Value, json};

use super::{Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A seed file (`*.toml`) or a script.
    file: PathBuf,
    /// The scenario, where the file does not say or says otherwise.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
    /// Switches this bug on while a script runs.
    #[arg(long, value_name = "M")]
    mutant: Option<String>,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// What came of one seed or script.
struct Row {
    name: String,
    seed: u64,
    scheduler: String,
    mutant: Option<&'static str>,
    expected: Option<String>,
    as_recorded: bool,
    says: String,
    /// Where the script left its path, if it did.
    divergence: Option<String>,
    /// The neighbour that had to be looked for: turns kept of the script, and random suffix.
    neighbour: Option<(usize, u64)>,
    /// The script of that neighbour, shrunk.
    renewed: Option<String>,
    /// What is drawn after the verdict.
    picture: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenario = match &arguments.scenario {
        Some(name) => Some(registry::find(name)?),
        None => None,
    };
    let rows = if arguments.file.extension().is_some_and(|extension| extension == "toml") {
        if arguments.mutant.is_some() {
            bail!("--mutant is for scripts: the entries of a seed file name their mutants");
        }
        replay_seed_file(&arguments.file, scenario)?
    } else {
        vec![replay_script(arguments, scenario)?]
    };
    if arguments.json {
        let rows: Vec<_> = rows.iter().map(to_json).collect();
        output::print_json(&json!({ "file": arguments.file, "replays": rows }))?;
    } else {
        rows.iter().try_for_each(|row| output::print(&to_text(row)))?;
    }
    Ok(Exit::failed_if(rows.iter().any(|row| !row.as_recorded)))
}

fn replay_seed_file(path: &Path, scenario: Option<&'static Scenario>) -> anyhow::Result<Vec<Row>> {
    let file = SeedFile::read(path, scenario)?;
    if file.entries.is_empty() {
        bail!("seed file {} has no [[seed]] entry", path.display());
    }
    let rows = file.entries.iter().enumerate().map(|(index, checked)| {
        let verdict = corpus::as_recorded(file.scenario, checked);
        let found = verdict.neighbour.as_ref();
        Row {
            name: corpus::entry_name(&file, index),
            seed: checked.entry.seed,
            scheduler: checked.entry.scheduler.clone(),
            mutant: checked.mutant,
            expected: checked.entry.rule.clone(),
            as_recorded: verdict.as_recorded,
            neighbour: found.map(|found| (found.turns, found.suffix)),
            renewed: found.and_then(|found| new_script(file.scenario, checked.mutant, found)),
            divergence: verdict.divergence,
            says: verdict.says,
            picture: None,
        }
    });
    Ok(rows.collect())
}

fn replay_script(
    arguments: &Arguments,
    scenario: Option<&'static Scenario>,
) -> anyhow::Result<Row> {
    let path = &arguments.file;
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read script {}", path.display()))?;
    let header = |key: &str| header(&text, key);
    let scenario = match (scenario, header("scenario")) {
        (Some(scenario), _) => scenario,
        (None, Some(name)) => registry::find(name)?,
        (None, None) => bail!(
            "script {} does not say of which scenario it is: \
             add a line `# scenario: NAME`, or give --scenario NAME",
            path.display()
        ),
    };
    let mutant = match arguments.mutant.as_deref().or(header("mutant")) {
        Some(name) => Some(registry::find_mutant(scenario, name)?.name),
        None => None,
    };
    let script: Script =
        text.parse().map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let seed = header("seed").map_or(Ok(script.seed), parse_seed)?;

    let checker = scenario.checker(&Scheduler::Script(script.clone()), mutant);
    let mut trace = checker.trace(seed, &scenario.body);

    let expected = header("rule").map(str::to_owned);
    let divergence = trace.divergence.clone();
    let (mut neighbour, mut renewed) = (None, None);
    let (as_recorded, says) = match (&trace.failure, &expected) {
        (Some(failure), rule) if rule.as_ref().is_none_or(|rule| *rule == failure.rule) => {
            (true, format!("fails with {}: {}", failure.rule, failure.message))
        }
        (other, Some(rule)) => {
            let found = checker.neighbour(seed, &script, Some(rule), &scenario.body);
            if let Some(found) = found {
                let says = corpus::by_neighbour(rule, divergence.as_deref(), &script, &found);
                neighbour = Some((found.turns, found.suffix));
                renewed = new_script(scenario, mutant, &found);
                trace = found.trace;
                (true, says)
            } else {
                let now = other.as_ref().map_or("does not fail".into(), |failure| {
                    format!("fails with {}: {}", failure.rule, failure.message)
                });
                let how = divergence.as_ref().map(|how| format!(" ({how})")).unwrap_or_default();
                (false, format!("was recorded as failing with {rule}, but {now}{how}"))
            }
        }
        (_, None) => (false, "does not fail".into()),
    };
    Ok(Row {
        name: scenario.name.into(),
        seed,
        scheduler: "script".into(),
        mutant,
        expected,
        as_recorded,
        says,
        divergence,
        neighbour,
        renewed,
        picture: Some(trace.timeline()),
    })
}

/// The script of a neighbour, which is to take the place of the one that no longer fits.
fn new_script(
    scenario: &Scenario,
    mutant: Option<&'static str>,
    found: &Neighbour,
) -> Option<String> {
    let checker = scenario.checker(&Scheduler::Portfolio, mutant);
    let shrunk = checker.shrink_trace(&found.trace, &scenario.body)?;
    shrunk.script.as_ref().map(ToString::to_string)
}

/// The value of a comment `# key: value`.
fn header<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let comment = line.trim().strip_prefix('#')?.trim_start();
        let value = comment.strip_prefix(key)?.trim_start().strip_prefix(':')?.trim();
        (!value.is_empty()).then_some(value)
    })
}

fn to_text(row: &Row) -> String {
    let mutant = row.mutant.map(|mutant| format!(", mutant {mutant}")).unwrap_or_default();
    let mark = if row.as_recorded { "ok    " } else { "FAILED" };
    let mut text = format!(
        "{mark}  {} (seed {}, scheduler {}{mutant}) {}\n",
        row.name, row.seed, row.scheduler, row.says
    );
    if let Some(script) = &row.renewed {
        text += &format!("\nnew script\n{script}");
    }
    if let Some(picture) = &row.picture {
        text += &format!("\n{}\n", picture.trim_end());
    }
    text
}

fn to_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "seed": row.seed,
        "scheduler": row.scheduler,
        "mutant": row.mutant,
        "rule": row.expected,
        "as_recorded": row.as_recorded,
        "says": row.says,
        "divergence": row.divergence,
        "neighbour": row.neighbour.map(|(turns, suffix)| json!({
            "turns": turns, "suffix": suffix, "script": row.renewed,
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_says_in_comments_what_it_is_of() {
        let text =
            "# scenario: pin-vs-evict\n#mutant : a.b\nreader to the end # rule: x\n# seed:\n";

        assert_eq!(header(text, "scenario"), Some("pin-vs-evict"));
        assert_eq!(header(text, "mutant"), Some("a.b"));
        assert_eq!(header(text, "rule"), None);
        assert_eq!(header(text, "seed"), None);
    }
}
