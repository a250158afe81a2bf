//! A matrix of counts as an SVG picture: rows met by columns, the darker the more often.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use crate::meetings::Matrix;

/// Side of a cell.
const CELL: usize = 14;
/// Width of a letter of a label, about.
const LETTER: usize = 7;

/// Draws `matrix`, whose counts are of `executions` executions. What a cell is stands in its title.
pub(super) fn heat_map(matrix: &Matrix, executions: u64) -> Markup {
    let columns: BTreeSet<&String> = matrix.values().flat_map(BTreeMap::keys).collect();
    let longest = |labels: &mut dyn Iterator<Item = &String>| {
        labels.map(|label| short(label).chars().count()).max().unwrap_or(0) * LETTER + 8
    };
    let left = longest(&mut matrix.keys());
    let top = longest(&mut columns.iter().copied());
    let (width, height) = (left + columns.len() * CELL + 8, top + matrix.len() * CELL + 8);
    html! {
        svg viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height) role="img" {
            @for (x, column) in columns.iter().enumerate() {
                @let (x, y) = (left + x * CELL + CELL - 3, top - 4);
                text class="label" transform=(format!("translate({x} {y}) rotate(-90)")) {
                    (short(column))
                    title { (column) }
                }
            }
            @for (y, (row, counts)) in matrix.iter().enumerate() {
                @let y = top + y * CELL;
                text class="label" x=(left - 4) y=(y + CELL - 3) text-anchor="end" {
                    (short(row))
                    title { (row) }
                }
                @for (x, column) in columns.iter().enumerate() {
                    @if let Some(&count) = counts.get(*column) {
                        rect x=(left + x * CELL) y=(y) width=(CELL - 1) height=(CELL - 1)
                            class="cell" fill-opacity=(opacity(count, executions)) {
                            title { (row) ", then " (column) ": " (count) " of " (executions) }
                        }
                    }
                }
            }
        }
    }
}

/// Rare meetings are what one looks for, so the scale is that of the logarithm.
fn opacity(count: u64, executions: u64) -> String {
    let share = (1.0 + count as f64).ln() / (1.0 + executions.max(1) as f64).ln();
    format!("{:.2}", 0.15 + 0.85 * share.min(1.0))
}

/// The file's name instead of its path, and no column.
fn short(label: &str) -> String {
    let Some((place, operation)) = label.rsplit_once(' ') else { return label.to_owned() };
    let mut parts = place.rsplitn(3, ':');
    let (column, line, path) = (parts.next(), parts.next(), parts.next());
    match (column, line, path) {
        (Some(_), Some(line), Some(path)) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{}:{line} {operation}", path.rsplit('/').next().unwrap_or(path))
        }
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_what_tells_places_apart() {
        assert_eq!(short("engine/src/buffer/pin.rs:75:9 load"), "pin.rs:75 load");
        assert_eq!(short("header lock: itself"), "header lock: itself");
    }

    #[test]
    fn a_cell_is_darker_the_more_executions_show_it() {
        assert_eq!(opacity(0, 0), "0.15");
        assert_eq!(opacity(1_000, 1_000), "1.00");
        assert!(opacity(1, 1_000) < opacity(10, 1_000));
    }

    #[test]
    fn every_count_is_a_cell_and_text_is_escaped() {
        let row: BTreeMap<_, _> = [("b<".to_owned(), 3), ("c".to_owned(), 1)].into();
        let matrix: Matrix = [("a".to_owned(), row.clone()), ("d".to_owned(), row)].into();

        let svg = heat_map(&matrix, 10).into_string();

        assert_eq!(svg.matches("<rect").count(), 4);
        assert!(svg.contains("a, then b&lt;: 3 of 10") && !svg.contains("b<"));
    }
}
