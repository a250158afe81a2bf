//! The mapping: which buffer has a page.
//!
//! The table is cut into partitions, each with its own lock; a page belongs to the partition its
//! hash names. Look up with a shared hold, insert and remove with an exclusive one. A buffer found
//! must be pinned before its partition is let go, or it may have another page by then (I-MAP6). How
//! one looks without a hold is in [`lookup`](super::lookup).
//!
//! The locks are on lines of the cache of their own, since each is written by every look.
//!
//! Rank: partition lock before header lock, never after (B07).
//! Source: `buf_table.c` of PostgreSQL.

use std::hash::{BuildHasher, Hasher};

use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;

use super::BufferError;
use super::buckets::{Buckets, Place};
use super::desc::BufferDesc;
use crate::sync::hold::{self, HoldKind, Rules};
use crate::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, name};
use crate::tag::BufferTag;

static PARTITION_LOCK: HoldKind = HoldKind::new("partition lock", Rules::NONE);

#[derive(Debug)]
pub(super) struct Mapping {
    partitions: Box<[CachePadded<RwLock<()>>]>,
    buckets: Buckets,
    hasher: FixedState,
}

/// A page and where its entry belongs, which is computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    tag: BufferTag,
    partition: u32,
    place: Place,
}

impl Key {
    /// Where the entry belongs.
    pub(super) fn place(self) -> Place {
        self.place
    }
}

/// Ends the hold of a partition when dropped. Declared before the lock's guard in the structs
/// below, so that the hold ends before the lock opens.
struct Hold(usize);

impl Drop for Hold {
    #[inline]
    fn drop(&mut self) {
        hold::end(self.0);
    }
}

/// A partition nobody changes while this lives.
pub(super) struct SharedPartition<'a> {
    buckets: &'a Buckets,
    _hold: Hold,
    _lock: RwLockReadGuard<'a, ()>,
}

/// A partition that is ours alone while this lives.
pub(super) struct ExclusivePartition<'a> {
    buckets: &'a Buckets,
    _hold: Hold,
    _lock: RwLockWriteGuard<'a, ()>,
}

impl Mapping {
    pub(super) fn new(
        partitions: u32,
        n_buffers: u32,
        huge_pages: bool,
    ) -> Result<Self, BufferError> {
        let mapping = Self {
            partitions: (0..partitions).map(|_| CachePadded::new(RwLock::new(()))).collect(),
            buckets: Buckets::new(partitions, n_buffers, huge_pages)?,
            hasher: FixedState::default(),
        };
        for (_i, partition) in mapping.partitions.iter().enumerate() {
            name!(&**partition, "partition {_i}");
        }
        Ok(mapping)
    }

    #[inline(always)]
    pub(super) fn key(&self, tag: BufferTag) -> Key {
        let BufferTag { relation, fork, block } = tag;
        // Two words are one step of the hash. Only tablespaces a billion apart share theirs.
        let tablespace = u64::from(relation.tablespace) ^ (fork as u64) << 30;
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u64(tablespace << 32 | u64::from(relation.database));
        hasher.write_u64(u64::from(relation.number) << 32 | u64::from(block));
        let hash = hasher.finish();
        let partition = (((hash >> 32) * self.partitions.len() as u64) >> 32) as u32;
        Key { tag, partition, place: self.buckets.place(partition, hash) }
    }

    #[inline(always)]
    pub(super) fn shared(&self, key: Key) -> SharedPartition<'_> {
        let partition = &*self.partitions[key.partition as usize];
        let lock = partition.read().unwrap_or_else(PoisonError::into_inner);
        SharedPartition { buckets: &self.buckets, _hold: begin(partition), _lock: lock }
    }

    pub(super) fn exclusive(&self, key: Key) -> ExclusivePartition<'_> {
        let partition = &*self.partitions[key.partition as usize];
        let lock = partition.write().unwrap_or_else(PoisonError::into_inner);
        ExclusivePartition { buckets: &self.buckets, _hold: begin(partition), _lock: lock }
    }

    /// The buffer that has the page, or had it, or none although one has it: nothing is locked.
    #[inline(always)]
    pub(super) fn find_unlocked(&self, key: Key, descs: &[BufferDesc]) -> Option<u32> {
        find(&self.buckets, key, descs)
    }

    /// Every entry, partition by partition. For checkers.
    pub(super) fn entries(&self) -> Vec<(Place, u32)> {
        let mut all = Vec::new();
        for (i, partition) in (0..).zip(&self.partitions) {
            let _lock = partition.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(self.buckets.entries(i));
        }
        all
    }
}

fn begin(partition: &RwLock<()>) -> Hold {
    let object = std::ptr::from_ref(partition).addr();
    hold::begin(&PARTITION_LOCK, object);
    Hold(object)
}

#[inline(always)]
fn find(buckets: &Buckets, key: Key, descs: &[BufferDesc]) -> Option<u32> {
    buckets.find(key.place, |buf_id| descs[buf_id as usize].tag_is(key.tag))
}

impl SharedPartition<'_> {
    /// The buffer with the page; `descs` are all there are.
    #[inline(always)]
    pub(super) fn find(&self, key: Key, descs: &[BufferDesc]) -> Option<u32> {
        find(self.buckets, key, descs)
    }
}

impl ExclusivePartition<'_> {
    /// The buffer with the page; `descs` are all there are.
    pub(super) fn find(&self, key: Key, descs: &[BufferDesc]) -> Option<u32> {
        find(self.buckets, key, descs)
    }

    /// Enters a buffer that will have the page. There is no entry for the page yet.
    pub(super) fn insert(&mut self, key: Key, buf_id: u32) {
        self.buckets.insert(key.place, buf_id);
    }

    /// Removes the entry that points to a buffer. False if none does.
    pub(super) fn remove(&mut self, key: Key, buf_id: u32) -> bool {
        self.buckets.remove(key.place, buf_id)
    }
}
