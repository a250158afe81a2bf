//! What `Mutex` and `RwLock` have in common inside an execution: one writer or many readers.
//!
//! Touches: a word per lock that only tasks of one execution change, so plain loads and stores do.
//! Keeps: an owner per hold in the wait-for graph; a task that cannot get the lock is disabled; an
//! unlock happens before the locks that follow it, except from reader to reader.
//!
//! A reader that already reads and meets a waiting writer waits, as it would natively: that is a
//! deadlock. Every other reader gets the lock whenever nobody writes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::core::{Execution, Place, Request};
use crate::hold::HoldKind;
use crate::scheduler::Told;
use crate::trace::OpKind;

const READERS: u8 = 1;
const WRITERS: u8 = 2;

const FREE: u32 = 0;
/// State of a lock that is held exclusively; smaller values count readers.
const WRITTEN: u32 = u32::MAX;

/// How a lock is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Shared,
    Exclusive,
}

/// How a guard came by its lock.
pub(super) enum Grant<G> {
    /// Outside of executions: the guard of the real lock.
    Outside(G),
    /// In an execution.
    Inside {
        /// Where the lock was asked for.
        place: Place,
        /// False if the lock was granted to a task that unwinds, whoever has it.
        owns: bool,
    },
}

/// The state of a lock inside executions.
pub(super) struct RawLock {
    state: AtomicU32,
    /// At least the number of tasks that wait.
    waiting: AtomicU32,
    /// The execution whose tasks used it last.
    user: AtomicUsize,
    /// An attempt to lock was refused since the lock was taken: a loop may be polling for it.
    refused: AtomicBool,
}

impl RawLock {
    pub(super) const fn new() -> Self {
        Self {
            state: AtomicU32::new(FREE),
            waiting: AtomicU32::new(0),
            user: AtomicUsize::new(0),
            refused: AtomicBool::new(false),
        }
    }

    /// Makes the bits of a used lock into a free one.
    pub(super) fn reset(&self) {
        self.state.store(FREE, Relaxed);
        self.waiting.store(0, Relaxed);
        self.refused.store(false, Relaxed);
    }

    /// Where this lock is.
    #[inline(always)]
    pub(super) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The lock for the calling task, after a scheduling point.
    #[inline(always)]
    pub(super) fn lock<G>(
        &self,
        execution: &Execution,
        access: Access,
        kind: &'static HoldKind,
        place: Place,
    ) -> Grant<G> {
        let op = match access {
            Access::Shared => OpKind::LockShared,
            Access::Exclusive => OpKind::Lock,
        };
        let tell = execution.enter(op, self.address(), kind.name, place);
        let owns = self.acquire(execution, access, kind, place);
        if tell {
            self.acquire_clock(execution, access);
            execution.record_operation(op, self.address(), None, None, place);
        }
        Grant::Inside { place, owns }
    }

    /// The lock for the calling task if it is to be had, after a scheduling point.
    #[inline(always)]
    pub(super) fn try_lock<G>(
        &self,
        execution: &Execution,
        access: Access,
        kind: &'static HoldKind,
        place: Place,
    ) -> Option<Grant<G>> {
        let tell = execution.enter(OpKind::TryLock, self.address(), kind.name, place);
        let free = self.is_free(execution, access);
        if free {
            self.take(execution, access, kind, place);
        } else {
            self.refused.store(true, Relaxed);
        }
        if tell {
            if free {
                self.acquire_clock(execution, access);
            }
            let got = Some(u64::from(free));
            execution.record_operation(OpKind::TryLock, self.address(), got, got, place);
        }
        free.then_some(Grant::Inside { place, owns: true })
    }

    /// The lock for the calling task. False if the task unwinds and somebody else has it.
    #[inline(always)]
    pub(super) fn acquire(
        &self,
        execution: &Execution,
        access: Access,
        kind: &'static HoldKind,
        place: Place,
    ) -> bool {
        let free = self.is_free(execution, access) || self.wait(execution, access, place);
        if free {
            self.take(execution, access, kind, place);
        }
        free
    }

    #[inline(always)]
    fn is_free(&self, execution: &Execution, access: Access) -> bool {
        match (self.state.load(Relaxed), access) {
            (FREE, _) => true,
            (WRITTEN, _) | (_, Access::Exclusive) => false,
            (_, Access::Shared) => self.waiting.load(Relaxed) == 0 || !self.reads_again(execution),
        }
    }

    /// The calling task reads already, and a writer waits for it to end.
    #[cold]
    fn reads_again(&self, execution: &Execution) -> bool {
        execution.holds(self.address()) && execution.has_waiters(self.address(), WRITERS)
    }

    #[inline(always)]
    fn take(&self, execution: &Execution, access: Access, kind: &'static HoldKind, place: Place) {
        self.user.store(std::ptr::from_ref(execution).addr(), Relaxed);
        let (state, excluded) = match access {
            Access::Shared => (self.state.load(Relaxed) + 1, WRITERS),
            Access::Exclusive => (WRITTEN, READERS | WRITERS),
        };
        self.state.store(state, Relaxed);
        if self.waiting.load(Relaxed) != 0 {
            execution.disable(self.address(), excluded);
        }
        execution.hold_begin(kind, self.address(), place);
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, execution: &Execution, access: Access, place: Place) -> bool {
        assert!(
            self.user.load(Relaxed) == std::ptr::from_ref(execution).addr(),
            "this lock is held outside of this execution: what an execution uses must be made in \
             it or be a static"
        );
        let (kind, class) = match access {
            Access::Shared => (OpKind::LockShared, READERS),
            Access::Exclusive => (OpKind::Lock, WRITERS),
        };
        let object = self.address();
        let request = Request { kind, object, class, deadline_ns: None, sleeps: true };
        self.waiting.store(self.waiting.load(Relaxed) + 1, Relaxed);
        let mut free = false;
        while !free && !execution.is_unwinding() {
            execution.wait(request, place);
            free = self.is_free(execution, access);
        }
        self.waiting.store(self.waiting.load(Relaxed) - 1, Relaxed);
        free
    }

    /// The scheduling point before a lock is given back.
    #[inline(always)]
    pub(super) fn before_unlock(
        &self,
        execution: &Execution,
        access: Access,
        kind: &'static HoldKind,
        place: Place,
    ) {
        if execution.enter(OpKind::Unlock, self.address(), kind.name, place) {
            self.publish_clock(execution, access);
            execution.record_operation(OpKind::Unlock, self.address(), None, None, place);
        }
    }

    /// Gives the lock back for `owner`, if there is one, when what it returns is dropped.
    #[inline(always)]
    pub(super) fn released_at_the_end<'a>(
        &'a self,
        owner: Option<&'a Execution>,
        access: Access,
        written: bool,
    ) -> impl Drop + use<'a> {
        Released { raw: self, owner, access, written }
    }

    /// Gives the lock back. `written` says whether what it guards may have another value.
    #[inline(always)]
    pub(super) fn release(&self, execution: &Execution, access: Access, written: bool) {
        let state = match access {
            Access::Shared => self.state.load(Relaxed) - 1,
            Access::Exclusive => FREE,
        };
        self.state.store(state, Relaxed);
        execution.hold_end(self.address());
        if state == FREE && self.waiting.load(Relaxed) != 0 {
            execution.enable(self.address(), READERS | WRITERS);
        }
        if written {
            execution.changed(self.address(), 0, 1);
        }
        if self.refused.load(Relaxed) {
            self.refused.store(false, Relaxed);
            execution.touched(self.address());
        }
    }

    /// What was done under the lock, in a way that excludes `access`, happens before what follows.
    pub(super) fn acquire_clock(&self, execution: &Execution, access: Access) {
        execution.acquire(self.address());
        if access == Access::Exclusive {
            execution.acquire(self.readers());
        }
    }

    /// What was done under the lock happens before what others do under it later.
    pub(super) fn publish_clock(&self, execution: &Execution, access: Access) {
        execution.publish(match access {
            Access::Exclusive => self.address(),
            Access::Shared => self.readers(),
        });
    }

    /// The address that stands for what readers did, beside the one for writers and the lock.
    fn readers(&self) -> usize {
        self.address() + 1
    }

    /// The writer goes on as a reader.
    pub(super) fn downgrade(&self, execution: &Execution, written: bool) {
        self.publish_clock(execution, Access::Exclusive);
        self.state.store(1, Relaxed);
        execution.tell(Told::Writes(self.address()));
        if self.waiting.load(Relaxed) != 0 {
            execution.enable(self.address(), READERS);
        }
        if written {
            execution.changed(self.address(), 0, 1);
        }
    }
}

struct Released<'a> {
    raw: &'a RawLock,
    owner: Option<&'a Execution>,
    access: Access,
    written: bool,
}

impl Drop for Released<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(execution) = self.owner {
            self.raw.release(execution, self.access, self.written);
        }
    }
}
