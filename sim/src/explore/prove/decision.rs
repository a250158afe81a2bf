//! Decisions as they are kept: what a later run needs to come to the same place.
//!
//! A node of the path without what a run finds out again: the step, its order, who could go on.

use super::event::{Accesses, TaskSet};
use super::path::Node;

/// A task that need not be chosen until something dependent happens.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Sleeper {
    pub(super) task: u32,
    pub(super) accesses: Accesses,
    /// It was tried and would have waited; a task that merely was tried before sleeps too.
    pub(super) futile: bool,
}

/// See [`Node`], whose fields these are.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Decision {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) outcomes: u32,
    pub(super) chosen: u32,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) wanted: TaskSet,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) done: TaskSet,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) sleep: Vec<Sleeper>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) productive: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) stuck: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_empty(set: &TaskSet) -> bool {
    *set == 0
}

impl From<&Node> for Decision {
    fn from(node: &Node) -> Self {
        Self {
            outcomes: node.outcomes,
            chosen: node.chosen,
            wanted: node.wanted,
            done: node.done,
            sleep: node.sleep.clone(),
            productive: node.productive,
            stuck: node.stuck,
        }
    }
}
