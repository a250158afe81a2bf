//! `holdup diff A B`: two executions of a scenario side by side, task by task.
//!
//! Each task is aligned on its own, by what it said and did, so that what a task did as before lines
//! up however the tasks were interleaved. How they were stands above: the turns of both.

use holdup::trace::{SwitchReason, Trace, What};
use serde_json::{Value, json};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::selection::{Selection, in_a_word};
use super::{Exit, output};

/// Equal lines that are shown around a difference.
const CONTEXT: usize = 2;
/// Lines of one side alone that are shown in a row.
const MOST_ALONE: usize = 8;
/// Turns that are shown.
const MOST_TURNS: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "An execution is SCENARIO:SEED[:SCHEDULER[:MUTANT]], such as \
                        lossy-unpin:7:random:demo.lossy_unpin, where SCHEDULER may be left empty \
                        for the portfolio; or an entry of a seed file, FILE.toml#INDEX, counted \
                        from 0.")]
pub(super) struct Arguments {
    /// One execution.
    a: String,
    /// Another execution of the same scenario.
    b: String,
    /// One JSON document instead of text, with all that is equal.
    #[arg(long)]
    json: bool,
}

/// A line of one side, of the other, or of both.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    a: Option<String>,
    b: Option<String>,
}

/// A task of one execution or of both.
struct Task {
    name: String,
    lines: Vec<Line>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let sides = [in_a_word(&arguments.a)?, in_a_word(&arguments.b)?];
    let [a, b] = &sides;
    anyhow::ensure!(
        a.scenario.name == b.scenario.name,
        "{} and {} are two scenarios: only executions of one can be compared",
        a.scenario.name,
        b.scenario.name
    );
    let traces = [a.trace().1, b.trace().1];
    let tasks = tasks(&traces);
    if arguments.json {
        output::print_json(&to_json(&sides, &traces, &tasks))?;
    } else {
        output::print(&to_text(&sides, &traces, &tasks, usize::from(output::width())))?;
    }
    Ok(Exit::Expected)
}

/// All tasks of both traces by name, those of the first in front, each aligned.
fn tasks(traces: &[Trace; 2]) -> Vec<Task> {
    let mut names: Vec<&str> = Vec::new();
    for task in traces.iter().flat_map(|trace| &trace.tasks) {
        if !names.contains(&task.name.as_str()) {
            names.push(&task.name);
        }
    }
    let task = |name: &str| {
        let [a, b] = [0, 1].map(|side: usize| does(&traces[side], name));
        Task { name: name.to_owned(), lines: align(&a, &b) }
    };
    names.into_iter().map(task).collect()
}

/// What the task called `name` said and did.
fn does(trace: &Trace, name: &str) -> Vec<String> {
    let events = trace
        .events
        .iter()
        .filter(|event| trace.tasks.get(event.task as usize).is_some_and(|task| task.name == name));
    events.filter_map(|event| trace.describe(event)).collect()
}

fn align(a: &[String], b: &[String]) -> Vec<Line> {
    let mut lines = Vec::new();
    let line = |a: Option<&String>, b: Option<&String>| Line { a: a.cloned(), b: b.cloned() };
    for op in capture_diff_slices(Algorithm::Patience, a, b) {
        let (old, new) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } | DiffOp::Replace { .. } => {
                let rows = old.len().max(new.len());
                let at = |side: &[String], range: &std::ops::Range<usize>, i: usize| {
                    (i < range.len()).then(|| side[range.start + i].clone())
                };
                lines.extend((0..rows).map(|i| Line { a: at(a, &old, i), b: at(b, &new, i) }));
            }
            DiffOp::Delete { .. } => lines.extend(a[old].iter().map(|a| line(Some(a), None))),
            DiffOp::Insert { .. } => lines.extend(b[new].iter().map(|b| line(None, Some(b)))),
        }
    }
    lines
}

impl Line {
    fn is_equal(&self) -> bool {
        self.a == self.b
    }

    /// As `diff --side-by-side` marks it.
    fn mark(&self) -> char {
        match (&self.a, &self.b) {
            (Some(_), None) => '<',
            (None, Some(_)) => '>',
            _ if self.is_equal() => ' ',
            _ => '|',
        }
    }
}

/// Who ran in turn; a star where the scheduler took the task off.
fn turns(trace: &Trace) -> Vec<String> {
    let name = |task: u32| trace.tasks.get(task as usize).map_or("?", |task| &task.name);
    let mut turns = Vec::new();
    let mut running = 0;
    for event in &trace.events {
        if let What::Switch { to, reason } = event.what
            && to != event.task
        {
            let star = if reason == SwitchReason::Preempted { "*" } else { "" };
            turns.push(format!("{}{star}", name(event.task)));
            running = to;
        }
    }
    turns.push(name(running).to_owned());
    turns
}

/// `writer*, reader, writer`, of long lists the part where they begin to differ.
fn turns_text(turns: &[String], other: &[String]) -> String {
    let common = turns.iter().zip(other).take_while(|(a, b)| a == b).count();
    let from = if turns.len() <= MOST_TURNS { 0 } else { common.saturating_sub(2) };
    let to = turns.len().min(from + MOST_TURNS);
    let before = if from > 0 { format!("(… {from} the same) ") } else { String::new() };
    let left = turns.len() - to;
    let after = if left > 0 { format!(" (… {left} more)") } else { String::new() };
    format!("{before}{}{after}", turns[from..to].join(", "))
}

fn verdict(trace: &Trace) -> String {
    match &trace.failure {
        Some(failure) => format!("fails with {}: {}", failure.rule, failure.message),
        None => "passes".into(),
    }
}

fn to_text(sides: &[Selection; 2], traces: &[Trace; 2], tasks: &[Task], width: usize) -> String {
    let mut text = String::new();
    let both = [turns(&traces[0]), turns(&traces[1])];
    for (i, letter) in ["A", "B"].into_iter().enumerate() {
        let line = format!("{letter}  {}: {}", sides[i].title(), verdict(&traces[i]));
        let turns = format!("   turns: {}", turns_text(&both[i], &both[1 - i]));
        for line in [line, turns] {
            text += &textwrap::fill(&line, textwrap::Options::new(width).subsequent_indent("   "));
            text.push('\n');
        }
    }
    if traces[0].hash == traces[1].hash {
        return text + "\nthe two are the same execution\n";
    }
    text += "\n(* taken off by the scheduler; < only in A, > only in B, | differs)\n";
    let cell = (width.saturating_sub(3) / 2).max(10);
    for task in tasks {
        if task.lines.iter().all(Line::is_equal) {
            text += &format!("\n{}: the same in both, {} lines\n", task.name, task.lines.len());
            continue;
        }
        text += &format!("\n{}\n", task.name);
        let (mut same, mut alone, mut in_a_row) = (0, 0, 0);
        for (i, line) in task.lines.iter().enumerate() {
            in_a_row = if matches!(line.mark(), '<' | '>') { in_a_row + 1 } else { 0 };
            let near = i.saturating_sub(CONTEXT)..(i + CONTEXT + 1).min(task.lines.len());
            if task.lines[near].iter().all(Line::is_equal) {
                same += 1;
            } else if in_a_row > MOST_ALONE {
                alone += 1;
            } else {
                text += &unseen(std::mem::take(&mut alone), "more of one side alone");
                text += &unseen(std::mem::take(&mut same), "the same");
                text += &side_by_side(line, cell);
            }
        }
        text += &unseen(alone, "more of one side alone");
        text += &unseen(same, "the same");
    }
    text
}

fn unseen(lines: usize, what: &str) -> String {
    if lines == 0 { String::new() } else { format!("  (… {lines} lines, {what})\n") }
}

/// A line of both sides, as many rows as the longer cell needs.
fn side_by_side(line: &Line, cell: usize) -> String {
    let wrapped = |text: &Option<String>| match text {
        Some(text) => textwrap::wrap(text, textwrap::Options::new(cell).subsequent_indent("  "))
            .into_iter()
            .map(std::borrow::Cow::into_owned)
            .collect(),
        None => Vec::new(),
    };
    let (a, b): (Vec<String>, Vec<String>) = (wrapped(&line.a), wrapped(&line.b));
    let part = |side: &[String], i: usize| side.get(i).cloned().unwrap_or_default();
    let rows = (0..a.len().max(b.len())).map(|i| {
        let mark = if i == 0 { line.mark() } else { ' ' };
        let row = format!("{:<cell$} {mark} {}", part(&a, i), part(&b, i));
        format!("{}\n", row.trim_end())
    });
    rows.collect()
}

fn to_json(sides: &[Selection; 2], traces: &[Trace; 2], tasks: &[Task]) -> Value {
    let side = |i: usize| {
        let (side, trace) = (&sides[i], &traces[i]);
        json!({
            "name": side.scenario.name,
            "seed": side.seed,
            "scheduler": side.scheduler.to_string(),
            "mutant": side.mutant,
            "failure": trace.failure.as_ref().map(|failure| json!({
                "rule": failure.rule, "message": failure.message, "task": failure.task,
            })),
            "turns": turns(trace),
            "steps": trace.steps,
            "hash": output::hex(trace.hash),
        })
    };
    let lines = |task: &Task| -> Vec<Value> {
        let line = |line: &Line| json!({ "equal": line.is_equal(), "a": line.a, "b": line.b });
        task.lines.iter().map(line).collect()
    };
    let tasks = tasks.iter().map(|task| json!({ "name": task.name, "lines": lines(task) }));
    json!({
        "a": side(0),
        "b": side(1),
        "same": traces[0].hash == traces[1].hash,
        "tasks": tasks.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn lines_that_both_sides_have_stand_side_by_side() {
        let lines = align(&words("pin read unpin"), &words("pin wait read read unpin"));

        let marks: String = lines.iter().map(Line::mark).collect();
        assert_eq!(marks.matches(' ').count(), 3, "{marks}");
        assert_eq!(marks.matches('>').count(), 2, "{marks}");
        assert!(lines.iter().filter(|line| line.mark() == ' ').all(Line::is_equal));
    }

    #[test]
    fn no_row_is_wider_than_both_cells() {
        let line = Line { a: Some("word ".repeat(30)), b: Some("x".repeat(50)) };

        let text = side_by_side(&line, 20);

        assert!(text.lines().all(|row| row.chars().count() <= 43), "{text}");
    }
}
