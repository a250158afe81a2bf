//! Handles: what a spawn returns, and what `current` is.
#![expect(unsafe_code, reason = "passes a task's result to who joins it")]

use std::cell::UnsafeCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;
use std::thread as real;

use crate::core::{Execution, current};
use crate::trace::OpKind;

/// What a task and the handle to it share: who it is, and its result once it has ended.
pub(crate) struct Packet<T> {
    pub(super) thread: Thread,
    result: UnsafeCell<Option<real::Result<T>>>,
}

// SAFETY: written by the task before it ends and read after it ended, on one OS thread.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: as above; the value may be dropped wherever the last handle is.
unsafe impl<T: Send> Send for Packet<T> {}

impl<T> Packet<T> {
    pub(super) fn new(task: TaskRef) -> Arc<Self> {
        Arc::new(Self { thread: Thread(Who::Task(task)), result: UnsafeCell::new(None) })
    }

    pub(super) fn put(&self, result: real::Result<T>) {
        // SAFETY: the task is the only one to write, once, and nobody reads before it ended.
        unsafe { *self.result.get() = Some(result) };
    }

    pub(crate) fn take(&self) -> Option<real::Result<T>> {
        // SAFETY: the task has ended, and joining consumes the only handle.
        let slot = unsafe { &mut *self.result.get() };
        slot.take()
    }

    fn task(&self) -> &TaskRef {
        match &self.thread.0 {
            Who::Task(task) => task,
            Who::Real(_) => unreachable!("the handle of a task names a task"),
        }
    }

    /// Waits until the task has ended, and takes its result.
    pub(super) fn join(&self, place: &'static Location<'static>) -> real::Result<T> {
        self.task().wait(place);
        self.take().unwrap_or_else(|| Err(Box::new("the task was killed")))
    }

    /// The number of the task.
    pub(crate) fn id(&self) -> u32 {
        self.task().id
    }

    /// The task is in a scope of the task `owner`.
    pub(crate) fn borrows_from(&self, owner: u32) {
        let task = self.task();
        task.execution().inner().tasks[task.id as usize].scoped = Some(owner);
    }

    pub(super) fn is_finished(&self, place: &'static Location<'static>) -> bool {
        let task = self.task();
        let execution = task.execution();
        execution.point(OpKind::Load, execution.join_object(task.id), place);
        task.is_finished()
    }
}

/// A task of one execution.
#[derive(Clone)]
pub(super) struct TaskRef {
    pub(super) id: u32,
    pub(super) epoch: u64,
    pub(super) name: Option<Arc<str>>,
}

impl TaskRef {
    /// The execution it belongs to, which must be the present one.
    fn execution(&self) -> &'static Execution {
        let execution = current().filter(|execution| execution.inner().epoch == self.epoch);
        let Some(execution) = execution else {
            panic!("the handle of a task was used outside of the execution that made it");
        };
        execution
    }

    fn is_finished(&self) -> bool {
        let execution = self.execution();
        execution.inner().tasks[self.id as usize].finished
    }

    /// Waits until the task has ended.
    pub(super) fn wait(&self, place: &'static Location<'static>) {
        let execution = self.execution();
        let object = execution.join_object(self.id);
        execution.point(OpKind::Join, object, place);
        while !self.is_finished() && !execution.is_unwinding() {
            execution.wait_for_end(self.id, place);
        }
        if self.is_finished() {
            execution.clock_joined(self.id);
        }
    }
}

#[derive(Clone)]
pub(super) enum Who {
    Real(real::Thread),
    Task(TaskRef),
}

/// As `std::thread::Thread`.
#[derive(Clone)]
pub struct Thread(pub(super) Who);

impl Thread {
    /// The identity of this thread, unique as long as the process lasts.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Who::Real(thread) => Id::Real(thread.id()),
            Who::Task(task) => Id::Task(task.epoch, task.id),
        })
    }

    /// The name it was given; `main` for the task that runs the body of an execution.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Who::Real(thread) => thread.name(),
            Who::Task(TaskRef { id: 0, name: None, .. }) => Some("main"),
            Who::Task(task) => task.name.as_deref(),
        }
    }

    /// The task that this is, in an execution.
    pub(crate) fn task_id(&self) -> Option<u32> {
        match &self.0 {
            Who::Real(_) => None,
            Who::Task(task) => Some((task.execution(), task.id).1),
        }
    }

    /// Lets the thread's present or next `park` return.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Who::Real(thread) => thread.unpark(),
            Who::Task(task) => {
                super::park::unpark(task.execution(), task.id, Location::caller());
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Id {
    Real(real::ThreadId),
    Task(u64, u32),
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Real(id) => id.hash(state),
            // Without its execution, of which the process may have run any number before: programs
            // choose a shard by this hash, and it must depend on the seed alone.
            Self::Task(_, id) => id.hash(state),
        }
    }
}

/// As `std::thread::ThreadId`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(Id);

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Real(id) => id.fmt(f),
            Id::Task(_, id) => write!(f, "ThreadId(task {id})"),
        }
    }
}

/// A thread to join: `R` is the handle of a real one. Small, since programs keep many in vectors.
pub(super) enum Handle<R, T> {
    Real(Box<(R, Thread)>),
    Task(Arc<Packet<T>>),
}

impl<R, T> Handle<R, T> {
    pub(super) fn real(handle: R, thread: real::Thread) -> Self {
        Self::Real(Box::new((handle, Thread(Who::Real(thread)))))
    }

    pub(super) fn thread(&self) -> &Thread {
        match self {
            Self::Real(real) => &real.1,
            Self::Task(packet) => &packet.thread,
        }
    }

    /// Waits for the thread to end; a real one by `join`.
    pub(super) fn join(
        self,
        join: impl FnOnce(R) -> real::Result<T>,
        place: &'static Location<'static>,
    ) -> real::Result<T> {
        match self {
            Self::Real(real) => join(real.0),
            Self::Task(packet) => packet.join(place),
        }
    }

    /// Whether the thread has ended; of a real one `is_finished` says so.
    pub(super) fn is_finished(
        &self,
        is_finished: impl FnOnce(&R) -> bool,
        place: &'static Location<'static>,
    ) -> bool {
        match self {
            Self::Real(real) => is_finished(&real.0),
            Self::Task(packet) => packet.is_finished(place),
        }
    }
}

/// As `std::thread::JoinHandle`.
pub struct JoinHandle<T>(pub(super) Handle<real::JoinHandle<T>, T>);

impl<T> JoinHandle<T> {
    pub(super) fn real(handle: real::JoinHandle<T>) -> Self {
        let thread = handle.thread().clone();
        Self(Handle::real(handle, thread))
    }

    /// The thread it belongs to.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Waits for the thread to end; returns what its closure returned, or its panic.
    ///
    /// # Errors
    ///
    /// The panic's payload, outside of executions. Inside one a panic ends the execution.
    #[track_caller]
    pub fn join(self) -> real::Result<T> {
        self.0.join(real::JoinHandle::join, Location::caller())
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(real::JoinHandle::is_finished, Location::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("thread", self.thread()).finish_non_exhaustive()
    }
}
