//! `holdup seeds`: care of the corpus. What is there, what still holds, and what is to be renewed.
//!
//! A renewed corpus is written when everything that was looked for has been found, and not before.

use std::path::{Path, PathBuf};

use anyhow::bail;
use holdup_scenarios::corpus::{self, Standing};
use holdup_scenarios::numbers::parse_count;
use holdup_scenarios::refresh::{self, Refreshed, Search};
use holdup_scenarios::seed_file::{self, CheckedEntry, Renewal, SeedFile};
use holdup_scenarios::{Scenario, registry};
use serde_json::{Value, json};

use super::output::Column;
use super::signals::Stop;
use super::{Exit, output, progress};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: Corpus,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lists the entries, as without a command.
    List(Corpus),
    /// Runs every entry again and says which hold, diverge, are dead, or fail in today's code.
    Check(Corpus),
    /// Finds seeds and scripts again for entries that are dead or diverge.
    Refresh(RefreshArguments),
}

/// Which part of which corpus.
#[derive(Debug, clap::Args)]
struct Corpus {
    /// Scenarios or areas; without a name, all.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder that has AREA/SCENARIO.toml.
    #[arg(long, value_name = "DIR", default_value = "seeds")]
    folder: PathBuf,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct RefreshArguments {
    #[command(flatten)]
    corpus: Corpus,
    /// Seeds to try for each entry, where its mutant's own budget is not larger.
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "20000",
          allow_negative_numbers = true)]
    seeds: u64,
    /// Finds seeds again for entries, too, that only their script still leads to the bug.
    #[arg(long)]
    all: bool,
    /// Says what would be written, and writes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Threads that run executions; the results are the same for any number.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    jobs: Option<u64>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match &arguments.command {
        None => list(&arguments.list),
        Some(Command::List(corpus)) => list(corpus),
        Some(Command::Check(corpus)) => check(corpus),
        Some(Command::Refresh(arguments)) => refresh_all(arguments),
    }
}

impl Corpus {
    /// The files of the scenarios that are named, sorted by path.
    fn files(&self) -> anyhow::Result<Vec<SeedFile>> {
        let mut wanted: Vec<&Scenario> = Vec::new();
        for name in &self.names {
            match registry::in_area(name) {
                Ok(scenarios) => wanted.extend(scenarios),
                Err(_) => wanted.push(registry::find(name)?),
            }
        }
        let is_wanted = |file: &SeedFile| {
            self.names.is_empty() || wanted.iter().any(|known| known.name == file.scenario.name)
        };
        let folder = self.folder.display();
        if !self.folder.is_dir() {
            bail!("there is no folder {folder}: --folder DIR says where the seeds are");
        }
        let files =
            SeedFile::paths(&self.folder)?.into_iter().map(|path| SeedFile::read(&path, None));
        let files: Vec<_> = files.collect::<Result<_, _>>()?;
        let files: Vec<_> = files.into_iter().filter(is_wanted).collect();
        if files.iter().all(|file| file.entries.is_empty()) {
            let of = if self.names.is_empty() { String::new() } else { self.names.join(", ") };
            let of = if of.is_empty() { of } else { format!(" of {of}") };
            bail!(
                "no seed{of} below {folder}: `holdup sweep --mutant M --seed-files DIR` adds some, \
                 --folder DIR says where they are"
            );
        }
        Ok(files)
    }
}

/// What every document says of an entry.
fn entry_json(file: &SeedFile, index: usize, checked: &CheckedEntry) -> Value {
    let entry = &checked.entry;
    json!({
        "name": corpus::entry_name(file, index),
        "file": file.path,
        "entry": index,
        "area": file.scenario.area,
        "scenario": file.scenario.name,
        "scheduler": entry.scheduler,
        "seed": entry.seed,
        "mutant": entry.mutant,
        "rule": entry.rule,
    })
}

fn with(mut row: Value, more: Value) -> Value {
    if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
        row.extend(more);
    }
    row
}

fn list(arguments: &Corpus) -> anyhow::Result<Exit> {
    let files = arguments.files()?;
    let preemptions =
        |file: &SeedFile, checked: &CheckedEntry| refresh::preemptions(file.scenario, checked);
    if arguments.json {
        let rows = files.iter().flat_map(|file| {
            file.entries.iter().enumerate().map(move |(index, checked)| {
                let more = json!({
                    "preemptions": preemptions(file, checked),
                    "script": checked.entry.script,
                    "note": checked.entry.note,
                });
                with(entry_json(file, index, checked), more)
            })
        });
        output::print_json(&json!({ "seeds": rows.collect::<Vec<_>>() }))?;
        return Ok(Exit::Expected);
    }
    let columns = [
        Column::Text("seed of"),
        Column::Number("seed"),
        Column::Text("rule"),
        Column::Number("preemptions"),
        Column::Spare("by"),
        Column::Spare("scheduler"),
    ];
    let mut rows = Vec::new();
    for file in &files {
        let mut heading = vec![format!("{}/{}", file.scenario.area, file.scenario.name)];
        heading.resize(columns.len(), String::new());
        rows.push(heading);
        for (index, checked) in file.entries.iter().enumerate() {
            let entry = &checked.entry;
            let count = preemptions(file, checked).map_or("-".into(), |count| count.to_string());
            rows.push(vec![
                format!("  #{index} {}", entry.mutant.as_deref().unwrap_or("the code itself")),
                entry.seed.to_string(),
                entry.rule.clone().unwrap_or("-".into()),
                count,
                if checked.script.is_some() { "script" } else { "seed" }.into(),
                entry.scheduler.clone(),
            ]);
        }
    }
    output::print(&output::table(&columns, rows))?;
    Ok(Exit::Expected)
}

fn check(arguments: &Corpus) -> anyhow::Result<Exit> {
    let files = arguments.files()?;
    let (mut rows, mut text, mut standings) = (Vec::new(), String::new(), Vec::new());
    let bar = progress::bar(n_entries(&files), "entries");
    for file in &files {
        for (index, checked) in file.entries.iter().enumerate() {
            let (standing, verdict) = corpus::standing(file.scenario, checked);
            let more = json!({
                "standing": standing.word(),
                "says": verdict.says,
                "by_script": verdict.by_script,
                "by_seed": verdict.by_seed,
                "divergence": verdict.divergence,
            });
            rows.push(with(entry_json(file, index, checked), more));
            text += &line(standing.word(), file, index, checked, &verdict.says);
            standings.push(standing);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let n = |standing| standings.iter().filter(|&&other| other == standing).count();
    if arguments.json {
        output::print_json(&json!({
            "seeds": rows,
            "holds": n(Standing::Holds),
            "diverges": n(Standing::Diverges),
            "dead": n(Standing::Dead),
            "fails": n(Standing::Fails),
        }))?;
    } else {
        text += &format!(
            "\n{} hold, {} diverge, {} are dead, {} fail in today's code\n",
            n(Standing::Holds),
            n(Standing::Diverges),
            n(Standing::Dead),
            n(Standing::Fails)
        );
        if n(Standing::Diverges) + n(Standing::Dead) > 0 {
            text += "`holdup seeds refresh` finds anew what diverges or is dead\n";
        }
        output::print(&text)?;
    }
    Ok(Exit::failed_if(n(Standing::Dead) + n(Standing::Fails) > 0))
}

fn n_entries(files: &[SeedFile]) -> u64 {
    files.iter().map(|file| file.entries.len() as u64).sum()
}

/// `dead      buffer/pin-vs-evict#0 (seed 7, pct, mutant pin.no_recheck): its script ..`.
fn line(what: &str, file: &SeedFile, index: usize, checked: &CheckedEntry, says: &str) -> String {
    let entry = &checked.entry;
    let mutant = entry.mutant.as_ref().map(|name| format!(", mutant {name}")).unwrap_or_default();
    let name = corpus::entry_name(file, index);
    format!("{what:<9} {name} (seed {}, {}{mutant}): {says}\n", entry.seed, entry.scheduler)
}

/// What a refresh did to one entry, or would do.
struct Row<'a> {
    file: &'a SeedFile,
    index: usize,
    checked: &'a CheckedEntry,
    came: Refreshed,
}

fn refresh_all(arguments: &RefreshArguments) -> anyhow::Result<Exit> {
    let stop = Stop::on_signal()?;
    let files = arguments.corpus.files()?;
    let search =
        Search { seeds: arguments.seeds, jobs: super::jobs(arguments.jobs), all: arguments.all };
    let mut rows = Vec::new();
    let bar = progress::bar(n_entries(&files), "entries");
    for file in &files {
        for (index, checked) in file.entries.iter().enumerate() {
            bar.set_message(file.scenario.name);
            let came = if stop.is_asked() {
                Refreshed::Stopped
            } else {
                search.refresh(file.scenario, checked, index, stop.flag())
            };
            rows.push(Row { file, index, checked, came });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let stopped = rows.iter().any(|row| matches!(row.came, Refreshed::Stopped));
    let missing = rows.iter().filter(|row| matches!(row.came, Refreshed::NotFound(_))).count();
    let writes = !stopped && missing == 0 && !arguments.dry_run;
    let files = changed(&rows)?;
    if writes {
        seed_file::replace(&files)?;
    }
    let written: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    let written = if writes { &written[..] } else { &[] };
    if arguments.corpus.json {
        output::print_json(&json!({
            "seeds": rows.iter().map(row_json).collect::<Vec<_>>(),
            "written": written,
        }))?;
    } else {
        output::print(&rows_text(&rows, written, missing, arguments.dry_run))?;
    }
    Ok(if stopped { Exit::Stopped } else { Exit::failed_if(missing > 0) })
}

/// The new texts of the files that have a renewed entry.
fn changed(rows: &[Row<'_>]) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut texts = Vec::new();
    for rows in rows.chunk_by(|a, b| a.file.path == b.file.path) {
        let renewals: Vec<Renewal> = rows.iter().filter_map(Row::renewal).cloned().collect();
        if renewals.is_empty() {
            continue;
        }
        let path = &rows[0].file.path;
        texts.push((path.clone(), seed_file::renewed(path, &rows[0].file.text, &renewals)?));
    }
    Ok(texts)
}

impl Row<'_> {
    fn renewal(&self) -> Option<&Renewal> {
        match &self.came {
            Refreshed::Renewed { renewal, .. } => Some(renewal),
            _ => None,
        }
    }

    fn word(&self) -> &'static str {
        match self.came {
            Refreshed::AsItIs => "holds",
            Refreshed::Renewed { .. } => "renewed",
            Refreshed::NotFound(_) => "not found",
            Refreshed::Stopped => "stopped",
        }
    }
}

fn row_json(row: &Row<'_>) -> Value {
    let (renewal, preemptions, says) = match &row.came {
        Refreshed::Renewed { renewal, preemptions } => (Some(renewal), *preemptions, None),
        Refreshed::NotFound(says) => (None, None, Some(says)),
        _ => (None, None, None),
    };
    let more = json!({
        "came": row.word(),
        "new_seed": renewal.map(|renewal| renewal.seed),
        "new_script": renewal.and_then(|renewal| renewal.script.as_ref()),
        "preemptions": preemptions,
        "says": says,
    });
    with(entry_json(row.file, row.index, row.checked), more)
}

fn rows_text(rows: &[Row<'_>], written: &[&Path], missing: usize, dry_run: bool) -> String {
    let mut text = String::new();
    for row in rows {
        let says = match &row.came {
            Refreshed::AsItIs => continue,
            Refreshed::Stopped => "was not looked at to its end".into(),
            Refreshed::NotFound(says) => says.clone(),
            Refreshed::Renewed { renewal, preemptions } => {
                let seed = match renewal.seed == row.checked.entry.seed {
                    true => "keeps its seed".into(),
                    false => format!("seed {} now", renewal.seed),
                };
                let script = renewal.script.iter().flat_map(|script| script.lines());
                let script: String = script.map(|turn| format!("\n  {turn}")).collect();
                match (preemptions, &renewal.script) {
                    (None, _) => seed,
                    (Some(_), None) => format!("{seed}, no script leads there"),
                    (Some(1), _) => format!("{seed}, a script of 1 preemption{script}"),
                    (Some(n), _) => format!("{seed}, a script of {n} preemptions{script}"),
                }
            }
        };
        text += line(row.word(), row.file, row.index, row.checked, &says).trim_end();
        text += "\n";
    }
    let n_renewed = rows.iter().filter(|row| row.renewal().is_some()).count();
    text += &match (written, n_renewed, missing) {
        (_, 0, 0) => "every entry holds: there is nothing to renew\n".into(),
        ([], _, 0) if dry_run => format!("{n_renewed} would be renewed; nothing was written\n"),
        ([], _, 0) => "stopped: nothing was written\n".into(),
        ([], _, _) => {
            format!("{n_renewed} could be renewed, {missing} were not found: nothing was written\n")
        }
        (paths, _, _) => {
            paths.iter().map(|path| format!("written: {}\n", path.display())).collect()
        }
    };
    text
}
