//! `std::sync::OnceLock`.
#![expect(unsafe_code, reason = "hands out references to a value that is written once")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use super::{COMPLETE, Once};
use crate::core::current;

/// As `std::sync::OnceLock`. A static one is empty at the start of every execution, even if it was
/// filled outside of executions.
pub struct OnceLock<T> {
    once: Once,
    /// Initialised exactly while `once` is complete.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written once, by whichever task comes first, and then only shared.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: the value moves with the lock.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// As in `std`.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// This, or the execution's copy of it.
    #[inline]
    fn local(&self) -> &Self {
        current().map_or(self, |execution| execution.resolve(self, |this| this.once.reset()))
    }

    /// The value, which must be initialised.
    #[inline]
    fn filled(&self) -> &T {
        // SAFETY: nobody writes the value once it is initialised, except through `&mut self`.
        let value = unsafe { &*self.value.get() };
        // SAFETY: the caller saw `once` complete.
        unsafe { value.assume_init_ref() }
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let this = self.local();
        this.once.look(Location::caller()).then(|| this.filled())
    }

    /// As in `std`.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let filled = self.once.state() == COMPLETE;
        // SAFETY: initialised if `once` is complete.
        filled.then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// Gives `value` back if there was one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.local().fill(Location::caller(), &mut || value.take());
        value.map_or(Ok(()), Err)
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, init: F) -> &T {
        let this = self.local();
        let mut init = Some(init);
        this.fill(Location::caller(), &mut || init.take().map(|init| init()));
        assert!(
            this.once.state() == COMPLETE,
            "a destructor needs a value that another task was about to make"
        );
        this.filled()
    }

    /// Writes what `make` returns, unless there is a value. `make` returns one if it is called.
    fn fill(&self, place: &'static Location<'static>, make: &mut dyn FnMut() -> Option<T>) {
        self.once.call(true, place, &mut |_| {
            let Some(value) = make() else { unreachable!("an initialiser is called once") };
            // SAFETY: `once` lets one task in at a time, and no reference to the value exists
            // before `once` is complete.
            unsafe { self.value.get().write(MaybeUninit::new(value)) };
        });
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn wait(&self) -> &T {
        let this = self.local();
        this.once.wait_for_others(true, Location::caller());
        assert!(
            this.once.state() == COMPLETE,
            "a destructor waits for a value that another task was to make"
        );
        this.filled()
    }

    /// As in `std`.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// As in `std`.
    pub fn take(&mut self) -> Option<T> {
        let filled = self.once.state() == COMPLETE;
        self.once = Once::new();
        // SAFETY: initialised if `once` was complete, and given away only here, once.
        filled.then(|| unsafe { self.value.get_mut().assume_init_read() })
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let lock = Self::new();
        lock.value_from(value);
        lock
    }
}

impl<T> OnceLock<T> {
    /// Fills a lock that nobody shares, which is no step of an execution.
    fn value_from(&self, value: T) {
        // SAFETY: nobody else knows the lock, which is empty.
        unsafe { self.value.get().write(MaybeUninit::new(value)) };
        self.once.state.store(COMPLETE, std::sync::atomic::Ordering::Release);
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().map_or_else(Self::new, |value| value.clone().into())
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let this = self.local();
        let mut tuple = f.debug_tuple("OnceLock");
        if this.once.state() == COMPLETE {
            tuple.field(this.filled())
        } else {
            tuple.field(&format_args!("<uninit>"))
        }
        .finish()
    }
}
