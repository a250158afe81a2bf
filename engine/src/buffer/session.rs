//! A session: one task's way into the pool.
//!
//! Owns what no other task sees: private reference counts, what it learnt about spinning, a page of
//! scratch. Occupies a slot by which others find and wake it.
//!
//! Keeps: a session ends without pins and without content locks (I-REF3); one whose task dies lets go
//! of all it has.

use std::cell::{Cell, RefCell};

use super::delay::{Nap, fold};
use super::desc::NOBODY;
use super::io::Direction;
use super::private_refs::PrivateRefs;
use super::slot::Slot;
use super::{BufferError, BufferPool};
use crate::sync::{INSTRUMENTED, Ordering, panicking};

/// One task's way into a [`BufferPool`]. Not shared between tasks; pins and locks belong to it.
///
/// Source: what a PostgreSQL backend keeps for itself.
pub struct Session<'p> {
    pub(super) pool: &'p BufferPool,
    pub(super) id: u32,
    pub(super) refs: PrivateRefs,
    pub(super) spins_per_delay: Cell<u32>,
    pub(super) nap: Nap,
    random: Cell<u64>,
    /// I/Os this session has begun and not ended.
    pub(super) ios: RefCell<Vec<(u32, Direction)>>,
    /// The buffer whose only pin this session waits for, or [`NOBODY`].
    pub(super) awaited: Cell<u32>,
    /// Buffers taken from the clock hand and not yet looked at: the next, and how many.
    pub(super) batch: Cell<(u32, u32)>,
    /// A page to compute a checksum on.
    pub(super) scratch: RefCell<Vec<u8>>,
}

impl<'p> Session<'p> {
    pub(super) fn new(pool: &'p BufferPool) -> Self {
        let Some(id) = pool.slots.take() else {
            panic!("a pool has at most {} sessions", pool.options.max_sessions);
        };
        Self {
            pool,
            id,
            refs: PrivateRefs::new(),
            spins_per_delay: Cell::new(pool.spins_per_delay.load(Ordering::Relaxed)),
            nap: Nap::default(),
            random: Cell::new(u64::from(id) << 1 | 1),
            ios: RefCell::default(),
            awaited: Cell::new(NOBODY),
            batch: Cell::new((0, 0)),
            scratch: RefCell::default(),
        }
    }

    /// The pool this session works in.
    #[must_use]
    pub fn pool(&self) -> &'p BufferPool {
        self.pool
    }

    /// Number of the session, from 0; given to another when this one ends.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// How often this session has the buffer pinned.
    #[must_use]
    pub fn pin_count(&self, buf_id: u32) -> u32 {
        self.refs.count(buf_id)
    }

    pub(super) fn slot(&self) -> &'p Slot {
        self.pool.slots.get(self.id)
    }

    /// A number in [0, 1), the same for the n-th call of every execution. It sets lengths of sleeps
    /// and nothing else.
    pub(super) fn fraction(&self) -> f64 {
        let mut x = self.random.get().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x ^= x >> 29;
        self.random.set(x | 1);
        (x >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether `buf_id` is a buffer of the pool; for ids from outside.
    pub(super) fn check_buf_id(&self, buf_id: u32) -> Result<(), BufferError> {
        let n_buffers = self.pool.n_buffers();
        if buf_id < n_buffers {
            return Ok(());
        }
        Err(BufferError::Options(format!("buffer ids end before {n_buffers}, so {buf_id} is none")))
    }
}

/// Whether guards leave everything as it is: a task of an execution is being unwound, so that
/// execution is over, and to wait for others would be to wait for ever.
pub(super) fn is_dying() -> bool {
    INSTRUMENTED && panicking()
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        if is_dying() {
            return;
        }
        if panicking() {
            // The task died in the middle of something; others are not to wait for it.
            self.let_go();
        }
        if let Some(buf_id) = self.refs.any_pinned() {
            panic!("I-REF3: a session ends without pins, but had one on buffer {buf_id}");
        }
        let mine = self.spins_per_delay.get();
        let shared = self.pool.spins_per_delay.load(Ordering::Relaxed);
        // Two sessions that end at once may lose one estimate. PostgreSQL takes a spinlock here.
        self.pool.spins_per_delay.store(fold(shared, mine), Ordering::Relaxed);
        self.pool.slots.give_back(self.id);
    }
}

impl std::fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

impl BufferPool {
    /// Tells session `id` to give up its wait for a cleanup lock, or for somebody else's I/O on a page
    /// it reads or writes out, which then ends with [`BufferError::Cancelled`]. False if it does not
    /// wait for one just now: then nothing is done. A drop cannot be cancelled.
    ///
    /// Source: `pg_cancel_backend` in PostgreSQL, and the interruptible waits in
    /// `LockBufferForCleanup` and `WaitIO`.
    pub fn cancel(&self, id: u32) -> bool {
        id < self.options.max_sessions && self.slots.get(id).latch.cancel()
    }
}
