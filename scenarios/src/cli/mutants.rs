//! `holdup mutants`: how many executions it takes to catch each bug.

use holdup::Scheduler;
use holdup_scenarios::numbers::parse_count;
use holdup_scenarios::trials::{Hunt, Trials};
use holdup_scenarios::{MutantCase, Scenario, registry};
use serde_json::{Value, json};

use super::output::Column;
use super::signals::Stop;
use super::{Exit, output, progress, scheduler};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Mutants, or scenarios for all of theirs; without a name, all mutants.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Executions a trial may take, where the mutant's own budget is not larger.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    seeds: Option<u64>,
    /// Who decides: portfolio, random, sticky, pct, pct2, pct3, lens, pos, urw, surw, starve
    /// or delay.
    #[arg(long, value_name = "S", value_parser = scheduler, default_value = "portfolio")]
    scheduler: Scheduler,
    /// Trials, which share no seeds.
    #[arg(long, value_name = "T", value_parser = parse_count, default_value = "5",
          allow_negative_numbers = true)]
    trials: u64,
    /// Threads that run executions; the results are the same for any number.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    jobs: Option<u64>,
    /// Shrinks the first failure of each trial, and compares preemptions with the catalogue's.
    #[arg(long)]
    shrink: bool,
    /// One JSON document instead of a table.
    #[arg(long)]
    json: bool,
}

struct Row {
    scenario: &'static Scenario,
    case: &'static MutantCase,
    budget: u64,
    trials: Trials,
    /// Preemptions of the shrunk first failures, sorted; empty if none was asked for.
    preemptions: Vec<usize>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let cases = select(&arguments.names)?;
    let stop = Stop::on_signal()?;
    let n_cases = cases.len();
    let bar = progress::bar(n_cases as u64 * arguments.trials, "trials");
    let mut rows = Vec::new();
    for (scenario, case) in cases {
        if stop.is_asked() {
            break;
        }
        bar.set_message(case.name);
        let budget = arguments.seeds.unwrap_or(0).max(case.budget);
        let hunt = Hunt {
            scenario,
            mutant: case.name,
            scheduler: arguments.scheduler.clone(),
            budget,
            trials: arguments.trials,
            jobs: super::jobs(arguments.jobs),
        };
        let trials = hunt.run(stop.flag(), &|done| bar.inc(done));
        let shrunk = trials.failures.iter().filter(|_| arguments.shrink).filter_map(|first| {
            let checker = scenario.checker(&arguments.scheduler, Some(case.name));
            Some(checker.shrink(first.seed, &scenario.body)?.preemptions)
        });
        let mut preemptions: Vec<usize> = shrunk.collect();
        preemptions.sort_unstable();
        rows.push(Row { scenario, case, budget, trials, preemptions });
    }
    bar.finish_and_clear();
    print(arguments, &rows)?;
    let unfinished = rows.len() < n_cases || rows.iter().any(|row| row.trials.stopped);
    let missed = rows.iter().any(|row| row.trials.executions.contains(&None));
    Ok(if unfinished { Exit::Stopped } else { Exit::failed_if(missed) })
}

fn select(names: &[String]) -> anyhow::Result<Vec<(&'static Scenario, &'static MutantCase)>> {
    if names.is_empty() {
        let scenarios = registry::unnamed().into_iter();
        return Ok(scenarios
            .flat_map(|scenario| scenario.mutants.iter().map(move |case| (scenario, case)))
            .collect());
    }
    let mut cases: Vec<(&Scenario, &MutantCase)> = Vec::new();
    for name in names {
        for found in registry::find_cases(name)? {
            if !cases
                .iter()
                .any(|known| known.0.name == found.0.name && known.1.name == found.1.name)
            {
                cases.push(found);
            }
        }
    }
    Ok(cases)
}

fn print(arguments: &Arguments, rows: &[Row]) -> anyhow::Result<()> {
    if arguments.json {
        let rows: Vec<_> = rows.iter().map(|row| to_json(arguments, row)).collect();
        return output::print_json(&json!({ "mutants": rows }));
    }
    let mut columns = vec![
        Column::Text("scenario, mutant"),
        Column::Number("caught"),
        Column::Number("median"),
        Column::SpareNumber("95 %"),
        Column::SpareNumber("budget"),
        Column::Spare("catalogue"),
    ];
    if arguments.shrink {
        columns.splice(4..4, [Column::Number("preemptions"), Column::Number("known")]);
    }
    output::print(&output::table(&columns, to_rows(rows, arguments.shrink)))?;
    if arguments.shrink {
        output::print("preemptions of shrunk failures, median; known from the catalogue\n")?;
    }
    output::print(&format!(
        "executions to catch under {}, {} trials each\n",
        arguments.scheduler, arguments.trials
    ))
}

/// The mutants below their scenarios: side by side their names would fill a page.
fn to_rows(rows: &[Row], shrink: bool) -> Vec<Vec<String>> {
    let mut cells = Vec::new();
    for group in rows.chunk_by(|a, b| a.scenario.name == b.scenario.name) {
        let mut heading = vec![group[0].scenario.name.into()];
        heading.resize(if shrink { 8 } else { 6 }, String::new());
        cells.push(heading);
        cells.extend(group.iter().map(|row| to_row(row, shrink)));
    }
    cells
}

impl Row {
    fn median_preemptions(&self) -> Option<usize> {
        self.preemptions.get(self.preemptions.len() / 2).copied()
    }
}

fn to_row(row: &Row, shrink: bool) -> Vec<String> {
    let quantile = |part| row.trials.quantile(part).map_or("-".into(), output::grouped);
    let mut cells = vec![
        format!("  {}", row.case.name),
        format!("{}/{}", row.trials.caught(), row.trials.executions.len()),
        quantile(0.5),
        quantile(0.95),
        output::grouped(row.budget),
        row.case.catalogue_in(row.scenario).join(" "),
    ];
    if shrink {
        let number = |count: Option<usize>| count.map_or("-".into(), |count| count.to_string());
        let known = row.case.preemptions.map(|known| known as usize);
        cells.splice(4..4, [number(row.median_preemptions()), number(known)]);
    }
    cells
}

fn to_json(arguments: &Arguments, row: &Row) -> Value {
    json!({
        "name": row.case.name,
        "catalogue": row.case.catalogue_in(row.scenario),
        "scenario": row.scenario.name,
        "caught": row.trials.caught(),
        "trials": row.trials.executions.len(),
        "budget": row.budget,
        "executions_median": row.trials.quantile(0.5),
        "executions_p95": row.trials.quantile(0.95),
        "scheduler": arguments.scheduler.to_string(),
        "preemptions_median": row.median_preemptions(),
        "preemptions_known": row.case.preemptions,
        "first_failure": row.trials.failures.first().map(|first| json!({
            "seed": first.seed,
            "rule": first.failure.rule,
            "message": first.failure.message,
        })),
    })
}
