//! The report of a failure: what broke, who ran when, the timeline, and the line that replays it.

use super::event::{SwitchReason, Trace, What};
use super::rows::{Row, RowKind, rows};
use super::shape::{LEGEND, shape_lines};
use super::text::{MAX_WIDTH, clean, counted, cut, wrap};
use super::timeline::Picture;
use super::words::task_name;

/// The most lines of a report that is not full.
const MAX_LINES: usize = 29;

/// The most rows of the timeline in a report that is not full.
const MAX_ROWS: usize = 12;

/// Rows that a report shows, however much else it has to say.
const MIN_ROWS: usize = 4;

/// The most lines of detail in a report that is not full.
const MAX_DETAIL_LINES: usize = 7;

/// The most tasks of a shape in a report that is not full.
const MAX_SHAPE: usize = 6;

/// The most preemptions whose sites are given.
const MAX_SITES: usize = 3;

/// Width of the words at the left of the report's paragraphs.
const LABEL: usize = 8;

impl Trace {
    /// The report of the failure, below 30 lines: its last line is `replay  ` and `replay`.
    ///
    /// No other line is wider than 120 columns. Of a long timeline it shows the end. No line feed
    /// at the end.
    #[must_use]
    pub fn failure_report(&self, replay: &str) -> String {
        self.failure_report_with(replay, false)
    }

    /// As [`failure_report`](Self::failure_report); if `full`, with the whole timeline and every
    /// line of detail.
    #[must_use]
    pub fn failure_report_with(&self, replay: &str, full: bool) -> String {
        let rows = rows(self);
        let mut lines = Vec::new();
        paragraph(&mut lines, self.outcome(), &self.header());
        self.verdict(&mut lines, full);
        self.shape_paragraph(&mut lines, full);

        let mut footer = Vec::new();
        if let Some(sites) = self.sites(&rows) {
            paragraph(&mut footer, "at", &sites);
        }
        footer.push(labelled("replay", replay));

        let room = MAX_LINES.saturating_sub(lines.len() + footer.len() + 3);
        lines.push(String::new());
        if full {
            lines.extend(Picture::new(self, &rows, 0).lines(false));
        } else {
            lines.extend(last_rows(self, &rows, room));
        }
        lines.push(String::new());
        lines.extend(footer);
        lines.join("\n")
    }

    fn outcome(&self) -> &'static str {
        if self.failure.is_some() { "failed" } else { "passed" }
    }

    fn header(&self) -> String {
        let preempted =
            |what: &What| matches!(what, What::Switch { reason: SwitchReason::Preempted, .. });
        let n = self.events.iter().filter(|event| preempted(&event.what)).count();
        let mut header = format!("{}   seed {}   ", clean(&self.name), self.seed);
        header.push_str(&format!("scheduler {}", self.scheduler));
        if self.arm != self.scheduler && !self.arm.is_empty() {
            header.push_str(&format!(" ({})", self.arm));
        }
        if let Some(mutant) = &self.mutant {
            header.push_str(&format!("   mutant {mutant}"));
        }
        header.push_str(&format!("   {}", counted(n, "preemption")));
        header
    }

    fn verdict(&self, lines: &mut Vec<String>, full: bool) {
        let Some(failure) = &self.failure else {
            return paragraph(lines, "verdict", "no rule was broken");
        };
        let message = failure.message.trim_start();
        let message = message.strip_prefix(&format!("{}:", failure.rule)).unwrap_or(message);
        let mut verdict = format!("{}: {}", failure.rule, clean(message));
        if !failure.task.is_empty() {
            verdict = format!("{} in {}: {}", failure.rule, failure.task, clean(message));
        }
        if !full {
            verdict = cut(&verdict, 3 * (MAX_WIDTH - LABEL) - 30);
        }
        paragraph(lines, "verdict", &verdict);
        let end = lines.len() + MAX_DETAIL_LINES;
        for (i, line) in failure.detail.iter().enumerate() {
            // Leading spaces are kept: the machine indents.
            let indent = (line.len() - line.trim_start().len()).min(20);
            let wrapped = wrap(clean(line).trim_start(), MAX_WIDTH - LABEL - indent, 2);
            if !full && lines.len() + wrapped.len() > end {
                let more = counted(failure.detail.len() - i, "more line");
                lines.push(labelled("", &format!("(… {more}: HOLDUP_TRACE=1)")));
                break;
            }
            lines.extend(wrapped.iter().map(|part| labelled("", &(" ".repeat(indent) + part))));
        }
    }

    fn shape_paragraph(&self, lines: &mut Vec<String>, full: bool) {
        let shape = shape_lines(self);
        let shown = if full { shape.len() } else { MAX_SHAPE };
        for (i, line) in shape.iter().take(shown).enumerate() {
            lines.push(labelled(if i == 0 { "shape" } else { "" }, line));
        }
        if shape.len() > shown {
            let more = counted(shape.len() - shown, "more task");
            lines.push(labelled("", &format!("(… {more})")));
        }
        lines.push(labelled("", LEGEND));
    }

    /// Where it failed, and where the last preemptions of the picture were.
    fn sites(&self, rows: &[Row]) -> Option<String> {
        let mut sites: Vec<String> = Vec::new();
        if let Some(site) = self.failure.as_ref().and_then(|failure| failure.site) {
            sites.push(format!("{}:{} (failure)", site.file, site.line));
        }
        let preempted = rows.iter().filter(|row| row.kind == RowKind::Preempted);
        for (row, site) in preempted.rev().filter_map(|row| Some((row, row.site?.0))) {
            let task = task_name(self, row.task);
            let text = format!("{}:{} ({task} preempted)", site.file, site.line);
            if sites.len() <= MAX_SITES && !sites.contains(&text) {
                sites.push(text);
            }
        }
        let mut line = String::new();
        for site in sites {
            let next = if line.is_empty() { site } else { format!("{line}, {site}") };
            if !line.is_empty() && next.chars().count() > MAX_WIDTH - LABEL {
                break;
            }
            line = next;
        }
        (!line.is_empty()).then_some(line)
    }
}

/// The last rows, as many as fit into `room` lines.
fn last_rows(trace: &Trace, rows: &[Row], room: usize) -> Vec<String> {
    let mut n = rows.len().min(MAX_ROWS);
    loop {
        let skipped = rows.len() - n;
        let mut lines = Picture::new(trace, &rows[skipped..], skipped).lines(false);
        if skipped > 0 {
            let earlier = counted(skipped, "earlier row");
            lines.insert(1, format!("(… {earlier}: HOLDUP_TRACE=1)"));
        }
        if lines.len() <= room || n <= MIN_ROWS {
            return lines;
        }
        n -= 1;
    }
}

fn labelled(label: &str, text: &str) -> String {
    format!("{label:<LABEL$}{text}").trim_end().to_owned()
}

/// `text` behind `label`, wrapped.
fn paragraph(lines: &mut Vec<String>, label: &str, text: &str) {
    for (i, line) in wrap(text, MAX_WIDTH - LABEL, 0).iter().enumerate() {
        lines.push(labelled(if i == 0 { label } else { "" }, line));
    }
}
