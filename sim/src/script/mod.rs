//! Scripts: the form of a schedule that survives edits.
//!
//! A script says in turns who runs how far, in the words of the notes. One turn a line:
//!
//! ```text
//! seed 7                                       # for what the script leaves open; 0 if not given
//! reader until "finds page 1 in buffer 0"      # until it notes a text that contains this
//! evictor until blocked
//! evictor until holding "header lock" of "buffer 0 state"
//! reader for 3 steps
//! reader to the end
//! ```
//!
//! `#` begins a comment, blank lines are ignored, `of ".."` may be left out. A role is written as
//! it is (`reader 2`), or in quotes where it would be read as something else. In quotes `\"`,
//! `\\`, `\n` and `\t` stand for themselves.

mod parse;

use std::fmt;

pub use parse::ScriptError;

/// Who runs how far, turn by turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// Seed of the scheduler that goes on where the script no longer fits.
    pub seed: u64,
}

/// One task runs until something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Name of the task.
    pub role: String,
    /// How far it runs.
    pub until: Until,
}

/// Where a turn ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// It notes this, or a text that contains this.
    Note(String),
    /// It waits for something.
    Blocked,
    /// It begins a hold.
    Holding {
        /// The kind's name, for example `header lock`.
        kind: String,
        /// Name of the object, if it matters.
        object: Option<String>,
    },
    /// It passed this many scheduling points, at least one.
    Steps(u64),
    /// It comes to its end.
    End,
}

impl Turn {
    /// Whether the task's note `note` ends this turn: it is the turn's text, or contains it.
    #[must_use]
    pub fn note_matches(&self, note: &str) -> bool {
        matches!(&self.until, Until::Note(text) if note.contains(text.as_str()))
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seed != 0 {
            writeln!(f, "seed {}", self.seed)?;
        }
        self.turns.iter().try_for_each(|turn| writeln!(f, "{turn}"))
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if parse::is_plain_role(&self.role) {
            f.write_str(&self.role)?;
        } else {
            quoted(f, &self.role)?;
        }
        write!(f, " {}", self.until)
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(text) => {
                f.write_str("until ")?;
                quoted(f, text)
            }
            Self::Blocked => f.write_str("until blocked"),
            Self::Holding { kind, object } => {
                f.write_str("until holding ")?;
                quoted(f, kind)?;
                let Some(object) = object else { return Ok(()) };
                f.write_str(" of ")?;
                quoted(f, object)
            }
            Self::Steps(1) => f.write_str("for 1 step"),
            Self::Steps(n) => write!(f, "for {n} steps"),
            Self::End => f.write_str("to the end"),
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            _ => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests;
