//! Fibers with a switch of our own: x86-64, System V.
//!
//! A suspended context is a stack pointer under which lie, from low to high, the address to go on
//! at, `rbp` and `rbx`. The compiler saves every other register, since the switch says that it
//! clobbers them. A fresh stack holds the closure at its top and below it a frame that makes the
//! first switch land in [`trampoline`], which calls the closure with nothing above it: the return
//! address is 0, where stack walkers stop.
//!
//! Keeps: no panic crosses a switch; a task's closure catches its own.
#![expect(unsafe_code, reason = "switches stacks")]

use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr;

use corosensei::stack::Stack;

use super::super::execution::Execution;
use super::super::task::Task;
use super::stacks::PooledStack;

/// A task's context and stack.
pub(crate) struct Fiber {
    /// Where it is suspended; meaningless while it runs.
    sp: *mut u8,
    /// `None` before the task began and after it ended.
    stack: Option<PooledStack>,
}

/// The host's context while tasks run.
pub(crate) struct Host {
    sp: Cell<*mut u8>,
}

impl Host {
    pub(crate) const fn new() -> Self {
        Self { sp: Cell::new(ptr::null_mut()) }
    }
}

impl Fiber {
    /// No task.
    pub(crate) const NONE: Self = Self { sp: ptr::null_mut(), stack: None };

    /// A fiber that will call `life` when it is first switched to. `life` must not return.
    ///
    /// # Safety
    ///
    /// What `life` borrows must live as long as the fiber.
    #[inline]
    pub(crate) unsafe fn new<F: FnOnce()>(stack: PooledStack, life: F) -> Self {
        let base: *mut u8 = ptr::with_exposed_provenance_mut(stack.base().get());
        let align = align_of::<F>().max(16);
        let down = size_of::<F>() + ((base.addr() - size_of::<F>()) & (align - 1));
        let closure = base.wrapping_sub(down).cast::<F>();
        // SAFETY: in bounds: a stack has at least 64 KiB and closures are small; aligned: see
        // `down`; ours: nobody uses a stack of the pool.
        unsafe { closure.write(life) };
        let frame = closure.cast::<usize>().wrapping_sub(4).cast::<[usize; 4]>();
        let words = [
            trampoline as *const () as usize,
            closure.expose_provenance(),
            entry::<F> as *const () as usize,
            0,
        ];
        // SAFETY: as above; below the closure, which is aligned to 16.
        unsafe { frame.write(words) };
        Self { sp: frame.cast(), stack: Some(stack) }
    }

    /// Whether the task has begun its life and not ended it, or is about to begin.
    pub(crate) fn is_alive(&self) -> bool {
        self.stack.is_some()
    }

    /// Takes the stack away from a task that never runs again.
    pub(crate) fn take_stack(&mut self) -> Option<PooledStack> {
        self.stack.take()
    }
}

/// The first thing that runs on a fresh stack: takes the closure's address and its caller from it.
#[unsafe(naked)]
extern "C" fn trampoline() {
    naked_asm!("pop rdi", "pop rax", "jmp rax")
}

extern "C" fn entry<F: FnOnce()>(closure: *mut F) -> ! {
    // SAFETY: written by `Fiber::new`, read once.
    let life = unsafe { closure.read() };
    life();
    unreachable!("a task went on after its end");
}

/// Saves the running context to `save` and goes on with the one in `to`, which may be the same.
/// Returns when somebody switches back.
///
/// # Safety
///
/// After the save, `to` must hold a suspended context, which is resumed once.
#[inline(always)]
unsafe fn switch(save: *mut *mut u8, to: *const *mut u8) {
    // SAFETY: pushes and pops are balanced across the switch back; the clobbers cover every
    // register but rbx, rbp and rsp, which are saved here.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "lea rax, [rip + 2f]",
            "push rax",
            "mov [rdi], rsp",
            "mov rsp, [rsi]",
            "pop rax",
            "jmp rax",
            "2:",
            "pop rbp",
            "pop rbx",
            inout("rdi") save => _,
            inout("rsi") to => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

impl Execution {
    /// Where to go on: with whoever is current, or with the host if the execution is to stop.
    #[inline(always)]
    fn next_context(&self) -> *const *mut u8 {
        if self.stop.get() {
            return self.host.sp.as_ptr();
        }
        // SAFETY: a boxed slot that lives as long as the execution.
        unsafe { &raw const (*self.task.get()).fiber.sp }
    }

    /// Runs whoever is current, and whoever they make way for, until the execution stops.
    pub(crate) fn run_tasks(&self) {
        // SAFETY: a boxed slot that lives as long as the execution.
        let to = unsafe { &raw const (*self.task.get()).fiber.sp };
        // SAFETY: the current task is suspended or fresh; tasks come back to the host's context.
        unsafe { switch(self.host.sp.as_ptr(), to) };
    }

    /// Suspends `from`, the running task.
    #[inline(always)]
    pub(crate) fn transfer(&self, from: *mut Task) {
        let to = self.next_context();
        // SAFETY: a boxed slot that lives as long as the execution.
        let save = unsafe { &raw mut (*from).fiber.sp };
        // SAFETY: `current` names a task that is suspended or fresh: whoever runs is not in
        // `current` any more when it comes here, or the host is where `run_tasks` left it.
        unsafe { switch(save, to) };
    }

    /// The running task `me` has ended: its stack goes back to the pool, and somebody else runs.
    pub(crate) fn depart(&self, me: *mut Task) {
        // SAFETY: as in `transfer`.
        let stack = unsafe { &mut (*me).fiber.stack };
        if let Some(stack) = stack.take() {
            // We still stand on it, but nobody takes a stack before we have left.
            self.inner().stacks.give(stack);
        }
        let to = self.next_context();
        let mut nowhere = ptr::null_mut();
        // SAFETY: as in `transfer`; the context saved is never resumed.
        unsafe { switch(&raw mut nowhere, to) };
    }
}
