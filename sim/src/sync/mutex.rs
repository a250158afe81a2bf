//! `std::sync::Mutex`.
#![expect(unsafe_code, reason = "hands out references to the value it guards")]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LockResult, TryLockError, TryLockResult};

use super::poison::Poison;
use super::raw_lock::{Access, Grant, RawLock};
use crate::core::{Execution, Place, current};
use crate::hold::{HoldKind, Rules};

static MUTEX: HoldKind = HoldKind::new("mutex", Rules::NONE);

/// As `std::sync::Mutex`, poisoning included. In an execution a task that must wait is disabled
/// until the lock is free, and the wait-for graph knows the owner.
///
/// In an execution a mutex must be made in that execution or be a static; each execution has its
/// own copy of a static, which begins unlocked. A static whose value has a destructor must not have
/// been locked outside of executions first.
#[repr(C)]
pub struct Mutex<T: ?Sized> {
    /// First, so that the lock is where the whole is: there `name!` finds it.
    raw: RawLock,
    real: real::Mutex<()>,
    poison: Poison,
    used_outside: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one guard exists at a time, so the value moves between threads as in a std Mutex.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above; a shared reference to the lock gives no more than one guard at a time.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    /// As in `std`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self {
            real: real::Mutex::new(()),
            raw: RawLock::new(),
            poison: Poison::new(),
            used_outside: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// An error that holds the value if the mutex is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let Self { poison, value, .. } = self;
        poison.wrap(value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error that holds the guard if the mutex is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = self.real.lock().unwrap_or_else(real::PoisonError::into_inner);
            return self.guard(Grant::Outside(guard));
        };
        let this = execution.resolve(self, Self::reset);
        this.guard(this.raw.lock(execution, Access::Exclusive, &MUTEX, Location::caller()))
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if somebody has the lock; an error that holds the guard if the mutex is
    /// poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = match self.real.try_lock() {
                Ok(guard) => guard,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            return Ok(self.guard(Grant::Outside(guard))?);
        };
        let this = execution.resolve(self, Self::reset);
        match this.raw.try_lock(execution, Access::Exclusive, &MUTEX, Location::caller()) {
            Some(grant) => Ok(this.guard(grant)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    #[inline(always)]
    fn guard<'a>(
        &'a self,
        grant: Grant<real::MutexGuard<'a, ()>>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let panicking = std::thread::panicking();
        self.poison.wrap(MutexGuard { lock: self, panicking, written: false, grant })
    }

    /// Makes the bits of a static into an open mutex.
    fn reset(&self) {
        assert!(
            !std::mem::needs_drop::<T>() || !self.used_outside.load(Relaxed),
            "a static Mutex whose value has a destructor was used outside of executions first; use \
             it in executions only, or make it part of the test's state"
        );
        self.raw.reset();
        self.poison.clear();
    }

    /// This mutex, or the execution's copy of it.
    fn local(&self) -> &Self {
        current().map_or(self, |execution| execution.resolve(self, Self::reset))
    }

    /// As in `std`.
    pub fn is_poisoned(&self) -> bool {
        self.local().poison.get()
    }

    /// As in `std`.
    pub fn clear_poison(&self) {
        self.local().poison.clear();
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// An error that holds the reference if the mutex is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.wrap(self.value.get_mut())
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => fields.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => fields.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => fields.field("data", &format_args!("<locked>")),
        };
        fields.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

/// As `std::sync::MutexGuard`. Dropping it is a scheduling point.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    /// Its task was panicking when it was made.
    panicking: bool,
    /// A mutable reference to the value was asked for.
    written: bool,
    grant: Grant<real::MutexGuard<'a, ()>>,
}

// SAFETY: a shared guard gives shared access to the value, which is fine where `T` is `Sync`.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Gives the lock back for the length of a wait inside an execution.
    #[inline]
    pub(super) fn suspend(&mut self, execution: &Execution) {
        if let Grant::Inside { owns, .. } = &mut self.grant
            && std::mem::take(owns)
        {
            self.lock.raw.publish_clock(execution, Access::Exclusive);
            self.lock.raw.release(execution, Access::Exclusive, self.written);
            self.written = false;
        }
    }

    /// Takes the lock again after [`MutexGuard::suspend`].
    #[inline]
    pub(super) fn resume(mut self, execution: &Execution, place: Place) -> LockResult<Self> {
        let owns = self.lock.raw.acquire(execution, Access::Exclusive, &MUTEX, place);
        self.lock.raw.acquire_clock(execution, Access::Exclusive);
        self.grant = Grant::Inside { place, owns };
        self.lock.poison.wrap(self)
    }

    /// Lets `wait` exchange the real guard for another, outside of executions.
    pub(super) fn exchange<R>(
        self,
        wait: impl FnOnce(real::MutexGuard<'a, ()>) -> (real::MutexGuard<'a, ()>, R),
    ) -> LockResult<(Self, R)> {
        let mut this = std::mem::ManuallyDrop::new(self);
        let lock = this.lock;
        let taken = Grant::Inside { place: Location::caller(), owns: false };
        let Grant::Outside(guard) = std::mem::replace(&mut this.grant, taken) else {
            panic!("a guard of an execution was used outside of it");
        };
        let (guard, result) = wait(guard);
        match lock.guard(Grant::Outside(guard)) {
            Ok(guard) => Ok((guard, result)),
            Err(poisoned) => Err(real::PoisonError::new((poisoned.into_inner(), result))),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so the lock is ours and no other guard exists; a task that
        // unwinds may have been let in as well, but the owner does not run meanwhile.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.written = true;
        // SAFETY: as in `deref`, and `&mut self` forbids a second reference through this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let inside = match self.grant {
            Grant::Outside(_) => None,
            Grant::Inside { place, owns } => current().map(|execution| (execution, place, owns)),
        };
        let raw = &self.lock.raw;
        let owner = inside.filter(|inside| inside.2).map(|inside| inside.0);
        // A task may die at the scheduling point below.
        let _released = raw.released_at_the_end(owner, Access::Exclusive, self.written);
        if let Some((execution, place, _)) = inside {
            raw.before_unlock(execution, Access::Exclusive, &MUTEX, place);
        }
        self.lock.poison.guard_dropped(self.panicking);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
