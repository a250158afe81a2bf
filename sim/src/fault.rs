//! Faults that the program itself asks for: an allocation that fails, a request to cancel.
//!
//! Code that can bear such a fault asks at the place where it would meet it. Natively the answer is
//! `false`, a constant; in an execution it comes from the seed, at the rates of `Faults`.
//!
//! ```
//! use holdup::fault;
//!
//! fn reserve(table: &mut Vec<u32>) -> Result<(), &'static str> {
//!     if fault::allocation_fails() {
//!         return Err("out of memory");
//!     }
//!     table.try_reserve(1).map_err(|_| "out of memory")
//! }
//! assert!(reserve(&mut Vec::new()).is_ok());
//! ```

#[cfg(feature = "sim")]
use crate::explore::FaultKind;

/// Whether the allocation that the caller is about to make is to fail.
///
/// Inside a hold whose kind forbids to allocate it breaks the rule `hold-no-allocation`, whether it
/// would fail or not.
#[inline(always)]
#[must_use]
#[track_caller]
pub fn allocation_fails() -> bool {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        let place = std::panic::Location::caller();
        execution.may_allocate(place);
        return execution.fault(
            FaultKind::Allocation,
            |faults| faults.allocation,
            "the allocation fails",
            place,
        );
    }
    false
}

/// Whether a request to cancel what the caller does has come: at an *interruptible point*, where it
/// can give up and leave nothing behind.
#[inline(always)]
#[must_use]
#[track_caller]
pub fn cancelled() -> bool {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        let place = std::panic::Location::caller();
        return execution.fault(
            FaultKind::Cancel,
            |faults| faults.cancel,
            "is to be cancelled",
            place,
        );
    }
    false
}
