//! Faults: what may go wrong outside the code under test, drawn from the seed, and how often it did.

/// Which faults an execution injects, and how often. The default injects none.
///
/// A rate is how many of 65,536 occasions go wrong. Each says what an occasion is; where a fault
/// could change nothing (a misdirected read of a file of one sector), it does not strike and is not
/// counted. [`Report::faults`](super::Report::faults) says how often each did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Reads of a file that fail with `EIO`.
    pub read_error: u32,
    /// Writes of a file, changes of its length included, that fail with `EIO` and change nothing.
    pub write_error: u32,
    /// Syncs that fail with `EIO`, once: see [`fs`](crate::fs) for what a failed sync leaves behind.
    pub sync_error: u32,
    /// Reads of two bytes or more that return fewer bytes than there are.
    pub short_read: u32,
    /// Writes of two bytes or more that write fewer bytes than they were given.
    pub short_write: u32,
    /// Writes that make a file longer and fail with `ENOSPC`.
    pub disk_full: u32,
    /// Bytes that all files together may have before writes fail with `ENOSPC`; 0 for no limit. A
    /// file that was removed counts until the removal is durable and no handle is left.
    pub disk_bytes: u64,
    /// Reads that return what is elsewhere in the file, some sectors off.
    pub misdirected_read: u32,
    /// Writes that go elsewhere in the file, some sectors off, and leave their place as it was.
    pub misdirected_write: u32,
    /// Reads that return what was durable instead of what was written since.
    pub stale_read: u32,
    /// Reads that find a bit of a durable sector flipped; it stays flipped.
    pub bit_rot: u32,
    /// The longest time that a file operation takes, in virtual nanoseconds; each takes a time drawn
    /// from 0 to this, and other tasks run meanwhile.
    pub latency_ns: u32,
    /// File operations of tasks other than `main` in whose middle the task dies, alone: see
    /// [`crash::kill`](crate::crash::kill).
    pub kill: u32,
    /// File operations in a [life](crate::crash::life) at which its process crashes.
    pub process_crash: u32,
    /// File operations in a [life](crate::crash::life) at which the power fails.
    pub power_failure: u32,
    /// Waits on a condition variable and parks that end for no reason.
    pub spurious_wakeup: u32,
    /// `compare_exchange_weak` and the test-and-set of a lock bit that fail for no reason.
    pub spurious_failure: u32,
    /// Locks whose new holder must not sleep, and is taken off the processor all the same, as an
    /// operating system may do it.
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
    /// Where in each life a crash comes, whatever it is doing.
    pub crash_point: CrashPoint,
}

/// At which scheduling point of a [life](crate::crash::life) a crash comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrashPoint {
    /// At none.
    #[default]
    Never,
    /// At one that the seed draws, each as likely as the other: among as many as a few executions
    /// without crashes showed that the life has, and a quarter more, so that one life in five comes
    /// to its end.
    Drawn(CrashKind),
    /// At this one, counted from 1 over all tasks from the beginning of the life.
    At(CrashKind, u64),
}

/// What dies in a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashKind {
    /// The tasks of one life. What was written to files is there, synced or not.
    Process,
    /// The tasks of every life, and what was not synced.
    Power,
}

/// Where lives with this ordinal or a higher one share what is known of their length.
const KNOWN_LIVES: usize = 4;

/// How many scheduling points lives have, by their ordinal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LifeSteps([u32; KNOWN_LIVES]);

impl LifeSteps {
    /// The `nth` life of an execution took so many steps.
    pub(crate) fn observe(&mut self, nth: usize, steps: u64) {
        let known = &mut self.0[nth.min(KNOWN_LIVES - 1)];
        *known = (*known).max(u32::try_from(steps).unwrap_or(u32::MAX));
    }

    /// The longest of both.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(theirs);
        }
    }

    /// From how many points the crash of the `nth` life is drawn.
    pub(crate) fn range(&self, nth: usize) -> u32 {
        let known = self.0[nth.min(KNOWN_LIVES - 1)];
        // A life that only crashes bring about, such as a recovery, was not seen by any pilot.
        let steps = if known > 0 { known } else { self.0.into_iter().max().unwrap_or(0) };
        let steps = steps.max(4);
        steps.saturating_add(steps / 4)
    }

    pub(crate) fn is_known(&self) -> bool {
        self.0 != [0; KNOWN_LIVES]
    }
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self {
        read_error: 0,
        write_error: 0,
        sync_error: 0,
        short_read: 0,
        short_write: 0,
        disk_full: 0,
        disk_bytes: 0,
        misdirected_read: 0,
        misdirected_write: 0,
        stale_read: 0,
        bit_rot: 0,
        latency_ns: 0,
        kill: 0,
        process_crash: 0,
        power_failure: 0,
        crash_point: CrashPoint::Never,
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

    /// The same without what ends a task or a life.
    pub(crate) fn without_crashes(self) -> Self {
        let crash_point = CrashPoint::Never;
        Self { kill: 0, process_crash: 0, power_failure: 0, crash_point, ..self }
    }
}

/// The kinds of faults that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum FaultKind {
    ReadError,
    WriteError,
    SyncError,
    ShortRead,
    ShortWrite,
    DiskFull,
    MisdirectedRead,
    MisdirectedWrite,
    StaleRead,
    BitRot,
    Delay,
    Kill,
    ProcessCrash,
    PowerFailure,
    UnsyncedLost,
    UnsyncedKept,
    TornWrite,
    SizeLost,
    NameLost,
    SpuriousWakeup,
    SpuriousFailure,
    Descheduled,
    Cancel,
    Allocation,
}

const KINDS: usize = FaultKind::Allocation as usize + 1;

/// By kind.
const NAMES: [&str; KINDS] = [
    "read-error",
    "write-error",
    "sync-error",
    "short-read",
    "short-write",
    "disk-full",
    "misdirected-read",
    "misdirected-write",
    "stale-read",
    "bit-rot",
    "delay",
    "kill",
    "process-crash",
    "power-failure",
    "unsynced-lost",
    "unsynced-kept",
    "torn-write",
    "size-lost",
    "name-lost",
    "spurious-wakeup",
    "spurious-failure",
    "descheduled",
    "cancel",
    "allocation-failure",
];

/// How often each fault struck. What a power failure does to the disk is counted, too:
/// `unsynced-lost` and `unsynced-kept` sectors, `torn-write`, `size-lost` and `name-lost`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; KINDS]);

impl FaultCounts {
    /// How often the fault called `name` struck, for example `torn-write`; 0 for a name that none
    /// has.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| count)
    }

    /// Those that struck.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.iter().copied().zip(self.0.iter().copied()).filter(|&(_, count)| count > 0)
    }

    /// Whether none struck.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; KINDS]
    }

    /// Adds what struck elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    pub(crate) fn count(&mut self, kind: FaultKind, times: u64) {
        self.0[kind as usize] += times;
    }
}

/// Such as `power-failure 1, torn-write 2`.
impl std::fmt::Display for FaultCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (name, count)) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {count}")?;
        }
        Ok(())
    }
}

impl<'a> FromIterator<(&'a str, u64)> for FaultCounts {
    /// Counts by name, as [`FaultCounts::iter`] gives them; unknown names are left out.
    fn from_iter<I: IntoIterator<Item = (&'a str, u64)>>(counts: I) -> Self {
        let mut all = Self::default();
        for (name, count) in counts {
            if let Some(at) = NAMES.iter().position(|known| *known == name) {
                all.0[at] += count;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_by_name_and_added_up() {
        let mut counts = FaultCounts::default();
        counts.count(FaultKind::PowerFailure, 1);
        counts.count(FaultKind::NameLost, 2);
        let again: FaultCounts = counts.iter().chain([("no-such", 9)]).collect();
        assert_eq!(again, counts);

        counts.add(&again);
        assert_eq!(counts.to_string(), "power-failure 2, name-lost 4");
        assert_eq!((counts.of("name-lost"), counts.of("no-such")), (4, 0));
    }
}
