//! Faults: what may go wrong outside the code under test, drawn from the seed.

/// Which faults an execution injects, and how often. The default injects none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How many of 65,536 reads of a simulated file fail.
    pub read_error: u32,
    /// How many of 65,536 writes of a simulated file fail.
    pub write_error: u32,
    /// How many of 65,536 syncs of a simulated file fail.
    pub sync_error: u32,
    /// Waits on a condition variable and parks that end for no reason.
    pub spurious_wakeup: u32,
    /// `compare_exchange_weak` and the test-and-set of a lock bit that fail for no reason.
    pub spurious_failure: u32,
    /// Locks whose new holder is taken off the processor, as an operating system may do it.
    pub descheduled: u32,
    /// The longest time that takes, in virtual milliseconds.
    pub descheduled_ms: u32,
    /// Interruptible points at which a request to cancel has come: see
    /// [`fault::cancelled`](crate::fault::cancelled).
    pub cancel: u32,
    /// Allocations that fail: see [`fault::allocation_fails`](crate::fault::allocation_fails).
    pub allocation: u32,
    /// Faults strike in the first steps of an execution only, as many as the seed draws from 1 to
    /// this; 0 if they never end.
    pub storm_steps: u32,
    /// Steps after the last fault within which every task must have ended, or the execution fails
    /// with the rule `progress`; 0 for as many as an execution may have at all. Only where
    /// `storm_steps` says when faults end.
    pub calm_steps: u32,
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self {
        read_error: 0,
        write_error: 0,
        sync_error: 0,
        spurious_wakeup: 0,
        spurious_failure: 0,
        descheduled: 0,
        descheduled_ms: 0,
        cancel: 0,
        allocation: 0,
        storm_steps: 0,
        calm_steps: 0,
    };

    pub(crate) fn any(&self) -> bool {
        *self != Self::NONE
    }
}
