//! Pages in memory, for tests and scenarios that are not about disks.
//!
//! Touches: one mutex around everything. Keeps: a page read is a page once written, whole.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::{Storage, StorageError};
use crate::page;
use crate::sync::{AtomicU32, Mutex, Ordering, lock, name, note};
use crate::tag::{BlockNumber, BufferTag, Fork, RelationId};

/// A storage that forgets everything when it is dropped.
#[derive(Debug)]
pub struct MemoryStorage {
    page_size: usize,
    /// Boxed, so that it stays where it is named.
    contents: Box<Mutex<Contents>>,
    failing_reads: AtomicU32,
    failing_writes: AtomicU32,
}

#[derive(Debug, Default)]
struct Contents {
    forks: BTreeMap<(RelationId, Fork), Vec<Box<[u8]>>>,
    removed: BTreeSet<RelationId>,
}

impl MemoryStorage {
    /// An empty storage with pages of `page_size` bytes.
    #[must_use]
    pub fn new(page_size: usize) -> Self {
        let (failing_reads, failing_writes) = (AtomicU32::new(0), AtomicU32::new(0));
        let contents = Box::default();
        name!(&*contents, "storage");
        Self { page_size, contents, failing_reads, failing_writes }
    }

    /// Gives `relation` a fork of `n_blocks` pages; `fill(block, body)` writes each body.
    pub fn create(
        &self,
        relation: RelationId,
        fork: Fork,
        n_blocks: BlockNumber,
        fill: impl Fn(BlockNumber, &mut [u8]),
    ) {
        let pages = (0..n_blocks).map(|block| {
            let mut page = vec![0; self.page_size].into_boxed_slice();
            fill(block, &mut page[page::HEADER_SIZE..]);
            page::set_checksum(&mut page, block);
            page
        });
        lock(&self.contents).forks.insert((relation, fork), pages.collect());
    }

    /// Lets the next `count` reads fail with an I/O error.
    pub fn fail_next_reads(&self, count: u32) {
        self.failing_reads.store(count, Ordering::Relaxed);
    }

    /// Lets the next `count` writes fail with an I/O error.
    pub fn fail_next_writes(&self, count: u32) {
        self.failing_writes.store(count, Ordering::Relaxed);
    }

    /// Flips one bit of a stored page: what a rotten disk does.
    pub fn rot(&self, tag: BufferTag, bit: usize) {
        let mut contents = lock(&self.contents);
        if let Some(page) = contents.page(tag) {
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

impl Contents {
    fn page(&mut self, tag: BufferTag) -> Option<&mut Box<[u8]>> {
        self.forks.get_mut(&(tag.relation, tag.fork))?.get_mut(tag.block as usize)
    }
}

/// Takes one failure from `left` if there is one to take.
fn fail(left: &AtomicU32, what: &str, tag: BufferTag) -> Result<(), StorageError> {
    let count = left.load(Ordering::Relaxed);
    if count == 0 {
        return Ok(());
    }
    left.store(count - 1, Ordering::Relaxed);
    Err(StorageError::io(format!("{what} {tag}"))(io::Error::other("injected failure")))
}

impl Storage for MemoryStorage {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn read(&self, tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        fail(&self.failing_reads, "read", tag)?;
        if contents.removed.contains(&tag.relation) {
            return Err(StorageError::Removed { relation: tag.relation });
        }
        page.copy_from_slice(contents.page(tag).ok_or(StorageError::PastEnd { tag })?);
        Ok(())
    }

    fn write(&self, tag: BufferTag, page: &[u8]) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        fail(&self.failing_writes, "write", tag)?;
        let removed = contents.removed.contains(&tag.relation);
        assert!(!removed, "I-DISK1: no page goes to a removed file, but {tag} was written");
        contents.page(tag).ok_or(StorageError::PastEnd { tag })?.copy_from_slice(page);
        Ok(())
    }

    fn extend(
        &self,
        relation: RelationId,
        fork: Fork,
        page: &[u8],
    ) -> Result<BlockNumber, StorageError> {
        let mut contents = lock(&self.contents);
        contents.removed.remove(&relation);
        let pages = contents.forks.entry((relation, fork)).or_default();
        pages.push(page.into());
        Ok(pages.len() as BlockNumber - 1)
    }

    fn grow(
        &self,
        relation: RelationId,
        fork: Fork,
        first: BlockNumber,
        n_blocks: u32,
    ) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        contents.removed.remove(&relation);
        let pages = contents.forks.entry((relation, fork)).or_default();
        let n_pages = (first as usize + n_blocks as usize).max(pages.len());
        pages.resize(n_pages, vec![0; self.page_size].into_boxed_slice());
        Ok(())
    }

    fn sync(&self, _relation: RelationId, _fork: Fork) -> Result<(), StorageError> {
        Ok(())
    }

    fn size(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, StorageError> {
        let contents = lock(&self.contents);
        Ok(contents.forks.get(&(relation, fork)).map_or(0, |pages| pages.len() as BlockNumber))
    }

    fn remove(&self, relation: RelationId) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        for fork in Fork::ALL {
            contents.forks.remove(&(relation, fork));
        }
        contents.removed.insert(relation);
        drop(contents);
        note!("removes relation {relation}");
        Ok(())
    }
}
