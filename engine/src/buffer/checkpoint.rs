//! Checkpoints: every page that is dirty now is written out.
//!
//! In two passes. The first looks at every header and marks what is dirty; the second writes what is
//! still marked, in the order in which it lies on disk, and takes turns between tablespaces so that
//! each gets its share of the writes all the time. Whoever else writes a marked page out takes the
//! mark away, and the checkpoint need not. In the end every file is synced that anybody wrote to.
//!
//! Touches: flags, content locks. Keeps: a page that was dirty when the checkpoint began has been
//! written out when it ends, or dropped (I-WAL5, as far as there is no log).
//! Source: `BufferSync` in PostgreSQL's `bufmgr.c`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::error::BufferError;
use super::header::Change;
use super::session::Session;
use super::state::{CHECKPOINT_NEEDED, DIRTY, PERMANENT};
use crate::sync::{mutant, note};
use crate::tag::{BufferTag, Fork, RelationId};

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointCounts {
    /// Pages that were dirty when it began.
    pub needed: u32,
    /// Pages that it wrote out itself.
    pub written: u32,
}

/// The pages of one tablespace that a checkpoint has yet to write.
struct Share {
    pages: Vec<(BufferTag, u32)>,
    written: usize,
}

impl Session<'_> {
    /// Writes every page out that is dirty now, and makes durable all that was written out until
    /// then, by whomever. Pages of unlogged relations are left: after a crash those are empty anyway.
    ///
    /// Waits for whoever has a page locked, so the caller has no page locked.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] at the first write or sync that fails. What is left is still dirty,
    /// and will be needed by the next checkpoint again. [`BufferError::SyncLost`] where a file was
    /// written to, a sync of which had failed before.
    ///
    /// # Panics
    ///
    /// As [`Session::flush`].
    pub fn checkpoint(&self) -> Result<CheckpointCounts, BufferError> {
        self.checkpoint_of(PERMANENT)
    }

    /// As [`Session::checkpoint`], before the end: pages of unlogged relations are written, too, since
    /// no crash will follow.
    ///
    /// # Errors
    ///
    /// As [`Session::checkpoint`].
    ///
    /// # Panics
    ///
    /// As [`Session::flush`].
    pub fn shutdown_checkpoint(&self) -> Result<CheckpointCounts, BufferError> {
        self.checkpoint_of(0)
    }

    /// A checkpoint of the pages that have `flags`.
    fn checkpoint_of(&self, flags: u64) -> Result<CheckpointCounts, BufferError> {
        note!("begins a checkpoint");
        let pages = self.mark_for_checkpoint(flags);
        let mut counts = CheckpointCounts { needed: pages.len() as u32, written: 0 };
        let own = mutant::is("checkpoint.syncs_own_only").then(|| files_of(&pages));
        for buf_id in in_turns(pages) {
            // Without the header lock: it is taken and looked at again where the mark is there.
            if self.pool.desc(buf_id).load().has(CHECKPOINT_NEEDED)
                && self.sync_buffer(buf_id, false)?.written
            {
                counts.written += 1;
            }
        }
        self.sync_requested(|file| own.as_ref().is_none_or(|own| own.contains(&file)))?;
        note!("ends the checkpoint");
        Ok(counts)
    }

    /// Marks every dirty page that has `flags` and returns them.
    fn mark_for_checkpoint(&self, flags: u64) -> Vec<(BufferTag, u32)> {
        let mut pages = Vec::new();
        for buf_id in 0..self.pool.n_buffers() {
            pages.reserve(1);
            let header = self.lock_header(buf_id);
            let tag = self.pool.desc(buf_id).read_tag();
            let is_wanted = header.state().has(DIRTY) && header.state().0 & flags == flags;
            match tag.filter(|_| is_wanted) {
                Some(tag) => {
                    header.unlock_with(Change { set: CHECKPOINT_NEEDED, ..Change::default() });
                    pages.push((tag, buf_id));
                }
                None => header.unlock(),
            }
        }
        pages
    }
}

fn files_of(pages: &[(BufferTag, u32)]) -> BTreeSet<(RelationId, Fork)> {
    pages.iter().map(|(tag, _)| (tag.relation, tag.fork)).collect()
}

/// The buffers of `pages` by the place of their pages on disk, tablespaces in turn: next is always
/// one of the tablespace that has the smallest part of its pages behind it.
fn in_turns(mut pages: Vec<(BufferTag, u32)>) -> Vec<u32> {
    pages.sort_unstable();
    let mut shares: BTreeMap<u32, Share> = BTreeMap::new();
    for (tag, buf_id) in pages {
        let new = || Share { pages: Vec::new(), written: 0 };
        shares.entry(tag.relation.tablespace).or_insert_with(new).pages.push((tag, buf_id));
    }
    let mut order = Vec::new();
    let mut heap: BinaryHeap<_> = shares.keys().map(|&space| Reverse((0, space))).collect();
    while let Some(Reverse((_, space))) = heap.pop() {
        let Some(share) = shares.get_mut(&space) else { continue };
        order.push(share.pages[share.written].1);
        share.written += 1;
        if share.written < share.pages.len() {
            // Parts of the whole as integers: no rounding decides who is next.
            let part = ((share.written as u64) << 32) / share.pages.len() as u64;
            heap.push(Reverse((part, space)));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(tablespace: u32, blocks: &[u32]) -> Vec<(BufferTag, u32)> {
        let relation = RelationId { tablespace, database: 1, number: 1 };
        let page =
            |&block: &u32| (BufferTag::new(relation, Fork::Main, block), tablespace * 100 + block);
        blocks.iter().map(page).collect()
    }

    #[test]
    fn pages_are_written_as_they_lie_on_disk() {
        assert_eq!(in_turns(pages(1, &[7, 3, 5])), [103, 105, 107]);
    }

    #[test]
    fn tablespaces_take_turns_by_their_share() {
        let both = [pages(1, &[1, 2]), pages(2, &[1, 2, 3, 4])].concat();

        assert_eq!(in_turns(both), [101, 201, 202, 102, 203, 204]);
    }
}
