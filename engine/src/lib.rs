//! PostgreSQL's buffer manager in Rust: one source, native or simulated.
//!
//! ```text
//!   buffer/    desc, blocks <- header <- mapping, pin <- victim <- alloc, io <- guard
//!   storage/   Storage (trait) <- file, memory
//!   page   tag
//!   sync  ............ the one door to locks, atomics, threads, time, files and notes
//! ```
//!
//! Natively the door is `std`; with cargo feature `sim` the same names are scheduling points of a
//! deterministic execution. Nothing else changes, so what a schedule breaks is the engine itself.
//!
//! ```
//! use holdup_engine::{BufferPool, BufferTag, Fork, MemoryStorage, PoolOptions, RelationId};
//!
//! let relation = RelationId { tablespace: 1663, database: 1, number: 100 };
//! let storage = MemoryStorage::new(8192);
//! storage.create(relation, Fork::Main, 3, |block, body| body[0] = block as u8);
//!
//! let pool = BufferPool::open(PoolOptions { n_buffers: 2, ..PoolOptions::default() }, storage)?;
//! let session = pool.session();
//! let pin = session.read(BufferTag::new(relation, Fork::Main, 2))?;
//! assert_eq!(pin.lock_share().bytes()[0], 2);
//! # Ok::<(), holdup_engine::BufferError>(())
//! ```

pub mod buffer;
pub mod log;
pub mod mutant;
pub mod page;
pub mod storage;
mod sync;
pub mod tag;

pub use buffer::{
    BgWriter, BgWriterOptions, Broken, BufferError, BufferPool, CheckpointCounts, ClockPosition,
    DropCounts, DropStrategy, ExclusiveGuard, LockMode, LockedPage, Lookup, NewPages, Pin,
    PoolOptions, Profile, RecentVariant, Ring, RingKind, RoundCounts, Session, ShareExclusiveGuard,
    ShareGuard, SpinLimits, State, VictimStrategy, check_quiescent,
};
pub use log::Log;
pub use storage::{FileStorage, MemoryStorage, Storage, StorageError};
pub use sync::INSTRUMENTED;
pub use tag::{BlockNumber, BufferTag, Fork, RelationId};
