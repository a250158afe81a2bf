//! Files.
pub use std::fs::*;
pub use std::os::unix::fs::FileExt;
