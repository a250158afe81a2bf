//! The one door: locks, atomics, threads, time, files, notes and mutants.
//!
//! No other file of the engine names `std`'s or `holdup`'s; `tests/door.rs` holds that. So one
//! source runs on threads and files, and on the simulation.

pub(crate) use holdup::fault;
pub(crate) use holdup::fs;
pub(crate) use holdup::hint::{spin_loop, spin_until};
pub(crate) use holdup::hold;
pub(crate) use holdup::memory;
pub(crate) use holdup::sync::atomic::{AtomicU32, AtomicU64, Ordering};
pub(crate) use holdup::sync::{
    Arc, Backoff, Condvar, LockBit, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
    RwLockWriteGuard, SpinLock,
};
pub(crate) use holdup::thread::panicking;
pub(crate) use holdup::time::{Duration, Instant};
pub(crate) use holdup::{mutant, name, name_word, note};

/// Whether this build can run in a simulation: `true` with the feature `sim`. Measure only where
/// it is `false`.
pub const INSTRUMENTED: bool = holdup::INSTRUMENTED;

/// Simulator-only state. It is no part of the program, so its steps are no scheduling points.
pub(crate) mod ghost {
    pub(crate) use std::sync::{Mutex, PoisonError};
}

/// Locks `mutex`. A panic elsewhere does not make the value unusable: every value behind a mutex of
/// the engine is whole between two statements.
#[track_caller]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condition`; any wake-up may be spurious.
#[track_caller]
pub(crate) fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits on `condition` for `time` at most; any wake-up may be spurious.
#[track_caller]
pub(crate) fn wait_for<'a, T>(
    condition: &Condvar,
    guard: MutexGuard<'a, T>,
    time: Duration,
) -> MutexGuard<'a, T> {
    condition.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
}
