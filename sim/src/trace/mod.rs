//! What a recorded execution looks like: its timeline, its shape, its failure report.
//!
//! A [`Trace`] is plain data: the events of one execution, in order. Everything here is a pure
//! function of it. `rows` picks what deserves a row and `fold` folds the loops; [`Trace::timeline`]
//! and [`Trace::to_html`] draw the same rows, as text of at most 120 columns and as a page.
//!
//! Keeps: a timeline holds no address, time, hash order, line number or absolute step, so that an
//! edit which does not change what the tasks do to each other does not change the picture.

mod event;
mod facts;
mod fold;
mod html;
mod json;
mod layer;
mod perfetto;
mod report;
mod rows;
mod settle;
mod shape;
mod text;
mod timeline;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use words::kind_name;

pub use event::{Event, ObjectInfo, OpKind, Site, SwitchReason, TaskInfo, Trace, What};
pub use layer::{TraceLayer, install, layer};
