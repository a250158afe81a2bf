//! Coverage of interleavings: what tasks did to each other, over many executions.
//!
//! Two kinds of meetings are counted. A *hand-off* is a pair of places: one task changed a word, a
//! lock or a cell there, and before the next change another task touched it here. A *hold met* is a kind of hold
//! and a place: while a task that could not run just then had such a hold, another task did
//! something there. What matters is whether an execution shows a meeting at all, so each counts
//! once an execution.
//!
//! From the meetings seen in one execution only, and in two, follows what is still unseen: the next
//! execution shows on average `seen_once / executions` new ones (Good 1953, after Turing), and at
//! least about `seen_once² / (2 seen_twice)` have not been seen at all (Chao 1987).
//!
//! Everything here is a pure function of recorded executions. Places are lines of the source, so a
//! coverage is good for the code it was measured with.

use std::collections::{BTreeMap, BTreeSet};

use crate::trace::{Event, OpKind, Site, Trace, What};

/// An operation at a place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// Where.
    pub site: Site,
    /// What.
    pub kind: OpKind,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.site, crate::trace::kind_name(self.kind))
    }
}

/// A task changed something, and another one touched it before it changed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandOff {
    /// The change.
    pub from: Access,
    /// What met it.
    pub to: Access,
}

/// While a task had a hold and did not run, another task did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoldMet {
    /// The kind of the hold, for example `header lock`.
    pub hold: &'static str,
    /// Whether it was done to the very object that was held.
    pub same_object: bool,
    /// What was done.
    pub by: Access,
}

/// Meetings, and the executions that showed each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Executions looked at.
    pub executions: u64,
    /// Executions by hand-off.
    pub hand_offs: BTreeMap<HandOff, u64>,
    /// Executions by hold met.
    pub holds: BTreeMap<HoldMet, u64>,
}

/// How much of something there is, and how much is still to come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Richness {
    /// Different ones seen.
    pub seen: u64,
    /// Those that one execution alone has shown.
    pub seen_once: u64,
    /// New ones to expect in the next 1,000 executions, at today's rate.
    pub new_per_1000: f64,
    /// Those that no execution has shown yet: a lower bound, by estimate.
    pub unseen: f64,
}

impl Coverage {
    /// Adds what one recorded execution shows.
    pub fn observe(&mut self, trace: &Trace) {
        let mut seen = Seen::default();
        let mut meetings = Meetings::default();
        for event in &trace.events {
            meetings.event(event, &mut seen);
        }
        self.executions += 1;
        for hand_off in seen.hand_offs {
            *self.hand_offs.entry(hand_off).or_default() += 1;
        }
        for hold in seen.holds {
            *self.holds.entry(hold).or_default() += 1;
        }
    }

    /// Adds what other executions have shown. In whatever order, the sum is the same.
    pub fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        for (hand_off, executions) in &other.hand_offs {
            *self.hand_offs.entry(*hand_off).or_default() += executions;
        }
        for (hold, executions) in &other.holds {
            *self.holds.entry(*hold).or_default() += executions;
        }
    }

    /// How many hand-offs there are.
    #[must_use]
    pub fn hand_off_richness(&self) -> Richness {
        Richness::of(self.executions, self.hand_offs.values())
    }

    /// How many holds met there are.
    #[must_use]
    pub fn hold_richness(&self) -> Richness {
        Richness::of(self.executions, self.holds.values())
    }
}

impl Richness {
    /// The richness of what `executions` executions showed, each as often as `counts` says.
    #[must_use]
    pub fn of<'a>(executions: u64, counts: impl Iterator<Item = &'a u64>) -> Self {
        let (mut seen, mut once, mut twice) = (0, 0, 0);
        for &count in counts {
            seen += 1;
            once += u64::from(count == 1);
            twice += u64::from(count == 2);
        }
        if executions == 0 {
            return Self::default();
        }
        let (q1, q2, n) = (once as f64, twice as f64, executions as f64);
        // The form for no pair at all is Chao's own, corrected for bias.
        let unseen = if twice > 0 { q1 * q1 / (2.0 * q2) } else { q1 * (q1 - 1.0) / 2.0 };
        Self {
            seen,
            seen_once: once,
            new_per_1000: 1_000.0 * q1 / n,
            unseen: (n - 1.0) / n * unseen.max(0.0),
        }
    }
}

/// What one execution showed.
#[derive(Default)]
struct Seen {
    hand_offs: BTreeSet<HandOff>,
    holds: BTreeSet<HoldMet>,
}

/// The state of an execution as its events go by.
#[derive(Default)]
struct Meetings {
    /// Task and place of the latest change, by object.
    changed: BTreeMap<u32, (u32, Access)>,
    /// Holds that are owned: task, kind, object.
    held: Vec<(u32, &'static str, u32)>,
}

impl Meetings {
    fn event(&mut self, event: &Event, seen: &mut Seen) {
        match event.what {
            What::HoldBegin { kind, object } => self.held.push((event.task, kind, object)),
            What::HoldEnd { object, .. } => {
                let ended = |&(task, _, held)| task == event.task && held == object;
                if let Some(at) = self.held.iter().rposition(ended) {
                    self.held.remove(at);
                }
            }
            What::Operation { kind, object: Some(object), before, after } => {
                let Some(site) = event.site else { return };
                let changes = match kind {
                    OpKind::ReadModifyWrite | OpKind::CompareExchange => before != after,
                    _ => always_changes(kind),
                };
                self.operation(event.task, object, Access { site, kind }, changes, seen);
            }
            _ => {}
        }
    }

    fn operation(&mut self, task: u32, object: u32, by: Access, changes: bool, seen: &mut Seen) {
        if let Some(&(other, from)) = self.changed.get(&object)
            && other != task
        {
            seen.hand_offs.insert(HandOff { from, to: by });
        }
        if changes {
            self.changed.insert(object, (task, by));
        }
        for &(_, hold, held) in self.held.iter().filter(|(owner, ..)| *owner != task) {
            seen.holds.insert(HoldMet { hold, same_object: held == object, by });
        }
    }
}

/// Whether an operation changes what it is done to, whatever its values say.
fn always_changes(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Store
            | OpKind::CellWrite
            | OpKind::Lock
            | OpKind::LockShared
            | OpKind::Unlock
            | OpKind::Notify
            | OpKind::Send
            | OpKind::Receive
            | OpKind::Unpark
            | OpKind::FileWrite
    )
}
