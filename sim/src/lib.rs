//! Deterministic simulation testing for spinlocks, packed atomic words and the code around them.

#[cfg(feature = "sim")]
mod core;
#[cfg(feature = "sim")]
pub mod explore;
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

/// Whether this build is instrumented: `true` with the feature `sim`.
pub const INSTRUMENTED: bool = cfg!(feature = "sim");
