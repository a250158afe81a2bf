//! Draws for workloads: random numbers that come from the seed.
//!
//! A workload that chooses pages or operations at random must draw here, or its choice would not be
//! replayed with the seed. The draws are the execution's, apart from those of the scheduler: a
//! workload that draws once more does not move the schedule.

/// The next 64 random bits.
///
/// # Panics
///
/// Panics outside of executions: there is no seed to draw from.
#[must_use]
pub fn next_u64() -> u64 {
    match crate::core::workload_draw() {
        Some(draw) => draw,
        None => panic!("holdup::random draws from the seed of an execution, and this is none"),
    }
}

/// A number below `n`, off from uniform by less than `n` in 2^64.
///
/// # Panics
///
/// Panics outside of executions, and if `n` is 0.
#[must_use]
pub fn below(n: u64) -> u64 {
    assert!(n > 0, "there is no number below 0");
    ((u128::from(next_u64()) * u128::from(n)) >> 64) as u64
}
