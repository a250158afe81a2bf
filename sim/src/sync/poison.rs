//! Poison: a lock remembers that a task panicked while it could write what the lock guards.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LockResult, PoisonError};

use crate::core::current;

/// Whether a lock is poisoned.
pub(super) struct Poison(AtomicBool);

impl Poison {
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[inline(always)]
    pub(super) fn get(&self) -> bool {
        self.0.load(Relaxed)
    }

    pub(super) fn clear(&self) {
        self.0.store(false, Relaxed);
    }

    /// A guard goes that was made while its task did not panic, or did (`was_panicking`).
    #[inline(always)]
    pub(super) fn guard_dropped(&self, was_panicking: bool) {
        if !was_panicking && std::thread::panicking() {
            self.panicked();
        }
    }

    /// A task that is unwound because the execution is over did nothing wrong.
    #[cold]
    pub(super) fn panicked(&self) {
        if !current().is_some_and(crate::core::Execution::is_dying) {
            self.0.store(true, Relaxed);
        }
    }

    /// `value`, as an error if the lock is poisoned.
    #[inline(always)]
    pub(super) fn wrap<T>(&self, value: T) -> LockResult<T> {
        if self.get() { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}
