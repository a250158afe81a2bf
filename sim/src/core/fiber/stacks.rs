//! Stacks of tasks, pooled: a fresh one costs 450 times a reused one.
#![expect(unsafe_code, reason = "implements corosensei's stack trait")]

use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Bytes by which the tops of two neighbouring stacks differ, so that the hot ends of many stacks
/// do not fall into the same cache sets.
const STAGGER: usize = 64 * 9;
const STAGGERS: usize = 16;

/// A stack whose top is moved down a little.
pub(crate) struct PooledStack {
    stack: DefaultStack,
    base: StackPointer,
}

// SAFETY:
// - base above limit: the stagger is below 10 KiB and stacks have at least 64 KiB (`Stacks::new`);
// - aligned: page-aligned base minus a multiple of 64;
// - valid for the value's life and not shared: owned `DefaultStack`, which never moves its memory.
unsafe impl Stack for PooledStack {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// Stacks that wait for their next task.
pub(crate) struct Stacks {
    free: Vec<PooledStack>,
    made: usize,
    size_bytes: usize,
}

impl Stacks {
    pub(crate) fn new(size_bytes: usize) -> Self {
        Self { free: Vec::new(), made: 0, size_bytes: size_bytes.max(64 * 1024) }
    }

    #[inline]
    pub(crate) fn take(&mut self) -> PooledStack {
        self.free.pop().unwrap_or_else(|| self.make())
    }

    #[cold]
    fn make(&mut self) -> PooledStack {
        let stack = DefaultStack::new(self.size_bytes)
            .unwrap_or_else(|error| panic!("no memory for the stack of a task: {error}"));
        let down = (self.made % STAGGERS) * STAGGER;
        let base = StackPointer::new(stack.base().get() - down).unwrap_or(stack.base());
        self.made += 1;
        PooledStack { stack, base }
    }

    #[inline]
    pub(crate) fn give(&mut self, stack: PooledStack) {
        self.free.push(stack);
    }
}
