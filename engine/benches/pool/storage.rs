//! Pools and pages to measure with.

use holdup_engine::{
    BlockNumber, BufferPool, BufferTag, Fork, MemoryStorage, PoolOptions, RelationId, Session,
    Storage, StorageError,
};

pub(crate) const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
pub(crate) const PAGE_SIZE: usize = 8192;
/// Buffers of a small pool: 8 MB.
pub(crate) const BUFFERS: u32 = 1024;
/// Pages of the relation below a small pool.
pub(crate) const BLOCKS: u32 = 4096;

pub(crate) fn page(block: BlockNumber) -> BufferTag {
    BufferTag::new(RELATION, Fork::Main, block)
}

/// Reads a page and lets it go.
#[inline]
pub(crate) fn read(session: &Session<'_>, block: BlockNumber) {
    std::hint::black_box(session.read(page(block)).expect("the page exists").buf_id());
}

/// A pool of [`BUFFERS`] buffers that has the first of [`BLOCKS`] pages.
pub(crate) fn small_pool(options: PoolOptions) -> BufferPool {
    let storage = MemoryStorage::new(PAGE_SIZE);
    storage.create(RELATION, Fork::Main, BLOCKS, |_, _| {});
    pool_with(PoolOptions { n_buffers: BUFFERS, ..options }, storage, BUFFERS)
}

/// A pool over `storage` that has read the first `n_blocks` pages.
pub(crate) fn pool_with(
    options: PoolOptions,
    storage: impl Storage + 'static,
    n_blocks: BlockNumber,
) -> BufferPool {
    let pool = BufferPool::open(options, storage).unwrap_or_else(|error| panic!("{error}"));
    let session = pool.session();
    (0..n_blocks).for_each(|block| read(&session, block));
    drop(session);
    pool
}

/// As many pages of zeroes as anybody asks for; what is written is forgotten. So that what is
/// measured is the pool, and a gigabyte of pages takes one gigabyte.
pub(crate) struct Blank;

impl Storage for Blank {
    fn page_size(&self) -> usize {
        PAGE_SIZE
    }
    fn read(&self, _tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError> {
        page.fill(0);
        Ok(())
    }
    fn write(&self, _tag: BufferTag, _page: &[u8]) -> Result<(), StorageError> {
        Ok(())
    }
    fn extend(&self, _: RelationId, _: Fork, _: &[u8]) -> Result<BlockNumber, StorageError> {
        Ok(0)
    }
    fn grow(&self, _: RelationId, _: Fork, _: BlockNumber, _: u32) -> Result<(), StorageError> {
        Ok(())
    }
    fn sync(&self, _relation: RelationId, _fork: Fork) -> Result<(), StorageError> {
        Ok(())
    }
    fn size(&self, _relation: RelationId, _fork: Fork) -> Result<BlockNumber, StorageError> {
        Ok(BlockNumber::MAX)
    }
    fn remove(&self, _relation: RelationId) -> Result<(), StorageError> {
        Ok(())
    }
}
