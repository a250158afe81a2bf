//! Reading a page again: it may still be where it was.
//!
//! The caller remembers the buffer a page was in last time. To pin that buffer without a lookup
//! saves the mapping's lock; but the buffer may have another page by now, or none, or be about to
//! change. Three ways to make sure, chosen when the pool is opened.
//!
//! Touches: the state word; the header lock in one variant. Keeps, but for the naive variant: what
//! is returned is pinned and has that page, valid; otherwise no pin was left behind.
//! Source: `ReadRecentBuffer` in PostgreSQL's `bufmgr.c`, of 14 and of 19; the naive form is from the
//! discussion that led from the one to the other.

use super::guard::Pin;
use super::options::RecentVariant;
use super::session::Session;
use super::state::VALID;
use crate::sync::{mutant, note};
use crate::tag::BufferTag;

impl<'p> Session<'p> {
    /// Pins buffer `hint` if it has the page `tag`. On `None` no pin was taken: fall back to
    /// [`Session::read`].
    #[inline(always)]
    pub fn read_recent(&self, tag: BufferTag, hint: u32) -> Option<Pin<'_, 'p>> {
        if hint >= self.pool.n_buffers() {
            return None;
        }
        self.reserve_pin().ok()?;
        let tag = if mutant::is("recent.expect_from_frame") {
            self.pool.desc(hint).read_tag()?
        } else {
            tag
        };
        let pinned = match self.pool.options.recent {
            RecentVariant::HeaderLock => self.recent_header_lock(tag, hint),
            RecentVariant::PinFirst => self.recent_pin_first(tag, hint),
            RecentVariant::SkipInvalid => self.recent_skip_invalid(tag, hint),
        };
        pinned.then(|| Pin::new(self, hint, tag))
    }

    #[inline(never)]
    fn recent_header_lock(&self, tag: BufferTag, buf_id: u32) -> bool {
        let desc = self.pool.desc(buf_id);
        if self.pin_count(buf_id) > 0 {
            // Pinned by us, so the tag stands still.
            return desc.tag_is(tag) && self.pin(buf_id, true).is_some();
        }
        let header = self.lock_header(buf_id);
        if header.state().has(VALID) && desc.tag_is(tag) {
            note!("finds page {} in buffer {buf_id}", tag.block);
            self.pin_locked(buf_id, header);
            return true;
        }
        header.unlock();
        note!("does not find page {} in buffer {buf_id}", tag.block);
        false
    }

    #[inline(always)]
    fn recent_pin_first(&self, tag: BufferTag, buf_id: u32) -> bool {
        let pinned = self.pin(buf_id, false);
        if !pinned.is_some_and(|state| state.has(VALID)) {
            note!("finds no page in buffer {buf_id}");
            self.unpin(buf_id);
            return false;
        }
        self.keep_if_same(tag, buf_id, mutant::is("recent.no_recheck"))
    }

    #[inline(always)]
    fn recent_skip_invalid(&self, tag: BufferTag, buf_id: u32) -> bool {
        // A cheap filter: most wrong hints end here, and no usage count is touched.
        if !self.pool.desc(buf_id).tag_is(tag) {
            note!("does not find page {} in buffer {buf_id}", tag.block);
            return false;
        }
        note!("finds page {} in buffer {buf_id}", tag.block);
        self.pin(buf_id, true).is_some()
            && self.keep_if_same(tag, buf_id, mutant::is("recent.no_recheck"))
    }

    /// Keeps the pin just taken if the buffer has the page; now that it is pinned, that is stable.
    /// `unseen` keeps it without a look.
    #[inline(always)]
    pub(super) fn keep_if_same(&self, tag: BufferTag, buf_id: u32, unseen: bool) -> bool {
        if unseen || self.pool.desc(buf_id).tag_is(tag) {
            return true;
        }
        note!("finds another page in buffer {buf_id}");
        self.unpin(buf_id);
        false
    }
}
