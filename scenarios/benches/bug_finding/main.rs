//! Executions to the first failure of the classic programs, under our schedulers and shuttle's.
//!
//! `cargo bench -p holdup-scenarios --bench bug_finding` prints a table and what it comes to;
//! `-- --write` also writes the page of results, `results.md` and `results.svg` beside this file.
//! `--only NAME`, `--scheduler NAME`, `--trials T`, `--budget N`, `--json`.
//!
//! The programs are one text, compiled on both simulators. Each trial has seeds of its own and ends
//! at the first failure or after the budget. Every program runs in a process of its own: shuttle
//! leaks the stacks of a failed execution, and the system has room for so many only.

#[path = "../../src/classic/mod.rs"]
mod classic;
mod door;
mod holdup_peer;
mod hunt;
mod page;
mod plot;
mod shuttle_peer;
mod summary;

use std::io::Write as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail, ensure};
use clap::Parser as _;
use holdup_scenarios::{MutantCase, Scenario, registry};

use crate::hunt::{Arm, Found, Row};

/// Executions of a correct program that must not fail before its bug is looked for.
const CORRECT: u64 = 100;

#[derive(Debug, clap::Parser)]
#[command(
    name = "bug_finding",
    about = "Executions to the first failure of the classic programs, beside shuttle"
)]
struct Arguments {
    /// Only programs whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Only this scheduler, of whoever has it.
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Trials of each scheduler on each program.
    #[arg(long, value_name = "T", default_value = "20", value_parser = positive())]
    trials: u64,
    /// Executions after which a trial gives up.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = positive())]
    budget: u64,
    /// Also writes the page of results and its plot.
    #[arg(long, conflicts_with_all = ["only", "scheduler"])]
    write: bool,
    /// One JSON document instead of tables.
    #[arg(long)]
    json: bool,
    /// Measures this program, in this process.
    #[arg(long, hide = true)]
    program: Option<String>,
    /// Appended by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn positive() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(name) = &arguments.program {
        let rows = measure(registry::find(name)?, arguments)?;
        return Ok(serde_json::to_writer(std::io::stdout(), &rows)?);
    }
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|only| name.contains(only));
    let mut programs = registry::in_area("classic")?;
    programs.retain(|program| wanted(program.name));
    ensure!(!programs.is_empty(), "no program has this in its name; `holdup list` names them");
    ensure!(arms(arguments).count() > 0, "neither peer has a scheduler of this name");
    let mut rows = Vec::new();
    for (at, program) in programs.iter().enumerate() {
        eprint!("\r\x1b[K{} of {}: {}", at + 1, programs.len(), program.name);
        rows.extend(in_child(program, arguments)?);
    }
    eprintln!("\r\x1b[K");
    if arguments.json {
        println!("{}", serde_json::json!({ "trials": arguments.trials, "rows": rows }));
    } else {
        std::io::stdout().write_all(page::terminal(&rows).as_bytes())?;
    }
    if arguments.write {
        page::write(&rows, arguments.trials, arguments.budget)?;
    }
    Ok(())
}

/// The arms that are asked for.
fn arms(arguments: &Arguments) -> impl Iterator<Item = Arm> {
    let only = arguments.scheduler.clone();
    shuttle_peer::arms()
        .chain(holdup_peer::arms())
        .filter(move |arm| only.as_ref().is_none_or(|only| *only == arm.scheduler))
}

/// Measures `program` in a process of its own.
fn in_child(program: &Scenario, arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(["--program", program.name]);
    child.args(["--trials", &arguments.trials.to_string()]);
    child.args(["--budget", &arguments.budget.to_string()]);
    if let Some(scheduler) = &arguments.scheduler {
        child.args(["--scheduler", scheduler]);
    }
    let output = child.output().with_context(|| format!("cannot run {}", program.name))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", program.name, output.status, said.trim_end());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn measure(program: &'static Scenario, arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for arm in arms(arguments) {
        check_correct(program, &arm)?;
        for case in program.mutants {
            let found = find(program, case, &arm, arguments);
            let (program, mutant) = (program.name.to_owned(), case.name.to_owned());
            rows.push(Row { program, mutant, arm: arm.clone(), found });
        }
    }
    Ok(rows)
}

/// Who fails without the bug has found nothing with it.
fn check_correct(program: &'static Scenario, arm: &Arm) -> anyhow::Result<()> {
    let failed = match arm.peer() {
        hunt::Peer::Shuttle => shuttle_peer::trial(arm, program, None, 0, CORRECT).is_some(),
        hunt::Peer::Holdup => holdup_peer::fails(arm, program, CORRECT),
    };
    ensure!(!failed, "{} fails under {arm} without its bug", program.name);
    Ok(())
}

fn find(program: &'static Scenario, case: &MutantCase, arm: &Arm, arguments: &Arguments) -> Found {
    let (trials, budget) = (arguments.trials, arguments.budget);
    match arm.peer() {
        hunt::Peer::Shuttle => shuttle_peer::find(arm, program, case, trials, budget),
        hunt::Peer::Holdup => holdup_peer::find(arm, program, case, trials, budget),
    }
}
