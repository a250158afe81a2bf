//! Replay: a recorded schedule, decision by decision.
//!
//! A schedule names an execution of *this* code: when scheduling points move, it no longer fits.
//! Then it says where it left its path and goes on with the lowest task that can run.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::Turn;
use crate::trace::{SwitchReason, Trace, What};

/// A place where another task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The latest scheduling point, counted from 1.
    pub step: u64,
    /// The task that goes on.
    pub task: u32,
    /// Whether the running task is taken off before it carries out the operation of that step. If
    /// not, it has done so, and waits or has ended.
    pub preempts: bool,
}

/// The switches of one execution. Its text form is one line that starts with its version:
/// `v1:12.1,40+0` means that task 1 goes on before the operation of step 12 is carried out, and
/// task 0 after that of step 40, for the one that ran waits then or has ended. Where the machine
/// picked for a proof, which waiting task a wake-up reaches or whether a fault strikes, the outcomes
/// follow: `v1:12.1;0.2.1`.
///
/// Made from the [`Trace`] of an execution, or parsed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    switches: Arc<[Switch]>,
    picks: Arc<[u32]>,
}

impl Schedule {
    /// The switches, in order.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// With the outcomes of what the machine picks.
    pub(crate) fn with_picks(self, picks: &[u32]) -> Self {
        Self { picks: picks.into(), ..self }
    }
}

impl From<&Trace> for Schedule {
    fn from(trace: &Trace) -> Self {
        let switches = trace.events.iter().filter_map(|event| match event.what {
            // Where nobody is left to go on, the record has a switch to the task itself.
            What::Switch { to, reason } if to != event.task => Some(Switch {
                step: event.step,
                task: to,
                preempts: reason == SwitchReason::Preempted,
            }),
            _ => None,
        });
        Self { switches: switches.collect(), picks: Arc::default() }
    }
}

impl From<&[Switch]> for Schedule {
    fn from(switches: &[Switch]) -> Self {
        Self { switches: switches.into(), picks: Arc::default() }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("v1:")?;
        for (i, Switch { step, task, preempts }) in self.switches.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let sign = if *preempts { '.' } else { '+' };
            write!(f, "{comma}{step}{sign}{task}")?;
        }
        for (i, pick) in self.picks.iter().enumerate() {
            write!(f, "{}{pick}", if i == 0 { ';' } else { '.' })?;
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
    /// A switch is neither `step.task` nor `step+task`.
    #[error(
        "switch {0:?} of a schedule is not STEP.TASK or STEP+TASK with ascending steps, as in \
         `v1:12.1,40+0`"
    )]
    Switch(String),
    /// What follows the switches are no outcomes.
    #[error("outcomes {0:?} of a schedule are not numbers with dots between, as in `v1:12.1;0.2`")]
    Picks(String),
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let body = text.trim().strip_prefix("v1:").ok_or(ParseScheduleError::Version)?;
        let (body, picks) = body.split_once(';').unwrap_or((body, ""));
        let parts = picks.split('.').filter(|part| !part.is_empty());
        let picks: Result<Vec<_>, _> = parts.map(str::parse).collect();
        let picks = picks.map_err(|_| ParseScheduleError::Picks(text.trim().to_owned()))?;
        let mut switches: Vec<Switch> = Vec::new();
        for part in body.split(',').filter(|part| !part.is_empty()) {
            let least = switches.last().map_or(0, |last| last.step);
            let switch = parse(part).filter(|switch| switch.step >= least);
            switches.push(switch.ok_or_else(|| ParseScheduleError::Switch(part.to_owned()))?);
        }
        Ok(Self { switches: switches.into(), picks: picks.into() })
    }
}

fn parse(text: &str) -> Option<Switch> {
    let at = text.find(['.', '+'])?;
    let (step, task) = (text[..at].parse().ok()?, text[at + 1..].parse().ok()?);
    Some(Switch { step, task, preempts: text[at..].starts_with('.') })
}

pub(crate) struct Replay {
    schedule: Schedule,
    at: usize,
    picked: usize,
    /// The step, and how many switches were behind it.
    diverged: Option<(u64, usize)>,
}

impl Replay {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self { schedule, at: 0, picked: 0, diverged: None }
    }

    /// The outcome of the next thing the machine picks, of `n`, if the schedule says.
    pub(crate) fn pick(&mut self, n: u32) -> Option<u32> {
        let pick = self.schedule.picks.get(self.picked).copied();
        self.picked += 1;
        pick.map(|pick| pick.min(n - 1))
    }

    /// Whether it says what the machine picks.
    pub(crate) fn picks(&self) -> bool {
        !self.schedule.picks.is_empty()
    }

    fn next(&self) -> Option<Switch> {
        self.schedule.switches.get(self.at).copied()
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        let task = match self.next() {
            Some(next) if next.preempts && next.step <= turn.step => self.follow(turn, next, true),
            // The operation of that step was to end in a wait, and has not.
            Some(next) if next.step < turn.step => self.follow(turn, next, false),
            _ => turn.current,
        };
        self.ask_again(turn);
        task
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        let task = match self.next() {
            Some(next) if next.step <= turn.step => self.follow(turn, next, !next.preempts),
            // Time leapt, and the task that waited goes on itself: no switch.
            _ if turn.runnable.contains(&turn.current) => turn.current,
            _ => self.leave(turn),
        };
        self.ask_again(turn);
        task
    }

    fn ask_again(&self, turn: &mut Turn<'_>) {
        turn.next_event =
            self.next().map_or(Turn::NEVER, |next| next.step + u64::from(!next.preempts));
    }

    fn follow(&mut self, turn: &Turn<'_>, next: Switch, as_recorded: bool) -> u32 {
        self.at += 1;
        if !turn.runnable.contains(&next.task) {
            return self.leave(turn);
        }
        if !as_recorded {
            self.diverged.get_or_insert((turn.step, self.at));
        }
        next.task
    }

    /// The schedule does not fit.
    fn leave(&mut self, turn: &Turn<'_>) -> u32 {
        self.diverged.get_or_insert((turn.step, self.at));
        turn.runnable.iter().copied().min().unwrap_or(turn.current)
    }

    pub(crate) fn divergence(&self) -> Option<String> {
        let n = self.schedule.switches.len();
        match self.diverged {
            Some((step, at)) => Some(format!("diverged at step {step}, switch {at} of {n}")),
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
        let text = "v1:12.1,40+0,40.3";
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        assert_eq!("v1:".parse::<Schedule>().unwrap(), Schedule::default());
    }

    #[test]
    fn a_malformed_schedule_names_the_switch() {
        assert_eq!("12.1".parse::<Schedule>(), Err(ParseScheduleError::Version));
        for bad in ["v1:12", "v1:x.1", "v1:1.", "v1:12.1,3+0"] {
            assert!(matches!(bad.parse::<Schedule>(), Err(ParseScheduleError::Switch(_))), "{bad}");
        }
    }
}
