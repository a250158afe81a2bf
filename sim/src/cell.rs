//! Cells: plain memory that tasks share.

use std::cell as real;
use std::fmt;

/// As `std::cell::UnsafeCell`, of the same layout, with access in closures.
///
/// Inside an execution [`UnsafeCell::with`] and [`UnsafeCell::with_mut`] are scheduling points, and
/// a read and a write of the whole cell; `get` is neither. Two accesses of which one is a write
/// must be ordered by what the program says: a release that an acquire finds, a lock, a message, a
/// join. Where nothing orders them the execution fails with the rule `data-race`, whether or not a
/// value shows it. The counts of `Arc` order nothing here: what the last owner does to a cell it
/// should do through [`UnsafeCell::get_mut`].
///
/// What [`UnsafeCell::new`] puts into a cell is no access. A cell is known by its address until it
/// is dropped; one that is moved out of memory that is then used for another leaves its accesses
/// behind, and [`memory::fresh`](crate::memory::fresh) forgets them.
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
    #[cfg(feature = "sim")]
    end: End,
    real: real::UnsafeCell<T>,
}

impl<T> UnsafeCell<T> {
    /// As in `std`.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        Self {
            #[cfg(feature = "sim")]
            end: End,
            real: real::UnsafeCell::new(value),
        }
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

    /// As in `std`. No scheduling point, and a write that no other access can race with.
    #[inline(always)]
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        #[cfg(feature = "sim")]
        if let Some(execution) = crate::core::current() {
            let address = self.end.address();
            execution.forget_cell(address);
            execution.touch_cell(address, true, std::panic::Location::caller());
        }
        self.real.get_mut()
    }

    /// Calls `f` with a pointer to read through. A scheduling point.
    #[inline(always)]
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let value = self.get();
        #[cfg(feature = "sim")]
        access(false, value.cast(), std::panic::Location::caller());
        f(value)
    }

    /// Calls `f` with a pointer to read and write through. A scheduling point.
    #[inline(always)]
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let value = self.get();
        #[cfg(feature = "sim")]
        access(true, value.cast(), std::panic::Location::caller());
        let result = f(value);
        #[cfg(feature = "sim")]
        if let Some(execution) = crate::core::current() {
            execution.changed(value.cast::<u8>().addr(), 0, 1);
        }
        result
    }
}

/// The scheduling point before an access, and the access as far as others are concerned.
#[cfg(feature = "sim")]
#[inline(always)]
fn access(writes: bool, cell: *mut u8, place: crate::core::Place) {
    use crate::trace::OpKind::{CellRead, CellWrite};
    let Some(execution) = crate::core::current() else { return };
    let kind = if writes { CellWrite } else { CellRead };
    if execution.enter(kind, cell.addr(), "cell", place) {
        execution.record_operation(kind, cell.addr(), None, None, place);
    }
    execution.touch_cell(cell.addr(), writes, place);
}

/// Is where its cell is, and ends with it: then the execution forgets the accesses to it, for there
/// may be another cell in the same place.
#[cfg(feature = "sim")]
struct End;

#[cfg(feature = "sim")]
impl End {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

#[cfg(feature = "sim")]
impl Drop for End {
    #[inline]
    fn drop(&mut self) {
        if let Some(execution) = crate::core::current() {
            execution.forget_cell(self.address());
        }
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
