//! Where pages live when they are not in a buffer.
//!
//! A storage keeps one sequence of pages per fork of a relation. It knows nothing of buffers and
//! checks no checksum; it does know which relations were removed, and a write to one of them is a
//! bug of ours (I-DISK1), so it panics.

mod error;
mod file;
mod memory;
#[cfg(test)]
mod tests;

pub use error::StorageError;
pub use file::FileStorage;
pub use memory::MemoryStorage;

use crate::sync::Arc;
use crate::tag::{BlockNumber, BufferTag, Fork, RelationId};

/// A place for pages.
///
/// # Errors
///
/// Every function but [`Storage::page_size`] fails with [`StorageError`] when the disk does, or when
/// a page is asked for that the storage does not have.
///
/// # Panics
///
/// [`Storage::write`] to a relation that was removed panics with rule I-DISK1.
pub trait Storage: Send + Sync {
    /// Size of every page, in bytes.
    fn page_size(&self) -> usize;

    /// Reads the page named `tag` into `page`.
    fn read(&self, tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError>;

    /// Replaces the page named `tag`, which must exist. Not durable before [`Storage::sync`].
    fn write(&self, tag: BufferTag, page: &[u8]) -> Result<(), StorageError>;

    /// Appends `page` and returns its block number. Creates the fork if there is none.
    fn extend(
        &self,
        relation: RelationId,
        fork: Fork,
        page: &[u8],
    ) -> Result<BlockNumber, StorageError>;

    /// Appends `n_blocks` pages of zeroes to a fork that has `first` pages, and creates it if there is
    /// none. Where this fails, the fork may have some of them.
    fn grow(
        &self,
        relation: RelationId,
        fork: Fork,
        first: BlockNumber,
        n_blocks: u32,
    ) -> Result<(), StorageError>;

    /// Makes what was written to the fork durable.
    fn sync(&self, relation: RelationId, fork: Fork) -> Result<(), StorageError>;

    /// Pages in the fork; 0 if there is no such fork.
    fn size(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, StorageError>;

    /// Removes every fork of `relation`. Removing what is not there is no error.
    fn remove(&self, relation: RelationId) -> Result<(), StorageError>;
}

impl<S: Storage + ?Sized> Storage for Arc<S> {
    fn page_size(&self) -> usize {
        (**self).page_size()
    }
    fn read(&self, tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError> {
        (**self).read(tag, page)
    }
    fn write(&self, tag: BufferTag, page: &[u8]) -> Result<(), StorageError> {
        (**self).write(tag, page)
    }
    fn extend(
        &self,
        relation: RelationId,
        fork: Fork,
        page: &[u8],
    ) -> Result<BlockNumber, StorageError> {
        (**self).extend(relation, fork, page)
    }
    fn grow(
        &self,
        relation: RelationId,
        fork: Fork,
        first: BlockNumber,
        n_blocks: u32,
    ) -> Result<(), StorageError> {
        (**self).grow(relation, fork, first, n_blocks)
    }
    fn sync(&self, relation: RelationId, fork: Fork) -> Result<(), StorageError> {
        (**self).sync(relation, fork)
    }
    fn size(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, StorageError> {
        (**self).size(relation, fork)
    }
    fn remove(&self, relation: RelationId) -> Result<(), StorageError> {
        (**self).remove(relation)
    }
}
