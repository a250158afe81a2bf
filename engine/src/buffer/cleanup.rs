//! The cleanup lock: an exclusive content lock while nobody else has a pin.
//!
//! Who has it knows that no other session has a pointer into the page. A pin that comes later is
//! harmless: it cannot look before the lock is given back.
//!
//! Touches: the content lock, `PIN_COUNT_WAITER`, the waiter's id. Keeps: the flag is set before
//! the reference count is looked at for the last time, so the last unpin before the sleep either
//! is seen by us or sees the flag (B04).
//! Source: `LockBufferForCleanup` in PostgreSQL's `bufmgr.c`.

use super::content_lock::LockMode;
use super::desc::NOBODY;
use super::error::BufferError;
use super::header::{Change, Header};
use super::session::Session;
use super::state::PIN_COUNT_WAITER;
use crate::sync::{Ordering, fault, mutant, note};

const CLEAR_WAITER: Change = Change { unset: PIN_COUNT_WAITER, set: 0, pins: 0 };
const SET_WAITER: Change = Change { unset: 0, set: PIN_COUNT_WAITER, pins: 0 };

impl Session<'_> {
    /// Waits until this session has the only pin, and the content lock with it.
    pub(super) fn lock_cleanup(&self, buf_id: u32) -> Result<(), BufferError> {
        let pins = self.pin_count(buf_id);
        assert!(
            pins == 1,
            "I-CL1: who cleans up has one pin, but buffer {buf_id} had {pins} of it"
        );
        loop {
            self.lock_content(buf_id, LockMode::Exclusive);
            let header = self.lock_header(buf_id);
            let state = header.state();
            if state.refcount() == 1 {
                self.pool.ghosts.cleanup_granted(buf_id);
                header.unlock();
                break;
            }
            if state.has(PIN_COUNT_WAITER) {
                header.unlock();
                self.unlock_content(buf_id);
                return Err(BufferError::CleanupWaiter { buf_id });
            }
            if self.publish_waiter(buf_id, header) {
                break;
            }
            self.unlock_content(buf_id);
            if mutant::is("cv.reset_after_enqueue") {
                self.slot().latch.reset();
            }
            self.awaited.set(buf_id);
            note!("sleeps until buffer {buf_id} has no other pin");
            let cancelled = self.slot().latch.wait() || fault::cancelled();
            if cancelled && mutant::is("cleanup.cancel_keeps_flag") {
                return Err(BufferError::Cancelled);
            }
            if !mutant::is("cleanup.keep_flag") {
                self.stop_awaiting();
            }
            if cancelled {
                note!("gives up waiting for buffer {buf_id}");
                return Err(BufferError::Cancelled);
            }
        }
        note!("has the cleanup lock of buffer {buf_id}");
        Ok(())
    }

    /// Publishes that this session waits, and unlocks. True if it need not: all other pins went in
    /// the meantime.
    fn publish_waiter(&self, buf_id: u32, header: Header<'_>) -> bool {
        self.pool.desc(buf_id).pin_waiter.store(self.id, Ordering::Relaxed);
        if !self.pool.is_modern() || mutant::is("cleanup.check_then_publish") {
            // In `Classic` no pin is given back under our header lock, so the count is still true.
            header.unlock_with(SET_WAITER);
            note!("publishes the pin waiter on buffer {buf_id}");
            return false;
        }
        let now = header.publish(PIN_COUNT_WAITER);
        note!("publishes the pin waiter on buffer {buf_id}");
        let alone = now.refcount() == 1;
        if alone {
            self.pool.ghosts.cleanup_granted(buf_id);
            header.unlock_with(CLEAR_WAITER);
        } else {
            header.unlock();
        }
        alone
    }

    /// Takes the flag down if this session waits for the only pin on a buffer and it is up for it:
    /// the wake-up may have been meant for nothing.
    pub(super) fn stop_awaiting(&self) {
        let buf_id = self.awaited.replace(NOBODY);
        if buf_id == NOBODY {
            return;
        }
        let header = self.lock_header(buf_id);
        let waiter = self.pool.desc(buf_id).pin_waiter.load(Ordering::Relaxed);
        if header.state().has(PIN_COUNT_WAITER) && waiter == self.id {
            header.unlock_with(CLEAR_WAITER);
        } else {
            header.unlock();
        }
    }

    /// Takes the cleanup lock if it can be had at once.
    pub(super) fn try_lock_cleanup(&self, buf_id: u32) -> bool {
        if self.pin_count(buf_id) != 1 || !self.try_lock_content(buf_id, LockMode::Exclusive) {
            return false;
        }
        let header = self.lock_header(buf_id);
        let alone = header.state().refcount() == 1 || mutant::is("cleanup.ignore_pins");
        if alone {
            self.pool.ghosts.cleanup_granted(buf_id);
        }
        header.unlock();
        if alone {
            note!("has the cleanup lock of buffer {buf_id}");
        } else {
            note!("finds another pin on buffer {buf_id}");
            self.unlock_content(buf_id);
        }
        alone
    }
}
