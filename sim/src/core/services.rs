//! What instrumented types ask of the machine besides scheduling points and waits.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::execution::{Execution, Mode};
use super::task::Place;
use crate::explore::{FaultKind, Faults};
use crate::scheduler::Told;
use crate::trace::{OpKind, What};

/// Stands in a task's locals for one that was destroyed.
pub(crate) struct Destroyed;

impl Execution {
    /// A scheduling point before the operation `kind` on an object that, if nobody named it, is
    /// called `noun` and a number. Returns whether the operation is to be told of.
    #[inline(always)]
    pub(crate) fn enter(
        &self,
        kind: OpKind,
        object: usize,
        noun: &'static str,
        place: Place,
    ) -> bool {
        let tell = self.point(kind, object, place);
        // What it finds is no word; a change is told as a change from 0 to 1.
        self.saw(0);
        if tell && self.recording.get() {
            self.object_id(object, noun);
        }
        tell
    }

    /// Tells a systematic search what it cannot see; nobody else listens.
    pub(crate) fn tell(&self, told: Told) {
        let id = self.current.get();
        self.inner().strategy.told(id, told);
    }

    /// Times a word got another value so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// The execution is over: its tasks are unwound, and nothing they leave behind is looked at.
    pub(crate) fn is_dying(&self) -> bool {
        self.inner().mode == Mode::Dying
    }

    /// The calling task is about to do something that may sleep.
    pub(crate) fn may_sleep(&self, kind: OpKind, place: Place) {
        if !self.is_unwinding() {
            self.check_may_sleep(kind, place);
        }
    }

    /// The virtual time `after` from now; `None` if that is so far away that it never comes.
    pub(crate) fn deadline(&self, after: Duration) -> Option<u64> {
        let after = u64::try_from(after.as_nanos()).ok()?;
        self.now_ns().checked_add(after).filter(|&deadline| deadline < u64::MAX / 2)
    }

    /// Wakes one task that waits on `object` in one of `classes`, chosen by the seed: by draws of
    /// its own, so that whoever replays a schedule under its seed wakes the same task.
    pub(crate) fn enable_one(&self, object: usize, classes: u8) {
        let inner = self.inner();
        if !std::mem::replace(&mut inner.wake_started, true) {
            inner.wake_draws.start(inner.seed);
        }
        let waits = |id: &u32| {
            let task = &inner.tasks[*id as usize];
            let waits =
                |wait: super::task::Wait| wait.object == object && wait.class & classes != 0;
            !task.is_runnable() && task.wait.is_some_and(waits)
        };
        let waiting = || (0..inner.n_tasks as u32).filter(waits);
        let n = waiting().count() as u32;
        let nth = match n {
            0 | 1 => 0,
            _ => inner.strategy.pick(n).unwrap_or_else(|| inner.wake_draws.below(n)),
        };
        let chosen = waiting().nth(nth as usize);
        if let Some(id) = chosen {
            self.enable_task(id);
        }
    }

    /// Whether a task waits on `object` in one of `classes` and cannot go on.
    pub(crate) fn has_waiters(&self, object: usize, classes: u8) -> bool {
        let tasks = &self.inner().tasks[..self.inner().n_tasks];
        tasks.iter().any(|task| {
            let waits =
                |wait: super::task::Wait| wait.object == object && wait.class & classes != 0;
            !task.is_runnable() && task.wait.is_some_and(waits)
        })
    }

    /// Whether the calling task holds the lock at `object`.
    pub(crate) fn holds(&self, object: usize) -> bool {
        self.me().holds.iter().any(|hold| hold.object == object)
    }

    /// What instrumented types keep for the length of the execution, made at first use.
    pub(crate) fn extension<T: Clone + 'static>(&self, make: impl FnOnce() -> T) -> T {
        let extensions = &mut self.inner().extensions;
        if let Some(known) = extensions.iter().find_map(|known| known.downcast_ref::<T>()) {
            return known.clone();
        }
        let made = make();
        self.inner().extensions.push(Box::new(made.clone()));
        made
    }

    /// Whether the seed wants a fault here that strikes `rate` of 65,536 times.
    pub(crate) fn wants_fault(&self, rate: fn(&Faults) -> u32) -> bool {
        let inner = self.inner();
        let rate = rate(&inner.setup.faults);
        if rate == 0 || self.is_unwinding() || self.step.get() >= inner.storm_ends_at {
            return false;
        }
        let strikes = inner.strategy.strikes();
        strikes.unwrap_or_else(|| inner.fault_draws.below(1 << 16) < rate)
    }

    /// A number below `n` that decides how a fault goes that strikes.
    pub(crate) fn fault_draw(&self, n: u32) -> u32 {
        self.tell(Told::Draws);
        self.inner().fault_draws.below(n)
    }

    /// The faults of this execution.
    pub(crate) fn faults(&self) -> &Faults {
        &self.inner().setup.faults
    }

    /// A fault struck so many times: it is counted, and `what` it did is written down.
    #[cold]
    pub(crate) fn struck(
        &self,
        kind: FaultKind,
        times: u64,
        place: Place,
        what: impl FnOnce() -> String,
    ) {
        self.count_struck(kind, times);
        if self.recording.get() {
            self.record(Some(place), What::Fault(what()));
        }
    }

    /// A fault struck so many times, and what it did is told elsewhere.
    pub(crate) fn count_struck(&self, kind: FaultKind, times: u64) {
        if times > 0 {
            self.inner().faults.get_or_insert_default().count(kind, times);
        }
    }

    /// Whether the seed wants a fault of this kind here, which is counted and written down.
    pub(crate) fn fault(
        &self,
        kind: FaultKind,
        rate: fn(&Faults) -> u32,
        what: &str,
        place: Place,
    ) -> bool {
        let strikes = self.wants_fault(rate);
        if strikes {
            self.struck(kind, 1, place, || what.to_owned());
        }
        strikes
    }

    /// The value of the running task's local at `key`, if it has one.
    pub(crate) fn local(&self, key: usize) -> Option<*const dyn Any> {
        let locals = &self.me().locals;
        let known = locals.iter().find(|(known, _)| *known == key);
        known.map(|(_, value)| std::ptr::from_ref(&**value))
    }

    /// Gives the running task a local. It must have none at `key`.
    pub(crate) fn add_local(&self, key: usize, value: Box<dyn Any>) {
        self.me().locals.push((key, value));
    }

    /// Destroys the running task's locals, those that destructors make included, in order of first
    /// use. A local that was destroyed stays marked until all are.
    pub(super) fn drop_locals(&self) {
        let mut at = 0;
        while at < self.me().locals.len() {
            let value = std::mem::replace(&mut self.me().locals[at].1, Box::new(Destroyed));
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
                self.caught_panic(&*payload);
            }
            at += 1;
        }
        self.me().locals.clear();
    }
}
