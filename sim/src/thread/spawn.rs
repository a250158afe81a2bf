//! Spawning.
#![expect(unsafe_code, reason = "scoped tasks borrow from the task that spawned them")]

use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::thread as real;

use super::join::{Handle, JoinHandle, Packet, TaskRef, Thread, Who};
use super::scope::{Scope, ScopedHandle, ScopedJoinHandle};
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
        None => real_handle(real::spawn(f)),
        Some(execution) => {
            // SAFETY: what `f` borrows lives for ever.
            let (packet, thread) = unsafe { start(execution, None, f, Location::caller()) };
            JoinHandle { handle: Handle::Task(packet), thread }
        }
    }
}

fn real_handle<T>(handle: real::JoinHandle<T>) -> JoinHandle<T> {
    let thread = Thread(Who::Real(handle.thread().clone()));
    JoinHandle { handle: Handle::Real(handle), thread }
}

/// Makes a task that runs `f`.
///
/// # Safety
///
/// What `f` borrows must live until the task has ended.
#[inline]
pub(super) unsafe fn start<F, T>(
    execution: &Execution,
    name: Option<Arc<str>>,
    f: F,
    place: &'static Location<'static>,
) -> (Arc<Packet<T>>, Thread)
where
    F: FnOnce() -> T,
{
    execution.point(OpKind::Spawn, 0, place);
    let packet = Packet::new();
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
    let id = unsafe { execution.create(name.clone(), main) };
    if execution.recording.get() {
        execution.record(Some(place), What::Spawned { child: id });
    }
    let thread = Thread(Who::Task(TaskRef { id, epoch: execution.inner().epoch, name }));
    (packet, thread)
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
            return self.real().spawn(f).map(real_handle);
        };
        let name = self.name.map(Into::into);
        // SAFETY: what `f` borrows lives for ever.
        let (packet, thread) = unsafe { start(execution, name, f, Location::caller()) };
        Ok(JoinHandle { handle: Handle::Task(packet), thread })
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
            Some(scope) => {
                let handle = self.real().spawn_scoped(scope, f)?;
                let thread = Thread(Who::Real(handle.thread().clone()));
                Ok(ScopedJoinHandle { handle: ScopedHandle::Real(handle), thread })
            }
            None => Ok(scope.start(self.name.map(Into::into), f, place)),
        }
    }
}
