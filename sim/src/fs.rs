//! `std::fs`: a simulated disk inside an execution.
//!
//! Every execution begins with an empty disk, on which there is only `/tmp`. Paths are those of
//! Unix; a relative path starts at `/`, and there are no links, permissions or times. Every
//! operation is a scheduling point, counts as a sleep for the rules of holds, and happens at once;
//! reads, writes and syncs fail where the seed says so (`Faults`). What
//! was written stays: power failures are not simulated.

#[cfg(not(feature = "sim"))]
pub use std::fs::*;
#[cfg(not(feature = "sim"))]
pub use std::os::unix::fs::FileExt;

#[cfg(feature = "sim")]
mod directory;
#[cfg(feature = "sim")]
mod disk;
#[cfg(feature = "sim")]
mod file;
#[cfg(feature = "sim")]
mod metadata;
#[cfg(feature = "sim")]
mod open_options;

#[cfg(feature = "sim")]
pub use directory::{
    DirEntry, ReadDir, create_dir, create_dir_all, exists, metadata, read, read_dir,
    read_to_string, remove_dir, remove_dir_all, remove_file, rename, write,
};
#[cfg(feature = "sim")]
pub use file::{File, FileExt};
#[cfg(feature = "sim")]
pub use metadata::{FileType, Metadata};
#[cfg(feature = "sim")]
pub use open_options::OpenOptions;
