//! A task's life: made, ended, or ended for it when the execution is over.
#![expect(unsafe_code, reason = "makes and ends fibers")]

use std::ptr;
use std::sync::Arc;

use super::execution::{Execution, Mode, in_task};
use super::fiber::Fiber;
use super::lives::NO_LIFE;
use super::task::{Spin, Task};
use crate::explore::Failure;
use crate::trace::{SwitchReason, What};

impl Execution {
    /// Ends the tasks that have not finished: youngest first, since a scoped task borrows from the
    /// stack of the task that spawned it.
    #[cold]
    pub(super) fn tear_down(&self) {
        self.inner().mode = Mode::Dying;
        self.next_event.set(0);
        for id in (0..self.inner().n_tasks as u32).rev() {
            self.set_current(id);
            self.unwind_current();
        }
    }

    /// Makes a task and puts it among the runnable ones. `main` must not unwind.
    ///
    /// # Safety
    ///
    /// What `main` borrows must live until the task has ended.
    #[inline]
    pub(crate) unsafe fn create<F: FnOnce()>(&self, name: Option<Arc<str>>, main: F) -> u32 {
        let inner = self.inner();
        let id = inner.n_tasks as u32;
        if inner.tasks.len() == inner.n_tasks {
            inner.tasks.push(Box::new(Task::new()));
        }
        inner.n_tasks += 1;
        inner.unfinished += 1;
        let life = if id == 0 { NO_LIFE } else { self.me().life };
        let stack = inner.stacks.take();
        let task = &mut inner.tasks[id as usize];
        task.reset();
        task.name = name;
        task.life = life;
        let main = move || {
            if in_task(|execution| execution.inner().mode) == Mode::Dying {
                drop(main);
            } else {
                main();
            }
            in_task(Self::finish);
        };
        // SAFETY: our caller answers for what `main` borrows; nothing else is borrowed.
        task.fiber = unsafe { Fiber::new(stack, main) };
        let (parent, name) = (self.current.get(), task.name.as_deref());
        inner.strategy.spawned(id, parent, name, &mut inner.draws);
        self.clock_spawned(id);
        self.make_runnable(id);
        id
    }

    /// The running task came to its end, and somebody else runs.
    fn finish(&self) {
        let me = self.task.get();
        self.conclude();
        self.depart(me);
    }

    /// The books of a task's end.
    fn conclude(&self) {
        if !self.me().locals.is_empty() {
            self.drop_locals();
        }
        let id = self.current.get();
        let inner = self.inner();
        if std::mem::replace(&mut self.me().finished, true) {
            // It was killed, and is unwound now that the execution is over.
            return;
        }
        inner.unfinished -= 1;
        if inner.mode == Mode::Dying || self.stop.get() {
            return;
        }
        if self.recording.get() {
            self.record(None, What::Finished);
        }
        self.make_unrunnable(id);
        if let Spin::Lap { .. } = self.me().spin {
            self.end_lap();
        }
        if let Some(hold) = self.me().holds.first() {
            let kind = hold.kind.name;
            let name = self.object_name(hold.object);
            self.fail(Failure::new("I-SP1", format!("a task ended holding {kind} of {name}")));
            return;
        }
        self.enable(self.join_object(id), u8::MAX);
        if inner.unfinished == 0 {
            self.stop.set(true);
        } else {
            self.choose_next(SwitchReason::Finished);
        }
    }

    /// Address that stands for the end of task `id`.
    #[inline]
    pub(crate) fn join_object(&self, id: u32) -> usize {
        ptr::from_ref(&*self.inner().tasks[id as usize]).addr()
    }
}
