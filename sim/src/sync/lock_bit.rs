//! Lock bits: a spinlock that is one bit of a packed atomic word.
//!
//! PostgreSQL's buffer header is such a word: reference count, usage count, flags, and the bit that
//! locks them. Other tasks may change the rest of the word with compare-and-swap while the bit is
//! clear, and in some designs even while it is set; so the release comes in three forms and the
//! caller chooses.
//!
//! Natively a waiter spins and calls its [`Backoff`]. In an execution it is disabled until the bit
//! is clear, unless the execution runs in spin-budget mode: then it spins in virtual time.

use std::ops::{BitAnd, BitOr, Not};

use super::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::hold::{self, HoldKind};

/// An atomic word that can carry a lock bit: `AtomicU32` and `AtomicU64`.
pub trait LockWord: private::Sealed {
    /// The plain integer inside.
    type Value: Copy
        + Eq
        + Default
        + BitAnd<Output = Self::Value>
        + BitOr<Output = Self::Value>
        + Not<Output = Self::Value>
        + Into<u64>;

    #[doc(hidden)]
    fn address(&self) -> usize;
    #[doc(hidden)]
    fn read(&self, order: Ordering) -> Self::Value;
    #[doc(hidden)]
    fn write(&self, value: Self::Value, order: Ordering);
    #[doc(hidden)]
    fn or(&self, mask: Self::Value, order: Ordering) -> Self::Value;
    #[doc(hidden)]
    fn sub(&self, value: Self::Value, order: Ordering) -> Self::Value;
    #[doc(hidden)]
    fn swap_if(
        &self,
        current: Self::Value,
        new: Self::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Value, Self::Value>;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::AtomicU32 {}
    impl Sealed for super::AtomicU64 {}
}

macro_rules! lock_word {
    ($atomic:ty, $value:ty) => {
        impl LockWord for $atomic {
            type Value = $value;

            #[inline(always)]
            fn address(&self) -> usize {
                super::identity(self)
            }
            #[inline(always)]
            #[track_caller]
            fn read(&self, order: Ordering) -> $value {
                self.load(order)
            }
            #[inline(always)]
            #[track_caller]
            fn write(&self, value: $value, order: Ordering) {
                self.store(value, order);
            }
            #[inline(always)]
            #[track_caller]
            fn or(&self, mask: $value, order: Ordering) -> $value {
                self.fetch_or(mask, order)
            }
            #[inline(always)]
            #[track_caller]
            fn sub(&self, value: $value, order: Ordering) -> $value {
                self.fetch_sub(value, order)
            }
            #[inline(always)]
            #[track_caller]
            fn swap_if(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}
lock_word!(AtomicU32, u32);
lock_word!(AtomicU64, u64);

/// How a waiter spends the time between two looks at a lock bit.
pub trait Backoff {
    /// Called after each look that found the bit set.
    fn spin(&mut self);
}

/// The plainest backoff: a CPU pause, and after 100 of them the processor is offered to others.
#[derive(Debug, Default)]
pub struct Pause {
    spins: u32,
}

impl Backoff for Pause {
    fn spin(&mut self) {
        self.spins += 1;
        if self.spins.is_multiple_of(100) {
            crate::thread::yield_now();
        } else {
            crate::hint::spin_loop();
        }
    }
}

/// A spinlock made of the bits `mask` of a word.
///
/// ```
/// use holdup::hold::{HoldKind, Rules};
/// use holdup::sync::LockBit;
/// use holdup::sync::atomic::{AtomicU32, Ordering};
///
/// static HEADER: HoldKind = HoldKind::new("header lock", Rules::SPINLOCK);
/// const LOCKED: LockBit<AtomicU32> = LockBit::new(&HEADER, 1 << 22);
///
/// let state = AtomicU32::new(7);
/// assert_eq!(LOCKED.lock(&state), 7 | 1 << 22);
/// LOCKED.unlock_store(&state, 8);
/// assert_eq!(state.load(Ordering::Relaxed), 8);
/// ```
#[derive(Debug)]
pub struct LockBit<W: LockWord> {
    kind: &'static HoldKind,
    mask: W::Value,
}

impl<W: LockWord> LockBit<W> {
    /// A lock made of the bits `mask`, whose holds are of `kind`.
    #[must_use]
    pub const fn new(kind: &'static HoldKind, mask: W::Value) -> Self {
        Self { kind, mask }
    }

    /// Sets the bit with one atomic OR.
    ///
    /// # Errors
    ///
    /// Returns the word as it was when the bit was set already. In both cases the value returned
    /// has the bit set. In an execution whose seed lets the test-and-set fail for no reason, as it
    /// does on some processors, an error's bit may be clear.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self, word: &W) -> Result<W::Value, W::Value> {
        #[cfg(feature = "sim")]
        if crate::core::fails_spuriously(std::panic::Location::caller()) {
            return Err(word.read(Ordering::Relaxed));
        }
        let old = word.or(self.mask, Ordering::Acquire);
        if old & self.mask == W::Value::default() {
            hold::begin(self.kind, word.address());
            Ok(old | self.mask)
        } else {
            Err(old)
        }
    }

    /// Waits until the bit is ours. Returns the word, bit set.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self, word: &W) -> W::Value {
        self.lock_with(word, &mut Pause::default())
    }

    /// As [`LockBit::lock`], with a backoff of your own.
    #[inline(always)]
    #[track_caller]
    pub fn lock_with(&self, word: &W, backoff: &mut impl Backoff) -> W::Value {
        loop {
            match self.try_lock(word) {
                Ok(value) => return value,
                // A task that is being unwound gets every lock: whoever has it never runs again.
                #[cfg(feature = "sim")]
                Err(value) if crate::core::unwinding() => return value,
                #[cfg(feature = "sim")]
                Err(_) => crate::core::attempt_failed(),
                #[cfg(not(feature = "sim"))]
                Err(_) => {}
            }
            self.wait_unlocked_with(word, backoff);
        }
    }

    /// Waits until the bit is clear and returns a word that had it clear. The bit may be set again
    /// by then, so this only helps in front of a compare-and-swap.
    #[inline(always)]
    #[track_caller]
    pub fn wait_unlocked(&self, word: &W) -> W::Value {
        self.wait_unlocked_with(word, &mut Pause::default())
    }

    /// As [`LockBit::wait_unlocked`], with a backoff of your own.
    #[inline(always)]
    #[track_caller]
    pub fn wait_unlocked_with(&self, word: &W, backoff: &mut impl Backoff) -> W::Value {
        loop {
            let value = word.read(Ordering::Acquire);
            if value & self.mask == W::Value::default() {
                return value;
            }
            #[cfg(feature = "sim")]
            if crate::core::unwinding() {
                return value & !self.mask;
            }
            #[cfg(feature = "sim")]
            if crate::core::block_on_bits(
                word.address(),
                self.mask.into(),
                std::panic::Location::caller(),
            ) {
                continue;
            }
            backoff.spin();
        }
    }

    /// Gives the lock back by storing `value` without the bit. Only right where nobody else may
    /// write the word while the bit is set.
    #[inline(always)]
    #[track_caller]
    pub fn unlock_store(&self, word: &W, value: W::Value) {
        word.write(value & !self.mask, Ordering::Release);
        hold::end(word.address());
    }

    /// Gives the lock back with one atomic subtraction and changes nothing else. Returns the word
    /// as it was before.
    #[inline(always)]
    #[track_caller]
    pub fn unlock_sub(&self, word: &W) -> W::Value {
        let old = word.sub(self.mask, Ordering::Release);
        hold::end(word.address());
        old
    }

    /// Gives the lock back if the word still is `current`, storing `new` without the bit.
    ///
    /// # Errors
    ///
    /// Returns the word as it is now; the lock is still held.
    #[inline(always)]
    #[track_caller]
    pub fn unlock_cas(
        &self,
        word: &W,
        current: W::Value,
        new: W::Value,
    ) -> Result<W::Value, W::Value> {
        let done = word.swap_if(current, new & !self.mask, Ordering::Release, Ordering::Relaxed)?;
        hold::end(word.address());
        Ok(done)
    }
}
