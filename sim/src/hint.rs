//! `std::hint`, and waiting for a word.

pub use std::hint::black_box;

use crate::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// As `std::hint::spin_loop`. Inside an execution the task is disabled, from its second lap with
/// no change on, until one of the words it looked at changes.
#[inline(always)]
#[track_caller]
pub fn spin_loop() {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        return execution.spin_hint(false, std::panic::Location::caller());
    }
    std::hint::spin_loop();
}

/// An atomic word that [`spin_until`] can watch.
pub trait Word {
    #[doc(hidden)]
    fn value(&self) -> u64;
    #[doc(hidden)]
    fn address(&self) -> usize;
}

macro_rules! word {
    ($($atomic:ty),*) => {$(
        impl Word for $atomic {
            #[inline(always)]
            #[track_caller]
            fn value(&self) -> u64 {
                self.load(Ordering::Acquire) as u64
            }
            #[inline(always)]
            fn address(&self) -> usize {
                crate::sync::identity(self)
            }
        }
    )*};
}
word!(AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize);
word!(AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize);

/// Spins until `done` holds of the word's value, read with acquire order, and returns that value
/// (signed integers sign-extended).
///
/// Natively a loop with a CPU pause, and an offer of the processor from time to time. Inside an
/// execution the task is disabled exactly while `done` does not hold; so `done` must be a pure
/// function of the value.
///
/// ```
/// use holdup::hint::spin_until;
/// use holdup::sync::atomic::AtomicU32;
///
/// assert_eq!(spin_until(&AtomicU32::new(3), |value| value > 2), 3);
/// ```
#[inline]
#[track_caller]
pub fn spin_until(word: &impl Word, done: impl Fn(u64) -> bool) -> u64 {
    let mut pause = crate::sync::Pause::default();
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        execution.tell(crate::scheduler::Told::WaitsForWord);
    }
    loop {
        let value = word.value();
        if done(value) {
            return value;
        }
        #[cfg(feature = "sim")]
        if let Some(execution) = crate::core::current() {
            execution.watch_until(word.address(), &done, std::panic::Location::caller());
            if execution.is_unwinding() {
                return value;
            }
            continue;
        }
        crate::sync::Backoff::spin(&mut pause);
    }
}
