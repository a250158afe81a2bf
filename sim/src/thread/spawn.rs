//! Spawning.
#![expect(unsafe_code, reason = "scoped tasks borrow from the task that spawned them")]

use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::thread as real;

use super::join::{Handle, JoinHandle, Packet, TaskRef};
use super::scope::{Scope, ScopedJoinHandle};
use crate::core::{Execution, current};
use crate::trace::{OpKind, What};

/// As `std::thread::spawn`.
///
/// # Panics
///
/// As in `std`, if the system has no thread or no stack left.
#[inline]
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match current() {
        None => JoinHandle::real(real::spawn(f)),
        Some(execution) => {
            // SAFETY: what `f` borrows lives for ever.
            let packet = unsafe { start(execution, None, f, Location::caller()) };
            JoinHandle(Handle::Task(packet))
        }
    }
}

/// Makes a task that runs `f`.
///
/// # Safety
///
/// What `f` borrows must live until the task has ended.
#[inline]
pub(crate) unsafe fn start<F, T>(
    execution: &Execution,
    name: Option<Arc<str>>,
    f: F,
    place: &'static Location<'static>,
) -> Arc<Packet<T>>
where
    F: FnOnce() -> T,
{
    execution.point(OpKind::Spawn, 0, place);
    let inner = execution.inner();
    let id = inner.n_tasks as u32;
    let packet = Packet::new(TaskRef { id, epoch: inner.epoch, name: name.clone() });
    let theirs = packet.clone();
    let main = move || {
        let result = catch_unwind(AssertUnwindSafe(f));
        if let Err(payload) = &result
            && let Some(execution) = current()
        {
            execution.caught_panic(&**payload);
        }
        theirs.put(result);
    };
    // SAFETY: passed on to our caller.
    unsafe { execution.create(name, main) };
    if execution.recording.get() {
        execution.record(Some(place), What::Spawned { child: id });
    }
    packet
}

/// As `std::thread::Builder`. Inside an execution the stack size is the execution's.
#[derive(Debug)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// A builder for an unnamed thread.
    pub fn new() -> Self {
        Self { name: None, stack_size: None }
    }

    /// Names the thread. In an execution the name is the task's role in timelines and scripts.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Gives the thread a stack of this many bytes, outside of executions.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    fn real(self) -> real::Builder {
        let mut builder = real::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// Spawns the thread.
    ///
    /// # Errors
    ///
    /// As in `std`, if the system has no thread left.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Some(execution) = current() else {
            return self.real().spawn(f).map(JoinHandle::real);
        };
        let name = self.name.map(Into::into);
        // SAFETY: what `f` borrows lives for ever.
        let packet = unsafe { start(execution, name, f, Location::caller()) };
        Ok(JoinHandle(Handle::Task(packet)))
    }

    /// Spawns the thread into a scope.
    ///
    /// # Errors
    ///
    /// As in `std`, if the system has no thread left.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let place = Location::caller();
        match scope.real() {
            Some(scope) => self.real().spawn_scoped(scope, f).map(ScopedJoinHandle::real),
            None => Ok(scope.start(self.name.map(Into::into), f, place)),
        }
    }
}
