//! The timeline: an execution as columns, a task each, time downwards.
//!
//! Columns are as wide as their text, and share 120 characters fairly where that is too much.
//! Tasks that have nothing to show get no column; with more than six, or where columns would get
//! too narrow to read, the quietest share one. The last column follows the words that were named
//! with `name_word!` and that two tasks touched.

use super::event::Trace;
use super::rows::{Row, rows};
use super::text::{MAX_WIDTH, pad, width, wrap};
use super::words::{object_name, task_name};

/// With more tasks than this, the quietest share a column.
const MAX_COLUMNS: usize = 6;

/// A column narrower than its text and than this is hard to read.
const MIN_COLUMN: usize = 16;

/// How far the second line of a cell and those after it are set in.
const HANG: usize = 2;

/// What the mark at the left of a cell means.
const LEGEND: &str = "= holds a lock";

/// What a timeline of no rows says.
const NOTHING: &str = "(nothing to show: no notes, no named object, none that two tasks touched)";

impl Trace {
    /// Draws the execution as columns, a task each: lines of at most 120 columns, without a line
    /// feed at the end.
    ///
    /// A row is a note, a log event, or a switch that explains the picture. `=` at the left of a
    /// cell means that the task holds a lock. The first column counts rows, not steps, so that
    /// the picture stays when operations come or go between them.
    #[must_use]
    pub fn timeline(&self) -> String {
        let rows = rows(self);
        Picture::new(self, &rows, 0).lines(true).join("\n")
    }
}

/// The rows from some row on, laid out.
pub(super) struct Picture<'a> {
    trace: &'a Trace,
    rows: &'a [Row],
    /// Rows that came before `rows`.
    skipped: usize,
    columns: Vec<Column>,
    /// Whether more than one word is followed, so that each needs its name.
    several_words: bool,
}

/// One column of a picture.
struct Column {
    title: String,
    /// Whose rows it shows; none for the shared words.
    tasks: Vec<u32>,
    /// Whether it marks holds.
    gutter: bool,
    width: usize,
    /// Its width without the title, which may wrap where space is short.
    body: usize,
}

impl<'a> Picture<'a> {
    /// Lays out `rows`, which `skipped` others precede.
    pub(super) fn new(trace: &'a Trace, rows: &'a [Row], skipped: usize) -> Self {
        let mut picture = Self {
            trace,
            rows,
            skipped,
            columns: Vec::new(),
            several_words: words(rows).len() > 1,
        };
        let tasks = busiest_first(trace, rows);
        let mut own = if tasks.len() > MAX_COLUMNS { MAX_COLUMNS - 1 } else { tasks.len() };
        loop {
            picture.columns = picture.columns_for(&tasks, own);
            if picture.fits() || own <= 1 {
                break;
            }
            own -= 1;
        }
        picture.share_width();
        picture
    }

    /// The picture's lines, with or without the line that explains the mark of a hold.
    pub(super) fn lines(&self, legend: bool) -> Vec<String> {
        if self.rows.is_empty() {
            return vec![NOTHING.to_owned()];
        }
        let mut lines = Vec::new();
        if legend && self.columns.iter().any(|column| column.gutter) {
            lines.push(LEGEND.to_owned());
        }
        let titles = self.columns.iter().map(|column| wrap(&column.title, column.width, HANG));
        self.line("step", &titles.collect::<Vec<_>>(), None, &mut lines);
        for (i, row) in self.rows.iter().enumerate() {
            let cells = self.columns.iter().map(|column| self.cell(column, row));
            let number = (self.skipped + i + 1).to_string();
            self.line(&number, &cells.collect::<Vec<_>>(), Some(row), &mut lines);
        }
        lines
    }

    /// The first `own` of `tasks` get a column of their own, the others share one.
    fn columns_for(&self, tasks: &[u32], own: usize) -> Vec<Column> {
        let (mut kept, mut others) = (tasks[..own].to_vec(), tasks[own..].to_vec());
        kept.sort_unstable();
        others.sort_unstable();
        let mut columns: Vec<Column> = kept
            .iter()
            .map(|&task| Column::new(task_name(self.trace, task), vec![task], self.rows))
            .collect();
        if !others.is_empty() {
            columns.push(Column::new("others".to_owned(), others, self.rows));
        }
        if let Some(title) = word_title(self.trace, self.rows) {
            columns.push(Column::new(title, Vec::new(), self.rows));
        }
        for column in &mut columns {
            let cells = self.rows.iter().flat_map(|row| self.texts(column, row));
            let widest = cells.map(|text| width(&text)).max().unwrap_or(0);
            column.width = widest.max(width(&column.title));
            column.body = widest.max(MIN_COLUMN).min(column.width);
        }
        columns
    }

    fn room(&self) -> usize {
        let used: usize = self.columns.iter().map(|column| 3 + usize::from(column.gutter)).sum();
        MAX_WIDTH.saturating_sub(self.number_width() + used)
    }

    fn fits(&self) -> bool {
        let least: usize = self.columns.iter().map(|column| column.width.min(MIN_COLUMN)).sum();
        least <= self.room()
    }

    /// Columns that need less than a fair share keep their width; the others share the rest.
    fn share_width(&mut self) {
        let mut room = self.room();
        if self.columns.iter().map(|column| column.width).sum::<usize>() > room {
            self.columns.iter_mut().for_each(|column| column.width = column.body);
        }
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|&i| self.columns[i].width);
        for (done, &i) in order.iter().enumerate() {
            let share = room / (order.len() - done);
            self.columns[i].width = self.columns[i].width.min(share).max(1);
            room = room.saturating_sub(self.columns[i].width);
        }
    }

    fn number_width(&self) -> usize {
        (self.skipped + self.rows.len()).to_string().len().max("step".len())
    }

    fn cell(&self, column: &Column, row: &Row) -> Vec<String> {
        let texts = self.texts(column, row);
        texts.iter().flat_map(|text| wrap(text, column.width, HANG)).collect()
    }

    fn texts(&self, column: &Column, row: &Row) -> Vec<String> {
        match column.tasks[..] {
            [] => word_texts(self.trace, self.several_words, row),
            [task] if task == row.task => vec![row.label()],
            [_] => Vec::new(),
            _ if column.tasks.contains(&row.task) => {
                vec![format!("{}: {}", task_name(self.trace, row.task), row.label())]
            }
            _ => Vec::new(),
        }
    }

    /// One row of cells, as many lines as the highest cell has.
    fn line(
        &self,
        number: &str,
        cells: &[Vec<String>],
        row: Option<&Row>,
        lines: &mut Vec<String>,
    ) {
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for i in 0..height {
            let number = if i == 0 { number } else { "" };
            let mut line = format!("{number:>width$}", width = self.number_width());
            for (column, cell) in self.columns.iter().zip(cells) {
                line.push_str(" |");
                if column.gutter {
                    line.push(if row.is_some_and(|row| column.holds(row)) { '=' } else { ' ' });
                }
                line.push(' ');
                line.push_str(&pad(cell.get(i).map_or("", String::as_str), column.width));
            }
            lines.push(line.trim_end().to_owned());
        }
    }
}

impl Column {
    fn new(title: String, tasks: Vec<u32>, rows: &[Row]) -> Self {
        let mut column = Self { title, tasks, gutter: false, width: 0, body: 0 };
        column.gutter = rows.iter().any(|row| column.holds(row));
        column
    }

    fn holds(&self, row: &Row) -> bool {
        self.tasks.iter().any(|&task| row.holds.get(task as usize).copied().flatten().is_some())
    }
}

/// The tasks that have rows: who failed, then by number of rows, then by id.
fn busiest_first(trace: &Trace, rows: &[Row]) -> Vec<u32> {
    let failed = trace.failure.as_ref().map(|failure| failure.task.as_str());
    let mut tasks = tasks_with_rows(rows);
    tasks.sort_by_cached_key(|&task| {
        let n_rows = rows.iter().filter(|row| row.task == task).count();
        let failed = failed == Some(task_name(trace, task).as_str());
        (!failed, std::cmp::Reverse(n_rows), task)
    });
    tasks
}

/// The tasks that have rows, by id.
pub(super) fn tasks_with_rows(rows: &[Row]) -> Vec<u32> {
    let mut tasks: Vec<u32> = rows.iter().map(|row| row.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    tasks
}

/// The words that change in `rows`, by id.
pub(super) fn words(rows: &[Row]) -> Vec<u32> {
    let changes = rows.iter().flat_map(|row| &row.words);
    let mut words: Vec<u32> = changes.map(|(object, _)| *object).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Title of the last column, if there is one.
pub(super) fn word_title(trace: &Trace, rows: &[Row]) -> Option<String> {
    match words(rows)[..] {
        [] => None,
        [word] => Some(format!("shared word: {}", object_name(trace, word))),
        _ => Some("shared words".to_owned()),
    }
}

/// The new values on a row, one text for each word that changed, named if there are `several`.
pub(super) fn word_texts(trace: &Trace, several: bool, row: &Row) -> Vec<String> {
    let mut texts: Vec<(u32, String)> = Vec::new();
    for (object, now) in &row.words {
        match texts.iter_mut().find(|(word, _)| word == object) {
            Some((_, text)) => *text = format!("{text} -> {now}"),
            None if several => {
                texts.push((*object, format!("{}: {now}", object_name(trace, *object))));
            }
            None => texts.push((*object, now.clone())),
        }
    }
    texts.into_iter().map(|(_, text)| text).collect()
}
