//! Scoped threads.
#![expect(unsafe_code, reason = "scoped tasks borrow from the task that spawned them")]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::thread as real;

use super::join::{Handle, Thread, Who};
use super::spawn::start;
use crate::core::current;

/// As `std::thread::Scope`.
#[expect(explicit_outlives_requirements, reason = "as in std")]
pub struct Scope<'scope, 'env: 'scope> {
    real: Option<&'scope real::Scope<'scope, 'env>>,
    /// The task that waits for those spawned into it, in an execution.
    owner: u32,
    /// The tasks spawned into it, in an execution.
    tasks: Mutex<Vec<Thread>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// As `std::thread::scope`: all threads spawned into the scope have ended when it returns.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let place = Location::caller();
    let Some(execution) = current() else { return real_scope(f) };
    let scope = Scope {
        real: None,
        owner: execution.current.get(),
        tasks: Mutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if let Err(payload) = &result {
        execution.caught_panic(&**payload);
        if !execution.is_unwinding() {
            // Tasks of the scope borrow from this frame: the machine ends them before it.
            execution.stop_here();
        }
    }
    let mut joined = 0;
    loop {
        let tasks = scope.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(Thread(Who::Task(task))) = tasks.get(joined).cloned() else { break };
        drop(tasks);
        task.wait(place);
        joined += 1;
    }
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

fn real_scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    real::scope(|inner| {
        // Where `std` keeps its own scope for the whole call, ours must live as long: on the heap,
        // until `std::thread::scope` has returned.
        let ours = Box::new(Scope {
            real: Some(inner),
            owner: 0,
            tasks: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        });
        f(Box::leak(ours))
    })
}

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(super) fn real(&self) -> Option<&'scope real::Scope<'scope, 'env>> {
        self.real
    }

    /// Spawns a thread that may borrow what outlives the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match self.real {
            Some(scope) => ScopedJoinHandle::real(scope.spawn(f)),
            None => self.start(None, f, Location::caller()),
        }
    }

    pub(super) fn start<F, T>(
        &'scope self,
        name: Option<Arc<str>>,
        f: F,
        place: &'static Location<'static>,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let Some(execution) = current() else {
            panic!("a scope was used outside of the execution that made it");
        };
        // SAFETY: `scope` waits for the task before 'scope ends. If the execution ends first, the
        // machine ends tasks in the reverse order of their creation, this one before its scope.
        let packet = unsafe { start(execution, name, f, place) };
        packet.borrows_from(self.owner);
        let mut tasks = self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tasks.push(packet.thread.clone());
        ScopedJoinHandle(Handle::Task(packet))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// As `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(Handle<real::ScopedJoinHandle<'scope, T>, T>);

impl<'scope, T> ScopedJoinHandle<'scope, T> {
    pub(super) fn real(handle: real::ScopedJoinHandle<'scope, T>) -> Self {
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
        self.0.join(real::ScopedJoinHandle::join, Location::caller())
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished(real::ScopedJoinHandle::is_finished, Location::caller())
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("thread", self.thread()).finish_non_exhaustive()
    }
}
