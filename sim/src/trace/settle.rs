//! Decides which switches stay in the picture: those after which another task did something that
//! the picture shows, while the task that was switched off was in the middle of something.

use std::collections::{BTreeMap, BTreeSet};

use super::event::Trace;
use super::rows::{Row, RowKind, changes};

/// Drops the loose rows that explain nothing. What they say of words moves to a row that stays.
pub(super) fn settle(trace: &Trace, rows: Vec<Row>) -> Vec<Row> {
    let kept = explaining(trace, &rows);
    let mut settled: Vec<Row> = Vec::with_capacity(rows.len());
    let mut last_of: BTreeMap<u32, usize> = BTreeMap::new();
    for (mut row, kept) in rows.into_iter().zip(kept) {
        let last = last_of.get(&row.task).copied();
        let is_news = row.firm || last.is_none_or(|last| settled[last].text != row.text);
        if !(kept && is_news) {
            if row.carries {
                row.text = changes(trace, &row.words);
                row.kind = RowKind::Did;
            } else {
                if let Some(last) = last {
                    settled[last].words.append(&mut row.words);
                }
                continue;
            }
        }
        (row.firm, row.carries) = (true, false);
        last_of.insert(row.task, settled.len());
        settled.push(row);
    }
    settled
}

/// By row: whether it is firm, or explains the picture.
fn explaining(trace: &Trace, rows: &[Row]) -> Vec<bool> {
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    let mut kept = Vec::with_capacity(rows.len());
    for (i, row) in rows.iter().enumerate() {
        if row.firm {
            seen.insert(row.task);
        }
        kept.push(
            row.firm || {
                let next = rows[i + 1..].iter().find(|later| later.firm || later.carries);
                match next {
                    Some(next) => next.task != row.task && is_midway(row, &seen),
                    None => trace.failure.is_some() && row.kind == RowKind::Waits,
                }
            },
        );
    }
    kept
}

/// A task is in the middle of something once it did something that is shown, or holds a lock.
fn is_midway(row: &Row, seen: &BTreeSet<u32>) -> bool {
    let holds = row.holds.get(row.task as usize).copied().flatten().is_some();
    holds || row.kind == RowKind::Waits || seen.contains(&row.task)
}
