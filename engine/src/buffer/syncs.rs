//! Which files were written to and not synced since; which can be trusted no more.
//!
//! Whoever writes a page out, evictors and the background writer too, asks for a sync of its file
//! before the page counts as clean. So a checkpoint, which finds the page clean, finds the request. A
//! request is taken off when a sync is done that began after it came; two checkpoints at one time
//! both sync.
//!
//! A sync that failed is not tried again: the system may have thrown away what it could not write,
//! and says so once. From then on the file can be read, and nothing written to it is ever called
//! durable. PostgreSQL panics there and recovers from its log, which is the same promise.
//!
//! Touches: one mutex, never held during I/O. Keeps: what a checkpoint calls durable was on disk
//! (I-WAL5).
//! Source: `register_dirty_segment`, `ProcessSyncRequests` and `data_sync_elevel` in PostgreSQL.

use std::collections::{BTreeMap, BTreeSet};

use super::error::BufferError;
use super::session::Session;
use crate::storage::StorageError;
use crate::sync::{Mutex, lock, mutant, name, note};
use crate::tag::{Fork, RelationId};

/// The files of a pool that were written to.
#[derive(Debug)]
pub(super) struct Syncs {
    /// Boxed, so that it stays where it is named.
    requests: Box<Mutex<Requests>>,
}

#[derive(Debug, Default)]
struct Requests {
    /// Files to sync, and the number of the newest request for each.
    pending: BTreeMap<(RelationId, Fork), u64>,
    /// Requests so far.
    count: u64,
    /// Files a sync of which failed.
    lost: BTreeSet<(RelationId, Fork)>,
}

impl Syncs {
    pub(super) fn new() -> Self {
        let requests = Box::default();
        name!(&*requests, "sync requests");
        Self { requests }
    }

    /// Asks for a sync of a file that was written to.
    pub(super) fn request(&self, relation: RelationId, fork: Fork) {
        let mut requests = lock(&self.requests);
        requests.count += 1;
        let number = requests.count;
        requests.pending.insert((relation, fork), number);
    }

    /// A relation is removed: nothing of it is to be synced, and a new one of its name can be trusted.
    pub(super) fn forget(&self, relation: RelationId) {
        let mut requests = lock(&self.requests);
        requests.pending.retain(|(of, _), _| *of != relation);
        requests.lost.retain(|(of, _)| *of != relation);
    }

    /// The files to sync, with the number of the newest request for each.
    fn pending(&self) -> Vec<((RelationId, Fork), u64)> {
        lock(&self.requests).pending.iter().map(|(file, number)| (*file, *number)).collect()
    }

    /// A sync is done that began when `number` was the newest request for the file.
    fn done(&self, file: (RelationId, Fork), number: u64) {
        let mut requests = lock(&self.requests);
        if requests.pending.get(&file) == Some(&number) {
            requests.pending.remove(&file);
        }
    }
}

impl Session<'_> {
    /// Makes what was written to a file durable, if that can still be promised.
    pub(super) fn sync_file(&self, relation: RelationId, fork: Fork) -> Result<(), BufferError> {
        let syncs = &self.pool.syncs;
        if lock(&syncs.requests).lost.contains(&(relation, fork)) {
            return Err(BufferError::SyncLost { relation, fork });
        }
        let synced = self.pool.storage.sync(relation, fork);
        if let Err(error) = &synced
            && !matches!(error, StorageError::Removed { .. })
            && !mutant::is("sync.forgets_failure")
        {
            lock(&syncs.requests).lost.insert((relation, fork));
            note!("trusts a file of relation {relation} no more");
        }
        Ok(synced?)
    }

    /// Makes everything durable that anybody wrote out until now, to files that are `wanted`.
    pub(super) fn sync_requested(
        &self,
        wanted: impl Fn((RelationId, Fork)) -> bool,
    ) -> Result<(), BufferError> {
        for (file, number) in self.pool.syncs.pending() {
            if !wanted(file) {
                continue;
            }
            match self.sync_file(file.0, file.1) {
                // Dropped meanwhile, file and all.
                Err(BufferError::Storage(StorageError::Removed { .. })) => {}
                other => other?,
            }
            self.pool.syncs.done(file, number);
        }
        Ok(())
    }
}
