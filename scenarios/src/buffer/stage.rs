//! What the stories about buffers share: pages and their names, a small pool, actors with a
//! session.
//!
//! Pools are tiny so that executions are: one partition, pages of 64 bytes, no more sessions than
//! a story has actors at one time.

use std::fmt::Display;

use holdup::sync::Arc;
use holdup::thread::JoinHandle;
use holdup_engine::page::{HEADER_SIZE, set_checksum};
use holdup_engine::{
    BlockNumber, BufferPool, BufferTag, FileStorage, Fork, MemoryStorage, PoolOptions, Profile,
    RelationId, Session, Storage, check_quiescent,
};

use crate::actor;

/// Bytes of a page, header and all.
const PAGE_SIZE: usize = 64;

/// The relation the stories are about.
pub(crate) const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
/// A relation that has nothing to do with the first.
pub(crate) const OTHER_RELATION: RelationId = RelationId { number: 200, ..RELATION };

/// Page `block` of the relation. Its first byte is its number.
pub(crate) const fn page(block: BlockNumber) -> BufferTag {
    BufferTag::new(RELATION, Fork::Main, block)
}

/// Page `block` of the other relation. Its first byte is its number, too.
pub(crate) const fn other_page(block: BlockNumber) -> BufferTag {
    BufferTag::new(OTHER_RELATION, Fork::Main, block)
}

/// Pages 0 to 3 of both relations.
pub(crate) fn storage() -> Arc<MemoryStorage> {
    let storage = Arc::new(MemoryStorage::new(PAGE_SIZE));
    for relation in [RELATION, OTHER_RELATION] {
        storage.create(relation, Fork::Main, 4, |block, body| body[0] = block as u8);
    }
    storage
}

/// Pages 0 to `n_blocks` of the relation, and 0 to 3 of the other one.
pub(crate) fn large_storage(n_blocks: BlockNumber) -> Arc<MemoryStorage> {
    let storage = storage();
    storage.create(RELATION, Fork::Main, n_blocks, |block, body| body[0] = block as u8);
    storage
}

/// Pages 0 to `n_blocks` of the relation in a file on the simulated disk.
pub(crate) fn files(n_blocks: BlockNumber) -> Arc<FileStorage> {
    let storage = until_the_disk_works(|| FileStorage::open("/data", PAGE_SIZE));
    for block in 0..n_blocks {
        let mut page = [0; PAGE_SIZE];
        page[HEADER_SIZE] = block as u8;
        set_checksum(&mut page, block);
        until_the_disk_works(|| storage.extend(RELATION, Fork::Main, &page));
    }
    Arc::new(storage)
}

/// The first byte of a page as it is on the disk.
pub(crate) fn first_byte(storage: &impl Storage, tag: BufferTag) -> u8 {
    let mut page = [0; PAGE_SIZE];
    until_the_disk_works(|| storage.read(tag, &mut page));
    page[HEADER_SIZE]
}

/// Tries again until there is no error.
pub(crate) fn until_the_disk_works<T, E: Display>(
    mut operation: impl FnMut() -> Result<T, E>,
) -> T {
    let mut tries = 0;
    loop {
        tries += 1;
        match operation() {
            Ok(done) => return done,
            Err(error) => assert!(tries < 100, "the disk never works: {error}"),
        }
    }
}

/// What a pool of `n_buffers` is opened with.
pub(crate) fn options(profile: Profile, n_buffers: u32) -> PoolOptions {
    PoolOptions {
        n_buffers,
        partitions: 1,
        page_size: PAGE_SIZE,
        max_sessions: 2,
        profile,
        ..PoolOptions::default()
    }
}

/// A pool over `storage` that has `pages` in its buffers, the first in buffer 0, all unpinned and
/// with one point of usage.
pub(crate) fn pool_with(
    options: PoolOptions,
    storage: Arc<MemoryStorage>,
    pages: &[BufferTag],
) -> Arc<BufferPool> {
    let pool = pool_over(options, storage);
    let session = pool.session();
    for tag in pages {
        match session.read(*tag) {
            Ok(page) => drop(page),
            Err(error) => panic!("a pool with room takes {tag}: {error}"),
        }
    }
    drop(session);
    pool
}

/// An empty pool over `storage`.
pub(crate) fn pool_over(
    options: PoolOptions,
    storage: Arc<impl Storage + 'static>,
) -> Arc<BufferPool> {
    let pool = BufferPool::open(options, storage).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(pool)
}

/// Changes the page in its buffer and leaves it dirty.
pub(crate) fn dirty(pool: &BufferPool, tag: BufferTag) {
    let session = pool.session();
    match session.read(tag) {
        Ok(page) => page.lock_exclusive().mark_dirty(),
        Err(error) => panic!("{tag} is in the pool: {error}"),
    }
}

/// Starts a task that plays `role` in a session of its own.
pub(crate) fn actor<T: Send + 'static>(
    role: &str,
    pool: &Arc<BufferPool>,
    part: impl FnOnce(&Session<'_>) -> T + Send + 'static,
) -> JoinHandle<T> {
    let pool = Arc::clone(pool);
    actor::actor(role, move || part(&pool.session()))
}

/// Checks that nothing is left behind: no pin, no lock, no waiter, no half-done I/O; tags, flags
/// and mapping agree.
pub(crate) fn check_nothing_is_left(pool: &BufferPool) {
    check_quiescent(pool).unwrap_or_else(|broken| panic!("{broken}"));
}
