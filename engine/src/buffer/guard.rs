//! Guards: what a session may do with a buffer, as values that end.
//!
//! A [`Pin`] keeps the page in its buffer. A guard made from it is a content lock, and the only way
//! to the page's bytes. Bytes are those after the page's header.
#![expect(unsafe_code, reason = "turns content locks into references to the pages' bytes")]

use super::content_lock::LockMode;
use super::error::BufferError;
use super::locked::LockedPage;
use super::session::{Session, is_dying};
use crate::page::HEADER_SIZE;
use crate::sync::mutant;
use crate::tag::BufferTag;

/// A pinned buffer: until this is dropped, the buffer keeps its page.
#[derive(Debug)]
#[must_use = "a page is unpinned when its pin is dropped"]
pub struct Pin<'s, 'p> {
    pub(super) session: &'s Session<'p>,
    pub(super) buf_id: u32,
    /// Which page in the life of the buffer this is, if anybody counts. What the page is called is
    /// in the descriptor: a value of three words is given back in registers.
    pub(super) incarnation: u64,
}

impl<'s, 'p> Pin<'s, 'p> {
    #[inline(always)]
    pub(super) fn new(session: &'s Session<'p>, buf_id: u32, tag: BufferTag) -> Self {
        let incarnation = session.pool.ghosts.identify(buf_id, tag);
        Self { session, buf_id, incarnation }
    }

    /// Which buffer. Worth remembering for [`Session::read_recent`].
    #[must_use]
    pub fn buf_id(&self) -> u32 {
        self.buf_id
    }

    /// The page it was pinned for.
    #[must_use]
    pub fn tag(&self) -> BufferTag {
        self.session.pinned_tag(self.buf_id)
    }

    /// Panics with rule I-ID1 if the buffer has another page now. Looks at the ghosts only, so it
    /// costs no scheduling point, and does nothing where none are kept.
    #[inline(always)]
    pub fn check_identity(&self) {
        self.session.pool.ghosts.check_identity(self.buf_id, self.incarnation);
    }

    /// Another pin on the same buffer.
    pub fn again(&self) -> Pin<'s, 'p> {
        self.session.pin_again(self.buf_id);
        Pin { ..*self }
    }

    /// Waits until the bytes may be read.
    pub fn lock_share(&self) -> ShareGuard<'_, 's, 'p> {
        self.lock(LockMode::Share);
        ShareGuard { pin: self }
    }

    /// Waits until the page may be written out while others read. In `Classic`, which has no such
    /// mode, this is a share lock.
    pub fn lock_share_exclusive(&self) -> ShareExclusiveGuard<'_, 's, 'p> {
        self.lock(self.session.write_out_mode());
        ShareExclusiveGuard { pin: self }
    }

    /// Waits until the bytes may be changed.
    pub fn lock_exclusive(&self) -> ExclusiveGuard<'_, 's, 'p> {
        self.lock(LockMode::Exclusive);
        ExclusiveGuard { pin: self }
    }

    /// The right to change bytes if it can be had at once.
    #[must_use]
    pub fn try_lock_exclusive(&self) -> Option<ExclusiveGuard<'_, 's, 'p>> {
        self.check_identity();
        let locked = self.session.try_lock_content(self.buf_id, LockMode::Exclusive);
        // Not `then_some`: a guard made for nothing would unlock.
        locked.then(|| ExclusiveGuard { pin: self })
    }

    /// Waits until the bytes may be changed and nobody else has a pin.
    ///
    /// # Errors
    ///
    /// [`BufferError::CleanupWaiter`] if somebody waits for that already.
    ///
    /// # Panics
    ///
    /// If this session has more than this pin on the buffer, or has its content locked.
    pub fn lock_for_cleanup(&self) -> Result<ExclusiveGuard<'_, 's, 'p>, BufferError> {
        self.check_identity();
        self.session.lock_cleanup(self.buf_id)?;
        Ok(ExclusiveGuard { pin: self })
    }

    /// The right to change bytes if nobody else has a pin and it can be had at once.
    #[must_use]
    pub fn try_lock_for_cleanup(&self) -> Option<ExclusiveGuard<'_, 's, 'p>> {
        self.check_identity();
        let locked = self.session.try_lock_cleanup(self.buf_id);
        // Not `then_some`: a guard made for nothing would unlock.
        locked.then(|| ExclusiveGuard { pin: self })
    }

    fn lock(&self, mode: LockMode) {
        self.check_identity();
        self.session.lock_content(self.buf_id, mode);
    }

    /// The bytes, for a guard that holds the content lock in any mode.
    #[track_caller]
    pub(super) fn read(&self) -> &[u8] {
        &self.session.page(self.buf_id)[HEADER_SIZE..]
    }
}

impl Drop for Pin<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        if is_dying() {
            return;
        }
        self.check_identity();
        self.session.unpin(self.buf_id);
    }
}

impl Session<'_> {
    /// The name of the page in a buffer that this session has pinned.
    pub(super) fn pinned_tag(&self, buf_id: u32) -> BufferTag {
        match self.pool.desc(buf_id).read_tag() {
            Some(tag) => tag,
            None => panic!("I-ID1: a pinned buffer keeps its tag, but buffer {buf_id} lost it"),
        }
    }

    /// The page in a buffer whose content this session has locked, header and all.
    #[track_caller]
    pub(super) fn page(&self, buf_id: u32) -> &[u8] {
        assert!(
            self.content_lock(buf_id).is_some() || mutant::is("flush.no_lock"),
            "I-LK7: bytes are read under the content lock, but buffer {buf_id} was not locked"
        );
        let blocks = &self.pool.blocks;
        let start = blocks.to_read(buf_id).as_ptr();
        let page = std::ptr::slice_from_raw_parts(start, blocks.page_size());
        // SAFETY:
        // - in bounds and live: `Blocks`; blocks never move, the session borrows the pool;
        // - initialised: blocks start as zeroes;
        // - unchanged: this session has a content lock, tested above, and bytes are changed under
        //   an exclusive one of another session, which excludes ours, or through an
        //   `ExclusiveGuard` or `LockedPage` of this session, whose borrow excludes this one.
        unsafe { &*page }
    }

    /// The bytes after the header of a page, to change.
    ///
    /// # Safety
    ///
    /// The caller holds the content lock exclusively for as long as the reference lives, and lets
    /// nobody make a second reference.
    #[expect(clippy::mut_from_ref, reason = "the guard's `&mut self` is what keeps it unique")]
    #[track_caller]
    unsafe fn body_mut(&self, buf_id: u32) -> &mut [u8] {
        let blocks = &self.pool.blocks;
        let len_bytes = blocks.page_size() - HEADER_SIZE;
        // SAFETY:
        // - in bounds: a page is longer than its header (`validate`).
        let body = unsafe { blocks.to_write(buf_id).add(HEADER_SIZE) };
        let body = std::ptr::slice_from_raw_parts_mut(body.as_ptr(), len_bytes);
        // SAFETY:
        // - in bounds and live: `Blocks` and the lines above; blocks never move, and the
        //   session borrows the pool;
        // - initialised: blocks start as zeroes;
        // - unaliased: promised by the caller.
        unsafe { &mut *body }
    }

    /// Copies the page in a buffer whose content this session has locked.
    #[track_caller]
    pub(super) fn copy_page(&self, buf_id: u32, to: &mut [u8]) {
        to.copy_from_slice(self.page(buf_id));
    }
}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "content is unlocked when its guard is dropped"]
        pub struct $name<'g, 's, 'p> {
            pin: &'g Pin<'s, 'p>,
        }

        impl<'s, 'p> $name<'_, 's, 'p> {
            /// The pin this guard was made from.
            pub fn pin(&self) -> &Pin<'s, 'p> {
                self.pin
            }

            /// The page's bytes, after its header.
            #[must_use]
            #[track_caller]
            pub fn bytes(&self) -> &[u8] {
                self.pin.check_identity();
                self.pin.read()
            }
        }

        impl Drop for $name<'_, '_, '_> {
            fn drop(&mut self) {
                if !is_dying() {
                    self.pin.session.unlock_content(self.pin.buf_id);
                }
            }
        }
    };
}

guard! {
    /// The right to read a page's bytes.
    ShareGuard
}
guard! {
    /// The right to read a page's bytes and to write the page out, while others read.
    ShareExclusiveGuard
}
guard! {
    /// The right to change a page's bytes.
    ExclusiveGuard
}

impl ShareExclusiveGuard<'_, '_, '_> {
    /// Writes the page out if it is dirty. False if there was nothing to do.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] if the write failed; the page is still dirty.
    pub fn flush(&self) -> Result<bool, BufferError> {
        self.pin.session.flush_locked(self.pin.buf_id)
    }
}

impl ExclusiveGuard<'_, '_, '_> {
    /// The page's bytes, after its header, ours alone while the guard lives. Say so with
    /// [`ExclusiveGuard::mark_dirty`].
    #[track_caller]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.pin.check_identity();
        // SAFETY:
        // - exclusive: `self` holds the content lock exclusively until it is dropped;
        // - unique: one lock per session and buffer (`lock_content`), and `&mut self` forbids a
        //   second reference through this guard.
        unsafe { self.pin.session.body_mut(self.pin.buf_id) }
    }

    /// Writes the page out if it is dirty. False if there was nothing to do.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] if the write failed; the page is still dirty.
    pub fn flush(&self) -> Result<bool, BufferError> {
        self.pin.session.flush_locked(self.pin.buf_id)
    }

    /// Marks the page changed, so that it is written out before its buffer is given up.
    pub fn mark_dirty(&self) {
        self.pin.session.mark_dirty(self.pin.buf_id);
    }
}

impl LockedPage<'_, '_> {
    /// The page's bytes, after its header, ours alone while the page is locked. Say so with
    /// [`LockedPage::mark_dirty`].
    ///
    /// # Panics
    ///
    /// With rule I-LK7 if the page is not locked to change.
    #[track_caller]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.check_identity();
        let (session, buf_id) = (self.session, self.buf_id);
        assert!(
            session.content_lock(buf_id) == Some(LockMode::Exclusive),
            "I-LK7: bytes are changed under an exclusive lock, but buffer {buf_id} had none"
        );
        // SAFETY:
        // - exclusive: tested above, and `self` holds the lock until it is dropped;
        // - unique: one lock per session and buffer (`lock_content`), and `&mut self` forbids a
        //   second reference through this value.
        unsafe { session.body_mut(buf_id) }
    }
}

/// The page in a buffer that this session reads in, or in a victim. Made between the start and the
/// end of input, or while a buffer that this session pinned has no name.
pub(super) struct IoPage<'s, 'p> {
    session: &'s Session<'p>,
    buf_id: u32,
}

impl<'s, 'p> IoPage<'s, 'p> {
    /// The caller has started input on the buffer and ends it after this value is gone, or names the
    /// victim after that.
    pub(super) fn new(session: &'s Session<'p>, buf_id: u32) -> Self {
        Self { session, buf_id }
    }

    /// The page, header and all.
    #[track_caller]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let blocks = &self.session.pool.blocks;
        let start = blocks.to_write(self.buf_id).as_ptr();
        let page = std::ptr::slice_from_raw_parts_mut(start, blocks.page_size());
        // SAFETY:
        // - in bounds and live: `Blocks`; blocks never move, the session borrows the pool;
        // - initialised: blocks start as zeroes;
        // - unaliased: the buffer is not valid and this session alone does input on it (`start_io`),
        //   or it has no name and this session has the only pin (`victim`); guards exist for valid
        //   pages only, since `read` waits for the input to end.
        unsafe { &mut *page }
    }
}
