//! Thread locals: of tasks inside executions, of threads outside.
#![expect(unsafe_code, reason = "hands out references to a task's locals")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::thread as real;

use crate::core::{Destroyed, Execution, current};

/// As `std::thread_local!`. Inside an execution every task has its own value, which is made when
/// the task first looks at it and destroyed when the task ends. An initialiser is evaluated at run
/// time, one in a `const` block too.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $value:ty = const $init:block $(; $($rest:tt)*)?) => {
        $crate::__thread_local!([$(#[$attr])*] $vis, $name, $value, const { $init });
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $value:ty = $init:expr $(; $($rest:tt)*)?) => {
        $crate::__thread_local!([$(#[$attr])*] $vis, $name, $value, $init);
        $($crate::thread_local!($($rest)*);)?
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __thread_local {
    ([$($attr:tt)*] $vis:vis, $name:ident, $value:ty, $init:expr) => {
        $($attr)*
        $vis static $name: $crate::thread::LocalKey<$value> = {
            fn init() -> $value {
                $init
            }
            ::std::thread_local! {
                static REAL: $value = init();
            }
            $crate::thread::LocalKey::of(&REAL, init)
        };
    };
}

/// As `std::thread::LocalKey`.
pub struct LocalKey<T: 'static> {
    real: &'static real::LocalKey<T>,
    init: fn() -> T,
}

/// As `std::thread::AccessError`: the local was destroyed, for its thread is about to end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError(());

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish_non_exhaustive()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn of(real: &'static real::LocalKey<T>, init: fn() -> T) -> Self {
        Self { real, init }
    }

    /// As in `std`. No scheduling point: nobody else sees the value.
    ///
    /// # Panics
    ///
    /// Panics if the value was destroyed, which is so while a thread ends.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        match self.try_with(f) {
            Ok(result) => result,
            Err(error) => {
                panic!(
                    "cannot access a thread local value during or after its destruction: {error}"
                )
            }
        }
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// An error if the value was destroyed.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        let Some(execution) = current() else {
            return self.real.try_with(f).map_err(|_| AccessError(()));
        };
        let value = self.of_task(execution).ok_or(AccessError(()))?;
        // SAFETY: boxed in the list of the running task's locals, where it stays until the task
        // ends, after this call.
        Ok(f(unsafe { &*value }))
    }

    /// The running task's value; `None` if it was destroyed.
    fn of_task(&'static self, execution: &Execution) -> Option<*const T> {
        let key = std::ptr::from_ref(self).addr();
        if execution.local(key).is_none() {
            let made: Box<dyn Any> = Box::new((self.init)());
            // The initialiser may have looked at the key itself; that value stays.
            if execution.local(key).is_none() {
                execution.add_local(key, made);
            }
        }
        // SAFETY: as in `try_with`; the reference ends in this function.
        let value = unsafe { &*execution.local(key)? };
        debug_assert!(value.is::<T>() || value.is::<Destroyed>());
        value.downcast_ref::<T>().map(std::ptr::from_ref)
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// As in `std`.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// As in `std`.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// As in `std`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// As in `std`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// As in `std`.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// As in `std`.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// As in `std`.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| *cell.borrow_mut() = value);
    }

    /// As in `std`.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// As in `std`.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
