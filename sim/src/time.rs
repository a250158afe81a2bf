//! `std::time`, virtual inside an execution.
//!
//! In an execution time is the number of scheduling points passed, and leaps to the next deadline
//! when every task waits. Reading a clock is a scheduling point, so a loop that polls one ends.

pub use std::time::{Duration, SystemTimeError};

#[cfg(not(feature = "sim"))]
pub use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[cfg(feature = "sim")]
pub use instrumented::{Instant, SystemTime, UNIX_EPOCH};

#[cfg(feature = "sim")]
mod instrumented;
