//! Everything a store has, for reports: chunks and shards of one sweep added up.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use rusqlite::Row;

use super::{Store, StoreError, because, chunk_from_row};
use crate::meetings::Meetings;
use crate::numbers::Shard;
use crate::sweep::{FailedSeed, Tally};

/// The sweep of one scenario under one scheduler, as far as the store has it.
#[derive(Clone, Debug)]
pub struct StoredSweep {
    /// The scenario's name; it may be one that there is no more.
    pub scenario: String,
    /// Who decided.
    pub scheduler: String,
    /// The bug that was switched on.
    pub mutant: Option<String>,
    /// What came of it.
    pub tally: Tally,
    /// Time that the chunks took.
    pub seconds: f64,
    /// Which execution the first failing one was, from 1, counting the seeds of the store in order.
    pub first_failure_execution: Option<u64>,
}

/// The sweeps of one revision of the code.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The revision.
    pub rev: String,
    /// Its sweeps, by scenario, scheduler and mutant.
    pub sweeps: Vec<StoredSweep>,
}

/// Scenario, scheduler, mutant.
type Key = (String, String, String);

/// A sweep while its rows are read.
#[derive(Default)]
struct Sum {
    tally: Tally,
    seconds: f64,
    /// The chunks that count, each with its shard.
    chunks: Vec<(Shard, Range<u64>)>,
}

impl Store {
    /// Opens a store that exists.
    ///
    /// # Errors
    ///
    /// [`StoreError`], where there is none, or when the file is no store.
    pub fn existing(path: &Path) -> Result<Self, StoreError> {
        if let Err(error) = std::fs::metadata(path) {
            return Err(StoreError::Unusable { path: path.into(), message: error.to_string() });
        }
        Self::open(path, String::new())
    }

    /// The revisions that the store has rows of, sorted.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub fn revisions(&self) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare("select distinct rev from runs order by rev")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(|error| because(&self.path, &error))
    }

    /// The sweeps of revision `rev`.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub fn contents(&self, rev: &str) -> Result<Contents, StoreError> {
        let sweeps = self.sums(rev).map_err(|error| because(&self.path, &error))?;
        let sweeps = sweeps.into_iter().map(|(key, sum)| stored(key, sum)).collect();
        Ok(Contents { rev: rev.into(), sweeps })
    }

    fn sums(&self, rev: &str) -> rusqlite::Result<BTreeMap<Key, Sum>> {
        let mut sums = BTreeMap::<Key, Sum>::new();
        let mut statement = self.connection.prepare(
            "select scenario, scheduler, mutant, shard, seed_from, seed_to, executions, failures,
             rules, hash, steps, seconds, arms, faults from runs where rev = ?1
             order by scenario, scheduler, mutant, shard, seed_from, seed_to desc",
        )?;
        let mut rows = statement.query([rev])?;
        while let Some(row) = rows.next()? {
            add_chunk(sums.entry(key(row)?).or_default(), row)?;
        }
        let mut statement = self.connection.prepare(
            "select scenario, scheduler, mutant, seed, rule, message from failures where rev = ?1
             order by seed",
        )?;
        let mut rows = statement.query([rev])?;
        while let Some(row) = rows.next()? {
            let Some(sum) = sums.get_mut(&key(row)?) else { continue };
            let seed = row.get::<_, i64>(3)? as u64;
            let failed = FailedSeed { seed, rule: row.get(4)?, message: row.get(5)? };
            sum.tally.examples.entry(failed.rule.clone()).or_insert(failed);
        }
        let mut statement = self
            .connection
            .prepare("select scenario, scheduler, mutant, document from meetings where rev = ?1")?;
        let mut rows = statement.query([rev])?;
        while let Some(row) = rows.next()? {
            let meetings: Option<Meetings> = serde_json::from_str(&row.get::<_, String>(3)?).ok();
            if let (Some(sum), Some(meetings)) = (sums.get_mut(&key(row)?), meetings) {
                sum.tally.meetings.absorb(meetings);
            }
        }
        Ok(sums)
    }
}

fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn add_chunk(sum: &mut Sum, row: &Row<'_>) -> rusqlite::Result<()> {
    let shard: Shard = row.get::<_, String>("shard")?.parse().unwrap_or(Shard::WHOLE);
    let (seeds, chunk) = chunk_from_row(row)?;
    // Ranges that began elsewhere may overlap at their ends; one of them counts.
    let before = sum.chunks.last().filter(|(known, _)| *known == shard);
    if before.is_some_and(|(_, before)| before.end > seeds.start) {
        return Ok(());
    }
    sum.tally.absorb(chunk);
    sum.seconds += row.get::<_, f64>("seconds")?;
    sum.chunks.push((shard, seeds));
    Ok(())
}

fn stored((scenario, scheduler, mutant): Key, sum: Sum) -> StoredSweep {
    let first_failure_execution = sum.tally.first_failure().map(|first| {
        let earlier = sum.chunks.iter().map(|(shard, seeds)| {
            shard.count(&(seeds.start..first.seed.clamp(seeds.start, seeds.end)))
        });
        earlier.sum::<u64>() + 1
    });
    StoredSweep {
        scenario,
        scheduler,
        mutant: Some(mutant).filter(|mutant| !mutant.is_empty()),
        tally: sum.tally,
        seconds: sum.seconds,
        first_failure_execution,
    }
}
