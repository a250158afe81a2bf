//! Holds: the stretches of code in which a task owns a spinlock.
//!
//! A *hold* begins when a task gets a spinlock, a lock bit or a partition lock and ends when it
//! gives it back. Schedulers aim at holds, timelines mark them, the wait-for graph reads owners
//! from them. [`SpinLock`](crate::sync::SpinLock) and [`LockBit`](crate::sync::LockBit) begin and
//! end theirs alone; a lock of your own calls [`begin`] and [`end`].
//!
//! Natively both calls are empty and disappear.

/// What may happen while a hold lasts. A rule broken is a failure of the execution.
///
/// The rule names in a failure are `hold-no-sleep`, `hold-no-lock`, `hold-no-allocation` and
/// `hold-max-steps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The holder must not sleep: no park, no condition wait, no timer, no blocking I/O.
    pub no_sleep: bool,
    /// The holder must not begin another hold.
    pub no_other_lock: bool,
    /// The holder must not allocate where [`fault::allocation_fails`](crate::fault::allocation_fails)
    /// is asked.
    pub no_allocation: bool,
    /// The holder may pass at most this many scheduling points. `0` means no limit.
    pub max_steps: u32,
}

impl Rules {
    /// Nothing is forbidden.
    pub const NONE: Self =
        Self { no_sleep: false, no_other_lock: false, no_allocation: false, max_steps: 0 };
    /// What a spinlock asks for: no sleep, no other lock and no allocation.
    pub const SPINLOCK: Self =
        Self { no_sleep: true, no_other_lock: true, no_allocation: true, max_steps: 0 };
}

/// A kind of lock: its name in timelines and reports, and what its holder must not do.
#[derive(Debug)]
pub struct HoldKind {
    /// Name as it appears in timelines, for example `header lock`.
    pub name: &'static str,
    /// What its holder must not do.
    pub rules: Rules,
}

impl HoldKind {
    /// A kind named `name` whose holder keeps `rules`.
    #[must_use]
    pub const fn new(name: &'static str, rules: Rules) -> Self {
        Self { name, rules }
    }
}

/// The current task owns the lock at `object` (the address of its word) from here on.
#[inline(always)]
#[track_caller]
pub fn begin(kind: &'static HoldKind, object: usize) {
    #[cfg(feature = "sim")]
    crate::core::hold_begin(kind, object, std::panic::Location::caller());
    #[cfg(not(feature = "sim"))]
    let _ = (kind, object);
}

/// The current task gives back the lock at `object`.
#[inline(always)]
pub fn end(object: usize) {
    #[cfg(feature = "sim")]
    crate::core::hold_end(object);
    #[cfg(not(feature = "sim"))]
    let _ = object;
}
