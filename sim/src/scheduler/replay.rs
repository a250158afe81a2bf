//! Replay: a recorded schedule, decision by decision.
//!
//! A schedule names an execution of *this* code: when scheduling points move, it no longer fits.
//! Then it says where it left its path and goes on with the lowest task that can run.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::Turn;

/// The switches of one execution. Its text form is one line that starts with its version:
/// `v1:12.1,40.0` means that task 1 runs from step 12 on, and task 0 from step 40 on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    switches: Arc<[(u64, u32)]>,
}

impl Schedule {
    pub(crate) fn new(switches: Vec<(u64, u32)>) -> Self {
        Self { switches: switches.into() }
    }

    /// The switches: from this step on, this task runs.
    #[must_use]
    pub fn switches(&self) -> &[(u64, u32)] {
        &self.switches
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("v1:")?;
        for (i, (step, task)) in self.switches.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{step}.{task}")?;
        }
        Ok(())
    }
}

/// Why a text is not a [`Schedule`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseScheduleError {
    /// It has no version, or one we do not know.
    #[error("a schedule starts with its version, `v1:`")]
    Version,
    /// A switch is not `step.task`.
    #[error(
        "switch {0:?} of a schedule is not STEP.TASK with ascending steps, as in `v1:12.1,40.0`"
    )]
    Switch(String),
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let body = text.trim().strip_prefix("v1:").ok_or(ParseScheduleError::Version)?;
        let mut switches: Vec<(u64, u32)> = Vec::new();
        for part in body.split(',').filter(|part| !part.is_empty()) {
            let switch = part
                .split_once('.')
                .and_then(|(step, task)| Some((step.parse().ok()?, task.parse().ok()?)))
                .filter(|&(step, _): &(u64, u32)| switches.last().is_none_or(|last| last.0 <= step))
                .ok_or_else(|| ParseScheduleError::Switch(part.to_owned()))?;
            switches.push(switch);
        }
        Ok(Self::new(switches))
    }
}

pub(crate) struct Replay {
    schedule: Schedule,
    at: usize,
    diverged: Option<u64>,
}

impl Replay {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self { schedule, at: 0, diverged: None }
    }

    fn next(&self) -> Option<(u64, u32)> {
        self.schedule.switches.get(self.at).copied()
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        let mut task = turn.current;
        if let Some((step, to)) = self.next()
            && step <= turn.step
        {
            self.at += 1;
            task = self.follow(turn, to);
        }
        turn.next_event = self.next().map_or(Turn::NEVER, |(step, _)| step);
        task
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        let to = match self.next() {
            Some((step, to)) if step <= turn.step => {
                self.at += 1;
                to
            }
            _ => u32::MAX,
        };
        let task = self.follow(turn, to);
        turn.next_event = self.next().map_or(Turn::NEVER, |(step, _)| step);
        task
    }

    fn follow(&mut self, turn: &Turn<'_>, to: u32) -> u32 {
        if turn.runnable.contains(&to) {
            return to;
        }
        self.diverged.get_or_insert(turn.step);
        turn.runnable.iter().copied().min().unwrap_or(turn.current)
    }

    pub(crate) fn divergence(&self) -> Option<String> {
        let n = self.schedule.switches.len();
        match self.diverged {
            Some(step) => Some(format!("diverged at step {step}, switch {} of {n}", self.at)),
            None if self.at < n => {
                Some(format!("ended after {} of {n} switches of the schedule", self.at))
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_survives_its_text_form() {
        let text = "v1:12.1,40.0,40.3";
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        assert_eq!("v1:".parse::<Schedule>().unwrap(), Schedule::default());
    }

    #[test]
    fn a_malformed_schedule_names_the_switch() {
        assert_eq!("12.1".parse::<Schedule>(), Err(ParseScheduleError::Version));
        for bad in ["v1:12", "v1:x.1", "v1:12.1,3.0"] {
            assert!(matches!(bad.parse::<Schedule>(), Err(ParseScheduleError::Switch(_))), "{bad}");
        }
    }
}
