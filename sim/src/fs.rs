//! `std::fs`: a simulated disk inside an execution.
//!
//! Every execution begins with an empty disk, on which there is only `/tmp`. Paths are those of
//! Unix; a relative path starts at `/`, and there are no links, permissions or times. Every
//! operation is a scheduling point, counts as a sleep for the rules of holds, and happens at once, or
//! after a time drawn from the seed.
//!
//! # What lasts
//!
//! What is written is seen by all tasks at once, and is durable once it was synced: what is in a file
//! and its length by `sync_all` or `sync_data` of the file, that a file was created, renamed or
//! removed by a sync of the directory, as in `File::open(directory)?.sync_all()`. When the power
//! fails (`holdup::crash::power_failure`, `Faults`), what was synced is there. Of the rest, each
//! sector of 512 bytes is as it was at the last sync or as any write since left it, each length is
//! one that the file had since, and each change of a name was made or was not, though a rename never
//! by half; one time in four all is lost, one time in four nothing. A process that crashes loses
//! nothing.
//!
//! # What goes wrong
//!
//! With `holdup::Faults`, reads, writes and syncs fail, are cut short, find no room, go to another
//! place, return what is old, or find a bit flipped; each has its rate and is counted. After a sync
//! that failed, all that was written is taken for clean: some of it is durable, some never will be
//! unless it is written again, though reads still find it. Each handle is told once.

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
mod image;
#[cfg(feature = "sim")]
mod inode;
#[cfg(feature = "sim")]
mod metadata;
#[cfg(feature = "sim")]
mod names;
#[cfg(feature = "sim")]
mod open;
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
