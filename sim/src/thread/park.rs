//! The running thread: who it is, and how it pauses.

use std::io;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::thread as real;
use std::time::Duration;

use super::join::{TaskRef, Thread, Who};
use crate::core::{Execution, Request, current as execution};
use crate::trace::OpKind;

/// As `std::thread::current`.
#[must_use]
pub fn current() -> Thread {
    Thread(match execution() {
        None => Who::Real(real::current()),
        Some(execution) => {
            let name = execution.me().name.clone();
            Who::Task(TaskRef { id: execution.current.get(), epoch: execution.inner().epoch, name })
        }
    })
}

/// As `std::thread::available_parallelism`; 4 inside an execution, on every machine.
///
/// # Errors
///
/// As in `std`, outside of executions.
pub fn available_parallelism() -> io::Result<NonZeroUsize> {
    match (execution(), NonZeroUsize::new(4)) {
        (Some(_), Some(four)) => Ok(four),
        _ => real::available_parallelism(),
    }
}

/// As `std::thread::yield_now`. Inside an execution the task is put behind the others; if it offers
/// the processor again and nothing it looks at has changed, it is disabled until something does.
#[track_caller]
pub fn yield_now() {
    match execution() {
        None => real::yield_now(),
        Some(execution) => execution.yield_now(Location::caller()),
    }
}

/// The address that stands for a task's park token, beside the one for its end.
fn park_object(execution: &Execution, id: u32) -> usize {
    execution.join_object(id) + 1
}

/// As `std::thread::park`.
#[track_caller]
pub fn park() {
    match execution() {
        None => real::park(),
        Some(execution) => park_task(execution, None, Location::caller()),
    }
}

/// As `std::thread::park_timeout`, in virtual time inside an execution.
#[track_caller]
pub fn park_timeout(timeout: Duration) {
    match execution() {
        None => real::park_timeout(timeout),
        Some(execution) => {
            let deadline = deadline_ns(execution, timeout);
            park_task(execution, Some(deadline), Location::caller());
        }
    }
}

/// The virtual time, in nanoseconds, at which a wait of `timeout` from now ends.
pub(crate) fn deadline_ns(execution: &Execution, timeout: Duration) -> u64 {
    let timeout = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    execution.now_ns().saturating_add(timeout)
}

fn park_task(execution: &Execution, deadline_ns: Option<u64>, place: &'static Location<'static>) {
    let object = park_object(execution, execution.current.get());
    execution.point(OpKind::Park, object, place);
    if !execution.me().parked_token {
        execution.sleep(OpKind::Park, object, 1, deadline_ns, place);
    }
    if std::mem::take(&mut execution.me().parked_token) {
        execution.acquire(object);
    }
}

pub(super) fn unpark(execution: &Execution, id: u32, place: &'static Location<'static>) {
    let object = park_object(execution, id);
    execution.point(OpKind::Unpark, object, place);
    execution.publish(object);
    let task = &mut execution.inner().tasks[id as usize];
    if !task.finished {
        task.parked_token = true;
        execution.enable(object, 1);
    }
}

/// As `std::thread::sleep`, in virtual time inside an execution.
#[track_caller]
pub fn sleep(duration: Duration) {
    let place = Location::caller();
    match execution() {
        None => real::sleep(duration),
        Some(execution) => {
            let object = execution.join_object(execution.current.get()) + 2;
            execution.point(OpKind::Sleep, object, place);
            let deadline_ns = Some(deadline_ns(execution, duration));
            let request =
                Request { kind: OpKind::Sleep, object, class: 1, deadline_ns, sleeps: true };
            execution.wait(request, place);
        }
    }
}
