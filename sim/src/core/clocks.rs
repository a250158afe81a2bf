//! What happens before what: vector clocks, kept in executions that are checked for data races.
//!
//! An edge is what the program wrote: a release store and the acquire load that finds its value,
//! fences as in C11, a lock given back and taken, a message, an end and its join. The order in
//! which the operations happened to be carried out is none, though values follow it.
//!
//! Touches: a clock for each task, and one for each object that carries an edge. Nothing here makes
//! a decision of the schedule, so an execution is the same with clocks and without.
//! Keeps: a word's clock belongs to the value that the word has.
//! Source: C11 5.1.2.4 with the release sequences of C++20; Flanagan and Freund, "FastTrack", 2009.

use std::sync::atomic::Ordering;

use super::execution::Execution;
use super::recorder::ByAddress;
use super::shadow::Shadow;
use super::task::Place;
use crate::trace::OpKind;

/// Whether an execution keeps clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepClocks {
    /// No: races are not looked for.
    Never,
    /// No, unless it is recorded; the outcome says whether they were needed.
    Unneeded,
    /// Yes.
    Always,
}

/// What an atomic operation does to its word, and the order it was written with.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Load(Ordering),
    Store(Ordering),
    /// A read-modify-write.
    Update(Ordering),
}

/// For each task, how much of what it did happens before. Empty: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u32>);

impl Clock {
    /// How much of what `task` did happens before.
    #[inline]
    pub(super) fn of(&self, task: u32) -> u32 {
        self.0.get(task as usize).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn copy(&mut self, other: &Self) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn tick(&mut self, task: u32) {
        let at = task as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += 1;
    }
}

#[derive(Default)]
pub(super) struct TaskClocks {
    pub(super) now: Clock,
    /// As it was at the latest release fence: what relaxed stores publish.
    fenced: Clock,
    /// What relaxed loads found: what the next acquire fence acquires.
    found: Clock,
}

/// An object that carries edges.
#[derive(Default)]
struct Object {
    clock: Clock,
    /// If it is a word, its value. Where a word is met with another one, it was written behind our
    /// back, or is a new word in an old place, and the clock is not its.
    value: u64,
}

/// The clocks of one execution. Kept from one to the next, so that nothing is allocated anew.
#[derive(Default)]
pub(crate) struct Clocks {
    pub(super) tasks: Vec<TaskClocks>,
    by_address: ByAddress<u32>,
    objects: Vec<Object>,
    n_objects: usize,
    pub(super) shadow: Shadow,
}

impl Clocks {
    fn begin(&mut self) {
        self.by_address.clear();
        self.n_objects = 0;
        self.shadow.clear();
    }

    fn now(&self, task: u32) -> &Clock {
        &self.tasks[task as usize].now
    }

    fn task(&mut self, task: u32) -> &mut TaskClocks {
        &mut self.tasks[task as usize]
    }

    fn spawned(&mut self, child: u32, parent: Option<u32>) {
        let at = child as usize;
        while self.tasks.len() <= at {
            self.tasks.push(TaskClocks::default());
        }
        let mut clocks = std::mem::take(&mut self.tasks[at]);
        clocks.now.clear();
        clocks.fenced.clear();
        clocks.found.clear();
        if let Some(parent) = parent {
            clocks.now.copy(self.now(parent));
            self.task(parent).now.tick(parent);
        }
        clocks.now.tick(child);
        self.tasks[at] = clocks;
    }

    fn known(&self, address: usize) -> Option<usize> {
        self.by_address.get(&address).map(|&at| at as usize)
    }

    fn object(&mut self, address: usize) -> usize {
        let next = self.n_objects;
        let at = *self.by_address.entry(address).or_insert(next as u32) as usize;
        if at == next {
            self.n_objects += 1;
            if self.objects.len() == next {
                self.objects.push(Object::default());
            }
            self.objects[at].clock.clear();
        }
        at
    }

    /// An atomic operation of `task` that found the value `before` and left `after`.
    fn atomic(&mut self, task: u32, address: usize, before: u64, after: u64, access: Access) {
        use Ordering::{AcqRel, Acquire, Release, SeqCst};
        let known = self.known(address);
        if known.is_none() && matches!(access, Access::Load(_)) {
            return;
        }
        let at = known.unwrap_or_else(|| self.object(address));
        let (me, word) = (&mut self.tasks[task as usize], &mut self.objects[at]);
        if word.value != before {
            word.clock.clear();
        }
        word.value = after;
        let (Access::Load(order) | Access::Store(order) | Access::Update(order)) = access;
        if !matches!(access, Access::Store(_)) {
            match order {
                Acquire | AcqRel | SeqCst => me.now.join(&word.clock),
                _ => me.found.join(&word.clock),
            }
        }
        if matches!(access, Access::Load(_)) {
            return;
        }
        if matches!(access, Access::Store(_)) {
            // It begins anew: only read-modify-writes carry on what was released before.
            word.clock.clear();
        }
        match order {
            Release | AcqRel | SeqCst => {
                word.clock.join(&me.now);
                me.now.tick(task);
            }
            _ => word.clock.join(&me.fenced),
        }
    }

    fn fence(&mut self, task: u32, order: Ordering) {
        let me = self.task(task);
        if order != Ordering::Release {
            me.now.join(&me.found);
        }
        if order != Ordering::Acquire {
            me.fenced.copy(&me.now);
            me.now.tick(task);
        }
    }

    fn publish(&mut self, task: u32, address: usize) {
        let at = self.object(address);
        let (me, object) = (&mut self.tasks[task as usize], &mut self.objects[at]);
        object.clock.join(&me.now);
        me.now.tick(task);
    }

    fn acquire(&mut self, task: u32, address: usize) {
        if let Some(at) = self.known(address) {
            self.tasks[task as usize].now.join(&self.objects[at].clock);
        }
    }
}

impl Execution {
    /// Decides whether this execution keeps clocks.
    pub(super) fn begin_clocks(&self, keep: KeepClocks, recorded: bool) {
        let clocked = match keep {
            KeepClocks::Never => false,
            KeepClocks::Unneeded => recorded,
            KeepClocks::Always => true,
        };
        if clocked {
            self.inner().clocks.get_or_insert_default().begin();
        }
        self.inner().needed_clocks = false;
        self.clocked.set(clocked);
        let faults = &self.inner().setup.faults;
        let mishaps = faults.spurious_failure > 0 || faults.descheduled > 0;
        self.observed.set(clocked || recorded || mishaps);
    }

    /// The program caught a panic. What its destructors did was no step, so edges are missing: from
    /// here on nothing is called a race.
    #[cold]
    pub(super) fn stop_clocks(&self) {
        self.clocked.set(false);
        self.inner().setup.clocks = KeepClocks::Never;
    }

    /// The clocks, if any are kept, and the running task.
    #[inline]
    pub(super) fn clocks(&self) -> Option<(&mut Clocks, u32)> {
        if !self.clocked.get() {
            return None;
        }
        let id = self.current.get();
        self.inner().clocks.as_deref_mut().map(|clocks| (clocks, id))
    }

    /// Tells of an atomic operation that was just carried out.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_atomic(
        &self,
        kind: OpKind,
        address: usize,
        (before, after): (u64, u64),
        access: Access,
        place: Place,
    ) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.atomic(id, address, before, after, access);
        }
        self.record_operation(kind, address, Some(before), Some(after), place);
    }

    /// Tells of a fence.
    #[cold]
    pub(crate) fn tell_fence(&self, order: Ordering, place: Place) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.fence(id, order);
        }
        self.record_operation(OpKind::Fence, 0, None, None, place);
    }

    /// What the running task did so far happens before what follows an acquire of `object`.
    pub(crate) fn publish(&self, object: usize) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.publish(id, object);
        }
    }

    /// What was published on `object` happens before what the running task does from here on.
    pub(crate) fn acquire(&self, object: usize) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.acquire(id, object);
        }
    }

    /// What was published on `from` so far is published on `to`, and on `from` no more.
    pub(crate) fn hand_on(&self, from: usize, to: usize) {
        if let Some((clocks, _)) = self.clocks() {
            let (from, to) = (clocks.object(from), clocks.object(to));
            let handed = std::mem::take(&mut clocks.objects[from].clock);
            clocks.objects[to].clock = handed;
        }
    }

    /// What a message says of the task that sends it.
    pub(crate) fn message_clock(&self) -> Clock {
        let Some((clocks, id)) = self.clocks() else { return Clock::default() };
        let now = clocks.now(id).clone();
        clocks.task(id).now.tick(id);
        now
    }

    /// A message with this clock was received.
    pub(crate) fn acquire_clock(&self, clock: &Clock) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.task(id).now.join(clock);
        }
    }

    /// The running task, if there is one yet, spawned `child`.
    pub(super) fn clock_spawned(&self, child: u32) {
        if let Some((clocks, id)) = self.clocks() {
            clocks.spawned(child, (child != 0).then_some(id));
        }
    }

    /// The running task has joined `child`, which has ended.
    pub(crate) fn clock_joined(&self, child: u32) {
        if let Some((clocks, id)) = self.clocks() {
            let theirs = std::mem::take(&mut clocks.task(child).now);
            clocks.task(id).now.join(&theirs);
            clocks.task(child).now = theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

    use super::*;

    const WORD: usize = 8;

    /// Tasks 0, 1 and 2, of which 0 spawned the others.
    fn three() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.spawned(0, None);
        clocks.spawned(1, Some(0));
        clocks.spawned(2, Some(0));
        clocks
    }

    fn knows(clocks: &Clocks, task: u32, other: u32) -> bool {
        clocks.now(task).of(other) > 0
    }

    #[test]
    fn an_acquire_load_knows_what_a_release_store_published() {
        let mut clocks = three();
        clocks.atomic(1, WORD, 0, 7, Access::Store(Release));
        clocks.atomic(2, WORD, 7, 7, Access::Load(Acquire));
        assert!(knows(&clocks, 2, 1));
        assert!(!knows(&clocks, 1, 2));
    }

    #[test]
    fn a_relaxed_store_ends_a_release_sequence_and_a_relaxed_update_does_not() {
        for (access, known) in [(Access::Store(Relaxed), false), (Access::Update(Relaxed), true)] {
            let mut clocks = three();
            clocks.atomic(1, WORD, 0, 7, Access::Store(Release));
            clocks.atomic(0, WORD, 7, 8, access);
            clocks.atomic(2, WORD, 8, 8, Access::Load(SeqCst));
            assert_eq!(knows(&clocks, 2, 1), known);
            assert!(!knows(&clocks, 2, 0) || clocks.now(2).of(0) < clocks.now(0).of(0));
        }
    }

    #[test]
    fn a_word_that_was_written_behind_our_back_carries_nothing() {
        let mut clocks = three();
        clocks.atomic(1, WORD, 0, 7, Access::Store(Release));
        clocks.atomic(2, WORD, 0, 0, Access::Load(Acquire));
        assert!(!knows(&clocks, 2, 1));
    }

    #[test]
    fn fences_stand_in_for_the_orders_of_relaxed_operations() {
        let mut clocks = three();
        clocks.fence(1, Release);
        clocks.atomic(1, WORD, 0, 7, Access::Store(Relaxed));
        clocks.atomic(2, WORD, 7, 7, Access::Load(Relaxed));
        assert!(!knows(&clocks, 2, 1));
        clocks.fence(2, Acquire);
        assert!(knows(&clocks, 2, 1));
    }

    #[test]
    fn what_is_done_after_a_release_fence_is_not_published_by_it() {
        let mut clocks = three();
        clocks.fence(1, Release);
        let after = clocks.now(1).of(1);
        clocks.atomic(1, WORD, 0, 7, Access::Store(Relaxed));
        clocks.atomic(2, WORD, 7, 7, Access::Load(Acquire));
        assert!(clocks.now(2).of(1) < after);
    }
}
