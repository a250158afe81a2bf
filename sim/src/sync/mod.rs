//! `std::sync`, and spinlocks.

pub mod atomic;
mod lock_bit;
mod spin_lock;

#[cfg(feature = "sim")]
mod barrier;
#[cfg(feature = "sim")]
mod condvar;
#[cfg(feature = "sim")]
pub mod mpsc;
#[cfg(feature = "sim")]
mod mutex;
#[cfg(feature = "sim")]
mod once;
#[cfg(feature = "sim")]
mod poison;
#[cfg(feature = "sim")]
mod raw_lock;
#[cfg(feature = "sim")]
mod rwlock;

pub use lock_bit::{Backoff, LockBit, LockWord, Pause};
pub use spin_lock::{SpinLock, SpinLockGuard};

#[cfg(feature = "sim")]
pub use barrier::{Barrier, BarrierWaitResult};
#[cfg(feature = "sim")]
pub use condvar::{Condvar, WaitTimeoutResult};
#[cfg(feature = "sim")]
pub use mutex::{Mutex, MutexGuard};
#[cfg(feature = "sim")]
pub use once::{LazyLock, Once, OnceLock, OnceState};
#[cfg(feature = "sim")]
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "sim")]
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

#[cfg(not(feature = "sim"))]
pub use std::sync::*;

/// The address by which the current execution knows `object`: that of its copy if it is a static.
#[inline(always)]
pub(crate) fn identity<T: ?Sized>(object: &T) -> usize {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        return std::ptr::from_ref(execution.resolve(object, |_| ())).cast::<u8>().addr();
    }
    std::ptr::from_ref(object).cast::<u8>().addr()
}
