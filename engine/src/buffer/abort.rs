//! Error recovery: a session lets go of everything it has.
//!
//! Operations that fail give back what they took. What is left when a task dies in the middle of
//! one, or throws guards away where an error jumps over them, is on the session's own books: content
//! locks and pins, the flag by which it waits for the only pin, I/O in progress.
//!
//! Touches: all of that. Keeps: content is unlocked before it is unpinned (I-LK2); who waits for an I/O
//! that nobody will end is woken and does it (I-IO5).
//! Source: `AbortTransaction` in PostgreSQL, which calls `LWLockReleaseAll`, `UnlockBuffers` and, from
//! the resource owner, `AbortBufferIO` and `UnpinBuffer`, in that order.

use super::session::Session;
use crate::sync::{mutant, note};

impl Session<'_> {
    /// Gives back all that this session has: content locks, pins, the I/O it is in the middle of,
    /// which fails. Others go on as after any failure.
    ///
    /// No guard can be alive here; what is given back is what was [forgotten](std::mem::forget), as
    /// by an error that jumps over the frames it was in.
    pub fn abort(&mut self) {
        self.let_go();
    }

    /// As [`Session::abort`], of a session that is not used by anything else any more.
    pub(super) fn let_go(&self) {
        note!("gives back all it has");
        if !mutant::is("abort.pins_first") {
            self.unlock_all();
        }
        self.stop_awaiting();
        let ios = self.ios.borrow().clone();
        for (buf_id, direction) in ios {
            self.abort_io(buf_id, direction);
        }
        while let Some(buf_id) = self.refs.any_pinned() {
            if mutant::is("abort.wakes_no_cleaner") {
                self.take_pin(buf_id);
                continue;
            }
            self.unpin(buf_id);
        }
    }

    fn unlock_all(&self) {
        for buf_id in self.refs.locked() {
            self.unlock_content(buf_id);
        }
    }
}
