//! Numbers as a user writes them: a seed, a range of seeds, a shard, a duration.
//!
//! How they are written is a contract of the command line and of the environment.

use std::{fmt, ops::Range, str::FromStr};

/// Why a text names no seed, no range of seeds, no shard or no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadNumber {
    /// Not one seed.
    #[error("`{0}` is no seed: write a whole number up to {max}, or 0x and hexadecimal digits", max = u64::MAX)]
    Seed(String),
    /// Not a range of seeds.
    #[error(
        "`{0}` is no range of seeds: write a count (`1000`) or `A..B` with A below B (`0..1000`)"
    )]
    Seeds(String),
    /// Not a shard.
    #[error("`{0}` is no shard: write I/N with I below N, counted from 0 (`0/4` to `3/4`)")]
    Shard(String),
    /// Not a count.
    #[error("`{0}` is no count: write a whole number from 1")]
    Count(String),
    /// Not a duration.
    #[error("`{0}` is no duration: write a number and s, m or h (`30s`, `10m`, `1h30m`)")]
    Duration(String),
}

/// One seed, decimal or `0x` hexadecimal.
///
/// # Errors
///
/// [`BadNumber::Seed`].
pub fn parse_seed(text: &str) -> Result<u64, BadNumber> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| BadNumber::Seed(text.into()))
}

/// A count of one or more.
///
/// # Errors
///
/// [`BadNumber::Count`].
pub fn parse_count(text: &str) -> Result<u64, BadNumber> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| BadNumber::Count(text.into()))
}

/// A range of seeds that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedRange(pub Range<u64>);

impl FromStr for SeedRange {
    type Err = BadNumber;

    fn from_str(text: &str) -> Result<Self, BadNumber> {
        let bad = || BadNumber::Seeds(text.into());
        let (from, to) = match text.split_once("..") {
            Some((from, to)) => (parse_seed(from), parse_seed(to)),
            None => (Ok(0), parse_seed(text)),
        };
        let range = from.map_err(|_| bad())?..to.map_err(|_| bad())?;
        if range.is_empty() { Err(bad()) } else { Ok(Self(range)) }
    }
}

/// A part of all seeds: those with `seed % of == index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, counted from 0.
    pub index: u64,
    /// How many parts there are.
    pub of: u64,
}

impl Shard {
    /// All seeds.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// How many seeds of `range` belong to this shard.
    #[must_use]
    pub fn count(self, range: &Range<u64>) -> u64 {
        let below = |end: u64| end / self.of + u64::from(end % self.of > self.index);
        below(range.end.max(range.start)) - below(range.start)
    }
}

impl FromStr for Shard {
    type Err = BadNumber;

    fn from_str(text: &str) -> Result<Self, BadNumber> {
        let bad = || BadNumber::Shard(text.into());
        let (index, of) = text.split_once('/').ok_or_else(bad)?;
        let (Ok(index), Ok(of)) = (index.parse(), of.parse()) else { return Err(bad()) };
        if index < of { Ok(Self { index, of }) } else { Err(bad()) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// A duration such as `90s`, `10m` or `1h30m`, in seconds.
///
/// # Errors
///
/// [`BadNumber::Duration`], for a duration of nothing too.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, BadNumber> {
    let bad = || BadNumber::Duration(text.into());
    let mut seconds: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
        let unit = match rest.as_bytes()[digits] {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            _ => return Err(bad()),
        };
        seconds = number.checked_mul(unit).and_then(|n| n.checked_add(seconds)).ok_or_else(bad)?;
        rest = &rest[digits + 1..];
    }
    if seconds == 0 { Err(bad()) } else { Ok(std::time::Duration::from_secs(seconds)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_starts_at_zero() {
        assert_eq!("500".parse(), Ok(SeedRange(0..500)));
        assert_eq!("0x10..0x20".parse(), Ok(SeedRange(16..32)));
    }

    #[test]
    fn empty_backward_and_wordy_ranges_are_refused() {
        for text in ["5..2", "5..5", "0", "abc", "", "..", "1..", "-1..3", "1..2..3", "1.5"] {
            assert_eq!(text.parse::<SeedRange>(), Err(BadNumber::Seeds(text.into())));
        }
    }

    #[test]
    fn a_shard_counts_from_zero() {
        assert_eq!("0/1".parse(), Ok(Shard::WHOLE));
        for text in ["1/1", "4/4", "0/0", "1", "a/b", "-1/2", "1/2/3"] {
            assert_eq!(text.parse::<Shard>(), Err(BadNumber::Shard(text.into())));
        }
    }

    #[test]
    fn shards_share_out_every_seed_once() {
        for (from, to, of) in [(0, 10, 3), (7, 8, 3), (5, 105, 7), (3, 3, 2)] {
            let parts = (0..of).map(|index| Shard { index, of }.count(&(from..to)));
            assert_eq!(parts.sum::<u64>(), to - from);
            for index in 0..of {
                let slow = (from..to).filter(|seed| seed % of == index).count() as u64;
                assert_eq!(Shard { index, of }.count(&(from..to)), slow);
            }
        }
    }

    #[test]
    fn durations_add_up() {
        assert_eq!(parse_duration("10m").unwrap().as_secs(), 600);
        assert_eq!(parse_duration("1h30m5s").unwrap().as_secs(), 5405);
        for text in ["", "10", "m", "10x", "0s", "1.5h", "-1s", "10µ", "99999999999999999999s"] {
            assert_eq!(parse_duration(text), Err(BadNumber::Duration(text.into())));
        }
    }
}
