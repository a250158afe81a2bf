//! Programs that judge schedulers, each with one bug; correct until their mutant is switched on.
//!
//! Two are small buffer headers on raw atomics. What finds one of their bugs soon is slow on the
//! other: uniform random choice never finds the first and is much the best at the second. Two are
//! programs of a hundred tasks from the literature, on which most schedulers fail.

mod headers;
mod lossy_unpin;
mod reorder_100;
mod tag_check_then_pin;
mod twostage_100;
