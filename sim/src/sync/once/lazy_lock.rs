//! `std::sync::LazyLock`.
#![expect(unsafe_code, reason = "hands out references to a value that is written once")]

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use super::{COMPLETE, INCOMPLETE, Once};
use crate::core::current;

/// As `std::sync::LazyLock`. A static one is made anew in every execution that looks at it.
///
/// The initialiser stays where it is when it is called, so that each execution can copy and call
/// it. One that has a destructor cannot be called twice: such a static must not have been
/// initialised outside of executions first.
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    /// Ours to drop exactly while `once` is incomplete; its bits stay.
    init: UnsafeCell<ManuallyDrop<F>>,
    /// Initialised exactly while `once` is complete.
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: value and initialiser are touched by one task at a time until the value is there, and the
// value is only shared from then on.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// As in `std`.
    #[inline]
    pub const fn new(init: F) -> Self {
        Self {
            once: Once::new(),
            init: UnsafeCell::new(ManuallyDrop::new(init)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Panics
    ///
    /// Panics if the initialiser panics or did so before.
    #[track_caller]
    pub fn force(this: &Self) -> &T {
        let this = this.local();
        this.once.call(false, Location::caller(), &mut |_| {
            // SAFETY: `once` lets one task in, once, so nobody else touches the initialiser.
            let init = unsafe { &mut *this.init.get() };
            // SAFETY: not taken before, and not dropped later since `once` is not incomplete then.
            let init = unsafe { ManuallyDrop::take(init) };
            let value = MaybeUninit::new(init());
            // SAFETY: no reference to the value exists before `once` is complete.
            unsafe { this.value.get().write(value) };
        });
        assert!(
            this.once.state() == COMPLETE,
            "a destructor needs a value that another task was about to make"
        );
        this.filled()
    }

    /// As in `std`.
    ///
    /// # Panics
    ///
    /// Panics if the initialiser panics or did so before.
    #[track_caller]
    pub fn force_mut(this: &mut Self) -> &mut T {
        Self::force(this);
        // SAFETY: initialised by `force`.
        unsafe { this.value.get_mut().assume_init_mut() }
    }
}

impl<T, F> LazyLock<T, F> {
    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn get(this: &Self) -> Option<&T> {
        let this = this.local();
        this.once.look(Location::caller()).then(|| this.filled())
    }

    /// As in `std`.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        let filled = this.once.state() == COMPLETE;
        // SAFETY: initialised if `once` is complete.
        filled.then(|| unsafe { this.value.get_mut().assume_init_mut() })
    }

    /// This, or the execution's copy of it.
    #[inline]
    fn local(&self) -> &Self {
        current().map_or(self, |execution| execution.resolve(self, Self::reset))
    }

    /// Makes the bits of a static uninitialised.
    fn reset(&self) {
        assert!(
            !std::mem::needs_drop::<F>() || self.once.state() == INCOMPLETE,
            "a static LazyLock whose initialiser has a destructor was used outside of executions \
             first; use it in executions only, or initialise it with a function"
        );
        self.once.reset();
    }

    /// The value, which must be initialised.
    #[inline]
    fn filled(&self) -> &T {
        // SAFETY: nobody writes the value once it is initialised, except through `&mut self`.
        let value = unsafe { &*self.value.get() };
        // SAFETY: the caller saw `once` complete.
        unsafe { value.assume_init_ref() }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        Self::force(self)
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        match self.once.state() {
            // SAFETY: incomplete, so the initialiser was not taken.
            INCOMPLETE => unsafe { ManuallyDrop::drop(self.init.get_mut()) },
            // SAFETY: complete, so the value is there.
            COMPLETE => unsafe { self.value.get_mut().assume_init_drop() },
            _ => {}
        }
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let this = self.local();
        let mut tuple = f.debug_tuple("LazyLock");
        if this.once.state() == COMPLETE {
            tuple.field(this.filled())
        } else {
            tuple.field(&format_args!("<uninit>"))
        }
        .finish()
    }
}
