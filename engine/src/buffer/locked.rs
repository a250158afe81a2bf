//! A pin and its content lock in one value, given back in one step.
//!
//! In `Modern` both are in the state word, so one subtraction takes them off; in `Classic` it is two
//! steps.
//! Source: `UnlockReleaseBuffer` in PostgreSQL's `bufmgr.c`.

use super::content_lock::LockMode;
use super::guard::Pin;
use super::session::{Session, is_dying};
use crate::page::HEADER_SIZE;
use crate::tag::BufferTag;

/// A pinned buffer whose content is locked.
#[derive(Debug)]
#[must_use = "a page is unlocked and unpinned when this is dropped"]
pub struct LockedPage<'s, 'p> {
    pub(super) session: &'s Session<'p>,
    pub(super) buf_id: u32,
    incarnation: u64,
}

impl<'s, 'p> Pin<'s, 'p> {
    /// Waits for the content lock, and makes one value of pin and lock. `ShareExclusive` is a share
    /// lock in `Classic`.
    pub fn into_locked(self, mode: LockMode) -> LockedPage<'s, 'p> {
        self.check_identity();
        let mode = match mode {
            LockMode::ShareExclusive => self.session.write_out_mode(),
            mode => mode,
        };
        self.session.lock_content(self.buf_id, mode);
        LockedPage::locked(self)
    }
}

impl<'s, 'p> LockedPage<'s, 'p> {
    /// Of a pin whose content this session has locked.
    pub(super) fn locked(pin: Pin<'s, 'p>) -> Self {
        let Pin { session, buf_id, incarnation } = pin;
        // The pin lives on in the new value, which gives it back.
        std::mem::forget(pin);
        Self { session, buf_id, incarnation }
    }

    /// Which buffer.
    #[must_use]
    pub fn buf_id(&self) -> u32 {
        self.buf_id
    }

    /// The page it was pinned for.
    #[must_use]
    pub fn tag(&self) -> BufferTag {
        self.session.pinned_tag(self.buf_id)
    }

    /// The page's bytes, after its header.
    #[must_use]
    #[track_caller]
    pub fn bytes(&self) -> &[u8] {
        self.check_identity();
        &self.session.page(self.buf_id)[HEADER_SIZE..]
    }

    /// Marks the page changed, so that it is written out before its buffer is given up.
    ///
    /// # Panics
    ///
    /// With rule I-LK7 if the page is not locked to change.
    pub fn mark_dirty(&self) {
        let (session, buf_id) = (self.session, self.buf_id);
        assert!(
            session.content_lock(buf_id) == Some(LockMode::Exclusive),
            "I-LK7: a page is changed under an exclusive lock, but buffer {buf_id} had none"
        );
        session.mark_dirty(buf_id);
    }

    pub(super) fn check_identity(&self) {
        self.session.pool.ghosts.check_identity(self.buf_id, self.incarnation);
    }
}

impl Drop for LockedPage<'_, '_> {
    fn drop(&mut self) {
        if is_dying() {
            return;
        }
        self.check_identity();
        self.session.unlock_and_unpin(self.buf_id);
    }
}
