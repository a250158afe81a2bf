//! What went wrong in an execution.

use crate::core::Place;
use crate::trace::Site;

/// Why an execution failed.
///
/// Two failures are the same finding if their rules are equal; messages may name other tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The rule that broke: an invariant's id (`I-ID2`) if the panic message began with one, else
    /// `panic`, or what the machine found: `deadlock`, `livelock`, `step-limit`, `hold-no-sleep`,
    /// `hold-no-lock`, `hold-max-steps`, `I-SP1`, `stuck-spinlock`, `data-race`.
    pub rule: String,
    /// The first panic's message, or the machine's sentence. Without the rule.
    pub message: String,
    /// The task that failed.
    pub task: String,
    /// Where, if known.
    pub site: Option<Site>,
    /// Further lines: who waits for what, second panics.
    pub detail: Vec<String>,
}

impl Failure {
    pub(crate) fn new(rule: &str, message: impl Into<String>) -> Self {
        Self { rule: rule.to_owned(), message: message.into(), ..Self::default() }
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.site = Some(place.into());
        self
    }

    /// A message such as `I-ID2: nobody pins a nameless frame` breaks the rule `I-ID2`.
    pub(crate) fn from_panic(message: &str) -> Self {
        match message.split_once(": ") {
            Some((rule, rest)) if is_rule(rule) => Self::new(rule, rest),
            _ => Self::new("panic", message),
        }
    }
}

/// `I-ID2`, `I-WAL1`, `stuck-spinlock`: letters, digits and at least one hyphen, short.
fn is_rule(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    (3..=24).contains(&text.len())
        && text.contains('-')
        && !text.starts_with('-')
        && text.chars().all(word)
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_begins_with_a_rule_breaks_that_rule() {
        let failure = Failure::from_panic("I-ID2: nobody pins a nameless frame");
        assert_eq!((&*failure.rule, &*failure.message), ("I-ID2", "nobody pins a nameless frame"));
    }

    #[test]
    fn other_messages_are_plain_panics() {
        for message in ["left: 1, right 2", "a b-c: d", "index out of bounds", "-x: y"] {
            assert_eq!(Failure::from_panic(message).rule, "panic");
        }
    }
}
