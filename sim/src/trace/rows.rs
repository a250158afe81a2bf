//! The rows of a timeline: which events deserve one, and what it says.
//!
//! Notes and log events always do. A switch does where it explains the picture, which is known
//! only later: it enters as a row that is not firm, and `settle` decides. Without any note the
//! operations on named and shared objects take the notes' place.
//!
//! A followed word's new value stands on the row of the task that changed it: on the first row
//! after the change if that task still runs, otherwise on its last row before it.

use super::event::{Event, Site, SwitchReason, Trace, What};
use super::facts::Facts;
use super::text::{clean, cut};
use super::words::{object_name, operation, task_name, value};
use super::{fold, settle};

/// The most characters of a panic message that a row repeats.
const MAX_PANIC: usize = 80;

/// One row of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Whose it is.
    pub(super) task: u32,
    /// What sort of row.
    pub(super) kind: RowKind,
    /// What it says.
    pub(super) text: String,
    /// By task: the kind of lock that it holds while the row happens, the innermost one.
    pub(super) holds: Vec<Option<&'static str>>,
    /// Words that changed, and their new values.
    pub(super) words: Vec<(u32, String)>,
    /// The loop that ends with this row.
    pub(super) fold: Option<Fold>,
    /// Whether the row stays whatever follows.
    pub(super) firm: bool,
    /// Whether no other row can carry `words`.
    pub(super) carries: bool,
    /// Where it was, for the footer of a report.
    pub(super) site: Option<SiteOf>,
}

/// A site that is not part of the picture, so it makes no difference between rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteOf(pub(super) Site);

impl PartialEq for SiteOf {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for SiteOf {}

/// The sorts of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A note or a log event.
    Said,
    /// An operation, in a picture without notes, or the change of a word.
    Did,
    /// The scheduler took the task off.
    Preempted,
    /// The task waits for an object.
    Waits,
    /// The task sleeps, or waits for something without a name.
    Rests,
    /// The world did something to it.
    Struck,
    /// The task failed.
    Failed,
}

/// A loop that was folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fold {
    /// Rows of one round; the row that carries this is the last of them.
    pub(super) rows: usize,
    /// Rounds.
    pub(super) times: usize,
}

impl Row {
    /// The row's text, and how often it happened.
    pub(super) fn label(&self) -> String {
        match self.fold {
            None => self.text.clone(),
            Some(Fold { rows: 1, times }) => format!("{} x {times}", self.text),
            Some(Fold { rows, times }) => format!("{} ({rows} rows x {times})", self.text),
        }
    }
}

/// All rows of `trace`, settled and folded.
pub(super) fn rows(trace: &Trace) -> Vec<Row> {
    let facts = Facts::of(trace);
    let mut picker = Picker::new(trace, &facts);
    for (i, event) in trace.events.iter().enumerate() {
        picker.event(i, event);
    }
    picker.end_of_run();
    fold::fold(settle::settle(trace, picker.rows))
}

struct Picker<'a> {
    trace: &'a Trace,
    facts: &'a Facts,
    rows: Vec<Row>,
    /// By task: the locks it holds, the innermost last.
    held: Vec<Vec<(&'static str, u32)>>,
    /// By task: its last row that is firm.
    last_firm: Vec<Option<usize>>,
    /// By task: where it was seen last.
    sites: Vec<Option<Site>>,
    /// By object: the value shown last.
    shown: Vec<Option<String>>,
    /// Changes of followed words that no row shows yet, all by `running`.
    changed: Vec<(u32, String)>,
    running: u32,
    /// Whether there ever was a second task.
    raced: bool,
}

impl<'a> Picker<'a> {
    fn new(trace: &'a Trace, facts: &'a Facts) -> Self {
        Self {
            trace,
            facts,
            rows: Vec::new(),
            held: vec![Vec::new(); facts.n_tasks],
            last_firm: vec![None; facts.n_tasks],
            sites: vec![None; facts.n_tasks],
            shown: vec![None; trace.objects.len()],
            changed: Vec::new(),
            running: 0,
            raced: false,
        }
    }

    fn event(&mut self, i: usize, event: &Event) {
        let task = event.task;
        if task != self.running {
            self.end_of_run();
            self.running = task;
        }
        if event.site.is_some() {
            self.sites[task as usize] = event.site;
        }
        match &event.what {
            What::Operation { kind, object: Some(object), before, after } => {
                if self.facts.has_notes {
                    self.word(*object, *before, *after);
                } else if self.is_worth_a_row(*object) {
                    let text = operation(self.trace, *kind, *object, *before, *after);
                    self.push(task, RowKind::Did, text);
                }
            }
            What::Note(text) => self.push(task, RowKind::Said, clean(text)),
            What::Fault(text) => {
                self.push(task, RowKind::Struck, format!("-- {} --", clean(text)));
            }
            What::Log { level, message, .. } => {
                let text = format!("{}: {}", level.to_lowercase(), clean(message));
                self.push(task, RowKind::Said, text);
            }
            What::Switch { reason, .. } => self.switch(i, task, *reason),
            What::HoldBegin { kind, object } => self.held[task as usize].push((kind, *object)),
            What::HoldEnd { kind, object } => {
                let held = &mut self.held[task as usize];
                if let Some(at) = held.iter().rposition(|hold| *hold == (*kind, *object)) {
                    held.remove(at);
                }
            }
            What::Finished => {
                if let Some(hold) = self.innermost(task) {
                    self.push(task, RowKind::Failed, format!("-- ends, still in {hold} --"));
                }
            }
            What::Panicked { message } => {
                let text = self.panic_text(message);
                self.push(task, RowKind::Failed, text);
            }
            What::Spawned { .. } if !self.raced => self.begin_race(),
            What::Operation { .. } | What::Spawned { .. } => {}
        }
    }

    /// What the first task did while it was alone set the stage, and is no part of the picture.
    fn begin_race(&mut self) {
        self.raced = true;
        self.take_changed();
        self.rows.clear();
        self.last_firm.fill(None);
    }

    fn is_worth_a_row(&self, object: u32) -> bool {
        let named = self.trace.objects.get(object as usize).is_some_and(|info| info.named);
        named || self.facts.shared.get(object as usize).copied().unwrap_or(false)
    }

    fn panic_text(&self, message: &str) -> String {
        match &self.trace.failure {
            Some(failure) if message.starts_with(&format!("{}:", failure.rule)) => {
                format!("-- breaks {} --", clean(&failure.rule))
            }
            _ => format!("-- panics: {} --", cut(&clean(message), MAX_PANIC)),
        }
    }

    /// Remembers the new value of a followed word, unless it is the one that is shown.
    fn word(&mut self, object: u32, before: Option<u64>, after: Option<u64>) {
        let followed = self.facts.followed.get(object as usize).copied().unwrap_or(false);
        let (true, Some(after)) = (followed, after) else { return };
        if before == Some(after) {
            return;
        }
        self.changed.retain(|(changed, _)| *changed != object);
        let Some(now) = value(self.trace, object, after) else { return };
        if self.shown[object as usize].is_none() {
            self.shown[object as usize] = before.and_then(|was| value(self.trace, object, was));
        }
        if self.shown[object as usize].as_ref() != Some(&now) {
            self.changed.push((object, now));
        }
    }

    fn switch(&mut self, i: usize, task: u32, reason: SwitchReason) {
        let hold = self.innermost(task);
        match reason {
            SwitchReason::Preempted => {
                let text = match hold {
                    Some(hold) => format!("-- preempted in {hold} --"),
                    None => "-- preempted --".to_owned(),
                };
                self.push_loose(task, RowKind::Preempted, text);
            }
            SwitchReason::Blocked { object, owner } if self.facts.joins[i] => {
                if hold.is_some() {
                    let text = match (object, owner) {
                        (_, Some(owner)) => format!("the end of {}", task_name(self.trace, owner)),
                        (Some(object), None) => object_name(self.trace, object),
                        (None, None) => "something".to_owned(),
                    };
                    self.push_loose(task, RowKind::Rests, format!("-- waits for {text} --"));
                }
            }
            SwitchReason::Blocked { object, owner } => self.waits(task, object, owner),
            SwitchReason::Sleeping => {
                self.push_loose(task, RowKind::Rests, "-- sleeps --".to_owned());
            }
            SwitchReason::Yielded | SwitchReason::Finished => {}
        }
        self.end_of_run();
    }

    fn waits(&mut self, task: u32, object: Option<u32>, owner: Option<u32>) {
        let Some(object) = object else { return };
        let object = object_name(self.trace, object);
        let Some(owner) = owner else {
            return self.push_loose(task, RowKind::Waits, format!("-- waits for {object} --"));
        };
        let text = if owner == task {
            format!("-- waits for {object}, which it holds itself --")
        } else {
            let owner = task_name(self.trace, owner);
            format!("-- waits for {object}, held by {owner} --")
        };
        // A waiter looks again whenever the word changes; only the first look is news.
        let last = self.last_firm[task as usize];
        if last.is_none_or(|last| self.rows[last].text != text) {
            self.push(task, RowKind::Waits, text);
        }
    }

    fn innermost(&self, task: u32) -> Option<String> {
        let (kind, object) = self.held[task as usize].last()?;
        let name = object_name(self.trace, *object);
        // A lock that nobody named is called by its kind and a number already.
        Some(if name.starts_with(kind) { name.to_string() } else { format!("{kind} of {name}") })
    }

    fn push(&mut self, task: u32, kind: RowKind, text: String) {
        let row = self.row(task, kind, text);
        self.last_firm[task as usize] = Some(self.rows.len());
        self.rows.push(row);
    }

    /// A row that stays only if it explains something. Of several between two rows that stay, a
    /// task's last says most.
    fn push_loose(&mut self, task: u32, kind: RowKind, text: String) {
        let mut row = self.row(task, kind, text);
        let stays = self.last_row_that_stays();
        let above = stays.map_or(0, |last| last + 1);
        if let Some(at) = self.rows[above..].iter().position(|row| row.task == task) {
            let mut words = self.rows.remove(above + at).words;
            words.append(&mut row.words);
            row.words = words;
        }
        let own_row_above = stays.is_some_and(|last| self.rows[last].task == task);
        row.firm = false;
        row.carries = !row.words.is_empty() && !own_row_above && self.speaks(task);
        self.rows.push(row);
    }

    /// A row that shows what changed since the last.
    fn row(&mut self, task: u32, kind: RowKind, text: String) -> Row {
        Row {
            task,
            kind,
            text,
            holds: self.held.iter().map(|held| held.last().map(|(kind, _)| *kind)).collect(),
            words: self.take_changed(),
            fold: None,
            firm: true,
            carries: false,
            site: self.sites[task as usize].map(SiteOf),
        }
    }

    fn take_changed(&mut self) -> Vec<(u32, String)> {
        let words = std::mem::take(&mut self.changed);
        for (object, now) in &words {
            self.shown[*object as usize] = Some(now.clone());
        }
        words
    }

    /// Shows the changes of the running task before another one runs.
    fn end_of_run(&mut self) {
        if self.changed.is_empty() {
            return;
        }
        let task = self.running;
        match self.last_row_that_stays() {
            Some(last) if self.rows[last].task == task => {
                let words = self.take_changed();
                self.rows[last].words.extend(words);
            }
            _ if self.speaks(task) => {
                let text = changes(self.trace, &self.changed);
                self.push(task, RowKind::Did, text);
            }
            _ => drop(self.take_changed()),
        }
    }

    /// Whether changes by `task` may make rows: `main` sets the stage and says so, or is quiet.
    fn speaks(&self, task: u32) -> bool {
        task != 0 || self.facts.speaks[0]
    }

    fn last_row_that_stays(&self) -> Option<usize> {
        self.rows.iter().rposition(|row| row.firm || row.carries)
    }
}

/// What a row says that only shows changed words.
pub(super) fn changes(trace: &Trace, words: &[(u32, String)]) -> String {
    let mut names: Vec<u32> = words.iter().map(|(object, _)| *object).collect();
    names.dedup();
    let names = names.iter().map(|object| object_name(trace, *object));
    format!("changes {}", names.collect::<Vec<_>>().join(", "))
}
