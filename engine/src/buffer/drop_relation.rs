//! Dropping a relation: its pages are forgotten, wherever they are.
//!
//! The caller has the relation to itself, so nobody can load pages of it any more (I-DROP4). Pins
//! can be those of writers, and for moments those of strangers that follow a stale hint.
//!
//! That is also why the unlocked look of [`DropStrategy::Precheck`] is safe where it says no: a tag
//! can only move away from the relation, so a torn one that looks like no match is one in the middle
//! of moving away.
//!
//! Touches: every header in D0, those that match in D1. Keeps: when a drop returns, no buffer and no
//! entry has a page of the relation (I-DROP1), and none of another relation was lost (I-DROP2).
//! Source: `DropRelFileNodeBuffers` of PostgreSQL 9.1 and 9.2.

use super::error::BufferError;
use super::options::DropStrategy;
use super::session::Session;
use crate::sync::{mutant, note};
use crate::tag::{Fork, RelationId};

/// What a drop did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// Buffers looked at, each as often as it was.
    pub frames_visited: u64,
    /// Headers locked by the search. Invalidations lock them once more.
    pub header_locks: u64,
    /// Buffers that lost their page.
    pub invalidations: u64,
}

impl Session<'_> {
    /// Forgets every page of `relation` and removes its files. Changes not written out are lost.
    ///
    /// # Errors
    ///
    /// [`BufferError::PinnedByCaller`] if this session has a page of it pinned, and
    /// [`BufferError::Storage`] if a file could not be removed; in both cases pages may be forgotten.
    pub fn drop_relation(&self, relation: RelationId) -> Result<DropCounts, BufferError> {
        let counts = self.drop_buffers(relation)?;
        self.pool.syncs.forget(relation);
        self.pool.storage.remove(relation)?;
        Ok(counts)
    }

    /// Forgets every page of `relation` and leaves its files.
    ///
    /// # Errors
    ///
    /// [`BufferError::PinnedByCaller`] as in [`Session::drop_relation`].
    pub fn drop_buffers(&self, relation: RelationId) -> Result<DropCounts, BufferError> {
        let mut counts = DropCounts::default();
        match self.pool.options.drop {
            DropStrategy::EveryHeader => {
                for fork in Fork::ALL {
                    for buf_id in 0..self.pool.n_buffers() {
                        self.drop_if(buf_id, relation, Some(fork), &mut counts)?;
                    }
                }
            }
            DropStrategy::Precheck => {
                for buf_id in 0..self.pool.n_buffers() {
                    if self.pool.desc(buf_id).relation_is(relation) {
                        note!("finds a page of its relation in buffer {buf_id}");
                        self.drop_if(buf_id, relation, None, &mut counts)?;
                    } else {
                        counts.frames_visited += 1;
                    }
                }
            }
        }
        note!("has dropped {} buffers", counts.invalidations);
        Ok(counts)
    }

    /// Locks the header of one buffer, looks, and takes its page if it is one to drop.
    fn drop_if(
        &self,
        buf_id: u32,
        relation: RelationId,
        fork: Option<Fork>,
        counts: &mut DropCounts,
    ) -> Result<(), BufferError> {
        counts.frames_visited += 1;
        counts.header_locks += 1;
        let header = self.lock_header(buf_id);
        let tag = self.pool.desc(buf_id).read_tag().filter(|tag| tag.relation == relation);
        let mut tag = tag.filter(|tag| fork.is_none_or(|fork| tag.fork == fork));
        if fork.is_none() && mutant::is("drop.trust_unlocked_match") {
            tag = self.pool.desc(buf_id).read_tag();
        }
        match tag {
            Some(tag) => {
                let taken = self.invalidate(buf_id, tag, header)?;
                counts.invalidations += u64::from(taken);
            }
            None => header.unlock(),
        }
        Ok(())
    }
}
