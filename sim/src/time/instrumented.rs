//! Clocks of executions.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location;
use std::time as real;
use std::time::{Duration, SystemTimeError};

use crate::core::{Place, current};
use crate::trace::OpKind;

/// Seconds from the Unix epoch to 2000-01-01, when every execution begins.
const START_OF_EXECUTIONS: u64 = 946_684_800;

/// Virtual nanoseconds since the start of the execution, after a scheduling point; `None` outside
/// of executions.
fn virtual_now(place: Place) -> Option<u64> {
    let execution = current()?;
    if !execution.is_unwinding() {
        execution.tell(crate::scheduler::Told::ReadsClock);
        execution.point(OpKind::Load, 0, place);
        // The clock shows another value each time, so a loop that polls it is no spin loop that
        // sees nothing new.
        execution.changed(0, 0, 1);
    }
    Some(execution.now_ns())
}

/// As `std::time::Instant`. Inside an execution it is virtual.
///
/// # Panics
///
/// Instants from inside and outside of executions cannot be compared; to do so panics.
#[derive(Clone, Copy)]
pub struct Instant(Moment);

#[derive(Clone, Copy)]
enum Moment {
    Real(real::Instant),
    /// Since the start of the execution.
    Virtual(Duration),
}

use Moment::{Real, Virtual};

#[cold]
#[track_caller]
fn mixed() -> ! {
    panic!("an Instant from inside an execution was compared with one from outside")
}

impl Instant {
    /// As in `std`. A scheduling point.
    #[must_use]
    #[track_caller]
    pub fn now() -> Self {
        match virtual_now(Location::caller()) {
            Some(now_ns) => Self(Virtual(Duration::from_nanos(now_ns))),
            None => Self(Real(real::Instant::now())),
        }
    }

    /// As in `std`: zero if `earlier` is later.
    #[must_use]
    #[track_caller]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// As in `std`.
    #[must_use]
    #[track_caller]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        match (self.0, earlier.0) {
            (Real(this), Real(earlier)) => this.checked_duration_since(earlier),
            (Virtual(this), Virtual(earlier)) => this.checked_sub(earlier),
            _ => mixed(),
        }
    }

    /// As in `std`.
    #[must_use]
    #[track_caller]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }

    /// As in `std`. A scheduling point.
    #[must_use]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// As in `std`.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        match self.0 {
            Real(this) => this.checked_add(duration).map(|sum| Self(Real(sum))),
            Virtual(this) => this.checked_add(duration).map(|sum| Self(Virtual(sum))),
        }
    }

    /// As in `std`. No virtual instant lies before the start of the execution.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        match self.0 {
            Real(this) => this.checked_sub(duration).map(|rest| Self(Real(rest))),
            Virtual(this) => this.checked_sub(duration).map(|rest| Self(Virtual(rest))),
        }
    }
}

impl PartialEq for Instant {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Instant {}

impl PartialOrd for Instant {
    #[track_caller]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Instant {
    #[track_caller]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Real(this), Real(other)) => this.cmp(&other),
            (Virtual(this), Virtual(other)) => this.cmp(&other),
            _ => mixed(),
        }
    }
}

impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Real(this) => this.hash(state),
            Virtual(this) => this.hash(state),
        }
    }
}

impl Sub for Instant {
    type Output = Duration;

    #[track_caller]
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Real(this) => this.fmt(f),
            Virtual(this) => write!(f, "Instant({this:?})"),
        }
    }
}

/// As `std::time::SystemTime`. Every execution begins at 2000-01-01 00:00:00 UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(real::SystemTime);

/// As `std::time::UNIX_EPOCH`.
pub const UNIX_EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

impl SystemTime {
    /// As in `std`.
    pub const UNIX_EPOCH: Self = Self(real::SystemTime::UNIX_EPOCH);

    /// As in `std`. A scheduling point.
    #[must_use]
    #[track_caller]
    pub fn now() -> Self {
        let Some(now_ns) = virtual_now(Location::caller()) else {
            return Self(real::SystemTime::now());
        };
        let start = Duration::from_secs(START_OF_EXECUTIONS);
        Self(real::SystemTime::UNIX_EPOCH + start + Duration::from_nanos(now_ns))
    }

    /// As in `std`.
    ///
    /// # Errors
    ///
    /// An error that holds the difference if `earlier` is later.
    pub fn duration_since(&self, earlier: Self) -> Result<Duration, SystemTimeError> {
        self.0.duration_since(earlier.0)
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Errors
    ///
    /// As [`SystemTime::duration_since`].
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        Self::now().duration_since(*self)
    }

    /// As in `std`.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// As in `std`.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl From<real::SystemTime> for SystemTime {
    fn from(time: real::SystemTime) -> Self {
        Self(time)
    }
}

impl From<SystemTime> for real::SystemTime {
    fn from(time: SystemTime) -> Self {
        time.0
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! arithmetic {
    ($($time:ident),*) => {$(
        impl Add<Duration> for $time {
            type Output = Self;

            #[track_caller]
            fn add(self, duration: Duration) -> Self {
                match self.checked_add(duration) {
                    Some(sum) => sum,
                    None => panic!("overflow when adding a duration to a time"),
                }
            }
        }

        impl Sub<Duration> for $time {
            type Output = Self;

            #[track_caller]
            fn sub(self, duration: Duration) -> Self {
                match self.checked_sub(duration) {
                    Some(rest) => rest,
                    None => panic!("overflow when subtracting a duration from a time"),
                }
            }
        }

        impl AddAssign<Duration> for $time {
            #[track_caller]
            fn add_assign(&mut self, duration: Duration) {
                *self = *self + duration;
            }
        }

        impl SubAssign<Duration> for $time {
            #[track_caller]
            fn sub_assign(&mut self, duration: Duration) {
                *self = *self - duration;
            }
        }
    )*};
}
arithmetic!(Instant, SystemTime);
