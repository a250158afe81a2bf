//! What can go wrong with a page in the pool.

use crate::storage::StorageError;
use crate::tag::{BufferTag, Fork, RelationId};

/// Why a page could not be brought into the pool, locked or dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BufferError {
    /// The options make no pool. The text says which and what is allowed.
    #[error("{0}")]
    Options(String),
    /// The memory for the pages could not be had. Open a smaller pool.
    #[error("cannot reserve {len_bytes} bytes for the pages of the pool")]
    Memory {
        /// Bytes asked for.
        len_bytes: usize,
    },
    /// The memory to remember one more pin could not be had. Drop a guard and try again.
    #[error("no memory for one more pin")]
    PinMemory,
    /// A request to cancel came while this waited. Nothing is left behind; try again if you like.
    #[error("cancelled")]
    Cancelled,
    /// A whole sweep met only pinned buffers. Drop a guard and try again.
    #[error("no unpinned buffers")]
    NoUnpinnedBuffers,
    /// The bytes do not match the checksum in their header: a torn or rotten page, or one of another
    /// place in the file.
    #[error("{tag} does not match its checksum")]
    Corrupt {
        /// Which page.
        tag: BufferTag,
    },
    /// A buffer has a page with data where the file is about to grow: somebody wrote a page that the
    /// storage never had, or the storage lost its end. Look into it; nothing was changed.
    #[error("{tag} is behind the end of its file, yet a buffer has it and it is not new")]
    DataBeyondEnd {
        /// Which page.
        tag: BufferTag,
    },
    /// The fork has as many pages as a block number can count.
    #[error("{relation} has no room for {by} pages more")]
    RelationFull {
        /// Which relation.
        relation: RelationId,
        /// Pages asked for.
        by: u32,
    },
    /// Somebody else waits for the only pin on this buffer already. Try again later.
    #[error("another session waits for a cleanup lock on buffer {buf_id}")]
    CleanupWaiter {
        /// Which buffer.
        buf_id: u32,
    },
    /// The caller drops a page that it has pinned itself. Drop the guard first.
    #[error("{tag} is dropped by a session that has it pinned")]
    PinnedByCaller {
        /// Which page.
        tag: BufferTag,
    },
    /// An earlier sync of the file failed, and what was written before it may be lost, whatever a later
    /// one says. Open the storage anew, and write again what was not known to be durable.
    #[error("an earlier sync of relation {relation}, {}, failed, so nothing in it is durable any more", fork.name())]
    SyncLost {
        /// Whose file.
        relation: RelationId,
        /// Which file.
        fork: Fork,
    },
    /// The storage failed. The buffer is free again, or still dirty if this was a write.
    #[error("the storage failed")]
    Storage(#[from] StorageError),
}
