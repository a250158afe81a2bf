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
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self { read_error: 0, write_error: 0, sync_error: 0 };

    pub(crate) fn any(&self) -> bool {
        *self != Self::NONE
    }
}
