//! What the environment asks of tests.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `HOLDUP_SEED` | run this one seed, decimal or `0x` |
//! | `HOLDUP_SEEDS` | run this many seeds, or the seeds `A..B` |
//! | `HOLDUP_SHARD` | `I/N`: only the seeds that leave I when divided by N, counted from 0 |
//! | `HOLDUP_SCHEDULER` | decide with this scheduler |
//! | `HOLDUP_JOBS` | use this many OS threads |
//! | `HOLDUP_TRACE` | `1`: show whole timelines |
//! | `HOLDUP_CHECK_DETERMINISM` | `1`: run a sample of the seeds twice and compare |
//!
//! Without them tests run fixed seeds. A malformed value is an error, never ignored.

use std::ops::Range;

use crate::scheduler::Scheduler;

/// What the `HOLDUP_` variables ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// `HOLDUP_SEED`.
    pub seed: Option<u64>,
    /// `HOLDUP_SEEDS`; a count N means `0..N`.
    pub seeds: Option<Range<u64>>,
    /// `HOLDUP_SHARD`: index, and number of shards.
    pub shard: Option<(u64, u64)>,
    /// `HOLDUP_SCHEDULER`.
    pub scheduler: Option<Scheduler>,
    /// `HOLDUP_JOBS`.
    pub jobs: Option<usize>,
    /// `HOLDUP_TRACE`.
    pub trace: bool,
    /// `HOLDUP_CHECK_DETERMINISM`.
    pub check_determinism: bool,
}

/// A variable whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value:?} cannot be used: {allowed}")]
pub struct BadVariable {
    /// Its name.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl Environment {
    /// Reads the variables of this process.
    ///
    /// # Errors
    ///
    /// [`BadVariable`] names the first one that is malformed and what it takes.
    pub fn read() -> Result<Self, BadVariable> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadVariable> {
        let parsed = |variable: &'static str| get(variable).map(|value| (variable, value));
        let environment = Self {
            seed: parsed("HOLDUP_SEED")
                .map(|(variable, value)| {
                    parse_seed(&value).ok_or_else(|| {
                        bad(variable, value, "a seed is a whole number, decimal or 0x")
                    })
                })
                .transpose()?,
            seeds: parsed("HOLDUP_SEEDS")
                .map(|(variable, value)| {
                    parse_seeds(&value).ok_or_else(|| {
                        bad(variable, value, "give a count N or a range A..B with A below B")
                    })
                })
                .transpose()?,
            shard: parsed("HOLDUP_SHARD")
                .map(|(variable, value)| {
                    parse_shard(&value)
                        .ok_or_else(|| bad(variable, value, "give I/N with I from 0 to N - 1"))
                })
                .transpose()?,
            scheduler: parsed("HOLDUP_SCHEDULER")
                .map(|(variable, value)| {
                    value
                        .parse::<Scheduler>()
                        .map_err(|error| bad(variable, value, &error.to_string()))
                })
                .transpose()?,
            jobs: parsed("HOLDUP_JOBS")
                .map(|(variable, value)| {
                    value
                        .parse()
                        .ok()
                        .filter(|&jobs| jobs > 0)
                        .ok_or_else(|| bad(variable, value, "give a number of threads, from 1"))
                })
                .transpose()?,
            trace: parsed("HOLDUP_TRACE").map_or(Ok(false), switch)?,
            check_determinism: parsed("HOLDUP_CHECK_DETERMINISM").map_or(Ok(false), switch)?,
        };
        if environment.seed.is_some() && environment.seeds.is_some() {
            let value = get("HOLDUP_SEEDS").unwrap_or_default();
            return Err(bad("HOLDUP_SEEDS", value, "HOLDUP_SEED is set too; set one of them"));
        }
        Ok(environment)
    }
}

fn bad(variable: &'static str, value: String, allowed: &str) -> BadVariable {
    BadVariable { variable, value, allowed: allowed.to_owned() }
}

fn switch((variable, value): (&'static str, String)) -> Result<bool, BadVariable> {
    match &*value {
        "1" => Ok(true),
        "0" | "" => Ok(false),
        _ => Err(bad(variable, value, "1 switches it on, 0 off")),
    }
}

/// A seed: decimal, or hexadecimal after `0x`.
#[must_use]
pub fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A count N, which means `0..N`, or a range `A..B` with A below B.
#[must_use]
pub fn parse_seeds(text: &str) -> Option<Range<u64>> {
    let range = match text.split_once("..") {
        Some((from, to)) => parse_seed(from)?..parse_seed(to)?,
        None => 0..parse_seed(text)?,
    };
    (range.start < range.end).then_some(range)
}

/// A shard `I/N`, counted from 0.
#[must_use]
pub fn parse_shard(text: &str) -> Option<(u64, u64)> {
    let (index, of) = text.split_once('/')?;
    let (index, of) = (index.parse().ok()?, of.parse().ok()?);
    (index < of).then_some((index, of))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, BadVariable> {
        Environment::from_variables(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_nothing_is_asked_for() {
        assert_eq!(read(&[]).unwrap(), Environment::default());
    }

    #[test]
    fn every_variable_is_understood() {
        let environment = read(&[
            ("HOLDUP_SEEDS", "5..0x10"),
            ("HOLDUP_SHARD", "1/4"),
            ("HOLDUP_SCHEDULER", "pct3"),
            ("HOLDUP_JOBS", "2"),
            ("HOLDUP_TRACE", "1"),
        ])
        .unwrap();

        assert_eq!(environment.seeds, Some(5..16));
        assert_eq!(environment.shard, Some((1, 4)));
        assert_eq!(environment.scheduler.unwrap().to_string(), "pct3");
        assert_eq!((environment.jobs, environment.trace), (Some(2), true));
    }

    #[test]
    fn a_malformed_value_is_named() {
        for (variable, value) in [
            ("HOLDUP_SEED", "-1"),
            ("HOLDUP_SEEDS", "5..2"),
            ("HOLDUP_SEEDS", "0"),
            ("HOLDUP_SHARD", "4/4"),
            ("HOLDUP_SCHEDULER", "fair"),
            ("HOLDUP_JOBS", "0"),
            ("HOLDUP_TRACE", "yes"),
        ] {
            let error = read(&[(variable, value)]).unwrap_err();
            assert_eq!((error.variable, &*error.value), (variable, value));
        }
    }

    #[test]
    fn one_seed_and_many_exclude_each_other() {
        assert!(read(&[("HOLDUP_SEED", "1"), ("HOLDUP_SEEDS", "2")]).is_err());
    }
}
