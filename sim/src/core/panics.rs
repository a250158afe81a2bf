//! Panics: the first failure is kept, no second panic hides it, nothing aborts.
//!
//! The panic hook notes message and place the moment a task panics, before it unwinds; while it
//! unwinds, scheduling points do nothing, so that no other task runs with the thread's panic count
//! raised. When an execution is over, its unfinished tasks are resumed under the mode `Dying` and
//! unwind with a payload of ours.
//!
//! A panic that leaves a destructor of a task that already unwinds would abort the process. The hook
//! is told before that happens and *abandons* the task: it leaves the hook by a forced unwind, which
//! gives back the lock that `std` holds around hooks, and suspends for ever one frame further up.
//! Its stack is lost, and so is the OS thread, whose panic count stays raised; the runner goes on
//! with another.
#![expect(unsafe_code, reason = "calls predicates that live on the stacks of waiting tasks")]

use std::any::Any;
use std::panic::{PanicHookInfo, resume_unwind};
use std::sync::Once;

use super::execution::{Execution, Mode, current};
use super::task::Place;
use crate::explore::Failure;

/// The payload that unwinds the tasks of an execution that is over.
struct Dying;

/// Scheduling points that destructors may pass while a task unwinds.
pub(super) const MAX_UNWINDING_STEPS: u32 = 100_000;

/// What `std` says when it is about to abort because a panic can go no further.
const LAST_WORDS: [&str; 2] =
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

/// What the hook saw of a panic.
pub(crate) struct PanicRecord {
    message: String,
    place: Option<Place>,
}

impl PanicRecord {
    pub(super) fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let message = if let Some(text) = payload.downcast_ref::<&str>() {
            (*text).to_owned()
        } else if let Some(text) = payload.downcast_ref::<String>() {
            text.clone()
        } else {
            "a panic whose payload is no text".to_owned()
        };
        Self { message, place: None }
    }

    pub(super) fn failure(&self, task: String) -> Failure {
        let mut failure = Failure::from_panic(&self.message);
        failure.task = task;
        failure.site = self.place.map(Into::into);
        failure
    }
}

pub(super) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match current() {
            Some(execution) => execution.on_panic(info),
            None => previous(info),
        }));
    });
}

#[cold]
pub(super) fn unwind_dying() -> ! {
    resume_unwind(Box::new(Dying))
}

impl Execution {
    fn on_panic(&self, info: &PanicHookInfo<'_>) {
        let mut record = PanicRecord::from_payload(info.payload());
        // SAFETY: `Location::caller` of the panic macros is a constant of the program; the hook's
        // signature only forgets it.
        record.place = info.location().map(|place| unsafe { std::mem::transmute(place) });
        let inner = self.inner();
        if inner.mode == Mode::Running {
            inner.mode = Mode::Panicking;
            inner.panic = Some(record);
            inner.later_panic = None;
            inner.unwinding_steps = 0;
            self.next_event.set(0);
        } else if !LAST_WORDS.contains(&&*record.message) {
            // In a destructor, which may catch it; or the program has caught the first one.
            inner.later_panic = Some(record);
        } else {
            let what = match inner.later_panic.take() {
                Some(later) => {
                    format!("a destructor panicked while its task was unwound: {}", later.message)
                }
                None => record.message,
            };
            self.give_up(&what);
            super::leave_hook::leave(std::ptr::from_ref(info).addr(), self);
        }
    }

    /// Gives up on the running task, which cannot be unwound to its end.
    #[cold]
    pub(super) fn abandon(&self, why: &str) -> ! {
        self.give_up(why);
        self.suspend_for_ever()
    }

    fn give_up(&self, why: &str) {
        let role = self.role(self.current.get());
        let inner = self.inner();
        let record = inner.panic.take();
        let mut failure = match (inner.failure.take(), record) {
            (Some(failure), _) => failure,
            (None, Some(record)) => record.failure(role),
            (None, None) => Failure::from_panic(why),
        };
        failure.detail.push(why.to_owned());
        inner.failure = Some(failure);
        inner.retire = true;
        self.stop.set(true);
    }

    pub(super) fn suspend_for_ever(&self) -> ! {
        loop {
            self.transfer(self.task.get());
        }
    }

    /// A task's closure ended in a panic, which the caller caught.
    pub(crate) fn caught_panic(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Dying>() || self.inner().mode == Mode::Dying {
            return;
        }
        let caught = PanicRecord::from_payload(payload);
        let inner = self.inner();
        let records = [inner.later_panic.take(), inner.panic.take()];
        // The later one, if the program caught the first; that one, if a destructor caught the later.
        let seen = records.into_iter().flatten().find(|seen| seen.message == caught.message);
        let record = seen.unwrap_or(caught);
        inner.mode = Mode::Running;
        let failure = record.failure(self.role(self.current.get()));
        if self.recording.get() {
            let message = failure.message.clone();
            self.record(record.place, crate::trace::What::Panicked { message });
        }
        self.fail(failure);
    }
}

/// Calls a predicate of a waiting task from the task that changed its word.
pub(super) fn pure(predicate: *const dyn Fn(u64) -> bool, value: u64) -> bool {
    // SAFETY: lives in the frame of `spin_until`, whose task waits until its watch is removed.
    let predicate = unsafe { &*predicate };
    predicate(value)
}

/// A predicate's pointer without its lifetime, which the watch does not outlive.
pub(super) fn erased(predicate: *const (dyn Fn(u64) -> bool + '_)) -> *const dyn Fn(u64) -> bool {
    // SAFETY: pointers to trait objects with different lifetimes have one layout; whoever calls
    // through it answers for its life.
    unsafe { std::mem::transmute(predicate) }
}
