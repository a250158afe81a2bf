//! Two programs that judge schedulers: small buffer headers on raw atomics, each with one bug.
//!
//! Both are correct until their mutant is switched on. What finds one of the bugs soon is slow on
//! the other: uniform random choice never finds the first and is much the best at the second.

mod headers;
mod lossy_unpin;
mod tag_check_then_pin;
