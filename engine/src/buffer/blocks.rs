//! The pages of the pool: one stretch of memory that never moves.
//!
//! Natively it is mapped and touched page by page as it is used, so that opening a large pool is
//! free. In a simulation it comes from the heap, where thousands of tiny pools a second are cheap.
#![expect(unsafe_code, reason = "owns memory that is shared under locks the compiler cannot see")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::BufferError;
use crate::sync::{INSTRUMENTED, memory, name};

/// Alignment of pages from the heap, in bytes: one line of the cache.
const ALIGN: usize = 64;

#[derive(Debug)]
pub(super) struct Blocks {
    memory: NonNull<u8>,
    len_bytes: usize,
    page_size: usize,
}

// SAFETY:
// - the memory belongs to this value alone, wherever it is;
// - it is reached through `ptr` only, and what is done with that pointer is justified there.
unsafe impl Send for Blocks {}
// SAFETY:
// - `ptr` computes an address and touches no memory.
unsafe impl Sync for Blocks {}

impl Blocks {
    pub(super) fn new(n_buffers: u32, page_size: usize) -> Result<Self, BufferError> {
        let len_bytes = (n_buffers as usize).saturating_mul(page_size);
        let memory = if INSTRUMENTED { allocate(len_bytes) } else { map(len_bytes) };
        let start = memory.ok_or(BufferError::Memory { len_bytes })?;
        memory::fresh(start.as_ptr(), len_bytes);
        Ok(Self { memory: start, len_bytes, page_size })
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
        let offset = buf_id as usize * self.page_size;
        assert!(offset < self.len_bytes, "the pool has no buffer {buf_id}");
        // SAFETY:
        // - in bounds: tested in the line above, and both are multiples of the page size;
        // - no overflow: the allocator and the kernel give out at most `isize::MAX` bytes.
        unsafe { self.memory.add(offset) }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if INSTRUMENTED {
            if let Some(layout) = layout(self.len_bytes) {
                // SAFETY:
                // - allocated: by `allocate`, with the layout of the same length;
                // - unused: `&mut self` says that no pin is left that could lead here.
                unsafe { dealloc(self.memory.as_ptr(), layout) }
            }
            return;
        }
        let start = self.memory.as_ptr().cast::<c_void>();
        // SAFETY:
        // - mapped: by `map`, at this address and of this length;
        // - unused: `&mut self` says that no pin is left that could lead here.
        let unmapped = unsafe { munmap(start, self.len_bytes) };
        debug_assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}

fn layout(len_bytes: usize) -> Option<Layout> {
    Layout::from_size_align(len_bytes, ALIGN).ok()
}

fn allocate(len_bytes: usize) -> Option<NonNull<u8>> {
    let layout = layout(len_bytes)?;
    // SAFETY:
    // - not empty: a pool has at least one buffer and a page at least 64 bytes (`validate`).
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

fn map(len_bytes: usize) -> Option<NonNull<u8>> {
    let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY:
    // - no address is asked for, so no mapping that exists is replaced.
    let start = unsafe { mmap_anonymous(null_mut(), len_bytes, prot, flags) };
    NonNull::new(start.ok()?.cast())
}
