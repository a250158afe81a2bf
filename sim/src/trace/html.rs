//! The timeline as one page: no scripts, nothing loaded from elsewhere, light and dark.

use super::event::Trace;
use super::rows::{Row, RowKind, rows};
use super::shape::{LEGEND, shape_lines};
use super::timeline::{Picture, tasks_with_rows, word_texts, word_title, words};
use super::words::task_name;

/// Kinds of locks that get a colour of their own; more share them.
const N_COLOURS: usize = 5;

const STYLE: &str = "\
:root{color-scheme:light dark;--rule:#8884;--quiet:#888;--bad:#c22}
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem}
h1{font-size:1.3rem;margin:0}.meta,summary,.legend{color:var(--quiet)}
.verdict{border-left:4px solid var(--bad);padding:.3rem .8rem;margin:1rem 0}
pre{overflow-x:auto;font:13px/1.35 ui-monospace,monospace}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.2rem .6rem;border-left:1px solid var(--rule)}
th{position:sticky;top:0;background:Canvas;border-bottom:1px solid var(--rule)}
td:first-child,th:first-child{border-left:0;text-align:right;color:var(--quiet)}
.switch{color:var(--quiet);font-style:italic}.failed{color:var(--bad);font-weight:600}
.word{white-space:pre-line;font-family:ui-monospace,monospace;font-size:.9em}.times{color:var(--quiet)}
.h0{background:#f5a62338}.h1{background:#4a90e238}.h2{background:#7ed32138}
.h3{background:#bd10e030}.h4{background:#50e3c238}
.key{display:inline-block;padding:0 .5rem;margin-right:.5rem;border-radius:3px;color:CanvasText}
";

impl Trace {
    /// The timeline as one self-contained page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let rows = rows(self);
        let mut page = String::new();
        page.push_str("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
        page.push_str("<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
        escape(&mut page, &self.name);
        page.push_str("</title>\n<style>\n");
        page.push_str(STYLE);
        page.push_str("</style>\n<body>\n");
        self.head(&mut page);
        let kinds = kinds(&rows);
        legend(&mut page, &kinds);
        self.table(&mut page, &rows, &kinds);
        page.push_str("<details><summary>who ran when</summary><pre>\n");
        escape(&mut page, &shape_lines(self).join("\n"));
        page.push_str("\n\n");
        escape(&mut page, LEGEND);
        page.push_str("</pre></details>\n<details><summary>as text</summary><pre>\n");
        escape(&mut page, &Picture::new(self, &rows, 0).lines(true).join("\n"));
        page.push_str("</pre></details>\n</body>\n</html>\n");
        page
    }

    fn head(&self, page: &mut String) {
        page.push_str("<h1>");
        escape(page, &self.name);
        page.push_str("</h1>\n<p class=\"meta\">");
        let mut meta = format!("seed {}, scheduler {}", self.seed, self.scheduler);
        if self.arm != self.scheduler {
            meta.push_str(&format!(" ({})", self.arm));
        }
        if let Some(mutant) = &self.mutant {
            meta.push_str(&format!(", mutant {mutant}"));
        }
        escape(page, &format!("{meta}, {} steps", self.steps));
        page.push_str("</p>\n");
        let Some(failure) = &self.failure else { return };
        page.push_str("<div class=\"verdict\"><b>");
        escape(page, &failure.rule);
        page.push_str("</b> in ");
        escape(page, &failure.task);
        page.push_str(": ");
        escape(page, &failure.message);
        if !failure.detail.is_empty() {
            page.push_str("<pre>");
            escape(page, &failure.detail.join("\n"));
            page.push_str("</pre>");
        }
        page.push_str("</div>\n");
    }

    fn table(&self, page: &mut String, rows: &[Row], kinds: &[&'static str]) {
        let tasks = tasks_with_rows(rows);
        let title = word_title(self, rows);
        let several = words(rows).len() > 1;
        page.push_str("<div class=\"wide\"><table>\n<tr><th>step");
        for &task in &tasks {
            page.push_str("<th>");
            escape(page, &task_name(self, task));
        }
        if let Some(title) = &title {
            page.push_str("<th>");
            escape(page, title);
        }
        page.push('\n');
        for (i, row) in rows.iter().enumerate() {
            page.push_str(&format!("<tr><td>{}", i + 1));
            for &task in &tasks {
                cell(page, row, task, kinds);
            }
            if title.is_some() {
                page.push_str("<td class=\"word\">");
                escape(page, &word_texts(self, several, row).join("\n"));
            }
            page.push('\n');
        }
        page.push_str("</table></div>\n");
    }
}

fn cell(page: &mut String, row: &Row, task: u32, kinds: &[&'static str]) {
    let mut classes = Vec::new();
    let hold = row.holds.get(task as usize).copied().flatten();
    let hold = hold.and_then(|hold| kinds.iter().position(|kind| *kind == hold));
    if let Some(at) = hold {
        classes.push(format!("h{}", at % N_COLOURS));
    }
    if row.task == task {
        match row.kind {
            RowKind::Said | RowKind::Did => {}
            RowKind::Preempted | RowKind::Waits | RowKind::Rests | RowKind::Struck => {
                classes.push("switch".to_owned());
            }
            RowKind::Failed => classes.push("failed".to_owned()),
        }
    }
    page.push_str("<td");
    if !classes.is_empty() {
        page.push_str(&format!(" class=\"{}\"", classes.join(" ")));
    }
    page.push('>');
    if row.task == task {
        escape(page, &row.label());
    }
}

fn legend(page: &mut String, kinds: &[&'static str]) {
    if kinds.is_empty() {
        return;
    }
    page.push_str("<p class=\"legend\">while it holds ");
    for (i, kind) in kinds.iter().enumerate() {
        page.push_str(&format!("<span class=\"key h{}\">", i % N_COLOURS));
        escape(page, kind);
        page.push_str("</span>");
    }
    page.push_str("</p>\n");
}

/// The kinds of locks held in the picture, in order of appearance.
fn kinds(rows: &[Row]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for kind in rows.iter().flat_map(|row| row.holds.iter().flatten()) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}

/// Appends `text` so that no character of it is markup.
fn escape(page: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            _ => page.push(c),
        }
    }
}
