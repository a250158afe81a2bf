//! Folds loops: identical groups of rows that follow each other become one group with a count.

use super::rows::{Fold, Row};

/// The longest group of rows that is looked for.
const MAX_PERIOD: usize = 4;

/// Folds every repetition of 1 to 4 rows; the last row of a group carries the count.
pub(super) fn fold(rows: Vec<Row>) -> Vec<Row> {
    let mut folded = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let best = (1..=MAX_PERIOD)
            .map(|period| (period, repeats(&rows[at..], period)))
            .max_by_key(|&(period, times)| ((times - 1) * period, MAX_PERIOD - period));
        let (period, times) = best.unwrap_or((1, 1));
        if times > 1 {
            folded.extend_from_slice(&rows[at..at + period]);
            if let Some(last) = folded.last_mut() {
                last.fold = Some(Fold { rows: period, times });
            }
            at += period * times;
        } else {
            folded.push(rows[at].clone());
            at += 1;
        }
    }
    folded
}

/// How often the first `period` rows occur in a row.
fn repeats(rows: &[Row], period: usize) -> usize {
    let groups = rows.chunks_exact(period);
    let Some(first) = rows.get(..period) else { return 1 };
    groups.take_while(|group| *group == first).count()
}
