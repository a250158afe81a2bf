//! `holdup` alone: the tour. Every scenario holds, every bug is caught, and one of them is drawn.
//!
//! Seeds are fixed. How many of them a scenario gets depends on how much of the minute is left, so
//! counts differ from machine to machine, verdicts do not.

use std::time::{Duration, Instant};

use holdup::Scheduler;
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::numbers::{Shard, parse_duration};
use holdup_scenarios::sweep::{Plan, Tally, chunks};
use holdup_scenarios::trials::{Hunt, Trials};
use holdup_scenarios::{MutantCase, Scenario, registry};
use serde_json::{Value, json};

use super::output::Column;
use super::signals::Stop;
use super::{Exit, output, progress};

/// A scenario gets at most this many times its default seeds, if its time allows.
const MORE_SEEDS: u64 = 1_000;
/// Trials for each bug, with seeds of their own.
const TRIALS: u64 = 5;
/// A picture longer than this is cut to its end.
const MAX_PICTURE_LINES: usize = 40;
/// The programs on which schedulers are compared, and how far a trial goes.
const JUDGES: [(&str, &str); 2] =
    [("tag-check-then-pin", "demo.no_recheck"), ("lossy-unpin", "demo.lossy_unpin")];
const JUDGE_SCHEDULERS: [&str; 4] = ["random", "pct", "lens", "portfolio"];
const JUDGE_BUDGET: u64 = 200_000;
const JUDGE_TRIALS: u64 = 5;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Time for the runs that must pass, shared out among the scenarios.
    #[arg(long = "for", id = "duration", value_name = "TIME", value_parser = parse_duration,
          default_value = "40s")]
    duration: Duration,
    /// The tour as one JSON document.
    #[arg(long)]
    json: bool,
}

/// One scenario of the tour.
struct Visit {
    scenario: &'static Scenario,
    tally: Tally,
    time: Duration,
    hunts: Vec<(&'static MutantCase, Trials)>,
}

/// Executions to catch one judge's bug, by scheduler.
struct Judged {
    scenario: &'static Scenario,
    mutant: &'static str,
    hunts: Vec<(&'static str, Trials)>,
}

/// A caught bug, drawn, and how to see it again.
struct Picture {
    report: String,
    replay: String,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let stop = Stop::on_signal()?;
    let say = |text: &str| if arguments.json { Ok(()) } else { output::print(text) };

    let visits = visit_all(arguments.duration, &stop);
    say(&visit_table(&visits))?;
    let judged = judge_all(&stop)?;
    say(&format!("\nwhy a portfolio: executions to catch, medians of {JUDGE_TRIALS} trials\n\n"))?;
    say(&judge_table(&judged))?;
    let picture = if stop.is_asked() { None } else { draw(&visits, &judged) };
    if let Some(picture) = &picture {
        say(&format!("\none caught bug\n\n{}\n", picture.report.trim_end()))?;
    }
    if arguments.json {
        output::print_json(&document(&visits, &judged, picture.as_ref()))?;
    }
    if stop.is_asked() {
        return Ok(Exit::Stopped);
    }
    let failed = |visit: &Visit| visit.tally.failures > 0 || visit.caught() < visit.hunts.len();
    Ok(Exit::failed_if(visits.iter().any(failed) || picture.is_none()))
}

impl Visit {
    /// How many mutants were caught.
    fn caught(&self) -> usize {
        self.hunts.iter().filter(|(_, trials)| trials.caught() > 0).count()
    }
}

/// Every scenario: right code passes, each mutant is caught within its budget.
fn visit_all(time: Duration, stop: &Stop) -> Vec<Visit> {
    let scenarios = registry::unnamed();
    let share = time / u32::try_from(scenarios.len().max(1)).unwrap_or(u32::MAX);
    let bar = progress::bar(scenarios.len() as u64, "scenarios");
    let mut visits = Vec::new();
    for scenario in scenarios {
        if stop.is_asked() {
            break;
        }
        bar.set_message(scenario.name);
        visits.push(visit(scenario, share, stop));
        bar.inc(1);
    }
    bar.finish_and_clear();
    visits
}

fn visit(scenario: &'static Scenario, share: Duration, stop: &Stop) -> Visit {
    let plan = Plan {
        scenario,
        scheduler: Scheduler::Portfolio,
        mutant: None,
        seeds: 0..scenario.default_seeds.saturating_mul(MORE_SEEDS),
        shard: Shard::WHOLE,
        jobs: super::jobs(None),
        coverage: false,
    };
    let start = Instant::now();
    let mut tally = Tally::default();
    for chunk in chunks(plan.seeds.clone(), plan.shard) {
        tally.absorb(plan.run(chunk, &|_| ()));
        if start.elapsed() > share || stop.is_asked() {
            break;
        }
    }
    let time = start.elapsed();
    let hunt = |case: &'static MutantCase| {
        (
            case,
            hunt(scenario, case.name, "portfolio", case.budget, TRIALS).run(stop.flag(), &|_| ()),
        )
    };
    Visit { scenario, tally, time, hunts: scenario.mutants.iter().map(hunt).collect() }
}

fn hunt(
    scenario: &'static Scenario,
    mutant: &'static str,
    scheduler: &str,
    budget: u64,
    trials: u64,
) -> Hunt {
    let scheduler = scheduler.parse().unwrap_or_default();
    Hunt { scenario, mutant, scheduler, budget, trials, jobs: super::jobs(None) }
}

/// Two programs on which no single scheduler is good.
fn judge_all(stop: &Stop) -> anyhow::Result<Vec<Judged>> {
    let bar = progress::bar((JUDGES.len() * JUDGE_SCHEDULERS.len()) as u64, "comparisons");
    let mut judged = Vec::new();
    for (name, mutant) in JUDGES {
        let scenario = registry::find(name)?;
        bar.set_message(name);
        let mut hunts = Vec::new();
        for scheduler in JUDGE_SCHEDULERS {
            if stop.is_asked() {
                break;
            }
            let hunt = hunt(scenario, mutant, scheduler, JUDGE_BUDGET, JUDGE_TRIALS);
            hunts.push((scheduler, hunt.run(stop.flag(), &|_| ())));
            bar.inc(1);
        }
        judged.push(Judged { scenario, mutant, hunts });
    }
    bar.finish_and_clear();
    Ok(judged)
}

/// The caught bug with the shortest picture, of those in which tasks come between each other twice.
fn draw(visits: &[Visit], judged: &[Judged]) -> Option<Picture> {
    let stories = visits.iter().flat_map(|visit| {
        visit.hunts.iter().map(|(case, trials)| (visit.scenario, case.name, trials))
    });
    let judges = judged.iter().filter_map(|judged| {
        let (_, trials) = judged.hunts.iter().find(|(scheduler, _)| *scheduler == "portfolio")?;
        Some((judged.scenario, judged.mutant, trials))
    });
    let pictures =
        |caught: &mut dyn Iterator<Item = (&'static Scenario, &'static str, &Trials)>| {
            let drawn = caught.filter_map(|(scenario, mutant, trials)| {
                let seed = trials.first.as_ref()?.seed;
                let checker = scenario.checker(&Scheduler::Portfolio, Some(mutant));
                let trace = checker.trace(seed, &scenario.body);
                let replay = replay_line(scenario, "portfolio", seed, Some(mutant));
                let timeline = trace.timeline();
                let lines = timeline.lines().count();
                let plain = timeline.matches("-- preempted").count() < 2;
                let report = trace.failure_report_with(&replay, lines <= MAX_PICTURE_LINES);
                Some(((plain, lines), Picture { report, replay }))
            });
            drawn.min_by_key(|(order, _)| *order).map(|(_, picture)| picture)
        };
    pictures(&mut { stories }).or_else(|| pictures(&mut { judges }))
}

fn visit_table(visits: &[Visit]) -> String {
    let columns = [
        Column::Text("scenario"),
        Column::SpareNumber("executions"),
        Column::SpareNumber("steps/s"),
        Column::SpareNumber("failures"),
        Column::Number("mutants"),
        Column::Text("executions to catch"),
    ];
    let rows = visits.iter().map(|visit| {
        let to_catch = visit.hunts.iter().map(|(case, trials)| executions(trials, case.budget));
        vec![
            visit.scenario.name.into(),
            output::grouped(visit.tally.executions),
            output::rate(visit.tally.steps, visit.time.as_secs_f64()),
            output::grouped(visit.tally.failures),
            format!("{}/{}", visit.caught(), visit.hunts.len()),
            to_catch.collect::<Vec<_>>().join("; "),
        ]
    });
    output::table(&columns, rows)
}

fn judge_table(judged: &[Judged]) -> String {
    let schedulers = JUDGE_SCHEDULERS.map(Column::Number);
    let columns: Vec<_> = [Column::Text("program")].into_iter().chain(schedulers).collect();
    let rows = judged.iter().map(|judged| {
        let cells = judged.hunts.iter().map(|(_, trials)| executions(trials, JUDGE_BUDGET));
        [judged.scenario.name.to_owned()].into_iter().chain(cells).collect()
    });
    output::table(&columns, rows)
}

/// `340`, or `never in 20,000`.
fn executions(trials: &Trials, budget: u64) -> String {
    match trials.quantile(0.5) {
        Some(executions) => output::grouped(executions),
        None if trials.executions.is_empty() => "stopped".into(),
        None => format!("never in {}", output::grouped(budget)),
    }
}

fn document(visits: &[Visit], judged: &[Judged], picture: Option<&Picture>) -> Value {
    let scenarios = visits.iter().map(|visit| {
        let hunts = visit.hunts.iter().map(|(case, trials)| {
            json!({ "name": case.name, "budget": case.budget, "executions": trials.quantile(0.5) })
        });
        json!({
            "name": visit.scenario.name,
            "executions": visit.tally.executions,
            "steps": visit.tally.steps,
            "seconds": visit.time.as_secs_f64(),
            "failures": visit.tally.failures,
            "mutants": hunts.collect::<Vec<_>>(),
        })
    });
    let portfolio = judged.iter().map(|judged| {
        let hunts = judged.hunts.iter();
        let medians = hunts.map(|(name, trials)| ((*name).to_owned(), trials.quantile(0.5).into()));
        json!({
            "name": judged.scenario.name,
            "budget": JUDGE_BUDGET,
            "trials": JUDGE_TRIALS,
            "executions_median": Value::Object(medians.collect()),
        })
    });
    json!({
        "scenarios": scenarios.collect::<Vec<_>>(),
        "portfolio": portfolio.collect::<Vec<_>>(),
        "report": picture.map(|picture| &picture.report),
        "replay": picture.map(|picture| &picture.replay),
    })
}
