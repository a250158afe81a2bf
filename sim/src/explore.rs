//! Stand-in for the real module, until it is merged: only what `trace` imports.

use crate::trace::Site;

/// What went wrong in an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The rule that broke.
    pub rule: String,
    /// The first panic message, or the machine's sentence.
    pub message: String,
    /// The task that failed.
    pub task: String,
    /// Where the panic was raised.
    pub site: Option<Site>,
    /// Further lines.
    pub detail: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}
