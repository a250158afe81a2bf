//! Names of pages: which block of which fork of which relation.

use std::fmt;

/// Position of a page in its fork.
///
/// Unit: pages from the start of the fork.
/// Source: PostgreSQL `BlockNumber`, `src/include/storage/block.h`.
pub type BlockNumber = u32;

/// A relation's files, by number.
///
/// Source: PostgreSQL `RelFileLocator`, `src/include/storage/relfilelocator.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelationId {
    /// Where the files are.
    pub tablespace: u32,
    /// The database they belong to.
    pub database: u32,
    /// The relation file number.
    pub number: u32,
}

impl fmt::Display for RelationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.tablespace, self.database, self.number)
    }
}

/// One of the files of a relation.
///
/// Source: PostgreSQL `ForkNumber`, `src/include/common/relpath.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Fork {
    /// The relation's own pages.
    #[default]
    Main = 0,
    /// Free-space map.
    FreeSpace = 1,
    /// Visibility map.
    Visibility = 2,
    /// What an unlogged relation looks like when it is new.
    Init = 3,
}

impl Fork {
    /// Every fork, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Main, Self::FreeSpace, Self::Visibility, Self::Init];

    /// Name of the fork in file names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::FreeSpace => "fsm",
            Self::Visibility => "vm",
            Self::Init => "init",
        }
    }

    pub(crate) const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Main),
            1 => Some(Self::FreeSpace),
            2 => Some(Self::Visibility),
            3 => Some(Self::Init),
            _ => None,
        }
    }
}

/// The name of a page.
///
/// Source: PostgreSQL `BufferTag`, `src/include/storage/buf_internals.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferTag {
    /// Whose page.
    pub relation: RelationId,
    /// In which file.
    pub fork: Fork,
    /// Where in it.
    pub block: BlockNumber,
}

impl BufferTag {
    /// The page `block` of `fork` of `relation`.
    #[must_use]
    pub const fn new(relation: RelationId, fork: Fork, block: BlockNumber) -> Self {
        Self { relation, fork, block }
    }

    /// What the words of [`words`](Self::words) are.
    pub(crate) const WORDS: [&str; 5] = ["tablespace", "database", "relation", "fork", "block"];

    /// The five words of a tag in a buffer descriptor. The fork counts from 1, so that five zeroes
    /// are no tag.
    pub(crate) const fn words(self) -> [u32; 5] {
        let RelationId { tablespace, database, number } = self.relation;
        [tablespace, database, number, self.fork as u32 + 1, self.block]
    }

    /// The tag these words spell, if they spell one: a cleared tag has no fork.
    pub(crate) fn from_words(words: [u32; 5]) -> Option<Self> {
        let [tablespace, database, number, fork, block] = words;
        let relation = RelationId { tablespace, database, number };
        Fork::from_number(fork.wrapping_sub(1)).map(|fork| Self { relation, fork, block })
    }
}

impl fmt::Display for BufferTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.relation)?;
        if self.fork != Fork::Main {
            write!(f, " {}", self.fork.name())?;
        }
        write!(f, " block {}", self.block)
    }
}
