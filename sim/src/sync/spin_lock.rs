//! A spinlock around a value.
#![expect(unsafe_code, reason = "hands out references to the value it guards")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use super::atomic::AtomicU32;
use super::lock_bit::LockBit;
use crate::hold::{HoldKind, Rules};

static SPINLOCK: HoldKind = HoldKind::new("spinlock", Rules::NONE);

/// Set in the word of a lock that was used outside of executions.
#[cfg(feature = "sim")]
const USED_OUTSIDE: u32 = 2;

/// A test-and-set spinlock that owns the value it guards.
///
/// Meant to be held for a few instructions. Not fair, not reentrant, not poisoned by a panic.
///
/// ```
/// use holdup::sync::SpinLock;
///
/// static NEXT: SpinLock<u32> = SpinLock::new(7);
/// *NEXT.lock() += 1;
/// assert_eq!(*NEXT.lock(), 8);
/// ```
#[repr(C)]
pub struct SpinLock<T: ?Sized> {
    /// First, so that the lock is where the whole is: there `name!` finds it.
    word: AtomicU32,
    #[cfg(feature = "sim")]
    kind: &'static HoldKind,
    value: UnsafeCell<T>,
}

// SAFETY: the word admits one guard at a time, so the value moves between threads as in a Mutex.
unsafe impl<T: ?Sized + Send> Send for SpinLock<T> {}
// SAFETY: as above; a shared reference to the lock gives no more than one guard at a time.
unsafe impl<T: ?Sized + Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// An open lock around `value`.
    pub const fn new(value: T) -> Self {
        Self::with_kind(value, &SPINLOCK)
    }

    /// An open lock whose holds carry the name and the rules of `kind`.
    #[cfg_attr(not(feature = "sim"), expect(unused_variables, reason = "natively nobody asks"))]
    pub const fn with_kind(value: T, kind: &'static HoldKind) -> Self {
        Self {
            word: AtomicU32::new(0),
            #[cfg(feature = "sim")]
            kind,
            value: UnsafeCell::new(value),
        }
    }

    /// The value, when the lock is no longer needed.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> SpinLock<T> {
    #[inline(always)]
    const fn bit(&self) -> LockBit<AtomicU32> {
        #[cfg(feature = "sim")]
        let kind = self.kind;
        #[cfg(not(feature = "sim"))]
        let kind = &SPINLOCK;
        LockBit::new(kind, 1)
    }

    /// The lock itself, or in an execution the execution's copy of it if it is a static.
    #[cfg(feature = "sim")]
    #[inline(always)]
    fn local(&self) -> &Self {
        crate::core::current().map_or(self, |execution| execution.resolve(self, Self::reset))
    }

    #[cfg(not(feature = "sim"))]
    #[inline(always)]
    fn local(&self) -> &Self {
        self
    }

    /// Makes the bits of a static into an open lock.
    #[cfg(feature = "sim")]
    fn reset(&self) {
        assert!(
            !std::mem::needs_drop::<T>() || self.word.peek() & USED_OUTSIDE == 0,
            "a static SpinLock whose value has a destructor was used outside of executions first; \
             use it in executions only, or make it part of the test's state"
        );
    }

    /// Spins until the lock is ours.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> SpinLockGuard<'_, T> {
        let this = self.local();
        this.bit().lock(&this.word);
        SpinLockGuard { lock: this, not_send: std::marker::PhantomData }
    }

    /// The guard if nobody holds the lock just now.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self) -> Option<SpinLockGuard<'_, T>> {
        let this = self.local();
        let got = this.bit().try_lock(&this.word).is_ok();
        got.then(|| SpinLockGuard { lock: this, not_send: std::marker::PhantomData })
    }

    /// The value, which nobody else can reach through `&mut self`.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for SpinLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for SpinLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLock").finish_non_exhaustive()
    }
}

/// The right to the value of a [`SpinLock`]; dropping it opens the lock.
pub struct SpinLockGuard<'a, T: ?Sized> {
    lock: &'a SpinLock<T>,
    not_send: std::marker::PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value, which is fine where `T` is `Sync`.
unsafe impl<T: ?Sized + Sync> Sync for SpinLockGuard<'_, T> {}

impl<T: ?Sized> Deref for SpinLockGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so the word is set by us and no other guard exists.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for SpinLockGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` forbids a second reference through this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for SpinLockGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(feature = "sim")]
        let open = if crate::core::current().is_some() { 0 } else { USED_OUTSIDE };
        #[cfg(not(feature = "sim"))]
        let open = 0;
        self.lock.bit().unlock_store(&self.lock.word, open);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for SpinLockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
