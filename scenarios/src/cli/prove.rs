//! `holdup prove`: all executions of one scenario, one of each trace.

use holdup::Scheduler;
use holdup::explore::{Proof, ProofFailure, ProofOptions};
use holdup_scenarios::corpus::replay_line;
use holdup_scenarios::numbers::parse_count;
use holdup_scenarios::{Scenario, registry};
use serde_json::{Value, json};

use super::output::grouped;
use super::signals::Stop;
use super::{Exit, output, progress};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Which scenario.
    scenario: String,
    /// Switches this bug on.
    #[arg(long, value_name = "M")]
    mutant: Option<String>,
    /// Every schedule with at most K preemptions, instead of one execution a trace.
    #[arg(long, value_name = "K", value_parser = parse_preemptions, allow_negative_numbers = true)]
    preemptions: Option<u32>,
    /// Of a scenario with faults: executions with at most N of them.
    #[arg(long, value_name = "N", value_parser = parse_faults, default_value = "1", allow_negative_numbers = true)]
    faults: u32,
    /// OS threads; results do not depend on it. All processors if nobody says so.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    jobs: Option<u64>,
    /// Gives up after N runs, blocked ones included, and estimates what is left.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    max_executions: Option<u64>,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let scenario = registry::find(&arguments.scenario)?;
    let mutant = match &arguments.mutant {
        Some(name) => Some(registry::find_mutant(scenario, name)?.name),
        None => None,
    };
    let mut options = ProofOptions::new().faults(arguments.faults);
    if let Some(bound) = arguments.preemptions {
        options = options.preemptions(bound);
    }
    if let Some(executions) = arguments.max_executions {
        options = options.max_executions(executions);
    }
    let stop = Stop::on_signal()?;
    let bar = progress::counter("runs");
    bar.set_message(scenario.name);
    let jobs = super::jobs(arguments.jobs);
    let checker = scenario.checker(&Scheduler::Portfolio, mutant).jobs(jobs);
    let proof = checker.prove_observed(options, &scenario.body, stop.flag(), &|more| bar.inc(more));
    bar.finish_and_clear();
    if let Some(why) = &proof.refused
        && proof.failures == 0
    {
        anyhow::bail!("scenario {} cannot be proven: {why}", scenario.name);
    }
    if arguments.json {
        output::print_json(&document(arguments, scenario, mutant, &proof))?;
    } else {
        output::print(&text(arguments, scenario, mutant, &proof))?;
    }
    if stop.is_asked() && !proof.complete {
        return Ok(Exit::Stopped);
    }
    Ok(Exit::failed_if(proof.failures > 0))
}

/// The value of `--faults`.
fn parse_faults(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no number of faults: write a whole number from 0"))
}

/// The value of `--preemptions`.
fn parse_preemptions(text: &str) -> Result<u32, String> {
    let sentence = || format!("`{text}` is no number of preemptions: write a whole number from 0");
    text.parse().map_err(|_| sentence())
}

fn text(
    arguments: &Arguments,
    scenario: &Scenario,
    mutant: Option<&'static str>,
    proof: &Proof,
) -> String {
    let of = mutant.map(|mutant| format!(" with mutant {mutant}")).unwrap_or_default();
    let bound = match arguments.preemptions {
        None => String::new(),
        Some(1) => " within 1 preemption".into(),
        Some(bound) => format!(" within {bound} preemptions"),
    };
    let verdict = if proof.complete { "complete" } else { "not complete" };
    let mut text = format!(
        "{}{of}: {verdict}{bound}\n  {} executions, {} distinct traces, {} blocked runs\n  {}\n",
        scenario.name,
        grouped(proof.executions),
        grouped(proof.distinct_traces),
        grouped(proof.blocked),
        match proof.failures {
            0 => "none fails".to_owned(),
            1 => "1 fails".to_owned(),
            failures => format!("{} fail", grouped(failures)),
        }
    );
    if let Some(left) = proof.remaining_estimate {
        let about = |number: f64| {
            if number < 1e12 { grouped(number as u64) } else { format!("{number:.1e}") }
        };
        text += &format!(
            "  about {} executions are left{bound}, perhaps more (standard error {})\n",
            about(left.executions.round()),
            about(left.standard_error.ceil())
        );
    }
    if let Some(why) = &proof.refused {
        text += &format!("  the search ended early: {why}\n");
    }
    if proof.gave_up {
        text += "  a loop that waits gave up where nobody else could go on; where it gives up \
                 earlier was not searched\n";
    }
    if let Some(first) = &proof.first_failure {
        text += &format!("\n{}\n", report(scenario, mutant, first).trim_end());
    }
    text
}

/// The picture of a failure, and the line that replays it.
fn report(scenario: &Scenario, mutant: Option<&'static str>, first: &ProofFailure) -> String {
    let schedule = Scheduler::Replay(first.schedule.clone());
    let trace = scenario.checker(&schedule, mutant).trace(0, &scenario.body);
    trace.failure_report_with(&line(scenario, mutant, first), false)
}

fn line(scenario: &Scenario, mutant: Option<&str>, first: &ProofFailure) -> String {
    replay_line(scenario, &first.schedule.to_string(), 0, mutant)
}

fn document(
    arguments: &Arguments,
    scenario: &Scenario,
    mutant: Option<&str>,
    proof: &Proof,
) -> Value {
    let first = proof.first_failure.as_ref().map(|first| {
        json!({
            "execution": first.execution,
            "rule": first.failure.rule,
            "message": first.failure.message,
            "schedule": first.schedule.to_string(),
            "replay": line(scenario, mutant, first),
        })
    });
    json!({
        "name": scenario.name,
        "mutant": mutant,
        "preemptions": arguments.preemptions,
        "complete": proof.complete,
        "executions": proof.executions,
        "blocked": proof.blocked,
        "distinct_traces": proof.distinct_traces,
        "failures": proof.failures,
        "rules": proof.rules,
        "first_failure": first,
        "remaining_estimate": proof.remaining_estimate.map(|left| left.executions),
        "remaining_standard_error": proof.remaining_estimate.map(|left| left.standard_error),
        "refused": proof.refused,
        "gave_up": proof.gave_up,
    })
}
