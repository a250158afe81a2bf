//! Memory that begins as zeroes and costs nothing until it is touched.
//!
//! Natively it is mapped, so that a pool of many gigabytes opens in the time of a few system calls,
//! and large stretches are advised to use huge pages: fewer faults, and fewer misses of the table
//! of translations. In a simulation it comes from the heap, where thousands of tiny pools a second
//! are cheap.
//!
//! Keeps: what is handed out is zero, lies on lines of the cache of its own, and never moves.
//! Source: PostgreSQL's `CreateAnonymousSegment`, with `huge_pages=try`.
#![expect(unsafe_code, reason = "owns memory that others reach through pointers")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::BufferError;
use crate::sync::INSTRUMENTED;

/// Alignment of memory from the heap, in bytes: one line of the cache.
const ALIGN: usize = 64;
/// Size of a huge page, in bytes. Less than one is not worth the advice.
const HUGE_PAGE: usize = 2 << 20;

/// Bytes, zero at first.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY:
// - the memory belongs to this value alone, wherever it is;
// - it is reached through `at` only, and what is done with that pointer is justified there.
unsafe impl Send for Region {}
// SAFETY:
// - `at` computes an address and touches no memory.
unsafe impl Sync for Region {}

impl Region {
    /// `len_bytes` bytes, at least one; on huge pages if they are wanted and the system has some.
    pub(super) fn new(len_bytes: usize, huge_pages: bool) -> Result<Self, BufferError> {
        let start = if INSTRUMENTED { allocate(len_bytes) } else { map(len_bytes, huge_pages) };
        let start = start.ok_or(BufferError::Memory { len_bytes })?;
        Ok(Self { start, len_bytes })
    }

    /// The byte at `offset`, or `None` behind the last. It lives as long as `self`.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> Option<NonNull<u8>> {
        // SAFETY:
        // - in bounds: tested in the same line;
        // - no overflow: the allocator and the kernel give out at most `isize::MAX` bytes.
        (offset < self.len_bytes).then(|| unsafe { self.start.add(offset) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if INSTRUMENTED {
            if let Some(layout) = layout(self.len_bytes) {
                // SAFETY:
                // - allocated: by `allocate`, with the layout of the same length;
                // - unused: `&mut self` says that nobody is left who could reach it.
                unsafe { dealloc(self.start.as_ptr(), layout) }
            }
            return;
        }
        let start = self.start.as_ptr().cast::<c_void>();
        // SAFETY:
        // - mapped: by `map`, at this address and of this length;
        // - unused: `&mut self` says that nobody is left who could reach it.
        let unmapped = unsafe { munmap(start, self.len_bytes) };
        debug_assert!(unmapped.is_ok(), "what was mapped can be unmapped");
    }
}

fn layout(len_bytes: usize) -> Option<Layout> {
    Layout::from_size_align(len_bytes, ALIGN).ok().filter(|layout| layout.size() > 0)
}

fn allocate(len_bytes: usize) -> Option<NonNull<u8>> {
    let layout = layout(len_bytes)?;
    // SAFETY:
    // - not empty: tested by `layout`.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

fn map(len_bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
    let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY:
    // - no address is asked for, so no mapping that exists is replaced.
    let start = unsafe { mmap_anonymous(null_mut(), len_bytes, prot, flags) }.ok()?;
    if huge_pages && len_bytes >= HUGE_PAGE {
        // A system without huge pages refuses the advice, and small ones do as well.
        // SAFETY:
        // - ours: mapped in the line above, whole;
        // - harmless: this advice changes neither contents nor protection.
        let _ = unsafe { madvise(start, len_bytes, Advice::LinuxHugepage) };
    }
    NonNull::new(start.cast())
}

/// A type whose value of nothing but zeroes is its first value.
///
/// # Safety
///
/// Bytes of zero are a valid value, it has no destructor, and it is aligned to at most a line of
/// the cache.
pub(super) unsafe trait ZeroIsFirst: Sync {}

/// Values in a row that begin as zeroes.
#[derive(Debug)]
pub(super) struct Zeroed<T> {
    region: Region,
    len: usize,
    values: std::marker::PhantomData<T>,
}

impl<T: ZeroIsFirst> Zeroed<T> {
    /// `len` values, at least one; on huge pages if they are wanted and the system has some.
    pub(super) fn new(len: usize, huge_pages: bool) -> Result<Self, BufferError> {
        let region = Region::new(len.saturating_mul(size_of::<T>()), huge_pages)?;
        Ok(Self { region, len, values: std::marker::PhantomData })
    }
}

impl<T: ZeroIsFirst> Deref for Zeroed<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let start = self.region.start.as_ptr().cast::<T>();
        let values = std::ptr::slice_from_raw_parts(start, self.len);
        // SAFETY:
        // - in bounds and live: the region has `len` times the size of `T` and lives with `self`;
        // - aligned: regions begin at a page or at a line of the cache, and `T` needs no more;
        // - initialised: zeroes are a value of `T` (`ZeroIsFirst`), and only such are stored;
        // - unaliased: only shared references are ever made.
        unsafe { &*values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicU32;

    /// A number that begins as zero.
    #[repr(C, align(64))]
    struct Line(AtomicU32);

    // SAFETY:
    // - valid: an atomic integer;
    // - no destructor, and a line of the cache is what it is aligned to.
    unsafe impl ZeroIsFirst for Line {}

    #[test]
    fn what_is_handed_out_is_zero_and_ends_where_it_says() {
        for (len, huge_pages) in [(1, true), (1_000, false), (100_000, true)] {
            let lines = Zeroed::<Line>::new(len, huge_pages).unwrap();
            assert_eq!(lines.len(), len);
            assert!(lines.iter().all(|line| line.0.load(crate::sync::Ordering::Relaxed) == 0));
            assert!(lines.region.at(64 * len - 1).is_some());
            assert_eq!(lines.region.at(64 * len), None);
        }
    }

    #[test]
    fn more_than_there_is_is_an_error() {
        let refused = Region::new(usize::MAX / 2, false).unwrap_err();
        assert!(
            matches!(refused, BufferError::Memory { len_bytes } if len_bytes == usize::MAX / 2)
        );
    }
}
