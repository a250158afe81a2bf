//! Cells: plain memory that tasks share.

use std::cell as real;
use std::fmt;

/// As `std::cell::UnsafeCell`, of the same layout, with access in closures.
///
/// Inside an execution [`UnsafeCell::with`] and [`UnsafeCell::with_mut`] are scheduling points,
/// recorded as a read and a write; `get` is neither. Accesses that race are not reported yet: what
/// is found is what a race does to the values.
///
/// A static one starts in every execution with the bits it has outside. If its value has a
/// destructor, it must not have been changed outside of executions first.
///
/// ```
/// use holdup::cell::UnsafeCell;
///
/// let cell = UnsafeCell::new(1);
/// cell.with(|value| assert!(!value.is_null()));
/// assert_eq!(cell.into_inner(), 1);
/// ```
#[repr(transparent)]
pub struct UnsafeCell<T: ?Sized> {
    real: real::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// As in `std`.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        Self { real: real::UnsafeCell::new(value) }
    }

    /// As in `std`.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.real.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// As in `std`. No scheduling point.
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        #[cfg(feature = "sim")]
        if let Some(execution) = crate::core::current() {
            return execution.resolve(self, |_| ()).real.get();
        }
        self.real.get()
    }

    /// As in `std`.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.real.get_mut()
    }

    /// Calls `f` with a pointer to read through. A scheduling point.
    #[inline(always)]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let value = self.get();
        #[cfg(feature = "sim")]
        point(crate::trace::OpKind::CellRead, value.cast(), std::panic::Location::caller());
        f(value)
    }

    /// Calls `f` with a pointer to read and write through. A scheduling point.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let value = self.get();
        #[cfg(feature = "sim")]
        point(crate::trace::OpKind::CellWrite, value.cast(), std::panic::Location::caller());
        let result = f(value);
        #[cfg(feature = "sim")]
        if let Some(execution) = crate::core::current() {
            execution.changed(value.cast::<u8>().addr(), 0, 1);
        }
        result
    }
}

/// The scheduling point before an access.
#[cfg(feature = "sim")]
#[inline(always)]
fn point(kind: crate::trace::OpKind, cell: *mut u8, place: crate::core::Place) {
    if let Some(execution) = crate::core::current()
        && execution.enter(kind, cell.addr(), "cell", place)
    {
        execution.record_operation(kind, cell.addr(), None, None, place);
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}
