//! `holdup explain`: which two operations decide between failure and success.

use holdup::explore::{CriticalPair, Explanation, Moment};
use serde_json::{Value, json};

use super::selection::{Selection, Which};
use super::{Exit, output, shrink};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let selection = arguments.which.selection()?;
    let (checker, trace) = selection.trace();
    let explained = checker.explain_trace(&trace, &selection.scenario.body);
    match &explained {
        _ if arguments.json => output::print_json(&to_json(&selection, explained.as_ref()))?,
        None => {
            output::print(&format!("{} passes: there is nothing to explain\n", selection.title()))?;
        }
        Some(explained) => output::print(&to_text(&selection, explained))?,
    }
    Ok(Exit::failed_if(explained.is_none()))
}

fn to_text(selection: &Selection, explained: &Explanation) -> String {
    let shrunk = &explained.shrunk;
    let heading = shrink::heading(selection, shrunk);
    let Some(pair) = &explained.pair else {
        let picture = shrunk.trace.timeline();
        return format!(
            "{heading}\n\n{}\n\nno pair of operations was found whose order decides\n",
            picture.trim_end()
        );
    };
    format!(
        "{heading}\n\nas near to success as it gets:\n{}\n\n{}",
        pair.failing.timeline().trim_end(),
        pair_text(pair, &shrunk.failure.rule)
    )
}

fn pair_text(pair: &CriticalPair, rule: &str) -> String {
    let moment = |order: &str, moment: &Moment| {
        let site = moment.site.map(|site| format!("\n      at {site}")).unwrap_or_default();
        let note = |when: &str, note: &Option<String>| {
            note.as_ref().map(|note| format!("\n      {when} \"{note}\"")).unwrap_or_default()
        };
        let what = format!("{} {}", moment.task, moment.what);
        let options = textwrap::Options::new(usize::from(output::width()));
        let order = format!("  {order} ");
        let options = options.initial_indent(&order).subsequent_indent("       ");
        format!(
            "{}{site}{}{}\n",
            textwrap::fill(&what, options),
            note("after", &moment.note_before),
            note("before", &moment.note_after)
        )
    };
    format!(
        "critical pair\n{}{}  in this order the execution breaks {rule}; with the two swapped and \
         nothing else, it passes\n",
        moment("1.", &pair.first),
        moment("2.", &pair.second)
    )
}

fn to_json(selection: &Selection, explained: Option<&Explanation>) -> Value {
    let shrunk = explained.map(|explained| &explained.shrunk);
    let pair = explained.and_then(|explained| explained.pair.as_ref());
    json!({
        "name": selection.scenario.name,
        "seed": selection.seed,
        "scheduler": selection.scheduler.to_string(),
        "mutant": selection.mutant,
        "failure": shrunk.map(|shrunk| json!({
            "rule": shrunk.failure.rule,
            "message": shrunk.failure.message,
            "task": shrunk.failure.task,
        })),
        "preemptions": shrunk.map(|shrunk| shrunk.preemptions),
        "preemptions_before": shrunk.map(|shrunk| shrunk.preemptions_before),
        "fewest": shrunk.map(|shrunk| shrunk.fewest),
        "reruns": shrunk.map(|shrunk| shrunk.reruns),
        "schedule": shrunk.map(|shrunk| shrunk.schedule.to_string()),
        "script": shrunk.and_then(|shrunk| shrunk.script.as_ref()).map(ToString::to_string),
        "critical_pair": pair.map(|pair| json!({
            "first": moment_json(&pair.first),
            "second": moment_json(&pair.second),
            "failing_hash": output::hex(pair.failing.hash),
            "passing_hash": output::hex(pair.passing.hash),
        })),
    })
}

fn moment_json(moment: &Moment) -> Value {
    json!({
        "task": moment.task,
        "what": moment.what,
        "site": moment.site.map(|site| json!({
            "file": site.file, "line": site.line, "column": site.column,
        })),
        "note_before": moment.note_before,
        "note_after": moment.note_after,
    })
}
