//! I/O on a buffer: one at a time, and who else needs it waits.
//!
//! `IO_IN_PROGRESS` is the lock; it is set and cleared under the header lock. Who waits sleeps on a
//! condition of the buffer.
//!
//! Touches: flags, the conditions. Keeps: one I/O per buffer (I-IO1); a waiter is on the condition
//! before it looks at the flag, so the end of the I/O is not missed; a failed I/O leaves `IO_ERROR`
//! and, if it was a write, `DIRTY` (I-IO4).
//! Source: `StartBufferIO`, `TerminateBufferIO`, `WaitIO` in PostgreSQL's `bufmgr.c`.

use super::header::Change;
use super::session::Session;
use super::state::{
    CHECKPOINT_NEEDED, DIRTY, IO_ERROR, IO_IN_PROGRESS, JUST_DIRTIED, State, VALID,
};
use crate::sync::{Condvar, Mutex, lock, name, note, wait};

/// Most conditions a pool has. Buffers of a larger pool share them, and a waiter may be woken for
/// the I/O on another buffer, which it finds out; PostgreSQL has one a buffer, and touches all of
/// them when it starts.
const MOST_CONDITIONS: u32 = 1024;

/// Where sessions wait for the I/O on buffers.
#[derive(Debug)]
pub(super) struct IoConditions(Box<[IoCondition]>);

/// Where sessions wait for the I/O on one buffer. The number is how many do.
#[derive(Debug, Default)]
struct IoCondition {
    waiters: Mutex<u32>,
    ended: Condvar,
}

impl IoConditions {
    pub(super) fn new(n_buffers: u32) -> Self {
        Self((0..n_buffers.min(MOST_CONDITIONS)).map(|_| IoCondition::default()).collect())
    }

    /// Names the parts in timelines. Called when they do not move any more.
    pub(super) fn name(&self) {
        for (_buf_id, _condition) in self.0.iter().enumerate() {
            name!(&_condition.waiters, "I/O waiters of buffer {_buf_id}");
            name!(&_condition.ended, "end of the I/O on buffer {_buf_id}");
        }
    }

    fn of(&self, buf_id: u32) -> &IoCondition {
        &self.0[buf_id as usize % self.0.len()]
    }

    /// How many sessions sleep for the I/O on a buffer, or on one it shares the condition with. For
    /// checkers.
    pub(super) fn waiters(&self, buf_id: u32) -> u32 {
        *lock(&self.of(buf_id).waiters)
    }
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the storage into a buffer that is not valid.
    Input,
    /// From a dirty buffer to the storage.
    Output,
}

impl Session<'_> {
    /// Makes this session the one that does I/O on a buffer it has pinned. False if there is
    /// nothing left to do: somebody else did it.
    pub(super) fn start_io(&self, buf_id: u32, direction: Direction) -> bool {
        let header = loop {
            let header = self.lock_header(buf_id);
            if !header.state().has(IO_IN_PROGRESS) {
                break header;
            }
            header.unlock();
            self.wait_io(buf_id);
        };
        let state = header.state();
        let needed = match direction {
            Direction::Input => !state.has(VALID),
            Direction::Output => state.has(DIRTY),
        };
        if !needed {
            header.unlock();
            return false;
        }
        self.pool.ghosts.io_started(buf_id, self.id);
        header.unlock_with(Change { set: IO_IN_PROGRESS, ..Change::default() });
        true
    }

    /// Ends this session's I/O on a buffer, well.
    pub(super) fn finish_io(&self, buf_id: u32, direction: Direction) {
        match direction {
            Direction::Input => self.terminate_io(buf_id, false, VALID),
            Direction::Output => self.terminate_io(buf_id, true, 0),
        };
    }

    /// Ends this session's I/O on a buffer, which failed.
    pub(super) fn abort_io(&self, buf_id: u32, direction: Direction) {
        let left = self.terminate_io(buf_id, false, IO_ERROR);
        note!("fails the I/O on buffer {buf_id}");
        assert!(
            left.has(IO_ERROR),
            "I-IO4: a failed I/O leaves IO_ERROR, but buffer {buf_id} was left {left}"
        );
        let kept = match direction {
            Direction::Input => !left.has(VALID),
            Direction::Output => left.has(DIRTY),
        };
        assert!(
            kept,
            "I-IO4: a failed read is not valid and a failed write stays dirty, \
             but buffer {buf_id} was left {left}"
        );
    }

    fn terminate_io(&self, buf_id: u32, clear_dirty: bool, set: u64) -> State {
        let header = self.lock_header(buf_id);
        assert!(
            header.state().has(IO_IN_PROGRESS),
            "I-IO1: who ends an I/O has one, but buffer {buf_id} had none"
        );
        let mut unset = IO_IN_PROGRESS | IO_ERROR;
        // Dirtied again during the write, as hints may in `Classic`: it stays dirty.
        if clear_dirty && !header.state().has(JUST_DIRTIED) {
            unset |= DIRTY | CHECKPOINT_NEEDED;
        }
        self.pool.ghosts.io_ended(buf_id, self.id);
        let left = header.unlock_with(Change { unset, set, pins: 0 });
        let condition = self.pool.io.of(buf_id);
        // With the lock, nobody is between looking at the flag and sleeping.
        drop(lock(&condition.waiters));
        condition.ended.notify_all();
        left
    }

    /// Waits until no I/O is in progress on a buffer.
    pub(super) fn wait_io(&self, buf_id: u32) {
        let condition = self.pool.io.of(buf_id);
        let mut waiters = lock(&condition.waiters);
        loop {
            let header = self.lock_header(buf_id);
            let state = header.state();
            header.unlock();
            if !state.has(IO_IN_PROGRESS) {
                return;
            }
            note!("waits for the I/O on buffer {buf_id}");
            *waiters += 1;
            waiters = wait(&condition.ended, waiters);
            *waiters -= 1;
        }
    }
}
