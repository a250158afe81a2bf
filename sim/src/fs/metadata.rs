//! What is known of a file.

use std::fs as real;

use super::names::Node;

/// As `std::fs::Metadata`, as far as a simulated disk has it.
#[derive(Clone, Debug)]
pub struct Metadata {
    kind: FileType,
    len_bytes: u64,
}

/// As `std::fs::FileType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileType {
    file: bool,
    directory: bool,
    symlink: bool,
}

impl Metadata {
    /// As in `std`.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "as in std")]
    pub fn len(&self) -> u64 {
        self.len_bytes
    }

    /// As in `std`.
    #[must_use]
    pub fn file_type(&self) -> FileType {
        self.kind
    }

    /// As in `std`.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// As in `std`.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.kind.is_dir()
    }
}

impl FileType {
    /// As in `std`.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.file
    }

    /// As in `std`.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.directory
    }

    /// As in `std`.
    #[must_use]
    pub fn is_symlink(&self) -> bool {
        self.symlink
    }
}

impl From<real::FileType> for FileType {
    fn from(kind: real::FileType) -> Self {
        Self { file: kind.is_file(), directory: kind.is_dir(), symlink: kind.is_symlink() }
    }
}

impl From<real::Metadata> for Metadata {
    fn from(metadata: real::Metadata) -> Self {
        Self { kind: metadata.file_type().into(), len_bytes: metadata.len() }
    }
}

impl From<&Node> for FileType {
    fn from(node: &Node) -> Self {
        let directory = matches!(node, Node::Directory(_));
        Self { file: !directory, directory, symlink: false }
    }
}

impl From<&Node> for Metadata {
    fn from(node: &Node) -> Self {
        let len_bytes = match node {
            Node::Directory(_) => 0,
            Node::File(inode) => inode.len_bytes(),
        };
        Self { kind: node.into(), len_bytes }
    }
}
