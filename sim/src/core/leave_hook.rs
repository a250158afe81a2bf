//! Out of a panic hook without returning to it.
//!
//! `std` holds a lock around the panic hook. A task that is abandoned inside the hook must not keep
//! it, or the test harness, which takes its own hook back at the end, would wait for ever. So the
//! frames from here to the one that holds the lock are unwound by force, which runs their
//! destructors; a callback that the unwinder asks before each frame suspends the task when that one
//! is behind it.
#![expect(unsafe_code, reason = "calls the unwinder")]

use super::execution::Execution;

/// Leaves the hook whose `PanicHookInfo` lies at `info`, in the frame that holds the lock.
#[cfg(unix)]
pub(super) fn leave(info: usize, execution: &Execution) -> ! {
    use std::ffi::{c_int, c_void};

    /// The header that every unwinder keeps its own words in; larger than any needs.
    #[repr(C, align(16))]
    struct Exception {
        class: u64,
        cleanup: Option<unsafe extern "C" fn()>,
        private: [usize; 20],
    }

    struct Search<'a> {
        info: usize,
        execution: &'a Execution,
    }

    type Stop =
        extern "C-unwind" fn(c_int, c_int, u64, *mut Exception, *mut c_void, *mut c_void) -> c_int;

    unsafe extern "C-unwind" {
        fn _Unwind_ForcedUnwind(
            exception: *mut Exception,
            stop: Stop,
            parameter: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetCFA(context: *mut c_void) -> usize;
    }

    extern "C-unwind" fn stop(
        _version: c_int,
        _actions: c_int,
        _class: u64,
        _exception: *mut Exception,
        context: *mut c_void,
        parameter: *mut c_void,
    ) -> c_int {
        // SAFETY: what `leave` passed, which lives for ever.
        let search = unsafe { &*parameter.cast::<Search<'_>>() };
        // SAFETY: the unwinder's own context. The answer is the low end of the frame it is about
        // to unwind: once that is above `info`, the frame with the lock has been unwound.
        if unsafe { _Unwind_GetCFA(context) } > search.info {
            search.execution.suspend_for_ever();
        }
        0
    }

    // On the heap, for ever: the frames that are unwound are also overwritten.
    let class = u64::from_be_bytes(*b"holdup\0\0");
    let exception = Box::leak(Box::new(Exception { class, cleanup: None, private: [0; 20] }));
    let search: *mut Search<'_> = Box::leak(Box::new(Search { info, execution }));
    // SAFETY: both live for ever, and nobody else knows them.
    unsafe { _Unwind_ForcedUnwind(exception, stop, search.cast()) };
    // The unwinder found no way up.
    execution.suspend_for_ever()
}

/// Where there is no such unwinder the lock stays taken.
#[cfg(not(unix))]
pub(super) fn leave(_info: usize, execution: &Execution) -> ! {
    execution.suspend_for_ever()
}
