//! A trace told event by event, for whoever compares executions or points at moments of one.

use super::event::{Event, Trace, What};
use super::text::clean;
use super::words::{object_name, operation, task_name};

impl Trace {
    /// What the event says in words, without its task and place: a note's text, `swaps buffer 0
    /// state: 0 -> 1`. `None` for what a task does not do itself: that it was switched away from.
    /// Holds no address.
    #[must_use]
    pub fn describe(&self, event: &Event) -> Option<String> {
        Some(match &event.what {
            What::Operation { kind, object: Some(object), before, after } => {
                operation(self, *kind, *object, *before, *after)
            }
            What::Operation { kind, object: None, .. } => super::words::kind_name(*kind).into(),
            What::Note(text) => format!("\"{}\"", clean(text)),
            What::Fault(text) => clean(text),
            What::Log { level, message, .. } => {
                format!("{}: {}", level.to_lowercase(), clean(message))
            }
            What::HoldBegin { kind, object } => {
                format!("begins a hold, {kind} of {}", object_name(self, *object))
            }
            What::HoldEnd { kind, object } => {
                format!("ends a hold, {kind} of {}", object_name(self, *object))
            }
            What::Spawned { child } => format!("spawns {}", task_name(self, *child)),
            What::Finished => "comes to its end".into(),
            What::Panicked { message } => format!("panics: {}", clean(message)),
            What::Switch { .. } => return None,
        })
    }
}
