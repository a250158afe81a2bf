//! Tasks: threads of the code under test.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use super::stacks::{Fiber, TaskYielder};
use crate::hold::HoldKind;
use crate::trace::OpKind;

/// A place in the code under test.
pub(crate) type Place = &'static Location<'static>;

/// How many of a task's latest objects are remembered for its next spin hint.
pub(crate) const RING: usize = 16;
/// `Task::runnable_at` of a task that cannot run.
pub(crate) const NOT_RUNNABLE: u32 = u32::MAX;

/// The visible operation a task is about to carry out.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) kind: OpKind,
    /// Address of the object; 0 for none.
    pub(crate) object: usize,
    pub(crate) place: Place,
}

/// A lock that a task owns.
#[derive(Clone, Copy)]
pub(crate) struct Hold {
    pub(crate) kind: &'static HoldKind,
    pub(crate) object: usize,
    pub(crate) place: Place,
    /// The task's own steps when the hold began.
    pub(crate) began: u64,
}

/// What a task waits for.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) object: usize,
    /// Bit set of the ways to wait on this object; `enable` and `disable` name some of them.
    pub(crate) class: u8,
    pub(crate) timed: bool,
    pub(crate) sleeps: bool,
}

/// A word that a task watches, and when it is satisfied.
#[derive(Clone, Copy)]
pub(crate) enum Watch {
    /// Satisfied while the value differs from the one the task saw, which the first writer after
    /// it tells.
    Differs { seen: Option<u64>, differs: bool },
    /// Satisfied while these bits are clear.
    BitsClear(u64),
    /// Satisfied while the predicate holds. It lives on the stack of the waiting task.
    Holds(*const dyn Fn(u64) -> bool),
}

/// What a spinning task has told us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spin {
    /// Nothing.
    No,
    /// It gave one hint and its words are watched; another hint with no change in between blocks.
    Armed,
    /// It is blocked until one of its words changes.
    Waiting,
}

pub(crate) struct Task {
    pub(crate) ring: [usize; RING],
    pub(crate) yielder: *const TaskYielder,
    pub(crate) fiber: Option<Fiber>,
    pub(crate) runnable_at: u32,
    pub(crate) finished: bool,
    pub(crate) parked_token: bool,
    pub(crate) timed_out: bool,
    pub(crate) pending: Pending,
    pub(crate) wait: Option<Wait>,
    pub(crate) watches: Vec<(usize, Watch)>,
    pub(crate) spin: Spin,
    pub(crate) spin_touched: bool,
    /// `Execution::changes` when quiescence last woke the task out of a spin.
    pub(crate) spin_confirmed: u64,
    pub(crate) holds: Vec<Hold>,
    pub(crate) name: Option<Arc<str>>,
    /// Steps taken before it was last switched in, and the global step then.
    pub(crate) own_steps: u64,
    pub(crate) switched_in: u64,
    pub(crate) locals: Vec<(usize, Box<dyn Any>)>,
}

impl Task {
    pub(crate) fn new() -> Self {
        Self {
            ring: [0; RING],
            yielder: std::ptr::null(),
            fiber: None,
            runnable_at: NOT_RUNNABLE,
            finished: false,
            parked_token: false,
            timed_out: false,
            pending: Pending { kind: OpKind::Spawn, object: 0, place: Location::caller() },
            wait: None,
            watches: Vec::new(),
            spin: Spin::No,
            spin_touched: false,
            spin_confirmed: u64::MAX,
            holds: Vec::new(),
            name: None,
            own_steps: 0,
            switched_in: 0,
            locals: Vec::new(),
        }
    }

    /// Makes a used slot ready for a new task.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.ring = [0; RING];
        self.finished = false;
        self.parked_token = false;
        self.timed_out = false;
        self.wait = None;
        self.watches.clear();
        self.spin = Spin::No;
        self.spin_confirmed = u64::MAX;
        self.holds.clear();
        self.name = None;
        self.own_steps = 0;
        self.runnable_at = NOT_RUNNABLE;
    }

    #[inline]
    pub(crate) fn is_runnable(&self) -> bool {
        self.runnable_at != NOT_RUNNABLE
    }
}
