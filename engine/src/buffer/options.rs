//! What a pool may be asked to be when it is opened.

use std::collections::BTreeSet;

use crate::log::Log;
use crate::page::PAGE_SIZE;
use crate::sync::{Arc, INSTRUMENTED};
use crate::tag::RelationId;

/// Whose rules for the state word hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// PostgreSQL 9.6 to 18: while the header is locked nobody else may touch the state word, and
    /// the content lock is a word of its own.
    Classic,
    /// PostgreSQL 19: while the header is locked, pins may be released and content locks taken and
    /// released; the content lock is in the state word.
    #[default]
    Modern,
}

/// How a page is looked up in the mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// Under the lock of the page's partition, shared, until the buffer is pinned (PostgreSQL).
    #[default]
    Partitioned,
    /// Without a lock: compare the name, pin only if valid, compare again; with the lock before a
    /// miss is believed. Ours.
    LockFree,
}

/// How [`Session::read_recent`](crate::Session::read_recent) makes sure of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecentVariant {
    /// Compare under the header lock, then pin (PostgreSQL 14 to 18).
    HeaderLock,
    /// Pin, then compare. The naive form; it pins buffers that have no page and so breaks I-ID2.
    PinFirst,
    /// Compare, pin only if valid, compare again (PostgreSQL 19).
    #[default]
    SkipInvalid,
}

/// How a drop finds the buffers of a relation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropStrategy {
    /// D0: for each of the four forks, lock every header (PostgreSQL up to 9.1).
    EveryHeader,
    /// D1: one pass, headers are locked where an unlocked look at the tag matches (9.2).
    #[default]
    Precheck,
}

/// How a buffer is found for a page that is in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimStrategy {
    /// A list of free buffers first, then the clock sweep (PostgreSQL up to 18).
    FreeListAndSweep,
    /// The clock sweep alone; it comes by free buffers too (19).
    SweepOnly,
    /// The clock sweep, where a session takes several buffers from the hand at one time and walks
    /// them on its own. The hand is written less often; the order of visits is less even. A design
    /// under discussion for PostgreSQL.
    BatchedHand {
        /// Buffers a session takes at one time, at least 1: proposed were a line of the cache's
        /// worth of ids (8) and 64. In a small pool, no more than it has.
        batch: u32,
    },
}

impl VictimStrategy {
    /// What the versions of `profile` do.
    #[must_use]
    pub const fn of(profile: Profile) -> Self {
        match profile {
            Profile::Classic => Self::FreeListAndSweep,
            Profile::Modern => Self::SweepOnly,
        }
    }
}

/// How to open a [`BufferPool`](crate::BufferPool).
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Buffers in the pool. At least 1.
    pub n_buffers: u32,
    /// Partitions of the mapping, at least 1. A page belongs to one; PostgreSQL has 128.
    pub partitions: u32,
    /// Size of a page, in bytes: a power of two, at least 64. Scenarios use small pages, because
    /// copying them is no scheduling point but takes time.
    pub page_size: usize,
    /// Sessions that may exist at one time.
    pub max_sessions: u32,
    /// Whose rules for the state word hold.
    pub profile: Profile,
    /// How a page is looked up.
    pub lookup: Lookup,
    /// How a page is found again by its last buffer.
    pub recent: RecentVariant,
    /// How a drop finds its buffers.
    pub drop: DropStrategy,
    /// How a buffer is found for a new page; `None` for what versions of the profile do.
    pub victims: Option<VictimStrategy>,
    /// The log that must be on disk before the pages it tells of are; `None` without a log.
    pub log: Option<Arc<dyn Log>>,
    /// Relations that are empty after a crash: checkpoints leave their pages alone, but for those of
    /// their init forks.
    pub unlogged: BTreeSet<RelationId>,
    /// Whether large pools ask for huge pages, where the system offers them. Natively only.
    pub huge_pages: bool,
    /// How long to wait for a spinlock.
    pub spin: SpinLimits,
    /// Whether to check identities, pins and content locks against a second set of books after
    /// every step (I-ID1, I-REF1, I-REF5, I-IO1, I-LK1, I-PR3). The books are exact in an
    /// execution only, where an atomic step and its entry are one; on real threads leave it off.
    pub ghosts: bool,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            n_buffers: 1024,
            partitions: 128,
            page_size: PAGE_SIZE,
            max_sessions: 64,
            profile: Profile::default(),
            lookup: Lookup::default(),
            recent: RecentVariant::default(),
            drop: DropStrategy::default(),
            victims: None,
            log: None,
            unlogged: BTreeSet::new(),
            huge_pages: true,
            spin: SpinLimits::default(),
            ghosts: INSTRUMENTED,
        }
    }
}

/// How long a session waits for a spinlock before it sleeps, and before it calls the lock stuck.
///
/// Source: the constants of `s_lock.c` in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinLimits {
    /// Looks at the lock before the first sleep; sessions learn from there on. PostgreSQL begins
    /// with 100.
    pub spins_per_delay: u32,
    /// Sleeps after which the lock is stuck, which panics. PostgreSQL has 1000; they take about two
    /// minutes.
    pub delays: u32,
}

impl Default for SpinLimits {
    fn default() -> Self {
        Self { spins_per_delay: 100, delays: 1000 }
    }
}
