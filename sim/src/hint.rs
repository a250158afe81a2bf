//! `std::hint`, and `spin_until`.
pub use std::hint::*;
