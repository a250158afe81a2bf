//! What goes to standard output: texts, tables, documents. A reader that has gone is no error.

use std::io::{self, IsTerminal, Write};

use anyhow::Context;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Row, Table, TableStyle};
use serde_json::Value;

/// Columns that are fit to be piped or pasted.
const PIPED_WIDTH: u16 = 120;
/// Columns of a terminal that does not say.
const TERMINAL_WIDTH: u16 = 80;

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

/// What a column of a table is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Names and the like, always there.
    Text(&'static str),
    /// Numbers, always there.
    Number(&'static str),
    /// Left out where the table is wider than the page; the last of these goes first.
    Spare(&'static str),
    /// Numbers that may be left out.
    SpareNumber(&'static str),
}

impl Column {
    fn name(self) -> &'static str {
        let (Self::Text(name) | Self::Number(name) | Self::Spare(name) | Self::SpareNumber(name)) =
            self;
        name
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Number(_) | Self::SpareNumber(_))
    }

    fn is_spare(self) -> bool {
        matches!(self, Self::Spare(_) | Self::SpareNumber(_))
    }
}

/// A table in which no cell is broken. Where it is too wide, spare columns are left out.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut columns = columns.to_vec();
    let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
    loop {
        let lines = render(&columns, &rows);
        let fits = lines.iter().all(|line| line.chars().count() <= usize::from(width()));
        match columns.iter().rposition(|column| column.is_spare()) {
            Some(spare) if !fits => {
                columns.remove(spare);
                rows.iter_mut().for_each(|row| drop(row.remove(spare)));
            }
            _ => return lines.join("\n") + "\n",
        }
    }
}

fn render(columns: &[Column], rows: &[Vec<String>]) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::new('-', '-', '-', '-')))
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(Row::from(columns.iter().map(|column| column.name())));
    table.add_rows(rows.iter().cloned());
    for (index, column) in columns.iter().enumerate() {
        if column.is_number()
            && let Some(column) = table.column_mut(index)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
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
