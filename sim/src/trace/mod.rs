//! What a recorded execution looks like.
mod event;
pub use event::{Event, ObjectInfo, OpKind, Site, SwitchReason, TaskInfo, Trace, What};
impl Trace {
    /// stub
    pub fn timeline(&self) -> String { String::new() }
    /// stub
    pub fn failure_report(&self, replay: &str, _full: bool) -> String { format!("{:?}\n{replay}", self.failure) }
}
