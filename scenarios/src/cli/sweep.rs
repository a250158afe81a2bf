//! `holdup sweep`: many seeds, one row a scenario.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use holdup::Scheduler;
use holdup::explore::{Guided, Shrunk};
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::numbers::{SeedRange, Shard, parse_count, parse_duration};
use holdup_scenarios::seed_file::{self, SeedEntry};
use holdup_scenarios::store::{self, Store};
use holdup_scenarios::sweep::{Plan, Tally, chunks, without};
use holdup_scenarios::{Scenario, refresh, registry};
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::output::Column;
use super::signals::Stop;
use super::{Exit, arms, coverage, guided, output, progress, scheduler, shrink};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Scenarios; without a name, all but those that only judge schedulers.
    #[arg(value_name = "SCENARIO")]
    names: Vec<String>,
    /// Seeds of each scenario: a count N for 0..N, or A..B.
    #[arg(long, value_name = "N|A..B", conflicts_with = "duration", allow_negative_numbers = true)]
    seeds: Option<SeedRange>,
    /// Seeds from 0 on for this long in all, such as 90s, 10m or 1h30m.
    #[arg(long = "for", id = "duration", value_name = "TIME", value_parser = parse_duration,
          allow_negative_numbers = true)]
    duration: Option<Duration>,
    /// Of each scenario until the next 1,000 executions should show less than one new meeting of
    /// two tasks, or until the seeds end.
    #[arg(long, conflicts_with = "duration")]
    until_saturated: bool,
    /// Then searches each scenario with this many executions, varying those that showed something
    /// new; what it finds is printed as a schedule.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    guided: Option<u64>,
    /// Looks at a sample of the executions to the end, and prints what tasks did to each other and
    /// how much is unseen; without, at the first thousand or so.
    #[arg(long)]
    coverage: bool,
    /// Who decides: portfolio, random, sticky, pct, pct2, pct3, lens, pos, urw,
    /// surw, starve or delay.
    #[arg(long, value_name = "S", value_parser = scheduler, default_value = "portfolio")]
    scheduler: Scheduler,
    /// Switches this bug on, in the scenarios that know it.
    #[arg(long, value_name = "M")]
    mutant: Option<String>,
    /// Threads that run executions; the results are the same for any number.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    jobs: Option<u64>,
    /// Only the seeds that leave I when divided by N.
    #[arg(long, value_name = "I/N", default_value = "0/1", allow_negative_numbers = true)]
    shard: Shard,
    /// Keeps finished chunks in this SQLite file.
    #[arg(long, value_name = "PATH")]
    store: Option<PathBuf>,
    /// Skips the chunks that the store has already.
    #[arg(long, requires = "store")]
    resume: bool,
    /// Appends the lowest failing seed of each rule, shrunk to a script, to DIR/AREA/SCENARIO.toml.
    #[arg(long, value_name = "DIR")]
    seed_files: Option<PathBuf>,
    /// One JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

/// Executions that every sweep looks at.
const LOOKED_AT: u64 = 1_000;

/// A scenario under way.
struct Row {
    plan: Plan,
    /// What is left to run, in order.
    left: Box<dyn Iterator<Item = Range<u64>>>,
    tally: Tally,
    /// Executions and steps of this invocation, without what the store had.
    steps_now: u64,
    time: Duration,
    /// It ends where there is little left to see.
    until_saturated: bool,
    guided: Option<Guided>,
    /// Executions are looked at to the end.
    coverage: bool,
    complete: bool,
    /// By rule, its lowest failing seed made small.
    shrunk: BTreeMap<String, Shrunk>,
}

/// Rules of a scenario whose failures are shrunk, and the steps of an execution beyond which it is
/// not: a sweep is to end soon after its last execution.
const MOST_SHRUNK: usize = 4;
const MOST_STEPS: u64 = 20_000;

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenarios = select(&arguments.names, arguments.mutant.as_deref())?;
    let mut store = open_store(arguments)?;
    let stop = Stop::on_signal()?;
    let mut rows = Vec::new();
    for scenario in scenarios {
        rows.push(Row::new(arguments, scenario, store.as_ref())?);
    }
    match arguments.duration {
        None => run_all(&mut rows, &mut store, &stop)?,
        Some(duration) => run_for(&mut rows, duration, &mut store, &stop)?,
    }
    if let Some(executions) = arguments.guided {
        guided::run_all(rows.iter_mut().map(|row| (&row.plan, &mut row.guided)), executions, &stop);
    }
    rows.iter_mut().take_while(|_| !stop.is_asked()).for_each(Row::shrink);
    if let Some(folder) = &arguments.seed_files {
        for row in &rows {
            write_seed_files(folder, row)?;
        }
    }
    print(arguments, &rows)?;
    let unfinished = rows.iter().any(|row| !row.complete);
    if stop.is_asked() && unfinished {
        return Ok(Exit::Stopped);
    }
    let guided = |row: &Row| row.guided.as_ref().map_or(0, |guided| guided.failures);
    Ok(Exit::failed_if(rows.iter().any(|row| row.tally.failures > 0 || guided(row) > 0)))
}

/// The scenarios of these names, or all that take part unnamed; with a mutant, those that know it.
fn select(names: &[String], mutant: Option<&str>) -> anyhow::Result<Vec<&'static Scenario>> {
    if names.is_empty() {
        let all = registry::unnamed();
        let Some(mutant) = mutant else { return Ok(all) };
        let cases = registry::find_cases(mutant)?;
        let knowing: Vec<_> =
            all.into_iter().filter(|scenario| scenario.mutant(mutant).is_some()).collect();
        if knowing.is_empty() {
            let of: Vec<_> = cases.iter().map(|(scenario, _)| scenario.name).collect();
            bail!("mutant `{mutant}` needs a scenario that is named: {}", of.join(", "));
        }
        return Ok(knowing);
    }
    let mut scenarios: Vec<&Scenario> = Vec::new();
    for name in names {
        let scenario = registry::find(name)?;
        if let Some(mutant) = mutant {
            registry::find_mutant(scenario, mutant)?;
        }
        if !scenarios.iter().any(|known| known.name == scenario.name) {
            scenarios.push(scenario);
        }
    }
    Ok(scenarios)
}

fn open_store(arguments: &Arguments) -> anyhow::Result<Option<Store>> {
    let Some(path) = &arguments.store else { return Ok(None) };
    let rev = store::revision().context("cannot read the program to tell its revision")?;
    Ok(Some(Store::open(path, rev)?))
}

impl Row {
    fn new(
        arguments: &Arguments,
        scenario: &'static Scenario,
        store: Option<&Store>,
    ) -> anyhow::Result<Self> {
        let seeds = match (&arguments.seeds, arguments.duration) {
            (Some(SeedRange(seeds)), _) => seeds.clone(),
            // As far as a store can count.
            (None, Some(_)) => 0..i64::MAX as u64,
            (None, None) if arguments.until_saturated => 0..i64::MAX as u64,
            (None, None) => 0..scenario.default_seeds,
        };
        let mutant = arguments.mutant.as_deref().and_then(|name| scenario.mutant(name));
        let plan = Plan {
            scenario,
            scheduler: arguments.scheduler.clone(),
            mutant: mutant.map(|case| case.name),
            seeds,
            shard: arguments.shard,
            jobs: super::jobs(arguments.jobs),
            coverage: true,
        };
        let (done, tally) = match store {
            Some(store) if arguments.resume => store.finished(&plan)?,
            _ => Default::default(),
        };
        let shard = plan.shard;
        let left = without(plan.seeds.clone(), &done).into_iter();
        let left = Box::new(left.flat_map(move |seeds| chunks(seeds, shard)));
        let until_saturated = arguments.until_saturated;
        let (steps_now, time, shrunk) = (0, Duration::ZERO, BTreeMap::new());
        let (complete, guided) = (false, None);
        let coverage = arguments.coverage || until_saturated;
        Ok(Self {
            plan,
            left,
            tally,
            steps_now,
            time,
            until_saturated,
            guided,
            coverage,
            complete,
            shrunk,
        })
    }

    /// Makes the lowest failing seed of each rule small.
    fn shrink(&mut self) {
        let (plan, body) = (&self.plan, &self.plan.scenario.body);
        let checker = plan.scenario.checker(&plan.scheduler, plan.mutant);
        for failed in self.tally.examples.values().take(MOST_SHRUNK) {
            let trace = checker.trace(failed.seed, body);
            if trace.steps <= MOST_STEPS
                && let Some(shrunk) = checker.shrink_trace(&trace, body)
            {
                self.shrunk.insert(failed.rule.clone(), shrunk);
            }
        }
    }

    /// Runs the next chunk; `false` where none is left.
    fn step(&mut self, store: &mut Option<Store>, bar: &ProgressBar) -> anyhow::Result<bool> {
        let saturated = self.until_saturated && self.tally.meetings.is_saturated();
        let chunk = if saturated { None } else { self.left.next() };
        let Some(chunk) = chunk else {
            self.complete = true;
            return Ok(false);
        };
        bar.set_message(self.plan.scenario.name);
        self.plan.coverage = self.coverage || self.tally.meetings.executions < LOOKED_AT;
        let start = Instant::now();
        let tally = self.plan.run(chunk.clone(), &|executions| bar.inc(executions));
        let time = start.elapsed();
        self.time += time;
        if let Some(store) = store {
            store.record(&self.plan, &chunk, &tally, time)?;
        }
        self.steps_now += tally.steps;
        self.tally.absorb(tally);
        Ok(true)
    }
}

/// One scenario after the other, each to the end of its seeds.
fn run_all(rows: &mut [Row], store: &mut Option<Store>, stop: &Stop) -> anyhow::Result<()> {
    let total =
        rows.iter().map(|row| row.plan.shard.count(&row.plan.seeds)).fold(0, u64::saturating_add);
    let endless = rows.iter().any(|row| row.until_saturated);
    let bar =
        if endless { progress::counter("executions") } else { progress::bar(total, "executions") };
    bar.inc(rows.iter().map(|row| row.tally.executions).sum());
    for row in rows {
        while !stop.is_asked() && row.step(store, &bar)? {}
        // A signal that came during the last chunk stopped nothing.
        if stop.is_asked() && row.tally.executions == row.plan.shard.count(&row.plan.seeds) {
            row.complete = true;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// A chunk of each scenario in turn, until the time is up; then what was run is what was asked for.
fn run_for(
    rows: &mut [Row],
    duration: Duration,
    store: &mut Option<Store>,
    stop: &Stop,
) -> anyhow::Result<()> {
    let bar = progress::counter("executions");
    let start = Instant::now();
    let mut left = !rows.is_empty();
    'time: while left {
        left = false;
        for row in &mut *rows {
            if stop.is_asked() {
                break 'time;
            }
            if start.elapsed() >= duration {
                rows.iter_mut().for_each(|row| row.complete = true);
                break 'time;
            }
            left |= row.step(store, &bar)?;
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn write_seed_files(folder: &std::path::Path, row: &Row) -> anyhow::Result<()> {
    for failed in row.tally.examples.values() {
        let entry = SeedEntry {
            scheduler: row.plan.scheduler.to_string(),
            seed: failed.seed,
            mutant: row.plan.mutant.map(Into::into),
            rule: Some(failed.rule.clone()),
            script: row.shrunk.get(&failed.rule).and_then(refresh::script_text),
            note: format!("found by a sweep: {}", failed.message.lines().next().unwrap_or("")),
        };
        let (path, new) = seed_file::append(folder, row.plan.scenario, &entry)?;
        let what = if new { "added to" } else { "stands already in" };
        eprintln!("seed {} of {} {what} {}", failed.seed, row.plan.scenario.name, path.display());
    }
    Ok(())
}

fn print(arguments: &Arguments, rows: &[Row]) -> anyhow::Result<()> {
    if arguments.json {
        let rows: Vec<_> = rows.iter().map(to_json).collect();
        return output::print_json(&json!({ "scenarios": rows }));
    }
    let columns = [
        Column::Text("scenario"),
        Column::Number("executions"),
        Column::Number("failures"),
        Column::SpareNumber("steps/s"),
        Column::SpareNumber("new/1000"),
        Column::Spare("hash"),
    ];
    let mut text = output::table(&columns, rows.iter().map(to_row));
    if rows.iter().any(|row| row.coverage) {
        text += "\n";
        text += &coverage::table(rows.iter().map(|row| (row.plan.scenario.name, &row.tally)));
    }
    if rows.iter().any(|row| row.guided.is_some()) {
        text += "\n";
        text += &guided::table(rows.iter().map(|row| (&row.plan, row.guided.as_ref())));
    }
    for row in rows {
        if !row.tally.faults.is_empty() {
            text += &format!("\nfaults in {}: {}\n", row.plan.scenario.name, row.tally.faults);
        }
        if !row.complete {
            text += &format!("\n{} was stopped before its end\n", row.plan.scenario.name);
        }
        for failed in row.tally.examples.values() {
            let (plan, count) = (&row.plan, row.tally.rules.get(&failed.rule).unwrap_or(&1));
            let scheduler = plan.scheduler.to_string();
            let shrunk = row.shrunk.get(&failed.rule);
            let shrunk = shrunk.map(|shrunk| format!("  {}\n", shrink::size(shrunk)));
            text += &format!(
                "\n{} failed with {}: {}\n  {} of {} executions, the first is number {}\n{}  replay  {}\n",
                plan.scenario.name,
                failed.rule,
                failed.message.lines().next().unwrap_or(""),
                output::grouped(*count),
                output::grouped(row.tally.executions),
                output::grouped(plan.execution(failed.seed)),
                shrunk.unwrap_or_default(),
                replay_line(plan.scenario, &scheduler, failed.seed, plan.mutant),
            );
        }
        text += &arms::found_by(&row.tally);
    }
    output::print(&text)
}

fn to_row(row: &Row) -> Vec<String> {
    vec![
        row.plan.scenario.name.into(),
        output::grouped(row.tally.executions),
        output::grouped(row.tally.failures),
        output::rate(row.steps_now, row.time.as_secs_f64()),
        format!("{:.1}", row.tally.meetings.new_per_1000()),
        output::hex(row.tally.hash),
    ]
}

fn to_json(row: &Row) -> Value {
    let (plan, tally) = (&row.plan, &row.tally);
    let scheduler = plan.scheduler.to_string();
    let first = tally.first_failure().map(|first| {
        json!({
            "seed": first.seed,
            "execution": plan.execution(first.seed),
            "rule": first.rule,
            "message": first.message,
            "replay": replay_line(plan.scenario, &scheduler, first.seed, plan.mutant),
        })
    });
    json!({
        "name": plan.scenario.name,
        "scheduler": scheduler,
        "mutant": plan.mutant,
        "executions": tally.executions,
        "steps": tally.steps,
        "seconds": row.time.as_secs_f64(),
        "failures": tally.failures,
        "distinct_failures": tally.rules.len(),
        "first_failure": first,
        "hash": output::hex(tally.hash),
        "rules": tally.rules,
        "preemptions": row.shrunk.iter().map(|(rule, shrunk)| (rule.clone(), shrunk.preemptions))
            .collect::<BTreeMap<_, _>>(),
        "arms": arms::to_json(tally),
        "faults": tally.faults.iter().collect::<BTreeMap<_, _>>(),
        "shard": plan.shard.to_string(),
        "complete": row.complete,
        "coverage": coverage::to_json(&tally.meetings),
        "guided": row.guided.as_ref().map(|guided| guided::to_json(plan, guided)),
    })
}
