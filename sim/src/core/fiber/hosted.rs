//! Fibers on corosensei: a task suspends to the host loop, which resumes the next one.
#![expect(unsafe_code, reason = "makes coroutines from closures that borrow")]

use std::ptr;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::super::execution::Execution;
use super::super::task::Task;
use super::stacks::PooledStack;

/// A task's coroutine.
pub(crate) struct Fiber {
    coroutine: Option<Coroutine<(), (), (), PooledStack>>,
    /// What suspends it: lives on its stack.
    yielder: *const Yielder<(), ()>,
}

/// The host keeps nothing: corosensei does.
pub(crate) struct Host;

impl Host {
    pub(crate) const fn new() -> Self {
        Self
    }
}

impl Fiber {
    /// No task.
    pub(crate) const NONE: Self = Self { coroutine: None, yielder: ptr::null() };

    /// A fiber that will call `life` when it is first resumed.
    ///
    /// # Safety
    ///
    /// What `life` borrows must live as long as the fiber.
    #[inline]
    pub(crate) unsafe fn new<F: FnOnce()>(stack: PooledStack, life: F) -> Self {
        let life = move |yielder: &Yielder<(), ()>, ()| {
            if let Some(execution) = super::super::current() {
                execution.me().fiber.yielder = yielder;
            }
            life();
        };
        // SAFETY: our caller answers for what `life` borrows.
        let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, life) };
        Self { coroutine: Some(coroutine), yielder: ptr::null() }
    }

    /// Whether the task has begun its life and not ended it, or is about to begin.
    pub(crate) fn is_alive(&self) -> bool {
        self.coroutine.is_some()
    }

    /// Takes the stack away from a task that never runs again.
    pub(crate) fn take_stack(&mut self) -> Option<PooledStack> {
        let mut coroutine = self.coroutine.take()?;
        // SAFETY: our caller declared that nothing on the stack needs its drop.
        unsafe { coroutine.force_reset() };
        Some(coroutine.into_stack())
    }
}

impl Execution {
    /// Runs whoever is current, and whoever they make way for, until the execution stops.
    pub(crate) fn run_tasks(&self) {
        loop {
            let task = self.task.get();
            // SAFETY: a boxed slot that lives as long as the execution; only this loop touches
            // the field while the coroutine runs.
            let slot = unsafe { &mut (*task).fiber.coroutine };
            let Some(coroutine) = slot.as_mut() else {
                unreachable!("a task without a stack was chosen");
            };
            if let CoroutineResult::Return(()) = coroutine.resume(())
                && let Some(coroutine) = slot.take()
            {
                self.inner().stacks.give(coroutine.into_stack());
            }
            if self.stop.get() {
                break;
            }
        }
    }

    /// Suspends `from`, the running task.
    #[inline(always)]
    pub(crate) fn transfer(&self, from: *mut Task) {
        // SAFETY: a boxed slot; the yielder was stored by the task's own coroutine, which runs.
        let yielder = unsafe { (*from).fiber.yielder };
        // SAFETY: lives on the task's stack below every frame of the task.
        unsafe { &*yielder }.suspend(());
    }

    /// The running task has ended: its coroutine returns to the host loop, which does the rest.
    #[expect(clippy::unused_self, reason = "the direct way needs it")]
    pub(crate) fn depart(&self, _me: *mut Task) {}
}
