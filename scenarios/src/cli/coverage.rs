//! Coverage as a table and as JSON.

use holdup::coverage::Richness;
use holdup_scenarios::meetings::Meetings;
use holdup_scenarios::sweep::Tally;
use serde_json::{Value, json};

use super::output::{self, Column};

/// One row a scenario: how many meetings there are, and how many are still to come.
pub(super) fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a Tally)>) -> String {
    let columns = [
        Column::Text("coverage"),
        Column::SpareNumber("looked at"),
        Column::Number("hand-offs"),
        Column::SpareNumber("unseen"),
        Column::Number("new/1000"),
        Column::Number("holds met"),
        Column::SpareNumber("unseen"),
        Column::Number("new/1000"),
    ];
    let cells = rows.map(|(name, tally)| {
        let meetings = &tally.meetings;
        let mut cells = vec![name.to_owned(), output::grouped(meetings.executions)];
        for richness in [meetings.hand_off_richness(), meetings.hold_richness()] {
            cells.push(output::grouped(richness.seen));
            cells.push(format!("{:.0}", richness.unseen));
            cells.push(format!("{:.1}", richness.new_per_1000));
        }
        cells
    });
    output::table(&columns, cells)
}

/// Counts and estimates, without the places.
pub(super) fn to_json(meetings: &Meetings) -> Value {
    let richness = |richness: Richness| {
        json!({
            "seen": richness.seen,
            "seen_once": richness.seen_once,
            "new_per_1000": richness.new_per_1000,
            "unseen_estimate": richness.unseen,
        })
    };
    json!({
        "executions": meetings.executions,
        "hand_offs": richness(meetings.hand_off_richness()),
        "holds": richness(meetings.hold_richness()),
        "saturated": meetings.is_saturated(),
    })
}
