//! `std::sync::atomic`, every operation a scheduling point inside an execution.
//!
//! The types have the size and the layout of the integers they hold, so memory that is cast to
//! atomics works. Inside an execution one OS thread runs all tasks, so a read-modify-write is a
//! plain load and a plain store; values are sequentially consistent whatever order is asked for.

#[cfg(not(feature = "sim"))]
pub use std::sync::atomic::*;

#[cfg(feature = "sim")]
pub use instrumented::*;

#[cfg(feature = "sim")]
mod instrumented {
    use std::fmt;
    use std::panic::Location;
    use std::sync::atomic as real;

    pub use std::sync::atomic::{Ordering, compiler_fence};

    use crate::core::{Access, Execution, current};
    use crate::trace::OpKind;

    /// As `std::sync::atomic::fence`, and a scheduling point.
    #[inline(always)]
    #[track_caller]
    pub fn fence(order: Ordering) {
        if let Some(execution) = current() {
            let place = Location::caller();
            if execution.point(OpKind::Fence, 0, place) {
                execution.tell_fence(order, place);
            }
        }
        real::fence(order);
    }

    /// A load or store order that a real atomic of this kind would refuse is refused here too.
    #[inline(always)]
    fn check_load(order: Ordering) {
        match order {
            Ordering::Relaxed | Ordering::Acquire | Ordering::SeqCst => {}
            _ => panic!("there is no such thing as a load with order {order:?}"),
        }
    }

    #[inline(always)]
    fn check_store(order: Ordering) {
        match order {
            Ordering::Relaxed | Ordering::Release | Ordering::SeqCst => {}
            _ => panic!("there is no such thing as a store with order {order:?}"),
        }
    }

    macro_rules! common {
        ([$($generic:tt)*], $name:ident, $self_ty:ty, $value:ty, $real:ty, |$v:ident| $bits:expr) => {
            impl<$($generic)*> $self_ty {
                #[doc = concat!("A new `", stringify!($name), "`.")]
                #[must_use]
                pub const fn new(value: $value) -> Self {
                    Self { real: <$real>::new(value) }
                }

                /// The value, which nobody else can reach through `&mut self`.
                pub fn get_mut(&mut self) -> &mut $value {
                    self.real.get_mut()
                }

                /// The value.
                #[must_use]
                pub const fn into_inner(self) -> $value {
                    self.real.into_inner()
                }

                /// A pointer to the value.
                #[must_use]
                pub const fn as_ptr(&self) -> *mut $value {
                    self.real.as_ptr()
                }

                #[inline(always)]
                fn address(&self) -> usize {
                    std::ptr::from_ref(self).addr()
                }

                #[inline(always)]
                fn bits($v: $value) -> u64 {
                    $bits
                }

                /// The real atomic, for reads that are no step of an execution: `Debug`.
                pub(crate) fn peek(&self) -> $value {
                    let this = current().map_or(self, |execution| execution.resolve(self, |_| ()));
                    this.real.load(Ordering::Relaxed)
                }

                /// As in `std`.
                #[inline(always)]
                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    let Some(execution) = current() else { return self.real.load(order) };
                    check_load(order);
                    let place = Location::caller();
                    let this = execution.resolve(self, |_| ());
                    let tell = execution.point(OpKind::Load, this.address(), place);
                    let value = this.real.load(Ordering::Relaxed);
                    execution.saw(Self::bits(value));
                    if tell {
                        let (bits, access) = (Self::bits(value), Access::Load(order));
                        let address = this.address();
                        execution.tell_atomic(OpKind::Load, address, (bits, bits), access, place);
                    }
                    value
                }

                /// As in `std`.
                #[inline(always)]
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    let Some(execution) = current() else { return self.real.store(value, order) };
                    check_store(order);
                    let access = |_| Access::Store(order);
                    self.update(execution, OpKind::Store, access, Location::caller(), |_| value);
                }

                /// As in `std`.
                #[inline(always)]
                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    let Some(execution) = current() else { return self.real.swap(value, order) };
                    let (kind, access) = (OpKind::ReadModifyWrite, |_| Access::Update(order));
                    self.update(execution, kind, access, Location::caller(), |_| value)
                }

                /// As in `std`.
                #[inline(always)]
                #[track_caller]
                pub fn compare_exchange(
                    &self,
                    expected: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    let Some(execution) = current() else {
                        return self.real.compare_exchange(expected, new, success, failure);
                    };
                    check_load(failure);
                    let choose = |old: $value| if old == expected { new } else { old };
                    let access = |old: $value| {
                        if old == expected { Access::Update(success) } else { Access::Load(failure) }
                    };
                    let (kind, place) = (OpKind::CompareExchange, Location::caller());
                    let old = self.update(execution, kind, access, place, choose);
                    if old == expected {
                        return Ok(old);
                    }
                    if old == new {
                        execution.changed_nothing();
                    }
                    Err(old)
                }

                /// As in `std`. Fails spuriously where `Faults::spurious_failure` says so.
                #[inline(always)]
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self,
                    expected: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    if let Some(execution) = current()
                        && execution.fails_spuriously(Location::caller())
                    {
                        return Err(self.load(failure));
                    }
                    self.compare_exchange(expected, new, success, failure)
                }

                /// As in `std`: a loop of compare-and-swaps.
                #[inline(always)]
                #[track_caller]
                pub fn fetch_update(
                    &self,
                    set_order: Ordering,
                    fetch_order: Ordering,
                    mut update: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut old = self.load(fetch_order);
                    while let Some(new) = update(old) {
                        match self.compare_exchange_weak(old, new, set_order, fetch_order) {
                            done @ Ok(_) => return done,
                            Err(now) => old = now,
                        }
                    }
                    Err(old)
                }

                /// A scheduling point, then the word's new value from its old one.
                #[inline(always)]
                fn update(
                    &self,
                    execution: &Execution,
                    kind: OpKind,
                    access: impl FnOnce($value) -> Access,
                    place: &'static Location<'static>,
                    new: impl FnOnce($value) -> $value,
                ) -> $value {
                    let this = execution.resolve(self, |_| ());
                    let tell = execution.point(kind, this.address(), place);
                    let old = this.real.load(Ordering::Relaxed);
                    execution.saw(Self::bits(old));
                    let new = new(old);
                    if old != new {
                        this.real.store(new, Ordering::Relaxed);
                        execution.changed(this.address(), Self::bits(old), Self::bits(new));
                    } else if kind == OpKind::ReadModifyWrite {
                        execution.changed_nothing();
                    }
                    if tell {
                        let bits = (Self::bits(old), Self::bits(new));
                        execution.tell_atomic(kind, this.address(), bits, access(old), place);
                    }
                    old
                }
            }
        };
    }

    macro_rules! fetch {
        ($value:ty; $($(#[$doc:meta])* $method:ident, |$old:ident, $operand:ident| $new:expr;)*) => {
            $(
                $(#[$doc])*
                #[inline(always)]
                #[track_caller]
                pub fn $method(&self, $operand: $value, order: Ordering) -> $value {
                    let Some(execution) = current() else {
                        return self.real.$method($operand, order);
                    };
                    let (kind, access) = (OpKind::ReadModifyWrite, |_| Access::Update(order));
                    self.update(execution, kind, access, Location::caller(), |$old| $new)
                }
            )*
        };
    }

    macro_rules! traits {
        ($name:ident, $value:ty) => {
            impl Default for $name {
                fn default() -> Self {
                    Self::new(<$value>::default())
                }
            }

            impl From<$value> for $name {
                fn from(value: $value) -> Self {
                    Self::new(value)
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Debug::fmt(&self.peek(), f)
                }
            }
        };
    }

    macro_rules! integer {
        ($name:ident, $value:ty) => {
            #[doc = concat!("As `std::sync::atomic::", stringify!($name), "`.")]
            #[repr(transparent)]
            pub struct $name {
                real: real::$name,
            }

            common!([], $name, $name, $value, real::$name, |value| value as u64);
            traits!($name, $value);

            impl $name {
                fetch! { $value;
                    /// As in `std`; wraps around.
                    fetch_add, |old, value| old.wrapping_add(value);
                    /// As in `std`; wraps around.
                    fetch_sub, |old, value| old.wrapping_sub(value);
                    /// As in `std`.
                    fetch_and, |old, value| old & value;
                    /// As in `std`.
                    fetch_nand, |old, value| !(old & value);
                    /// As in `std`.
                    fetch_or, |old, value| old | value;
                    /// As in `std`.
                    fetch_xor, |old, value| old ^ value;
                    /// As in `std`.
                    fetch_max, |old, value| old.max(value);
                    /// As in `std`.
                    fetch_min, |old, value| old.min(value);
                }
            }
        };
    }

    integer!(AtomicU8, u8);
    integer!(AtomicU16, u16);
    integer!(AtomicU32, u32);
    integer!(AtomicU64, u64);
    integer!(AtomicUsize, usize);
    integer!(AtomicI8, i8);
    integer!(AtomicI16, i16);
    integer!(AtomicI32, i32);
    integer!(AtomicI64, i64);
    integer!(AtomicIsize, isize);

    /// As `std::sync::atomic::AtomicBool`.
    #[repr(transparent)]
    pub struct AtomicBool {
        real: real::AtomicBool,
    }

    common!([], AtomicBool, AtomicBool, bool, real::AtomicBool, |value| u64::from(value));
    traits!(AtomicBool, bool);

    impl AtomicBool {
        fetch! { bool;
            /// As in `std`.
            fetch_and, |old, value| old & value;
            /// As in `std`.
            fetch_nand, |old, value| !(old & value);
            /// As in `std`.
            fetch_or, |old, value| old | value;
            /// As in `std`.
            fetch_xor, |old, value| old ^ value;
        }

        /// As in `std`.
        #[inline(always)]
        #[track_caller]
        pub fn fetch_not(&self, order: Ordering) -> bool {
            self.fetch_xor(true, order)
        }
    }

    /// As `std::sync::atomic::AtomicPtr`. Its values are never shown: addresses differ from run to
    /// run.
    #[repr(transparent)]
    pub struct AtomicPtr<T> {
        real: real::AtomicPtr<T>,
    }

    common!([T], AtomicPtr, AtomicPtr<T>, *mut T, real::AtomicPtr<T>, |value| value.addr() as u64);

    impl<T> Default for AtomicPtr<T> {
        fn default() -> Self {
            Self::new(std::ptr::null_mut())
        }
    }

    impl<T> From<*mut T> for AtomicPtr<T> {
        fn from(value: *mut T) -> Self {
            Self::new(value)
        }
    }

    impl<T> fmt::Debug for AtomicPtr<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            fmt::Debug::fmt(&self.peek(), f)
        }
    }
}
