//! How each scheduler of a portfolio fared, as text and as JSON.

use std::cmp::Reverse;

use holdup_scenarios::sweep::Tally;
use serde_json::{Value, json};

use super::output;

/// One row a scheduler, sorted by name.
pub(crate) fn to_json(tally: &Tally) -> Vec<Value> {
    let arms = tally.arms.iter().map(|(name, arm)| {
        json!({ "name": name, "executions": arm.executions, "failures": arm.failures })
    });
    arms.collect()
}

/// A line with the schedulers that found the failures, the most successful first; nothing where
/// there were no failures.
pub(crate) fn found_by(tally: &Tally) -> String {
    let mut arms: Vec<_> = tally.arms.iter().filter(|(_, arm)| arm.failures > 0).collect();
    arms.sort_by_key(|(_, arm)| Reverse(arm.failures * 1_000_000 / arm.executions.max(1)));
    let arms = arms.into_iter().map(|(name, arm)| {
        let (failures, executions) = (arm.failures, arm.executions);
        format!("{name} {} of {}", output::grouped(failures), output::grouped(executions))
    });
    let arms: Vec<_> = arms.collect();
    if arms.is_empty() { String::new() } else { format!("  found by  {}\n", arms.join(", ")) }
}
