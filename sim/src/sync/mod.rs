//! `std::sync`, and spinlocks.

pub mod atomic;
mod lock_bit;
mod spin_lock;

pub use lock_bit::{Backoff, LockBit, LockWord, Pause};
pub use spin_lock::{SpinLock, SpinLockGuard};

pub use std::sync::*;
