//! Cells.
pub use std::cell::UnsafeCell;
