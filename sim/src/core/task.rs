//! Tasks: threads of the code under test.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;

use super::fiber::Fiber;
use crate::hold::HoldKind;
use crate::trace::OpKind;

/// A place in the code under test.
pub(crate) type Place = &'static Location<'static>;

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
    /// The task whose end is waited for, where it is that.
    pub(crate) joins: Option<u32>,
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

impl Watch {
    /// Whether a spinner's word has another value than it saw.
    pub(crate) fn differs(&self) -> bool {
        matches!(self, Self::Differs { differs: true, .. })
    }
}

/// What a spinning task is up to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spin {
    /// Nothing that we know of.
    No,
    /// It makes a lap in which we write down what it looks at. `hinted` says whether the lap ends
    /// with a hint or, for loops that give none, after enough steps.
    Lap { hinted: bool, touched: bool },
    /// It is blocked until one of its words changes.
    Waiting,
}

/// What was so at a task's latest spin hint.
#[derive(Clone, Copy, Default)]
pub(crate) struct Hint {
    /// The task's own steps.
    pub(crate) at: u64,
    /// Steps since the hint before.
    pub(crate) lap: u64,
    pub(crate) object: usize,
    pub(crate) seen: u64,
}

#[repr(C)]
pub(crate) struct Task {
    /// The object of the latest step, and the value an atomic operation found there.
    pub(crate) last_object: usize,
    pub(crate) last_seen: u64,
    /// The step at which the task's test-and-set last found its value there already.
    pub(crate) changed_nothing_at: u64,
    pub(crate) fiber: Fiber,
    pub(crate) runnable_at: u32,
    pub(crate) finished: bool,
    /// It died alone: it is finished, and was not unwound.
    pub(crate) killed: bool,
    /// The task whose scope it is in, and from which it borrows.
    pub(crate) scoped: Option<u32>,
    /// The life that it is part of; 0 for none.
    pub(crate) life: u32,
    pub(crate) parked_token: bool,
    pub(crate) timed_out: bool,
    pub(crate) pending: Pending,
    pub(crate) wait: Option<Wait>,
    pub(crate) watches: Vec<(usize, Watch)>,
    pub(crate) spin: Spin,
    pub(crate) hint: Hint,
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
            last_object: 0,
            last_seen: 0,
            changed_nothing_at: 0,
            fiber: Fiber::NONE,
            runnable_at: NOT_RUNNABLE,
            finished: false,
            killed: false,
            scoped: None,
            life: 0,
            parked_token: false,
            timed_out: false,
            pending: Pending { kind: OpKind::Spawn, object: 0, place: Location::caller() },
            wait: None,
            watches: Vec::new(),
            spin: Spin::No,
            hint: Hint::default(),
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
        self.last_object = 0;
        self.changed_nothing_at = 0;
        self.hint = Hint::default();
        // What it is about to do is to start.
        self.pending.kind = OpKind::Spawn;
        self.pending.object = 0;
        self.finished = false;
        self.killed = false;
        self.scoped = None;
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
