//! `std::sync::{Once, OnceLock, LazyLock}`.
//!
//! One state word says for both worlds whether the initialisation is done; who may do it is decided
//! by a real `Once` outside of executions and by the machine inside. While a task initialises, the
//! wait-for graph takes it for the owner, so an initialisation that waits for itself is a deadlock.

use std::fmt;
use std::panic::Location;
use std::sync as real;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::core::{Execution, Place, Request, current};
use crate::hold::{HoldKind, Rules};
use crate::trace::OpKind;

mod lazy_lock;
mod once_lock;

pub use lazy_lock::LazyLock;
pub use once_lock::OnceLock;

static ONCE: HoldKind = HoldKind::new("once", Rules::NONE);
const WAITERS: u8 = 1;

const INCOMPLETE: u32 = 0;
const RUNNING: u32 = 1;
const POISONED: u32 = 2;
const COMPLETE: u32 = 3;

/// As `std::sync::Once`. A static one is incomplete at the start of every execution.
pub struct Once {
    real: real::Once,
    state: AtomicU32,
}

/// As `std::sync::OnceState`.
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// As in `std`.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.poisoned).finish()
    }
}

impl Once {
    /// As in `std`.
    #[must_use]
    #[inline]
    pub const fn new() -> Self {
        Self { real: real::Once::new(), state: AtomicU32::new(INCOMPLETE) }
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Panics
    ///
    /// Panics if an earlier call panicked.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, init: F) {
        let mut init = Some(init);
        self.call(false, Location::caller(), &mut |_| {
            if let Some(init) = init.take() {
                init();
            }
        });
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, init: F) {
        let mut init = Some(init);
        self.call(true, Location::caller(), &mut |state| {
            if let Some(init) = init.take() {
                init(state);
            }
        });
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.look(Location::caller())
    }

    /// As in `std`. A scheduling point.
    ///
    /// # Panics
    ///
    /// Panics if an earlier call panicked.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for_others(false, Location::caller());
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for_others(true, Location::caller());
    }

    /// This, or the execution's copy of it.
    fn local(&self) -> &Self {
        current().map_or(self, |execution| execution.resolve(self, Self::reset))
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn state(&self) -> u32 {
        self.state.load(Ordering::Acquire)
    }

    /// Makes the bits of a static incomplete.
    fn reset(&self) {
        self.state.store(INCOMPLETE, Ordering::Relaxed);
    }

    /// Whether it is complete; in an execution after a scheduling point.
    #[inline]
    fn look(&self, place: Place) -> bool {
        let this = self.local();
        if let Some(execution) = current()
            && execution.enter(OpKind::Load, this.address(), ONCE.name, place)
        {
            execution.record_operation(OpKind::Load, this.address(), None, None, place);
            if this.state() == COMPLETE {
                execution.acquire(this.address());
            }
        }
        this.state() == COMPLETE
    }

    /// Runs `init` unless that was done. `force` runs it even though an earlier one panicked.
    #[inline]
    fn call(&self, force: bool, place: Place, init: &mut dyn FnMut(&OnceState)) {
        let this = self.local();
        let Some(execution) = current() else { return this.call_outside(force, init) };
        let tell = execution.enter(OpKind::Wait, this.address(), ONCE.name, place);
        if tell {
            execution.record_operation(OpKind::Wait, this.address(), None, None, place);
        }
        while this.state() != COMPLETE {
            if this.state() != RUNNING {
                this.run(execution, force, place, init);
            } else if execution.is_unwinding() {
                return;
            } else {
                this.block(execution, place);
            }
        }
        if tell {
            execution.acquire(this.address());
        }
    }

    fn run(
        &self,
        execution: &Execution,
        force: bool,
        place: Place,
        init: &mut dyn FnMut(&OnceState),
    ) {
        let poisoned = self.state() == POISONED;
        assert!(!poisoned || force, "Once instance has previously been poisoned");
        self.state.store(RUNNING, Ordering::Relaxed);
        execution.hold_begin(&ONCE, self.address(), place);
        let mut run = Run { once: self, becomes: POISONED };
        init(&OnceState { poisoned });
        run.becomes = COMPLETE;
    }

    fn block(&self, execution: &Execution, place: Place) {
        let (kind, object) = (OpKind::Wait, self.address());
        let request = Request { kind, object, class: WAITERS, deadline_ns: None, sleeps: true };
        execution.wait(request, place);
    }

    fn call_outside(&self, force: bool, init: &mut dyn FnMut(&OnceState)) {
        if self.state() == COMPLETE {
            return;
        }
        let mut run = |poisoned| {
            init(&OnceState { poisoned });
            self.state.store(COMPLETE, Ordering::Release);
        };
        if force {
            self.real.call_once_force(|state| run(state.is_poisoned()));
        } else {
            self.real.call_once(|| run(false));
        }
    }

    fn wait_for_others(&self, force: bool, place: Place) {
        let this = self.local();
        let Some(execution) = current() else {
            return match this.state() {
                COMPLETE => {}
                _ if force => this.real.wait_force(),
                _ => this.real.wait(),
            };
        };
        if execution.enter(OpKind::Wait, this.address(), ONCE.name, place) {
            execution.record_operation(OpKind::Wait, this.address(), None, None, place);
        }
        while this.state() != COMPLETE && !execution.is_unwinding() {
            let poisoned = this.state() == POISONED;
            assert!(!poisoned || force, "Once instance has previously been poisoned");
            this.block(execution, place);
        }
        execution.acquire(this.address());
    }
}

impl Default for Once {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

/// An initialisation that runs in an execution; it ends when this is dropped.
struct Run<'a> {
    once: &'a Once,
    becomes: u32,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.once.state.store(self.becomes, Ordering::Relaxed);
        if let Some(execution) = current() {
            let object = self.once.address();
            execution.publish(object);
            execution.hold_end(object);
            execution.enable(object, WAITERS);
            execution.changed(object, 0, 1);
        }
    }
}
