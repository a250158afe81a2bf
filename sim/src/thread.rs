//! `std::thread`.
pub use std::thread::*;
