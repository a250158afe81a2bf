//! What an execution that is recorded leaves behind: plain data, no addresses, no clocks.

use crate::explore::{Failure, FaultCounts};

/// One recorded execution.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the test or scenario.
    pub name: String,
    /// The seed that was run.
    pub seed: u64,
    /// The scheduler that was asked for, for example `portfolio`.
    pub scheduler: String,
    /// The scheduler that decided, for example `pct3` where the portfolio drew that arm.
    pub arm: String,
    /// The bug that was switched on, if any.
    pub mutant: Option<String>,
    /// Tasks by id; `0` is `main`.
    pub tasks: Vec<TaskInfo>,
    /// Objects by id, in the order in which the execution first touched them.
    pub objects: Vec<ObjectInfo>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// Where a replayed schedule or script left its path, if it did.
    pub divergence: Option<String>,
    /// What went wrong, if anything did.
    pub failure: Option<Failure>,
    /// Scheduling points passed.
    pub steps: u64,
    /// The schedule hash.
    pub hash: u64,
    /// The faults that struck.
    pub faults: FaultCounts,
}

impl Trace {
    /// How often a task was taken off that could have gone on.
    #[must_use]
    pub fn preemptions(&self) -> usize {
        let preempted =
            |what: &What| matches!(what, What::Switch { reason: SwitchReason::Preempted, .. });
        self.events.iter().filter(|event| preempted(&event.what)).count()
    }
}

/// A task of the execution.
#[derive(Clone, Debug)]
pub struct TaskInfo {
    /// Its name, unique within the execution: `main`, the name given at spawn (`reader`, then
    /// `reader 2`), or `task 3`.
    pub name: String,
}

/// A word, lock, condition variable, channel or file of the execution.
#[derive(Clone, Debug)]
pub struct ObjectInfo {
    /// Its name: given with `name!`, or made of its type and its ordinal, as `atomic 2`.
    pub name: String,
    /// Whether the name was given by the program.
    pub named: bool,
    /// How to show its value, for words named with `name_word!`.
    pub show: Option<fn(u64) -> String>,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// File, as the compiler was given it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The scheduling point it belongs to, counted from 1 over all tasks.
    pub step: u64,
    /// Virtual time, in nanoseconds from the start of the execution.
    pub now_ns: u64,
    /// The task that did it.
    pub task: u32,
    /// Where, if known.
    pub site: Option<Site>,
    /// What.
    pub what: What,
}

/// The kinds of things that happen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum What {
    /// A visible operation was carried out.
    Operation {
        /// Which.
        kind: OpKind,
        /// On what, if on anything.
        object: Option<u32>,
        /// The word's value before, where the operation has one.
        before: Option<u64>,
        /// The word's value after.
        after: Option<u64>,
    },
    /// The program said what it does.
    Note(String),
    /// The world did something to the task: a read failed, the power failed.
    Fault(String),
    /// An event of the `tracing` crate.
    Log {
        /// `ERROR` to `TRACE`.
        level: &'static str,
        /// The event's target.
        target: String,
        /// Message and fields.
        message: String,
    },
    /// Another task runs from here on. `Event::task` is the task that ran so far.
    Switch {
        /// The task that runs now.
        to: u32,
        /// Why.
        reason: SwitchReason,
    },
    /// A hold began.
    HoldBegin {
        /// The kind's name, for example `header lock`.
        kind: &'static str,
        /// Of what.
        object: u32,
    },
    /// A hold ended.
    HoldEnd {
        /// The kind's name.
        kind: &'static str,
        /// Of what.
        object: u32,
    },
    /// A task was spawned.
    Spawned {
        /// Its id.
        child: u32,
    },
    /// The task came to its end.
    Finished,
    /// The task panicked.
    Panicked {
        /// The panic message.
        message: String,
    },
}

/// Why another task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchReason {
    /// The scheduler took it off, though it could have gone on.
    Preempted,
    /// It waits for something, which these tasks own as far as is known.
    Blocked {
        /// What it waits for.
        object: Option<u32>,
        /// One task that owns it.
        owner: Option<u32>,
    },
    /// It sleeps until a virtual time, or until it is woken.
    Sleeping,
    /// It offered the processor.
    Yielded,
    /// It came to its end.
    Finished,
}

/// The visible operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum OpKind {
    /// Atomic load.
    Load,
    /// Atomic store.
    Store,
    /// Atomic swap, add, or, and so on.
    ReadModifyWrite,
    /// Compare-and-swap that succeeded or failed.
    CompareExchange,
    /// Memory fence.
    Fence,
    /// Read of plain memory through a cell.
    CellRead,
    /// Write of plain memory through a cell.
    CellWrite,
    /// Lock of a mutex, or exclusive lock of a read-write lock.
    Lock,
    /// Shared lock of a read-write lock.
    LockShared,
    /// Attempt to lock that does not wait.
    TryLock,
    /// Unlock.
    Unlock,
    /// Wait on a condition variable, barrier, once or channel.
    Wait,
    /// Wake-up of one or all waiters.
    Notify,
    /// Channel send.
    Send,
    /// Channel receive.
    Receive,
    /// Spawn of a task.
    Spawn,
    /// Join of a task.
    Join,
    /// Park.
    Park,
    /// Unpark.
    Unpark,
    /// Sleep.
    Sleep,
    /// Yield of the processor.
    Yield,
    /// Spin-loop hint.
    Spin,
    /// File read.
    FileRead,
    /// File write.
    FileWrite,
    /// File or directory sync.
    FileSync,
    /// Any other file operation: open, create, remove, rename, metadata.
    FileOther,
}
