//! The buffer manager: which pages are in memory, who may touch them, and which has to go.
//!
//! A *buffer* is a place for one page. To use a page, [`Session::read`] it, which gives a [`Pin`]:
//! while it lives the buffer keeps the page. To look at bytes lock the content, to change them lock
//! it exclusively and mark the buffer dirty; to move things nobody else may point at, take the
//! cleanup lock.
//!
//! Ranks, where an arrow means "may be taken while holding": content lock → partition lock →
//! header lock → nothing. A header lock and the strategy lock are held for a few instructions.
//!
//! Touches: descriptors (state words, tags), the mapping, the clock hand, the free list, the
//! sessions' slots.
//! Source: PostgreSQL's `src/backend/storage/buffer`.

mod error;
mod options;
mod state;

mod delay;
mod desc;
mod header;

mod blocks;
mod buckets;
mod mapping;
mod private_refs;
mod session;
mod slot;
mod zeroed;

mod abort;
mod alloc;
mod bgwriter;
mod checkpoint;
mod cleanup;
mod clock_sweep;
mod content_lock;
mod drop_relation;
mod extend;
mod flush;
mod free_list;
mod io;
mod lookup;
mod pin;
mod read;
mod recent;
mod ring;
mod strategy;
mod syncs;
mod victim;

mod check;
mod ghost;
mod guard;
mod locked;
#[cfg(test)]
mod tests;

pub use bgwriter::{BgWriter, BgWriterOptions, RoundCounts};
pub use check::{Broken, check_quiescent};
pub use checkpoint::CheckpointCounts;
pub use content_lock::LockMode;
pub use drop_relation::DropCounts;
pub use error::BufferError;
pub use extend::NewPages;
pub use guard::{ExclusiveGuard, Pin, ShareExclusiveGuard, ShareGuard};
pub use locked::LockedPage;
pub use options::{
    DropStrategy, Lookup, PoolOptions, Profile, RecentVariant, SpinLimits, VictimStrategy,
};
pub use ring::{Ring, RingKind};
pub use session::Session;
pub use state::State;
pub use strategy::ClockPosition;

use crossbeam_utils::CachePadded;

use blocks::Blocks;
use desc::BufferDesc;
use ghost::Ghosts;
use io::IoConditions;
use mapping::Mapping;
use slot::Slots;
use strategy::Strategy;
use syncs::Syncs;
use zeroed::Zeroed;

use crate::page::HEADER_SIZE;
use crate::storage::Storage;
use crate::sync::{AtomicU32, INSTRUMENTED, Mutex, name, name_word};
use crate::tag::BufferTag;

/// Smallest page, in bytes: a header and some room.
const MIN_PAGE_SIZE: usize = 4 * HEADER_SIZE;
/// Most sessions: what the reference count can count.
const MAX_SESSIONS: u32 = (1 << 18) - 1;

/// A pool of buffers over a storage. Shared by all tasks; each works through a [`Session`].
///
/// Source: PostgreSQL `src/backend/storage/buffer/buf_init.c`.
pub struct BufferPool {
    options: PoolOptions,
    storage: Box<dyn Storage>,
    descs: Zeroed<BufferDesc>,
    blocks: Blocks,
    io: IoConditions,
    mapping: Mapping,
    /// On lines of its own: the hand is written by every miss. Boxed, so that it stays where it is named.
    strategy: Box<CachePadded<Strategy>>,
    slots: Slots,
    /// What sessions learnt about spinning; see [`delay`].
    spins_per_delay: AtomicU32,
    /// Held while a relation grows.
    extension: Box<Mutex<()>>,
    /// Files that were written to.
    syncs: Syncs,
    ghosts: Ghosts,
}

impl BufferPool {
    /// A pool of `options.n_buffers` empty buffers over `storage`.
    ///
    /// # Errors
    ///
    /// [`BufferError::Options`] says which option makes no pool; [`BufferError::Memory`] if there
    /// is not enough of it.
    pub fn open(
        options: PoolOptions,
        storage: impl Storage + 'static,
    ) -> Result<Self, BufferError> {
        validate(&options, &storage)?;
        let n_buffers = options.n_buffers;
        let victims = options.victims.unwrap_or(VictimStrategy::of(options.profile));
        let pool = Self {
            descs: Zeroed::new(n_buffers as usize, options.huge_pages)?,
            blocks: Blocks::new(n_buffers, options.page_size, options.huge_pages)?,
            io: IoConditions::new(n_buffers),
            mapping: Mapping::new(options.partitions, n_buffers, options.huge_pages)?,
            strategy: Box::new(CachePadded::new(Strategy::new(n_buffers, victims))),
            slots: Slots::new(options.max_sessions),
            spins_per_delay: AtomicU32::new(options.spin.spins_per_delay),
            extension: Box::new(Mutex::new(())),
            syncs: Syncs::new(),
            ghosts: Ghosts::new(if options.ghosts { n_buffers } else { 0 }),
            storage: Box::new(storage),
            options,
        };
        pool.name_objects();
        Ok(pool)
    }

    fn name_objects(&self) {
        if !INSTRUMENTED {
            return;
        }
        for (_buf_id, _desc) in self.descs.iter().enumerate() {
            name_word!(&_desc.state, state::show, "buffer {_buf_id} state");
            if self.options.profile == Profile::Classic {
                name_word!(&_desc.content, state::show_content, "buffer {_buf_id} content lock");
            }
            _desc.name_tag(_buf_id);
        }
        self.io.name();
        self.strategy.name();
        self.blocks.name(self.n_buffers());
        name!(&*self.extension, "extension lock");
    }

    /// What the pool was opened with.
    #[must_use]
    pub fn options(&self) -> &PoolOptions {
        &self.options
    }

    /// Where the pages of the pool live.
    #[must_use]
    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// A session, for one task. It is given back when dropped.
    ///
    /// # Panics
    ///
    /// If `max_sessions` exist already.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session::new(self)
    }

    /// The state word of a buffer, as it was a moment ago.
    ///
    /// # Panics
    ///
    /// If the pool has no such buffer.
    #[must_use]
    pub fn state(&self, buf_id: u32) -> State {
        self.desc(buf_id).load()
    }

    /// The page a buffer had a moment ago, if it had one.
    ///
    /// # Panics
    ///
    /// If the pool has no such buffer.
    #[must_use]
    pub fn tag(&self, buf_id: u32) -> Option<BufferTag> {
        let desc = self.desc(buf_id);
        desc.read_tag().filter(|_| desc.load().has(state::TAG_VALID))
    }

    /// The buffer that had the page a moment ago, if one had.
    #[must_use]
    pub fn find(&self, tag: BufferTag) -> Option<u32> {
        let key = self.mapping.key(tag);
        self.mapping.shared(key).find(key, &self.descs)
    }

    #[inline(always)]
    fn desc(&self, buf_id: u32) -> &BufferDesc {
        &self.descs[buf_id as usize]
    }

    #[inline]
    fn n_buffers(&self) -> u32 {
        self.options.n_buffers
    }

    #[inline]
    fn is_modern(&self) -> bool {
        self.options.profile == Profile::Modern
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool").field("options", &self.options).finish_non_exhaustive()
    }
}

fn validate(options: &PoolOptions, storage: &impl Storage) -> Result<(), BufferError> {
    let PoolOptions { n_buffers, partitions, page_size, max_sessions, .. } = *options;
    let wrong = |text: String| Err(BufferError::Options(text));
    if n_buffers == 0 || n_buffers > u32::MAX / 2 {
        return wrong(format!("a pool has 1 to {} buffers, not {n_buffers}", u32::MAX / 2));
    }
    if partitions == 0 {
        return wrong("a mapping has at least one partition".to_owned());
    }
    if !page_size.is_power_of_two() || page_size < MIN_PAGE_SIZE {
        let least = MIN_PAGE_SIZE;
        return wrong(format!("a page size is a power of two from {least}, not {page_size}"));
    }
    if page_size != storage.page_size() {
        let size = storage.page_size();
        return wrong(format!("the storage has pages of {size} bytes, not {page_size}"));
    }
    if max_sessions == 0 || max_sessions > MAX_SESSIONS {
        return wrong(format!("there are 1 to {MAX_SESSIONS} sessions, not {max_sessions}"));
    }
    if options.victims == Some(VictimStrategy::BatchedHand { batch: 0 }) {
        return wrong("a batch has at least one buffer".to_owned());
    }
    Ok(())
}
