//! The pages of the pool: one stretch of memory that never moves.

use std::ptr::NonNull;

use super::BufferError;
use super::zeroed::Region;
use crate::sync::{memory, name};

#[derive(Debug)]
pub(super) struct Blocks {
    region: Region,
    page_size: usize,
}

impl Blocks {
    pub(super) fn new(
        n_buffers: u32,
        page_size: usize,
        huge_pages: bool,
    ) -> Result<Self, BufferError> {
        let len_bytes = (n_buffers as usize).saturating_mul(page_size);
        let region = Region::new(len_bytes, huge_pages)?;
        let blocks = Self { region, page_size };
        memory::fresh(blocks.ptr(0).as_ptr(), len_bytes);
        Ok(blocks)
    }

    /// Names the pages in reports.
    pub(super) fn name(&self, n_buffers: u32) {
        for buf_id in 0..n_buffers {
            name!(self.ptr(buf_id).as_ptr().cast_const(), "the page in buffer {buf_id}");
        }
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    /// As [`Blocks::ptr`], to read the page: the caller has the right to from here on.
    #[inline]
    #[track_caller]
    pub(super) fn to_read(&self, buf_id: u32) -> NonNull<u8> {
        let start = self.ptr(buf_id);
        memory::read(start.as_ptr(), self.page_size);
        start
    }

    /// As [`Blocks::ptr`], to change the page: the caller has the right to from here on.
    #[inline]
    #[track_caller]
    pub(super) fn to_write(&self, buf_id: u32) -> NonNull<u8> {
        let start = self.ptr(buf_id);
        memory::write(start.as_ptr(), self.page_size);
        start
    }

    /// The first byte of the page in buffer `buf_id`; `page_size` bytes are behind it, and they
    /// live as long as `self`.
    #[inline]
    fn ptr(&self, buf_id: u32) -> NonNull<u8> {
        match self.region.at(buf_id as usize * self.page_size) {
            Some(start) => start,
            None => panic!("the pool has no buffer {buf_id}"),
        }
    }
}
