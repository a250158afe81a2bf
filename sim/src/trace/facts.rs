//! What must be known of a whole trace before its rows can be picked.

use super::event::{OpKind, SwitchReason, Trace, What};

/// Facts of one trace, by task, object or event id.
#[derive(Debug)]
pub(super) struct Facts {
    /// How many tasks there are.
    pub(super) n_tasks: usize,
    /// Whether any task wrote a note or a log event. Without, operations make the picture.
    pub(super) has_notes: bool,
    /// By task: it wrote a note or a log event.
    pub(super) speaks: Vec<bool>,
    /// By object: two or more tasks touched it.
    pub(super) shared: Vec<bool>,
    /// By object: a word that the picture follows. It was named with `name_word!` and is shared.
    pub(super) followed: Vec<bool>,
    /// By event: a block that waits for another task's end.
    pub(super) joins: Vec<bool>,
}

impl Facts {
    /// Reads `trace` once forwards and once backwards.
    pub(super) fn of(trace: &Trace) -> Self {
        let n_tasks = trace.events.iter().map(|event| event.task as usize + 1);
        let n_tasks = n_tasks.max().unwrap_or(0).max(trace.tasks.len());
        let n_objects = trace.objects.len();
        let mut speaks = vec![false; n_tasks];
        let mut touched_by: Vec<Option<u32>> = vec![None; n_objects];
        let mut shared = vec![false; n_objects];
        for event in &trace.events {
            match &event.what {
                What::Note(_) | What::Log { .. } => speaks[event.task as usize] = true,
                What::Operation { object: Some(object), .. }
                | What::HoldBegin { object, .. }
                | What::Switch {
                    reason: SwitchReason::Blocked { object: Some(object), .. }, ..
                } => {
                    if let Some(first) = touched_by.get_mut(*object as usize) {
                        let first = *first.get_or_insert(event.task);
                        shared[*object as usize] |= first != event.task;
                    }
                }
                _ => {}
            }
        }
        let followed = shared.iter().zip(&trace.objects);
        let followed = followed.map(|(&shared, info)| shared && info.show.is_some()).collect();
        let has_notes = speaks.contains(&true);
        Self { n_tasks, has_notes, speaks, shared, followed, joins: joins(trace, n_tasks) }
    }
}

/// A block waits for a task's end if it names no object, or if a join is what the task does next.
fn joins(trace: &Trace, n_tasks: usize) -> Vec<bool> {
    let mut next_is_join = vec![false; n_tasks];
    let mut joins = vec![false; trace.events.len()];
    for (i, event) in trace.events.iter().enumerate().rev() {
        match event.what {
            What::Operation { kind, .. } => {
                next_is_join[event.task as usize] = kind == OpKind::Join;
            }
            What::Switch { reason: SwitchReason::Blocked { object, .. }, .. } => {
                joins[i] = object.is_none() || next_is_join[event.task as usize];
            }
            _ => {}
        }
    }
    joins
}
