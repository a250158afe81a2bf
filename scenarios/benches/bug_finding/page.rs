//! The table on a terminal, and the page of results.

use std::fmt::Write as _;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Row as Line, Table, TableStyle};

use crate::hunt::{Arm, Peer, Row};
use crate::{plot, summary};

/// A table: what to a failure, one row a bug, one column an arm.
fn cells(rows: &[Row]) -> (Vec<String>, Vec<Vec<String>>) {
    let arms = summary::arms(rows);
    let mut head = vec!["program".to_owned()];
    head.extend(arms.iter().map(ToString::to_string));
    let body = summary::mutants(rows).into_iter().map(|mutant| {
        let of = |arm: &Arm| rows.iter().find(|row| row.mutant == mutant && row.arm == *arm);
        let program = rows.iter().find(|row| row.mutant == mutant).map(|row| row.program.clone());
        let mut line = vec![program.unwrap_or_default()];
        line.extend(arms.iter().map(|arm| of(arm).map_or("-".into(), cell)));
        line
    });
    (head, body.collect())
}

/// Executions to a failure, and in how many trials there was one where not in all.
fn cell(row: &Row) -> String {
    let trials = row.found.executions.len();
    match row.found.mean() {
        None => "-".into(),
        Some(mean) if row.found.count() == trials => number(mean),
        Some(mean) => format!("{} ({}/{trials})", number(mean), row.found.count()),
    }
}

fn number(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { grouped(value.round() as u64) }
}

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What is printed.
pub(crate) fn terminal(rows: &[Row]) -> String {
    let (head, body) = cells(rows);
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(Line::from(head));
    table.add_rows(body);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = format!("executions to a failure\n{table}\n\n");
    for line in comparisons(rows) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// A sentence for each of shuttle's arms, the best of which is named so, and for each of ours the
/// executions over all programs.
fn comparisons(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    let best = summary::best(rows, Peer::Shuttle);
    let portfolio = Arm::new(Peer::Holdup, "portfolio");
    for peer in summary::arms(rows).into_iter().filter(|arm| arm.peer() == Peer::Shuttle) {
        let Some(comparison) = summary::compare(rows, &portfolio, peer) else { continue };
        let best = if Some(peer) == best { ", its best" } else { "" };
        lines.push(format!(
            "{portfolio} beside {peer}{best}: finds {} of its {} bugs with {:.2} times fewer \
             executions, {:.1} times as fast (geometric means); {:.1} times as fast at all of them \
             together",
            comparison.found,
            comparison.bugs,
            comparison.fewer,
            comparison.faster,
            comparison.faster_in_all,
        ));
    }
    lines
}

/// Writes `results.md` and `results.svg`.
pub(crate) fn write(rows: &[Row], trials: u64, budget: u64) -> anyhow::Result<()> {
    let folder = Path::new("benches/bug_finding");
    plot::write(rows, &folder.join("results.svg"))?;
    std::fs::write(folder.join("results.md"), markdown(rows, trials, budget))?;
    eprintln!("wrote results.md and results.svg in {}", folder.display());
    Ok(())
}

fn markdown(rows: &[Row], trials: u64, budget: u64) -> String {
    let mut text = format!(
        "# Executions to find known bugs\n\n\
         Written by `cargo bench -p holdup-scenarios --bench bug_finding -- --write`; what the \
         programs are is told in `scenarios/src/classic`, where each names its source.\n\n\
         Each number is the mean of {trials} trials, of up to {} executions each: all executions \
         spent over failures found. Where not every trial found the bug, the number of those that \
         did stands beside it; `-` is none. What our schedulers learn from eight pilot executions \
         of a program counts in the times, not in the executions.\n\n\
         ![executions to a failure](results.svg)\n\n",
        grouped(budget)
    );
    for line in comparisons(rows) {
        let _ = writeln!(text, "- {line}.");
    }
    text.push_str("\n| scheduler | bugs found | executions to a failure, geometric mean |\n");
    text.push_str("| --- | ---: | ---: |\n");
    for arm in summary::arms(rows) {
        let mean = summary::executions(rows, arm).map_or("-".into(), number);
        let _ = writeln!(text, "| {arm} | {} | {mean} |", summary::found(rows, arm));
    }
    text.push_str(&medians(rows));
    let (head, body) = cells(rows);
    let _ = writeln!(text, "\n| {} |", head.join(" | "));
    let _ = writeln!(text, "| --- |{}", " ---: |".repeat(head.len() - 1));
    for line in body {
        let _ = writeln!(text, "| {} |", line.join(" | "));
    }
    text
}

/// The default beside whoever of ours is the best at a program, where that takes some executions.
fn medians(rows: &[Row]) -> String {
    let mut text = "\nMedians of ours, where they are 3 or more:\n\n\
                    | program | portfolio | the best alone | |\n| --- | ---: | ---: | --- |\n"
        .to_owned();
    let portfolio = Arm::new(Peer::Holdup, "portfolio");
    for mutant in summary::mutants(rows) {
        let row = rows.iter().find(|row| row.mutant == mutant && row.arm == portfolio);
        let median = row.and_then(|row| Some((row, row.found.median()?)));
        let Some((row, median)) = median.filter(|&(_, median)| median >= 3) else { continue };
        let Some((best, lowest)) = summary::best_median(rows, mutant) else { continue };
        let (program, scheduler) = (&row.program, &best.scheduler);
        let (median, lowest) = (grouped(median), grouped(lowest));
        let _ = writeln!(text, "| {program} | {median} | {lowest} | {scheduler} |");
    }
    text
}
