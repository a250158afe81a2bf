//! Deterministic simulation testing for spinlocks, packed atomic words and the code around them.

#[cfg(feature = "sim")]
mod core;
#[cfg(feature = "sim")]
pub mod explore;
#[cfg(feature = "sim")]
pub mod scheduler;
#[cfg(feature = "sim")]
pub mod script;
#[cfg(feature = "sim")]
pub mod trace;

pub mod hold;
pub mod mutant;
mod note;
pub mod sync;

pub mod cell;
pub mod fs;
pub mod hint;
pub mod thread;
pub mod time;

#[cfg(feature = "sim")]
pub use explore::{Checker, Failure, Faults, Report, check};
#[cfg(feature = "sim")]
pub use scheduler::Scheduler;

#[cfg(not(feature = "sim"))]
pub use std::thread_local;

/// Whether this build is instrumented: `true` with the feature `sim`.
pub const INSTRUMENTED: bool = cfg!(feature = "sim");

#[cfg(feature = "sim")]
#[doc(hidden)]
pub mod private {
    //! What macros of this crate expand to.
    pub use crate::note::{listening, name, note};
}
