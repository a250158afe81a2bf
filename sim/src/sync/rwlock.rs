//! `std::sync::RwLock`.
#![expect(unsafe_code, reason = "hands out references to the value it guards")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync as real;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use super::poison::Poison;
use super::raw_lock::{Access, Grant, RawLock};
use crate::core::{Execution, Place, current};
use crate::hold::{HoldKind, Rules};

static RWLOCK: HoldKind = HoldKind::new("rwlock", Rules::NONE);

/// As `std::sync::RwLock`, poisoning included. In an execution a task that must wait is disabled
/// until it can have the lock.
///
/// Whether readers overtake a waiting writer is up to the scheduler, but a task that reads already
/// does not: it waits for the writer, which waits for it. Statics are as with
/// [`Mutex`](super::Mutex).
#[repr(C)]
pub struct RwLock<T: ?Sized> {
    /// First, so that the lock is where the whole is: there `name!` finds it.
    raw: RawLock,
    real: real::RwLock<()>,
    poison: Poison,
    used_outside: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: many readers or one writer, so the value moves between threads as in a std RwLock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; readers share the value, hence `T: Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

impl<T> RwLock<T> {
    /// As in `std`.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self {
            real: real::RwLock::new(()),
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
    /// An error that holds the value if the lock is poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        let Self { poison, value, .. } = self;
        poison.wrap(value.into_inner())
    }
}

/// The guard of a real lock that was tried, poisoned or not.
fn tried<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized> RwLock<T> {
    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error that holds the guard if the lock is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = self.real.read().unwrap_or_else(PoisonError::into_inner);
            return self.read_guard(Grant::Outside(guard));
        };
        let this = execution.resolve(self, Self::reset);
        this.read_guard(this.raw.lock(execution, Access::Shared, &RWLOCK, Location::caller()))
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if somebody writes; an error that holds the guard if the lock is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = tried(self.real.try_read()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.read_guard(Grant::Outside(guard))?);
        };
        let this = execution.resolve(self, Self::reset);
        let grant = this.raw.try_lock(execution, Access::Shared, &RWLOCK, Location::caller());
        Ok(this.read_guard(grant.ok_or(TryLockError::WouldBlock)?)?)
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// An error that holds the guard if the lock is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = self.real.write().unwrap_or_else(PoisonError::into_inner);
            return self.write_guard(Grant::Outside(guard));
        };
        let this = execution.resolve(self, Self::reset);
        this.write_guard(this.raw.lock(execution, Access::Exclusive, &RWLOCK, Location::caller()))
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if somebody has the lock; an error that holds the guard if the lock is poisoned.
    #[inline(always)]
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let Some(execution) = current() else {
            self.used_outside.store(true, Relaxed);
            let guard = tried(self.real.try_write()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.write_guard(Grant::Outside(guard))?);
        };
        let this = execution.resolve(self, Self::reset);
        let grant = this.raw.try_lock(execution, Access::Exclusive, &RWLOCK, Location::caller());
        Ok(this.write_guard(grant.ok_or(TryLockError::WouldBlock)?)?)
    }

    #[inline(always)]
    fn read_guard<'a>(
        &'a self,
        grant: Grant<real::RwLockReadGuard<'a, ()>>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        self.poison.wrap(RwLockReadGuard { lock: self, grant })
    }

    #[inline(always)]
    fn write_guard<'a>(
        &'a self,
        grant: Grant<real::RwLockWriteGuard<'a, ()>>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let panicking = std::thread::panicking();
        self.poison.wrap(RwLockWriteGuard { lock: self, panicking, written: false, grant })
    }

    /// Makes the bits of a static into an open lock.
    fn reset(&self) {
        assert!(
            !std::mem::needs_drop::<T>() || !self.used_outside.load(Relaxed),
            "a static RwLock whose value has a destructor was used outside of executions first; \
             use it in executions only, or make it part of the test's state"
        );
        self.raw.reset();
        self.poison.clear();
    }

    /// This lock, or the execution's copy of it.
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
    /// An error that holds the reference if the lock is poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.wrap(self.value.get_mut())
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => fields.field("data", &&*guard),
            Err(TryLockError::Poisoned(poisoned)) => fields.field("data", &&**poisoned.get_ref()),
            Err(TryLockError::WouldBlock) => fields.field("data", &format_args!("<locked>")),
        };
        fields.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}

/// As `std::sync::RwLockReadGuard`. Dropping it is a scheduling point.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    grant: Grant<real::RwLockReadGuard<'a, ()>>,
}

/// As `std::sync::RwLockWriteGuard`. Dropping it is a scheduling point.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Its task was panicking when it was made.
    panicking: bool,
    /// A mutable reference to the value was asked for.
    written: bool,
    grant: Grant<real::RwLockWriteGuard<'a, ()>>,
}

// SAFETY: a shared guard gives shared access to the value, which is fine where `T` is `Sync`.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// As in `std`: the writer goes on as a reader, with nobody in between.
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let mut guard = ManuallyDrop::new(guard);
        let lock = guard.lock;
        let taken = Grant::Inside { place: Location::caller(), owns: false };
        let grant = match std::mem::replace(&mut guard.grant, taken) {
            Grant::Outside(guard) => Grant::Outside(real::RwLockWriteGuard::downgrade(guard)),
            Grant::Inside { place, owns } => {
                if let Some(execution) = current()
                    && owns
                {
                    lock.raw.downgrade(execution, guard.written);
                }
                Grant::Inside { place, owns }
            }
        };
        RwLockReadGuard { lock, grant }
    }
}

/// The execution, the place and the ownership of a guard that goes.
#[inline(always)]
fn inside<G>(grant: &Grant<G>) -> Option<(&'static Execution, Place, bool)> {
    match *grant {
        Grant::Outside(_) => None,
        Grant::Inside { place, owns } => current().map(|execution| (execution, place, owns)),
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((execution, place, owns)) = inside(&self.grant) {
            let raw = &self.lock.raw;
            let owner = owns.then_some(execution);
            // A task may die at the scheduling point below.
            let _released = raw.released_at_the_end(owner, Access::Shared, false);
            raw.before_unlock(execution, Access::Shared, &RWLOCK, place);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let inside = inside(&self.grant);
        let raw = &self.lock.raw;
        let owner = inside.filter(|inside| inside.2).map(|inside| inside.0);
        // A task may die at the scheduling point below.
        let _released = raw.released_at_the_end(owner, Access::Exclusive, self.written);
        if let Some((execution, place, _)) = inside {
            raw.before_unlock(execution, Access::Exclusive, &RWLOCK, place);
        }
        self.lock.poison.guard_dropped(self.panicking);
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so nobody writes; a task that unwinds may have been let in as
        // well, but a writer does not run meanwhile.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so the lock is ours and no other guard exists; unwinding as
        // with readers.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.written = true;
        // SAFETY: as in `deref`, and `&mut self` forbids a second reference through this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

macro_rules! shown {
    ($($guard:ident),*) => {$(
        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}
shown!(RwLockReadGuard, RwLockWriteGuard);
