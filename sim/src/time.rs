//! `std::time`.
pub use std::time::*;
