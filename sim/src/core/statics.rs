//! Statics: each execution sees its own copy of every instrumented `static`.
//!
//! `static NEXT: AtomicU64 = AtomicU64::new(0)` must start from 0 in every execution, while other
//! workers run executions of their own at the same time. An instrumented object asks whether its
//! address lies in the program's writable image; if so it is a static, and the execution's copy
//! stands in for it: made at first use from the original, dropped at the end of the execution. The
//! objects themselves carry nothing, so an instrumented atomic has the layout of the plain one.
//!
//! Where the image cannot be found (not Linux), statics are shared between executions.
#![expect(unsafe_code, reason = "copies objects whose type the caller knows")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::sync::OnceLock;

use foldhash::fast::FixedState;

use super::execution::Execution;

/// The writable image of the program, as an address range.
#[derive(Clone, Copy)]
pub(crate) struct StaticRange {
    start: usize,
    len: usize,
}

impl StaticRange {
    pub(crate) fn of_this_program() -> Self {
        static RANGE: OnceLock<StaticRange> = OnceLock::new();
        *RANGE.get_or_init(find)
    }

    #[inline(always)]
    pub(crate) fn contains(self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }
}

#[cfg(target_os = "linux")]
fn find() -> StaticRange {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid description.
        let info = unsafe { &*info };
        // SAFETY: it is the range that `find` passed.
        let range = unsafe { &mut *data.cast::<StaticRange>() };
        // SAFETY: the loader's table of `dlpi_phnum` headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let writable = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0);
        let (mut start, mut end) = (usize::MAX, 0);
        for header in writable {
            let from = info.dlpi_addr as usize + header.p_vaddr as usize;
            start = start.min(from);
            end = end.max(from + header.p_memsz as usize);
        }
        *range = StaticRange { start, len: end.saturating_sub(start) };
        // The program itself comes first; libraries are left alone.
        1
    }
    let mut range = StaticRange { start: 0, len: 0 };
    // SAFETY: the callback keeps to its contract, and `range` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut range).cast()) };
    range
}

#[cfg(not(target_os = "linux"))]
fn find() -> StaticRange {
    StaticRange { start: 0, len: 0 }
}

struct Copied {
    to: *mut u8,
    layout: Layout,
    drop: Box<dyn FnOnce()>,
}

/// The copies of one execution, by the address of the original.
#[derive(Default)]
pub(crate) struct StaticCopies {
    by_address: std::collections::HashMap<usize, Copied, FixedState>,
    /// In order of first use; they are dropped in reverse.
    order: Vec<usize>,
}

impl StaticCopies {
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Drops the copies, the youngest first.
    pub(super) fn drop_all(&mut self) {
        while let Some(address) = self.order.pop() {
            let Some(copied) = self.by_address.remove(&address) else { continue };
            (copied.drop)();
            if copied.layout.size() != 0 {
                // SAFETY: allocated by `Execution::local_copy` with this layout.
                unsafe { dealloc(copied.to, copied.layout) };
            }
        }
    }
}

impl Execution {
    /// The object that stands in for `original` in this execution: itself, or its copy if it is a
    /// static. A copy begins as the bits of the original, on which `reset` is called: it must bring
    /// all that an earlier use may have changed back to its initial state, without dropping it.
    #[inline(always)]
    pub(crate) fn resolve<'a, T: ?Sized>(&self, original: &'a T, reset: fn(&T)) -> &'a T {
        let address = std::ptr::from_ref(original).cast::<u8>().addr();
        if self.statics.contains(address) { self.local_copy(original, reset) } else { original }
    }

    /// Where the copy of the static at `original` is, if this execution has used it.
    pub(super) fn copy_of(&self, original: usize) -> Option<usize> {
        self.inner().copies.by_address.get(&original).map(|copied| copied.to.addr())
    }

    #[cold]
    #[inline(never)]
    fn local_copy<'a, T: ?Sized>(&self, original: &'a T, reset: fn(&T)) -> &'a T {
        let from = std::ptr::from_ref(original);
        let address = from.cast::<u8>().addr();
        let known = self.inner().copies.by_address.get(&address).map(|copied| copied.to);
        let to = known.unwrap_or_else(|| {
            let layout = Layout::for_value(original);
            let to = if layout.size() == 0 {
                std::ptr::without_provenance_mut(layout.align())
            } else {
                // SAFETY: the layout has a size.
                unsafe { alloc(layout) }
            };
            if to.is_null() {
                handle_alloc_error(layout);
            }
            // SAFETY: `from` is readable for its size, `to` is fresh memory of that size.
            unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, layout.size()) };
            let copy = moved(from, to);
            // SAFETY: initialised above with the bits of a `T`.
            reset(unsafe { &*copy });
            let drop = drop_later(copy);
            let copies = &mut self.inner().copies;
            copies.by_address.insert(address, Copied { to, layout, drop });
            copies.order.push(address);
            self.name_copy(address, to.addr());
            to
        });
        // SAFETY: the copy lives until the end of the execution, as long as its tasks run. A
        // reference to it that outlived them would have been a reference to the static, which no
        // task may keep.
        unsafe { &*moved(from, to) }
    }
}

/// The pointer `from` with the address of `to`, its metadata kept.
fn moved<T: ?Sized>(from: *const T, to: *mut u8) -> *mut T {
    let by = to.addr().wrapping_sub(from.cast::<u8>().addr());
    from.cast_mut().wrapping_byte_add(by)
}

fn drop_later<T: ?Sized>(copy: *mut T) -> Box<dyn FnOnce()> {
    let drop = move || {
        // SAFETY: the copy that `local_copy` made, dropped once.
        unsafe { copy.drop_in_place() };
    };
    // SAFETY: only the lifetime is extended, which no static's type has.
    unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(Box::new(drop)) }
}
