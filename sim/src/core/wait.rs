//! Waiting is blocking: a task that cannot go on is not run until it can.
//!
//! A waiting task names an object and a *class*, a way to wait on it. Whoever changes the object
//! says which classes can go on now (`enable`) and which cannot any more (`disable`), so that of
//! three tasks that wait for a lock, two are disabled again the moment the third has it. When
//! nobody can run, time leaps to the next timer; when there is none, nobody ever will.

use super::execution::{Execution, Mode};
use super::task::{Pending, Place, Wait};
use crate::scheduler::NOBODY;
use crate::trace::{OpKind, SwitchReason, What};

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// The object was enabled, or the task is being unwound and must not wait.
    Ready,
    /// The deadline passed first.
    TimedOut,
    /// It ended for no reason.
    Spurious,
}

/// A wait, as its caller describes it.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) kind: OpKind,
    pub(crate) object: usize,
    pub(crate) class: u8,
    pub(crate) deadline_ns: Option<u64>,
    /// Whether this is a sleep in the sense of hold rules: a spinlock holder must not do it.
    pub(crate) sleeps: bool,
}

impl Execution {
    /// Whether the calling task is being unwound, so that it must not wait for anything.
    #[inline]
    pub(crate) fn is_unwinding(&self) -> bool {
        self.inner().mode != Mode::Running
            && (self.inner().mode == Mode::Dying || std::thread::panicking())
    }

    /// Blocks the running task until `object` is enabled for `class`. The caller looks again
    /// whether it can go on: another task may have been faster.
    #[inline]
    pub(crate) fn wait(&self, request: Request, place: Place) -> Wake {
        self.wait_joining(request, None, place)
    }

    /// As [`Execution::wait`] for a sleep that may end for no reason, where the seed says so.
    pub(crate) fn sleep(
        &self,
        kind: OpKind,
        object: usize,
        class: u8,
        deadline_ns: Option<u64>,
        place: Place,
    ) -> Wake {
        let spurious_ns = self.spurious_deadline_ns();
        let earlier = spurious_ns.filter(|&at| deadline_ns.is_none_or(|deadline| at < deadline));
        let deadline_ns = earlier.or(deadline_ns);
        let request = Request { kind, object, class, deadline_ns, sleeps: true };
        let wake = self.wait(request, place);
        if wake == Wake::TimedOut && earlier.is_some() {
            self.woke_spuriously(place);
            return Wake::Spurious;
        }
        wake
    }

    /// Blocks the running task until task `id` has ended.
    pub(crate) fn wait_for_end(&self, id: u32, place: Place) {
        let object = self.join_object(id);
        let request =
            Request { kind: OpKind::Join, object, class: 1, deadline_ns: None, sleeps: true };
        self.wait_joining(request, Some(id), place);
    }

    fn wait_joining(&self, request: Request, joins: Option<u32>, place: Place) -> Wake {
        if self.is_unwinding() {
            return Wake::Ready;
        }
        let id = self.current.get();
        let me = self.me();
        me.pending = Pending { kind: request.kind, object: request.object, place };
        me.timed_out = false;
        me.wait = Some(Wait {
            object: request.object,
            class: request.class,
            timed: request.deadline_ns.is_some(),
            joins,
        });
        if request.sleeps {
            self.check_may_sleep(request.kind, place);
        }
        if let Some(deadline) = request.deadline_ns {
            self.inner().timers.push((deadline, id));
            self.update_special();
        }
        self.block(SwitchReason::Blocked { object: None, owner: None });
        let me = self.me();
        me.wait = None;
        if request.deadline_ns.is_some() {
            self.inner().timers.retain(|&(_, task)| task != id);
            self.update_special();
        }
        if self.me().timed_out { Wake::TimedOut } else { Wake::Ready }
    }

    /// Takes the running task out of the runnable ones and runs another.
    pub(super) fn block(&self, reason: SwitchReason) {
        let id = self.current.get();
        let task = self.task.get();
        self.make_unrunnable(id);
        if let Some(failure) = self.deadlock_closed_by(id) {
            self.record_last_block(id);
            self.fail_here(failure);
        }
        if !self.choose_next(reason) {
            self.record_last_block(id);
            self.stop_here();
        }
        if self.current.get() != id {
            self.suspend(task);
        }
    }

    /// The task that waits last is left for nobody; the record says so all the same.
    #[cold]
    fn record_last_block(&self, id: u32) {
        if self.recording.get() {
            let reason = self.blocked_reason(id);
            self.record(None, What::Switch { to: id, reason });
        }
    }

    /// Chooses among the runnable tasks when the running one cannot go on, and makes it current.
    /// Returns false if the execution is over.
    pub(super) fn choose_next(&self, reason: SwitchReason) -> bool {
        while self.inner().runnable.is_empty() {
            if !(self.leap() || self.wake_spinners()) {
                let failure = self.nobody_can_run();
                self.fail(failure);
                return false;
            }
        }
        let next = self.ask(false);
        let id = self.current.get();
        if next == id {
            return true;
        }
        if next == NOBODY {
            self.stop.set(true);
            return false;
        }
        let reason = match reason {
            SwitchReason::Blocked { .. } if self.recording.get() => self.blocked_reason(id),
            reason => reason,
        };
        self.leave(next, reason);
        true
    }

    /// Tasks that wait on `object` in one of `classes` can go on.
    #[inline]
    pub(crate) fn enable(&self, object: usize, classes: u8) {
        if self.inner().unfinished > self.inner().runnable.len() {
            self.enable_slow(object, classes);
        }
    }

    #[cold]
    fn enable_slow(&self, object: usize, classes: u8) {
        for id in 0..self.inner().n_tasks as u32 {
            let task = &self.inner().tasks[id as usize];
            if !task.is_runnable() && waits(task.wait, object, classes) {
                self.make_runnable(id);
            }
        }
    }

    /// One waiting task can go on.
    pub(crate) fn enable_task(&self, id: u32) {
        self.make_runnable(id);
    }

    /// Tasks that wait on `object` in one of `classes` and have not gone on yet cannot any more.
    #[inline]
    pub(crate) fn disable(&self, object: usize, classes: u8) {
        if self.inner().runnable.len() > 1 {
            self.disable_slow(object, classes);
        }
    }

    #[inline(never)]
    fn disable_slow(&self, object: usize, classes: u8) {
        let current = self.current.get();
        let mut at = 0;
        while let Some(&id) = self.inner().runnable.get(at) {
            let wait = self.inner().tasks[id as usize].wait;
            if id != current && waits(wait, object, classes) {
                self.make_unrunnable(id);
            } else {
                at += 1;
            }
        }
    }

    /// Wakes tasks whose deadline has passed.
    pub(super) fn fire_timers(&self) {
        let now = self.now_ns();
        let mut due: Vec<_> =
            self.inner().timers.iter().copied().filter(|&(deadline, _)| deadline <= now).collect();
        due.sort_unstable();
        for (_, id) in due {
            self.inner().timers.retain(|&(_, task)| task != id);
            let task = &mut self.inner().tasks[id as usize];
            if !task.is_runnable() {
                task.timed_out = true;
                self.make_runnable(id);
            }
        }
    }

    /// Everybody waits: time leaps to the next deadline.
    fn leap(&self) -> bool {
        let Some(deadline) = self.inner().timers.iter().map(|&(deadline, _)| deadline).min() else {
            return false;
        };
        let now = self.now_ns();
        self.inner().leap_ns += deadline.saturating_sub(now);
        if self.inner().setup.spin_budget {
            // A spinner that sleeps is no loop that runs alone.
            self.changes.set(self.changes.get() + 1);
        }
        self.fire_timers();
        self.update_special();
        true
    }

    /// The running task offers the processor: others run first, if there are any.
    pub(crate) fn yield_now(&self, place: Place) {
        self.spin_hint(true, place);
    }

    pub(super) fn wake_out_of_spin(&self, id: u32) {
        // Nothing that changes now puts it back: it has a lap to make.
        self.stop_watching(id);
        self.inner().tasks[id as usize].wait = None;
        self.make_runnable(id);
    }
}

#[inline]
fn waits(wait: Option<Wait>, object: usize, classes: u8) -> bool {
    wait.is_some_and(|wait| wait.object == object && wait.class & classes != 0)
}
