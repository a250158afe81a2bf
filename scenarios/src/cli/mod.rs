//! Commands, one file each, and what they share. Names, flags, JSON keys and exit statuses are a
//! contract.

mod arms;
mod coverage;
mod diff;
mod explain;
mod guided;
mod list;
mod merge;
mod mutants;
mod output;
mod progress;
mod prove;
mod replay;
mod report;
mod run;
mod seeds;
mod selection;
mod shrink;
mod signals;
mod sweep;
mod tour;

use std::error::Error as _;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use holdup::Scheduler;

/// How a command ended; the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything expected happened.
    Expected = 0,
    /// A failure was found, and the results are complete.
    Failed = 1,
    /// Bad use, said in one sentence.
    BadUse = 2,
    /// A signal stopped it; what was printed is true and not all.
    Stopped = 75,
}

impl Exit {
    /// The exit of a command that came to its end.
    pub(crate) fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Expected }
    }
}

/// Deterministic simulation testing for spinlocks: races told as stories, found, drawn, replayed.
///
/// Without a command: the tour, about a minute.
#[derive(Debug, Parser)]
#[command(
    name = "holdup",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Exit status: 0 everything expected happened, 1 a failure was found, 2 bad use, \
                  75 stopped by a signal (run it again)."
)]
struct Cli {
    #[command(flatten)]
    tour: tour::Arguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Scenarios there are: name, area, summary, rules, mutants, catalogue numbers.
    List(list::Arguments),
    /// Runs one seed of a scenario.
    Run(run::Arguments),
    /// Runs many seeds.
    Sweep(sweep::Arguments),
    /// Counts the executions it takes to catch each mutant.
    Mutants(mutants::Arguments),
    /// Runs all executions of a scenario, one of each trace.
    Prove(prove::Arguments),
    /// Runs a seed file or a script again: does it fail as recorded?
    Replay(replay::Arguments),
    /// Makes a failure small: few preemptions, drawn, and as a script.
    Shrink(shrink::Arguments),
    /// Finds the two operations whose order makes the difference between failure and success.
    Explain(explain::Arguments),
    /// Compares two executions of a scenario, task by task.
    Diff(diff::Arguments),
    /// Takes care of committed seeds: lists them, checks them, finds dead ones again.
    Seeds(seeds::Arguments),
    /// Makes a page of what a store has, and sums it up.
    Report(report::Arguments),
    /// Joins the stores of shards.
    Merge(merge::Arguments),
}

/// Parses, runs, reports; nothing escapes as a backtrace.
pub(crate) fn main() -> ExitCode {
    let exit = match Cli::try_parse() {
        Err(error) => bad_arguments(&error),
        Ok(cli) => {
            let result = match cli.command {
                None => tour::run(&cli.tour),
                Some(Command::List(arguments)) => list::run(&arguments),
                Some(Command::Run(arguments)) => run::run(&arguments),
                Some(Command::Sweep(arguments)) => sweep::run(&arguments),
                Some(Command::Mutants(arguments)) => mutants::run(&arguments),
                Some(Command::Prove(arguments)) => prove::run(&arguments),
                Some(Command::Replay(arguments)) => replay::run(&arguments),
                Some(Command::Shrink(arguments)) => shrink::run(&arguments),
                Some(Command::Explain(arguments)) => explain::run(&arguments),
                Some(Command::Diff(arguments)) => diff::run(&arguments),
                Some(Command::Seeds(arguments)) => seeds::run(&arguments),
                Some(Command::Report(arguments)) => report::run(&arguments),
                Some(Command::Merge(arguments)) => merge::run(&arguments),
            };
            result.unwrap_or_else(|error| {
                eprintln!("error: {error:#}");
                Exit::BadUse
            })
        }
    };
    ExitCode::from(exit as u8)
}

/// Prints what is wrong with the arguments; a malformed value gets its sentence and no more.
fn bad_arguments(error: &clap::Error) -> Exit {
    match (error.kind(), error.source()) {
        (ErrorKind::ValueValidation, Some(sentence)) => eprintln!("error: {sentence}"),
        _ => {
            // Nothing is left to tell whoever closed the pipe.
            let _ = error.print();
        }
    }
    if error.use_stderr() { Exit::BadUse } else { Exit::Expected }
}

/// The value of `--scheduler`.
fn scheduler(text: &str) -> Result<Scheduler, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// The value of `--jobs`, or else as many as there are cores.
fn jobs(given: Option<u64>) -> usize {
    match given {
        Some(jobs) => usize::try_from(jobs).unwrap_or(usize::MAX),
        None => std::thread::available_parallelism().map_or(1, usize::from),
    }
}
