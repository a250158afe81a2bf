//! `std::sync::Condvar`.

use std::fmt;
use std::panic::Location;
use std::sync as real;
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

use super::mutex::MutexGuard;
use crate::core::{Execution, Place, Wake, current};
use crate::trace::OpKind;

const NOUN: &str = "condvar";
const WAITERS: u8 = 1;

/// As `std::sync::Condvar`. In an execution a waiter is disabled until it is notified or its
/// virtual deadline passes; which waiter `notify_one` wakes is drawn from the seed. Wake-ups are
/// spurious where [`Faults::spurious_wakeup`](crate::Faults) says so.
pub struct Condvar {
    real: real::Condvar,
}

/// As `std::sync::WaitTimeoutResult`.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait ended because the time was over.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// As in `std`.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { real: real::Condvar::new() }
    }

    /// As in `std`. A scheduling point; from the release of the mutex to the beginning of the wait
    /// no other task runs.
    ///
    /// # Errors
    ///
    /// An error that holds the guard if the mutex is poisoned.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let Some(execution) = current() else {
            let wait = |guard| (self.real.wait(guard).unwrap_or_else(PoisonError::into_inner), ());
            return strip(guard.exchange(wait));
        };
        strip(self.wait_inside(execution, guard, None, Location::caller()))
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// An error that holds the guard if the mutex is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut *guard) && !crate::core::unwinding() {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As in `std`, in virtual time inside an execution. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error that holds guard and result if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let Some(execution) = current() else {
            return guard.exchange(|guard| {
                let waited = self.real.wait_timeout(guard, timeout);
                let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
                (guard, WaitTimeoutResult(result.timed_out()))
            });
        };
        self.wait_inside(execution, guard, execution.deadline(timeout), Location::caller())
    }

    /// As in `std`, in virtual time inside an execution.
    ///
    /// # Errors
    ///
    /// An error that holds guard and result if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = crate::time::Instant::now();
        loop {
            if !condition(&mut *guard) || crate::core::unwinding() {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            let Some(left) = timeout.checked_sub(start.elapsed()) else {
                return Ok((guard, WaitTimeoutResult(true)));
            };
            guard = self.wait_timeout(guard, left)?.0;
        }
    }

    fn wait_inside<'a, T>(
        &self,
        execution: &Execution,
        mut guard: MutexGuard<'a, T>,
        deadline_ns: Option<u64>,
        place: Place,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let object = execution.resolve(self, |_| ()).address();
        if execution.enter(OpKind::Wait, object, NOUN, place) {
            execution.record_operation(OpKind::Wait, object, None, None, place);
        }
        let kind = OpKind::Wait;
        guard.suspend(execution);
        let wake = execution.sleep(kind, object, WAITERS, deadline_ns, place);
        if wake == Wake::Ready {
            execution.acquire(object);
        }
        let result = WaitTimeoutResult(wake == Wake::TimedOut);
        match guard.resume(execution, place) {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), result))),
        }
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn notify_one(&self) {
        let Some(execution) = current() else { return self.real.notify_one() };
        let object = self.notify(execution, Location::caller());
        execution.enable_one(object, WAITERS);
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn notify_all(&self) {
        let Some(execution) = current() else { return self.real.notify_all() };
        let object = self.notify(execution, Location::caller());
        execution.enable(object, WAITERS);
    }

    fn notify(&self, execution: &Execution, place: Place) -> usize {
        let object = execution.resolve(self, |_| ()).address();
        if execution.enter(OpKind::Notify, object, NOUN, place) {
            execution.publish(object);
            execution.record_operation(OpKind::Notify, object, None, None, place);
        }
        object
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// The guard alone.
fn strip<'a, T, R>(waited: LockResult<(MutexGuard<'a, T>, R)>) -> LockResult<MutexGuard<'a, T>> {
    match waited {
        Ok((guard, _)) => Ok(guard),
        Err(poisoned) => Err(PoisonError::new(poisoned.into_inner().0)),
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
