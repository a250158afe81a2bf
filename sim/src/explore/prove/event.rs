//! Events: what a step of a task was, what it touched, and what happened before it.
//!
//! Two steps are *dependent* if they touch the same object and at least one of them writes it; the
//! order of dependent steps, with that of the steps of each task, is all that an execution is, and
//! executions that agree in it are one *trace*. A compare-and-swap or a test-and-set that changed
//! nothing is a read.
//!
//! Source: Mazurkiewicz traces; vector clocks as in Flanagan and Godefroid, "Dynamic partial-order
//! reduction for model checking software" (2005).

use smallvec::SmallVec;

use crate::core::{Place, mix};
use crate::trace::OpKind;

/// A set of tasks, one bit each.
pub(super) type TaskSet = u128;

/// Tasks that a [`TaskSet`] has room for.
pub(super) const MAX_TASKS: usize = 128;

pub(super) fn bit(task: u32) -> TaskSet {
    1 << task
}

/// The tasks of a set, the lowest first.
pub(super) fn tasks_of(mut set: TaskSet) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(lowest)
    })
}

/// Something that a step did to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Access {
    /// Objects are numbered in the order in which the execution first met them.
    pub(super) object: u32,
    pub(super) writes: bool,
    /// It gave a lock back.
    pub(super) frees: bool,
}

impl Access {
    pub(super) fn reads(object: u32) -> Self {
        Self { object, writes: false, frees: false }
    }

    pub(super) fn writes(object: u32) -> Self {
        Self { object, writes: true, frees: false }
    }
}

pub(super) type Accesses = SmallVec<[Access; 2]>;

/// Whether steps that did `a` and `b` have an order.
pub(super) fn dependent(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.object == b.object && (a.writes || b.writes)))
}

/// Which operation a step is, as known before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// `None` for the first step of a task, up to its first scheduling point.
    pub(super) kind: Option<OpKind>,
    /// The object's number.
    pub(super) object: Option<u32>,
    pub(super) place: Place,
}

impl Label {
    /// The first step of a task.
    pub(super) const BEGINS: Self =
        Self { kind: None, object: None, place: std::panic::Location::caller() };

    /// Whether it can only go on once another step has happened, so that the two have no other
    /// order: the end of the task that is joined, the spawn.
    pub(super) fn follows(&self) -> bool {
        matches!(self.kind, None | Some(OpKind::Join))
    }

    /// Whether it must wait while another task has the lock.
    pub(super) fn locks(&self) -> bool {
        self.kind == Some(OpKind::Lock)
    }
}

/// For each task the number of its latest event that happened before, or is, this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock(SmallVec<[u32; 8]>);

impl Clock {
    pub(super) fn get(&self, task: u32) -> u32 {
        self.0.get(task as usize).copied().unwrap_or(0)
    }

    pub(super) fn set(&mut self, task: u32, ordinal: u32) {
        let at = task as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = ordinal;
    }

    pub(super) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

/// A step that was carried out.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) task: u32,
    /// Which of its task's events it is, from 1.
    pub(super) ordinal: u32,
    pub(super) label: Label,
    pub(super) accesses: Accesses,
    pub(super) clock: Clock,
    /// The value that a wait for a word ended with.
    pub(super) awaited: Option<u64>,
    /// A hash of the outcomes that the step picked, or 0.
    pub(super) picked: u64,
}

impl Event {
    pub(super) fn changes_something(&self) -> bool {
        self.label.kind.is_none() || self.accesses.iter().any(|access| access.writes)
    }

    /// Whether it happened before an event that has `clock`.
    pub(super) fn is_before(&self, clock: &Clock) -> bool {
        clock.get(self.task) >= self.ordinal
    }

    /// Its part of the hash of a trace. The parts are added up, so that the order in which
    /// independent events ran does not matter.
    pub(super) fn hash(&self) -> u64 {
        let own = mix(u64::from(self.task) << 32 | u64::from(self.ordinal), 0x7ace ^ self.picked);
        // Zeros at the end are left out: the clock is as long as its latest task needs.
        let used = self.clock.0.iter().rposition(|&ordinal| ordinal != 0).map_or(0, |at| at + 1);
        let clock = self.clock.0[..used].iter();
        scatter(clock.fold(own, |hash, &ordinal| mix(hash, u64::from(ordinal))))
    }
}

/// The last step of SplitMix64: numbers that are close are no longer, so that they can be added up.
fn scatter(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
