//! `std::sync::atomic`.
pub use std::sync::atomic::*;
