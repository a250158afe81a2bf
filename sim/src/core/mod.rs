//! The machine: tasks as coroutines on one OS thread, and what makes them wait.
//!
//! - [`execution`]: one execution, who runs in it and who runs next;
//! - [`life`]: tasks begin and end;
//! - [`lives`]: processes within an execution, crashes, killed tasks;
//! - [`point`]: scheduling points, the hot path;
//! - [`wait`]: tasks that wait for locks, for each other, for time;
//! - [`words`]: tasks that watch atomic words, spin loops among them;
//! - [`holds`]: who owns which lock, and the wait-for graph;
//! - [`clocks`], [`shadow`]: what happens before what, and accesses to plain memory that race;
//! - [`panics`]: the first failure kept, nothing aborted;
//! - [`statics`]: a copy of each `static` per execution;
//! - [`services`]: the small things instrumented types ask for;
//! - [`recorder`]: the second pass, in which everything is written down.

mod clocks;
mod draws;
mod execution;
mod fiber;
mod holds;
mod leave_hook;
mod life;
mod lives;
mod panics;
mod point;
mod recorder;
mod run;
mod services;
mod shadow;
mod spurious;
mod statics;
mod task;
mod wait;
mod words;

pub(crate) use clocks::{Access, Clock, KeepClocks};
pub(crate) use draws::{Domain, Draws};
pub(crate) use execution::{Execution, Setup, current, mix};
pub(crate) use holds::{hold_begin, hold_end};
pub(crate) use lives::LifeEnd;
pub(crate) use recorder::{Recorder, listening, log_event, name_object, note, recording};
pub(crate) use services::Destroyed;
pub(crate) use task::{Place, Task};
pub(crate) use wait::{Request, Wake};
pub(crate) use words::{attempt_failed, block_on_bits, fails_spuriously, unwinding};

/// The name by which scripts and reports call a task: `main`, its own name, with an ordinal from
/// the second task of that name on, or `task 3`.
pub(crate) fn task_role(tasks: &[Box<Task>], id: u32) -> String {
    match &tasks[id as usize].name {
        None if id == 0 => "main".to_owned(),
        None => format!("task {id}"),
        Some(name) => {
            let earlier = tasks[..id as usize].iter();
            match earlier.filter(|task| task.name.as_ref() == Some(name)).count() {
                0 => name.to_string(),
                n => format!("{name} {}", n + 1),
            }
        }
    }
}

/// The next draw of the current execution for the code under test.
pub(crate) fn workload_draw() -> Option<u64> {
    let execution = current()?;
    execution.tell(crate::scheduler::Told::Draws);
    let inner = execution.inner();
    if !inner.workload_started {
        inner.workload_started = true;
        inner.workload_draws.start(inner.seed);
    }
    Some(inner.workload_draws.next_u64())
}

/// Whether the bug `name` is switched on in the current execution.
#[inline]
pub(crate) fn mutant_is(name: &str) -> bool {
    match current() {
        Some(execution) => execution.inner().setup.mutant.is_some_and(|mutant| mutant == name),
        None => false,
    }
}
