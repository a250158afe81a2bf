//! What the pool must know of a write-ahead log.

use std::fmt::Debug;

/// A write-ahead log, asked before a page is written out.
///
/// Source: PostgreSQL's `XLogNeedsFlush`.
pub trait Log: Debug + Send + Sync {
    /// Whether the log is not yet on disk up to `lsn`, so that a page whose newest change is logged
    /// there could not be written out before it is.
    ///
    /// Called with the page's content locked, so it must not wait for a page.
    fn needs_flush(&self, lsn: u64) -> bool;
}
