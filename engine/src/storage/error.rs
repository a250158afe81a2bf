//! What can go wrong with a storage.

use std::io;
use std::path::PathBuf;

use crate::tag::{BufferTag, RelationId};

/// Why a storage could not be opened or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The directory holds files, but no control file. Choose an empty directory.
    #[error(
        "{} holds files but no holdup.control, so it is no storage of ours; \
         name an empty directory or put the control file back", path.display()
    )]
    NotAStorage {
        /// The directory.
        path: PathBuf,
    },
    /// The control file is not one of ours, or of another version.
    #[error(
        "{} does not start with \"{expected}\", so this directory belongs to something else; \
         name another directory", path.display()
    )]
    Foreign {
        /// The control file.
        path: PathBuf,
        /// What its first line should be.
        expected: &'static str,
    },
    /// The storage was made with pages of another size.
    #[error(
        "{} says pages of {found} bytes, but {asked} were asked for; open it with {found}",
        path.display()
    )]
    OtherPageSize {
        /// The control file.
        path: PathBuf,
        /// Size of its pages, in bytes.
        found: usize,
        /// Size asked for, in bytes.
        asked: usize,
    },
    /// The file is shorter than that. The page was never written, or the relation is truncated.
    #[error("{tag} is past the end of its file")]
    PastEnd {
        /// The page asked for.
        tag: BufferTag,
    },
    /// The relation was removed.
    #[error("relation {relation} was removed")]
    Removed {
        /// The relation.
        relation: RelationId,
    },
    /// The disk failed. The page in memory is as good as before; try again or give up.
    #[error("cannot {what}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl StorageError {
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
