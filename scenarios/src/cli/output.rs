//! What goes to standard output: texts, tables, documents. A reader that has gone is no error.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Row, Table, TableStyle,
};
use serde_json::Value;

/// Columns that are fit to be piped or pasted.
const PIPED_WIDTH: u16 = 120;
/// Columns of a terminal that does not say.
const TERMINAL_WIDTH: u16 = 80;

/// Below this even names are broken.
const NAMES_WRAP: u16 = 50;

/// Prints `text` as it is.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &Value) -> anyhow::Result<()> {
    print(&format!("{document:#}\n"))
}

/// Columns there are: `COLUMNS`, or the terminal's, or those of a page.
pub(crate) fn width() -> u16 {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.filter(|&columns| columns > 0).unwrap_or_else(|| {
        if !io::stdout().is_terminal() {
            return PIPED_WIDTH;
        }
        terminal_size::terminal_size().map_or(TERMINAL_WIDTH, |(width, _)| width.0)
    })
}

/// Where there are fewer columns, tables leave out what can be left out.
pub(crate) const NARROW: u16 = 100;

/// A table that fits the width; columns of numbers, named in `right`, are right-aligned. The first
/// column has the names, which are not broken where that can be avoided.
pub(crate) fn table(
    header: &[&str],
    right: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::new('-', '-', '-', '-')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width())
        .set_header(Row::from(header));
    table.add_rows(rows);
    for (index, name) in header.iter().enumerate() {
        if right.contains(name)
            && let Some(column) = table.column_mut(index)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if width() > NAMES_WRAP
        && let Some(names) = table.column_mut(0)
    {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate in a few letters: `21.4 M/s`, `830 k/s`.
pub(crate) fn rate(count: u64, seconds: f64) -> String {
    if count == 0 || seconds <= 0.0 {
        return "-".into();
    }
    let rate = count as f64 / seconds;
    match rate {
        1e7.. => format!("{:.0} M/s", rate / 1e6),
        1e6.. => format!("{:.1} M/s", rate / 1e6),
        1e3.. => format!("{:.0} k/s", rate / 1e3),
        _ => format!("{rate:.0} /s"),
    }
}

/// A schedule hash as the contract writes it.
pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let numbers = [0, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn rates_keep_to_three_digits() {
        let rates = [21_400_000, 2_140_000, 830_400, 12].map(|count| rate(count, 1.0));
        assert_eq!(rates, ["21 M/s", "2.1 M/s", "830 k/s", "12 /s"]);
        assert_eq!(rate(0, 0.0), "-");
    }
}
