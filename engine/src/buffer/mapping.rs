//! The mapping: which buffer has a page.
//!
//! The table is cut into partitions, each with its own lock; a page belongs to the partition its
//! hash names. Look up with a shared hold, insert and remove with an exclusive one. A buffer found
//! must be pinned before its partition is let go, or it may have another page by then (I-MAP6).
//!
//! Rank: partition lock before header lock, never after (B07).
//! Source: `buf_table.c` of PostgreSQL.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use foldhash::fast::FixedState;

use crate::sync::hold::{self, HoldKind, Rules};
use crate::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, name};
use crate::tag::BufferTag;

static PARTITION_LOCK: HoldKind = HoldKind::new("partition lock", Rules::NONE);

#[derive(Debug)]
pub(super) struct Mapping {
    partitions: Box<[RwLock<Entries>]>,
    hasher: FixedState,
}

type Entries = HashMap<Key, u32, BuildHasherDefault<Hashed>>;

/// A tag and its hash, which is computed once and chooses partition and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    hash: u64,
    tag: BufferTag,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Takes a hash for what it is.
#[derive(Debug, Default)]
pub(super) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        unreachable!("a key writes one u64, not {} bytes", bytes.len());
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Ends the hold of a partition when dropped. Declared before the lock's guard in the structs
/// below, so that the hold ends before the lock opens.
struct Hold(usize);

impl Drop for Hold {
    fn drop(&mut self) {
        hold::end(self.0);
    }
}

/// A partition nobody changes while this lives.
pub(super) struct SharedPartition<'a> {
    _hold: Hold,
    entries: RwLockReadGuard<'a, Entries>,
}

/// A partition that is ours alone while this lives.
pub(super) struct ExclusivePartition<'a> {
    _hold: Hold,
    entries: RwLockWriteGuard<'a, Entries>,
}

impl Mapping {
    pub(super) fn new(partitions: u32, n_buffers: u32) -> Self {
        // Growing a table takes its lock for longer, so each begins with room for its share.
        let room = (n_buffers / partitions * 2) as usize + 2;
        let partition =
            |_| RwLock::new(Entries::with_capacity_and_hasher(room, Default::default()));
        let mapping = Self {
            partitions: (0..partitions).map(partition).collect(),
            hasher: FixedState::default(),
        };
        for (_i, partition) in mapping.partitions.iter().enumerate() {
            name!(partition, "partition {_i}");
        }
        mapping
    }

    #[inline]
    pub(super) fn key(&self, tag: BufferTag) -> Key {
        Key { hash: self.hasher.hash_one(tag), tag }
    }

    fn partition(&self, key: Key) -> &RwLock<Entries> {
        // The table takes its place from the low bits and its short hash from the top seven.
        &self.partitions[(key.hash >> 32) as usize % self.partitions.len()]
    }

    #[inline]
    pub(super) fn shared(&self, key: Key) -> SharedPartition<'_> {
        let partition = self.partition(key);
        let entries = partition.read().unwrap_or_else(PoisonError::into_inner);
        SharedPartition { _hold: begin(partition), entries }
    }

    pub(super) fn exclusive(&self, key: Key) -> ExclusivePartition<'_> {
        let partition = self.partition(key);
        let entries = partition.write().unwrap_or_else(PoisonError::into_inner);
        ExclusivePartition { _hold: begin(partition), entries }
    }

    /// Every entry, partition by partition. For checkers.
    pub(super) fn entries(&self) -> Vec<(BufferTag, u32)> {
        let mut all = Vec::new();
        for partition in &self.partitions {
            let entries = partition.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(entries.iter().map(|(key, &buf_id)| (key.tag, buf_id)));
        }
        all.sort_unstable();
        all
    }
}

fn begin(partition: &RwLock<Entries>) -> Hold {
    let object = std::ptr::from_ref(partition).addr();
    hold::begin(&PARTITION_LOCK, object);
    Hold(object)
}

impl SharedPartition<'_> {
    #[inline]
    pub(super) fn find(&self, key: Key) -> Option<u32> {
        self.entries.get(&key).copied()
    }
}

impl ExclusivePartition<'_> {
    pub(super) fn find(&self, key: Key) -> Option<u32> {
        self.entries.get(&key).copied()
    }

    pub(super) fn insert(&mut self, key: Key, buf_id: u32) {
        self.entries.insert(key, buf_id);
    }

    /// Removes the entry and returns where it pointed.
    pub(super) fn remove(&mut self, key: Key) -> Option<u32> {
        self.entries.remove(&key)
    }
}
