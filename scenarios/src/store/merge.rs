//! Merging: the stores of shards become one.
//!
//! All stores must be of one program, and no seed may be in two of them. Both are looked at before
//! anything is written, and all is written in one transaction.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::{Store, StoreError, because};
use crate::meetings::Meetings;
use crate::numbers::Shard;

/// Scenario, scheduler, mutant.
type Sweep = (String, String, String);

/// A chunk of some store.
struct Chunk {
    shard: Shard,
    seeds: Range<u64>,
    store: usize,
}

impl Store {
    /// Makes the store `out` of all that is in `stores`; how many chunks there are.
    ///
    /// # Errors
    ///
    /// [`StoreError`], where `out` exists, the stores are of different programs, two of them have
    /// the same seeds, or what SQLite says.
    pub fn merge(stores: &[PathBuf], out: &Path) -> Result<usize, StoreError> {
        let parts: Vec<_> =
            stores.iter().map(|path| Self::existing(path)).collect::<Result<_, _>>()?;
        let mut known: Option<(String, PathBuf)> = None;
        for part in &parts {
            for rev in part.revisions()? {
                let (first, path) = known.get_or_insert_with(|| (rev.clone(), part.path.clone()));
                if *first != rev {
                    return Err(StoreError::Revisions {
                        first: path.clone(),
                        first_rev: first.clone(),
                        other: part.path.clone(),
                        other_rev: rev,
                    });
                }
            }
        }
        if out.exists() {
            return Err(StoreError::Taken(out.into()));
        }
        let n_chunks = refuse_seeds_twice(&parts)?;
        let joined = Self::open(out, String::new())?;
        joined.take(&parts).map_err(|error| because(out, &error))?;
        Ok(n_chunks)
    }

    /// Writes the rows of `parts`.
    fn take(&self, parts: &[Self]) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut seen = BTreeMap::<Vec<String>, Meetings>::new();
        for part in parts {
            for (table, columns) in [("runs", 15), ("failures", 7)] {
                let marks = vec!["?"; columns].join(", ");
                let insert = format!("insert or ignore into {table} values ({marks})");
                let mut statement = part.connection.prepare(&format!("select * from {table}"))?;
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let values: Vec<Value> =
                        (0..columns).map(|at| row.get(at)).collect::<Result<_, _>>()?;
                    transaction.execute(&insert, params_from_iter(values))?;
                }
            }
            let mut statement = part.connection.prepare(
                "select scenario, rev, scheduler, mutant, shard, document from meetings",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let key = (0..5).map(|at| row.get(at)).collect::<Result<_, _>>()?;
                let document: String = row.get(5)?;
                let meetings = serde_json::from_str(&document).unwrap_or_default();
                seen.entry(key).or_default().absorb(meetings);
            }
        }
        for (key, meetings) in seen {
            let document = serde_json::to_string(&meetings).unwrap_or_default();
            let values = key.into_iter().chain([document]);
            transaction.execute(
                "insert into meetings values (?, ?, ?, ?, ?, ?)",
                params_from_iter(values),
            )?;
        }
        transaction.commit()
    }
}

/// How many chunks there are; an error where two stores have a seed of the same sweep.
fn refuse_seeds_twice(parts: &[Store]) -> Result<usize, StoreError> {
    let mut sweeps = BTreeMap::<Sweep, Vec<Chunk>>::new();
    for (at, part) in parts.iter().enumerate() {
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = part.connection.prepare(
                "select scenario, scheduler, mutant, shard, seed_from, seed_to from runs",
            )?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let shard = row.get::<_, String>(3)?.parse().unwrap_or(Shard::WHOLE);
                let seeds = row.get::<_, i64>(4)? as u64..row.get::<_, i64>(5)? as u64;
                let chunk = Chunk { shard, seeds, store: at };
                sweeps.entry((row.get(0)?, row.get(1)?, row.get(2)?)).or_default().push(chunk);
            }
            Ok(())
        };
        read().map_err(|error| because(&part.path, &error))?;
    }
    let mut n_chunks = 0;
    for ((scenario, ..), mut chunks) in sweeps {
        n_chunks += chunks.len();
        chunks.sort_by_key(|chunk| chunk.seeds.start);
        for (at, chunk) in chunks.iter().enumerate() {
            let near = chunks[at + 1..].iter();
            let mut near = near.take_while(|other| other.seeds.start < chunk.seeds.end);
            let twice =
                |other: &&Chunk| other.store != chunk.store && may_share(chunk.shard, other.shard);
            if let Some(other) = near.find(twice) {
                return Err(StoreError::Twice {
                    scenario,
                    seeds: other.seeds.start..chunk.seeds.end.min(other.seeds.end),
                    first: parts[chunk.store].path.clone(),
                    other: parts[other.store].path.clone(),
                });
            }
        }
    }
    Ok(n_chunks)
}

/// Whether some number belongs to both shards.
fn may_share(a: Shard, b: Shard) -> bool {
    let (mut divisor, mut rest) = (a.of, b.of);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a.index % divisor == b.index % divisor
}
