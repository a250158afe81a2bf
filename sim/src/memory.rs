//! Plain memory that tasks share through pointers: telling the race check what is read and written.
//!
//! Where bytes are reached through a raw pointer under a lock the compiler cannot see, nothing but
//! the program knows which accesses there are. Calls of [`read()`] and [`write()`] tell; two
//! accesses of which one is a write and which nothing orders fail the execution with the rule
//! `data-race`, as with [`cell::UnsafeCell`](crate::cell::UnsafeCell). They are no scheduling
//! points. A call stands for an access here and now, so it belongs after the lock was taken and
//! before it is given back.
//!
//! Ranges are compared in units of 8 bytes: two tasks may change neighbouring bytes without an
//! order between them only where a multiple of 8 lies between the two. A range and a cell that
//! overlap are not compared.
//!
//! Natively all of this is empty and disappears.
//!
//! ```
//! use holdup::memory;
//! use holdup::sync::Mutex;
//!
//! let mut page = [0_u8; 64];
//! memory::fresh(page.as_ptr(), page.len());
//! let lock = Mutex::new(());
//! let locked = lock.lock();
//! memory::write(page.as_ptr(), page.len());
//! page[0] = 1;
//! drop(locked);
//! ```

/// The calling task reads the `len_bytes` bytes from `start` on.
#[inline(always)]
#[track_caller]
pub fn read(start: *const u8, len_bytes: usize) {
    access(start, len_bytes, false);
}

/// The calling task changes the `len_bytes` bytes from `start` on.
#[inline(always)]
#[track_caller]
pub fn write(start: *const u8, len_bytes: usize) {
    access(start, len_bytes, true);
}

/// The calling task has the `len_bytes` bytes from `start` on for itself, since they were just
/// given out to it. Accesses that were made to them before, also those of cells, race with nothing.
#[inline(always)]
pub fn fresh(start: *const u8, len_bytes: usize) {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        execution.forget_range(start.addr(), len_bytes);
    }
    #[cfg(not(feature = "sim"))]
    let _ = (start, len_bytes);
}

#[inline(always)]
#[track_caller]
fn access(start: *const u8, len_bytes: usize, writes: bool) {
    #[cfg(feature = "sim")]
    if let Some(execution) = crate::core::current() {
        execution.touch_range(start.addr(), len_bytes, writes, std::panic::Location::caller());
    }
    #[cfg(not(feature = "sim"))]
    let _ = (start, len_bytes, writes);
}
