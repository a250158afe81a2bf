//! The store: finished chunks of sweeps in one SQLite file, so that a sweep can go on later.
//!
//! Rows carry the revision of the code they were run with, and results of different revisions are
//! never mixed. A chunk is written in one transaction with its failures, so that a killed sweep
//! loses the chunk under way and nothing else; writing the same chunk again changes nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holdup::explore::{ArmCount, FaultCounts};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use crate::meetings::Meetings;
use crate::sweep::{FailedSeed, Plan, Tally};

/// Version of the tables; a store of another one is left alone.
const SCHEMA_VERSION: i64 = 4;
/// Marks a SQLite file as ours: "HLDP".
const APPLICATION_ID: i64 = 0x484C_4450;

const SCHEMA: &str = "
    create table runs (
        scenario text not null, rev text not null, scheduler text not null, mutant text not null,
        shard text not null, seed_from integer not null, seed_to integer not null,
        executions integer not null, failures integer not null, rules text not null,
        hash text not null, steps integer not null, seconds real not null, arms text not null,
        faults text not null,
        primary key (scenario, rev, scheduler, mutant, shard, seed_from, seed_to)
    ) without rowid;
    create table failures (
        scenario text not null, rev text not null, seed integer not null,
        scheduler text not null, mutant text not null, rule text not null, message text not null,
        primary key (scenario, rev, scheduler, mutant, seed)
    ) without rowid;
    create table meetings (
        scenario text not null, rev text not null, scheduler text not null, mutant text not null,
        shard text not null, document text not null,
        primary key (scenario, rev, scheduler, mutant, shard)
    ) without rowid;";

/// Why a store cannot be used. Nothing that was in it is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file is something else.
    #[error("{} is no store of holdup: {what}; name another file", path.display())]
    NotAStore {
        /// Which file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// The file was written by another version of holdup.
    #[error(
        "store {} has schema version {found}, and this holdup reads version {SCHEMA_VERSION}; \
         name another file",
        path.display()
    )]
    Version {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// The file cannot be opened, read or written.
    #[error("cannot use store {}: {message}", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
        /// What SQLite says.
        message: String,
    },
    /// The same seeds of the same code have given another hash before.
    #[error(
        "seeds {}..{} of {scenario} have hash {now} now and {before} in store {}: the same code ran \
         differently, so an execution depends on something else than its seed",
        seeds.start, seeds.end, path.display()
    )]
    Differs {
        /// Which file.
        path: PathBuf,
        /// Which scenario.
        scenario: &'static str,
        /// Which seeds.
        seeds: Range<u64>,
        /// The hash in the store.
        before: String,
        /// The hash just found.
        now: String,
    },
    /// Stores of different programs are not joined.
    #[error(
        "store {} is of revision `{first_rev}` and {} of `{other_rev}`: results of different \
         programs are not joined; sweep all shards with one program",
        first.display(), other.display()
    )]
    Revisions {
        /// A store.
        first: PathBuf,
        /// Its revision.
        first_rev: String,
        /// The store, perhaps the same, that has another.
        other: PathBuf,
        /// That one.
        other_rev: String,
    },
    /// Seeds that would count twice.
    #[error(
        "seeds of {scenario} between {} and {} are in both {} and {}; give stores whose shards or \
         seeds differ",
        seeds.start, seeds.end, first.display(), other.display()
    )]
    Twice {
        /// Which scenario.
        scenario: String,
        /// Where they are.
        seeds: Range<u64>,
        /// A store.
        first: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// The store that is to be made is there.
    #[error("store {} exists already; name a new file", .0.display())]
    Taken(PathBuf),
    /// Seeds this high cannot be kept.
    #[error("a store keeps seeds up to {max} only, and the range ends at {0}", max = i64::MAX)]
    SeedTooHigh(u64),
}

/// An open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Connection,
    rev: String,
}

impl Store {
    /// Opens the store at `path`, or creates it; rows are those of revision `rev`.
    ///
    /// # Errors
    ///
    /// [`StoreError`], when the file is no store or cannot be written.
    pub fn open(path: &Path, rev: String) -> Result<Self, StoreError> {
        let unusable = |error| because(path, &error);
        let mut connection = Connection::open(path).map_err(unusable)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(unusable)?;
        // The write lock, taken at once: whoever may not write is told before hours of work.
        let transaction = connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(unusable)?;
        let pragma = |name| transaction.pragma_query_value(None, name, |row| row.get(0));
        let id: i64 = pragma("application_id").map_err(unusable)?;
        let version: i64 = pragma("user_version").map_err(unusable)?;
        let tables: i64 = transaction
            .query_row("select count(*) from sqlite_schema", [], |row| row.get(0))
            .map_err(unusable)?;
        let fresh = tables == 0 && id == 0 && version == 0;
        if fresh {
            transaction.execute_batch(SCHEMA).map_err(unusable)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(unusable)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(unusable)?;
        } else if id != APPLICATION_ID {
            let what = "a SQLite file of something else".into();
            return Err(StoreError::NotAStore { path: path.into(), what });
        } else if version != SCHEMA_VERSION {
            return Err(StoreError::Version { path: path.into(), found: version });
        }
        transaction.commit().map_err(unusable)?;
        Ok(Self { path: path.into(), connection, rev })
    }

    /// Writes a finished chunk of `plan`, which took `time`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Differs`] where the store knows another result, or what SQLite says.
    pub fn record(
        &mut self,
        plan: &Plan,
        chunk: &Range<u64>,
        tally: &Tally,
        time: Duration,
    ) -> Result<(), StoreError> {
        let (from, to) = (kept(chunk.start)?, kept(chunk.end)?);
        let (hash, rules) = (format!("{:016x}", tally.hash), rules_to_text(tally));
        let (scenario, rev) = (plan.scenario.name, &self.rev);
        let (scheduler, mutant) = (plan.scheduler.to_string(), plan.mutant.unwrap_or(""));
        let shard = plan.shard.to_string();
        let write = || -> rusqlite::Result<Option<String>> {
            let transaction = self.connection.unchecked_transaction()?;
            let before: Option<String> = transaction
                .query_row(
                    "select hash from runs where scenario = ?1 and rev = ?2 and scheduler = ?3
                     and mutant = ?4 and shard = ?5 and seed_from = ?6 and seed_to = ?7",
                    params![scenario, rev, scheduler, mutant, shard, from, to],
                    |row| row.get(0),
                )
                .optional()?;
            if before.is_some() {
                return Ok(before);
            }
            transaction.execute(
                "insert into runs
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                params![
                    scenario,
                    rev,
                    scheduler,
                    mutant,
                    shard,
                    from,
                    to,
                    tally.executions as i64,
                    tally.failures as i64,
                    rules,
                    hash,
                    tally.steps as i64,
                    time.as_secs_f64(),
                    arms_to_text(tally),
                    faults_to_text(tally)
                ],
            )?;
            for failed in tally.examples.values() {
                transaction.execute(
                    "insert or ignore into failures values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        scenario,
                        rev,
                        failed.seed as i64,
                        scheduler,
                        mutant,
                        failed.rule,
                        failed.message
                    ],
                )?;
            }
            if plan.coverage {
                let mut meetings = meetings_in(&transaction, plan, rev)?;
                meetings.absorb(tally.meetings.clone());
                let document = serde_json::to_string(&meetings).unwrap_or_default();
                transaction.execute(
                    "insert or replace into meetings values (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![scenario, rev, scheduler, mutant, shard, document],
                )?;
            }
            transaction.commit()?;
            Ok(None)
        };
        match write().map_err(|error| because(&self.path, &error))? {
            Some(before) if before != hash => Err(StoreError::Differs {
                path: self.path.clone(),
                scenario,
                seeds: chunk.clone(),
                before,
                now: hash,
            }),
            _ => Ok(()),
        }
    }

    /// The finished chunks of `plan`: their seeds, sorted and disjoint, and what came of them. The
    /// meetings are those of all chunks there are, since they are kept as one.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub fn finished(&self, plan: &Plan) -> Result<(Vec<Range<u64>>, Tally), StoreError> {
        let (from, to) = (kept(plan.seeds.start)?, kept(plan.seeds.end)?);
        let (scheduler, mutant) = (plan.scheduler.to_string(), plan.mutant.unwrap_or(""));
        let read = || -> rusqlite::Result<(Vec<Range<u64>>, Tally)> {
            let mut statement = self.connection.prepare(
                "select seed_from, seed_to, executions, failures, rules, hash, steps, arms, faults
                 from runs where scenario = ?1 and rev = ?2 and scheduler = ?3 and mutant = ?4
                 and shard = ?5 and seed_from >= ?6 and seed_to <= ?7
                 order by seed_from, seed_to desc",
            )?;
            let shard = plan.shard.to_string();
            let mut rows = statement.query(params![
                plan.scenario.name,
                self.rev,
                scheduler,
                mutant,
                shard,
                from,
                to
            ])?;
            let (mut done, mut tally) = (Vec::<Range<u64>>::new(), Tally::default());
            while let Some(row) = rows.next()? {
                let (seeds, chunk) = chunk_from_row(row)?;
                // Ranges that began elsewhere may overlap at their ends; one of them counts.
                if done.last().is_some_and(|last| last.end > seeds.start) {
                    continue;
                }
                tally.absorb(chunk);
                done.push(seeds);
            }
            let mut statement = self.connection.prepare(
                "select seed, rule, message from failures where scenario = ?1 and rev = ?2
                 and scheduler = ?3 and mutant = ?4 and seed >= ?5 and seed < ?6 order by seed",
            )?;
            let mut rows = statement.query(params![
                plan.scenario.name,
                self.rev,
                scheduler,
                mutant,
                from,
                to
            ])?;
            while let Some(row) = rows.next()? {
                let seed = row.get::<_, i64>(0)? as u64;
                if !done.iter().any(|range| range.contains(&seed))
                    || seed % plan.shard.of != plan.shard.index
                {
                    continue;
                }
                let failed = FailedSeed { seed, rule: row.get(1)?, message: row.get(2)? };
                tally.examples.entry(failed.rule.clone()).or_insert(failed);
            }
            if plan.coverage && !done.is_empty() {
                tally.meetings = meetings_in(&self.connection, plan, &self.rev)?;
            }
            Ok((done, tally))
        };
        read().map_err(|error| because(&self.path, &error))
    }
}

/// What the rows of this program are filed under: `HOLDUP_REV`, or else a hash of the program
/// itself, so that no two builds that may differ are ever mixed.
///
/// # Errors
///
/// If the program's own file cannot be read.
pub fn revision() -> std::io::Result<String> {
    if let Ok(rev) = std::env::var("HOLDUP_REV") {
        return Ok(rev);
    }
    let program = std::fs::read(std::env::current_exe()?)?;
    // FNV-1a over words; nobody attacks it, it only has to notice a change.
    let hash = program.chunks(8).fold(0xCBF2_9CE4_8422_2325_u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01B3).rotate_left(23)
    });
    Ok(format!("program-{hash:016x}"))
}

/// The meetings kept for the chunks of `plan`.
fn meetings_in(connection: &Connection, plan: &Plan, rev: &str) -> rusqlite::Result<Meetings> {
    let (scheduler, mutant) = (plan.scheduler.to_string(), plan.mutant.unwrap_or(""));
    let document: Option<String> = connection
        .query_row(
            "select document from meetings where scenario = ?1 and rev = ?2 and scheduler = ?3
             and mutant = ?4 and shard = ?5",
            params![plan.scenario.name, rev, scheduler, mutant, plan.shard.to_string()],
            |row| row.get(0),
        )
        .optional()?;
    Ok(document.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

fn kept(seed: u64) -> Result<i64, StoreError> {
    i64::try_from(seed).map_err(|_| StoreError::SeedTooHigh(seed))
}

/// A chunk of `runs`: its seeds, and what came of them but for examples and meetings.
fn chunk_from_row(row: &Row<'_>) -> rusqlite::Result<(Range<u64>, Tally)> {
    let count = |name| row.get::<_, i64>(name).map(|count| count as u64);
    let tally = Tally {
        executions: count("executions")?,
        failures: count("failures")?,
        rules: rules_from_text(&row.get::<_, String>("rules")?),
        hash: u64::from_str_radix(&row.get::<_, String>("hash")?, 16).unwrap_or_default(),
        steps: count("steps")?,
        arms: arms_from_text(&row.get::<_, String>("arms")?),
        faults: faults_from_text(&row.get::<_, String>("faults")?),
        ..Tally::default()
    };
    Ok((count("seed_from")?..count("seed_to")?, tally))
}

fn rules_to_text(tally: &Tally) -> String {
    serde_json::to_string(&tally.rules).unwrap_or_default()
}

fn rules_from_text(text: &str) -> BTreeMap<String, u64> {
    serde_json::from_str(text).unwrap_or_default()
}

/// `{"pos":[executions, failures]}`.
fn arms_to_text(tally: &Tally) -> String {
    let counts = |arm: &ArmCount| [arm.executions, arm.failures];
    let arms: BTreeMap<_, _> = tally.arms.iter().map(|(name, arm)| (name, counts(arm))).collect();
    serde_json::to_string(&arms).unwrap_or_default()
}

fn arms_from_text(text: &str) -> BTreeMap<String, ArmCount> {
    let arms: BTreeMap<String, [u64; 2]> = serde_json::from_str(text).unwrap_or_default();
    let count = |[executions, failures]: [u64; 2]| ArmCount { executions, failures };
    arms.into_iter().map(|(name, counts)| (name, count(counts))).collect()
}

/// `{"torn-write":3}`.
fn faults_to_text(tally: &Tally) -> String {
    let faults: BTreeMap<_, _> = tally.faults.iter().collect();
    serde_json::to_string(&faults).unwrap_or_default()
}

fn faults_from_text(text: &str) -> FaultCounts {
    let faults: BTreeMap<String, u64> = serde_json::from_str(text).unwrap_or_default();
    faults.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

fn because(path: &Path, error: &rusqlite::Error) -> StoreError {
    let path = path.to_path_buf();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            StoreError::NotAStore { path, what: "not a SQLite file".into() }
        }
        Some(ErrorCode::DatabaseBusy) => {
            StoreError::Unusable { path, message: "another program is writing to it".into() }
        }
        _ => StoreError::Unusable { path, message: error.to_string() },
    }
}

mod contents;
mod merge;
#[cfg(test)]
mod tests;

pub use contents::{Contents, StoredSweep};
