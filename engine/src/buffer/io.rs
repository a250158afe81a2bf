//! I/O on a buffer: one at a time, and who else needs it waits.
//!
//! `IO_IN_PROGRESS` is the lock; it is set and cleared under the header lock. Who waits stands on a
//! list and sleeps on the latch of its slot, from which a request to cancel can wake it too.
//!
//! Touches: flags, the lists, latches. Keeps: one I/O per buffer (I-IO1); a waiter is on the list
//! before it looks at the flag, so the end of the I/O is not missed (B73); a failed I/O leaves
//! `IO_ERROR` and, if it was a write, `DIRTY` (I-IO4); who gives up ends what it began and wakes those
//! who wait for it.
//! Source: `StartBufferIO`, `TerminateBufferIO`, `AbortBufferIO`, `WaitIO` in PostgreSQL's `bufmgr.c`;
//! `condition_variable.c`.

use super::error::BufferError;
use super::header::{Change, Header};
use super::session::Session;
use super::state::{
    CHECKPOINT_NEEDED, DIRTY, IO_ERROR, IO_IN_PROGRESS, JUST_DIRTIED, State, VALID,
};
use crate::sync::{Mutex, fault, lock, mutant, name, note};

/// Most lists a pool has. Buffers of a larger pool share them, and a waiter may be woken for
/// the I/O on another buffer, which it finds out; PostgreSQL has one a buffer, and touches all of
/// them when it starts.
const MOST_LISTS: u32 = 1024;

/// Where sessions wait for the I/O on buffers.
#[derive(Debug)]
pub(super) struct IoConditions(Box<[IoCondition]>);

/// The sessions that wait for the I/O on one buffer.
#[derive(Debug, Default)]
struct IoCondition(Mutex<Vec<u32>>);

impl IoConditions {
    pub(super) fn new(n_buffers: u32) -> Self {
        Self((0..n_buffers.min(MOST_LISTS)).map(|_| IoCondition::default()).collect())
    }

    /// Names the parts in timelines. Called when they do not move any more.
    pub(super) fn name(&self) {
        for (_buf_id, _condition) in self.0.iter().enumerate() {
            name!(&_condition.0, "I/O waiters of buffer {_buf_id}");
        }
    }

    fn of(&self, buf_id: u32) -> &IoCondition {
        &self.0[buf_id as usize % self.0.len()]
    }

    /// How many sessions wait for the I/O on a buffer, or on one it shares the list with. For
    /// checkers.
    pub(super) fn waiters(&self, buf_id: u32) -> usize {
        lock(&self.of(buf_id).0).len()
    }
}

impl IoCondition {
    /// Stands on the list, once.
    fn enter(&self, session: u32) {
        let mut waiters = lock(&self.0);
        if !waiters.contains(&session) {
            waiters.push(session);
        }
    }

    fn leave(&self, session: u32) {
        lock(&self.0).retain(|&waiter| waiter != session);
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

/// Whether a wait may be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupts {
    /// It ends with [`BufferError::Cancelled`] when a request to cancel comes.
    Allowed,
    /// It goes on to its end: what it is a part of cannot be left half done.
    Held,
}

impl Session<'_> {
    /// Makes this session the one that does I/O on a buffer it has pinned. False if there is
    /// nothing left to do: somebody else did it. Fails if it is cancelled while somebody else's I/O
    /// is in the way.
    pub(super) fn start_io(&self, buf_id: u32, direction: Direction) -> Result<bool, BufferError> {
        let header = self.lock_header_between_io(buf_id)?;
        let state = header.state();
        let needed = match direction {
            Direction::Input => !state.has(VALID),
            Direction::Output => state.has(DIRTY),
        };
        if !needed {
            header.unlock();
            return Ok(false);
        }
        self.pool.ghosts.io_started(buf_id, self.id);
        header.unlock_with(Change { set: IO_IN_PROGRESS, ..Change::default() });
        self.ios.borrow_mut().push((buf_id, direction));
        Ok(true)
    }

    /// An interruptible point in the middle of an operation: fails if the session is to give up.
    pub(super) fn check_for_cancel(&self) -> Result<(), BufferError> {
        if fault::cancelled() { Err(BufferError::Cancelled) } else { Ok(()) }
    }

    /// Makes this session the one that does input on a buffer it has pinned, although the page in it
    /// is valid: it is not any more. Nothing is lost by that, so it is not dirty either.
    pub(super) fn start_input_anew(&self, buf_id: u32) -> Result<(), BufferError> {
        let header = self.lock_header_between_io(buf_id)?;
        self.pool.ghosts.io_started(buf_id, self.id);
        let unset = VALID | DIRTY | JUST_DIRTIED | CHECKPOINT_NEEDED;
        header.unlock_with(Change { unset, set: IO_IN_PROGRESS, pins: 0 });
        self.ios.borrow_mut().push((buf_id, Direction::Input));
        Ok(())
    }

    /// Locks the header of a buffer once no I/O on it is in progress.
    fn lock_header_between_io(&self, buf_id: u32) -> Result<Header<'_>, BufferError> {
        loop {
            let header = self.lock_header(buf_id);
            if !header.state().has(IO_IN_PROGRESS) {
                return Ok(header);
            }
            header.unlock();
            self.wait_io(buf_id, Interrupts::Allowed)?;
        }
    }

    /// Ends this session's I/O on a buffer, well.
    pub(super) fn finish_io(&self, buf_id: u32, direction: Direction) {
        match direction {
            Direction::Input => self.terminate_io(buf_id, false, VALID),
            Direction::Output => self.terminate_io(buf_id, true, 0),
        };
        self.broadcast(buf_id);
    }

    /// Ends this session's I/O on a buffer, which failed or was given up.
    pub(super) fn abort_io(&self, buf_id: u32, direction: Direction) {
        if mutant::is("abort.keeps_io") {
            self.disown_io(buf_id);
            return;
        }
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
        if !mutant::is("abort.wakes_nobody") {
            self.broadcast(buf_id);
        }
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
            unset |= DIRTY;
            if !mutant::is("flush.keeps_mark") {
                unset |= CHECKPOINT_NEEDED;
            }
        }
        self.pool.ghosts.io_ended(buf_id, self.id);
        let left = header.unlock_with(Change { unset, set, pins: 0 });
        self.disown_io(buf_id);
        left
    }

    /// Takes an I/O off the books of the session.
    fn disown_io(&self, buf_id: u32) {
        self.ios.borrow_mut().retain(|(owned, _)| *owned != buf_id);
    }

    /// Wakes all who wait for an I/O on a buffer.
    fn broadcast(&self, buf_id: u32) {
        let woken = std::mem::take(&mut *lock(&self.pool.io.of(buf_id).0));
        for session in woken {
            self.pool.slots.get(session).latch.set();
        }
    }

    fn is_in_io(&self, buf_id: u32) -> bool {
        let header = self.lock_header(buf_id);
        let state = header.state();
        header.unlock();
        state.has(IO_IN_PROGRESS)
    }

    /// Waits until no I/O is in progress on a buffer.
    pub(super) fn wait_io(&self, buf_id: u32, interrupts: Interrupts) -> Result<(), BufferError> {
        let (condition, latch) = (self.pool.io.of(buf_id), &self.slot().latch);
        let mut has_looked = mutant::is("cv.test_then_prepare");
        if has_looked {
            if !self.is_in_io(buf_id) {
                return Ok(());
            }
            note!("finds an I/O on buffer {buf_id}");
        }
        loop {
            // On the list first, and only then a look: after the look, the end of the I/O finds us.
            condition.enter(self.id);
            if !std::mem::take(&mut has_looked) && !self.is_in_io(buf_id) {
                condition.leave(self.id);
                return Ok(());
            }
            if mutant::is("cv.reset_after_enqueue") {
                latch.reset();
            }
            note!("waits for the I/O on buffer {buf_id}");
            let cancelled = match interrupts {
                Interrupts::Allowed => latch.wait() || fault::cancelled(),
                Interrupts::Held => {
                    latch.wait_to_the_end();
                    false
                }
            };
            if cancelled {
                condition.leave(self.id);
                note!("gives up waiting for the I/O on buffer {buf_id}");
                return Err(BufferError::Cancelled);
            }
        }
    }
}
