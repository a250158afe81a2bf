//! `std::sync::Barrier`.

use std::fmt;
use std::panic::Location;
use std::sync as real;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::core::{Request, current};
use crate::trace::OpKind;

const WAITERS: u8 = 1;

/// As `std::sync::Barrier`. In an execution a waiter is disabled until the last one arrives.
pub struct Barrier {
    real: real::Barrier,
    n: usize,
    /// Tasks that wait for the present generation to be complete.
    arrived: AtomicUsize,
    generation: AtomicUsize,
}

/// As `std::sync::BarrierWaitResult`.
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread is the one of its generation that arrived last.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.0).finish()
    }
}

impl Barrier {
    /// As in `std`.
    #[must_use]
    #[inline]
    pub const fn new(n: usize) -> Self {
        Self {
            real: real::Barrier::new(n),
            n,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
        }
    }

    /// As in `std`. A scheduling point.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(execution) = current() else {
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        let place = Location::caller();
        let this = execution.resolve(self, |this| this.arrived.store(0, Relaxed));
        let (kind, object) = (OpKind::Wait, std::ptr::from_ref(this).addr());
        if execution.enter(kind, object, "barrier", place) {
            execution.record_operation(kind, object, None, None, place);
        }
        if execution.is_unwinding() {
            return BarrierWaitResult(false);
        }
        // One address for those that arrive, one for those that leave.
        let leaving = object + 1;
        execution.publish(object);
        let generation = this.generation.load(Relaxed);
        let arrived = this.arrived.load(Relaxed) + 1;
        if arrived >= this.n {
            this.arrived.store(0, Relaxed);
            this.generation.store(generation.wrapping_add(1), Relaxed);
            execution.hand_on(object, leaving);
            execution.acquire(leaving);
            execution.enable(object, WAITERS);
            return BarrierWaitResult(true);
        }
        this.arrived.store(arrived, Relaxed);
        let request = Request { kind, object, class: WAITERS, deadline_ns: None, sleeps: true };
        while this.generation.load(Relaxed) == generation && !execution.is_unwinding() {
            execution.wait(request, place);
        }
        execution.acquire(leaving);
        BarrierWaitResult(false)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
