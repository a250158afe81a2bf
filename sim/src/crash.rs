//! Crashes: processes that die, machines that lose power, tasks that never run again.
//!
//! A program under test that is to survive crashes is told in *lives*. The body of the execution is
//! the world around: it sets the stage, starts a life, and when that is over looks at what is left,
//! in another life or itself.
//!
//! ```
//! use holdup::crash::{self, Ended};
//! use holdup::fs::{self, File};
//! use holdup::{Checker, CrashKind, CrashPoint, Faults};
//! use std::sync::atomic::{AtomicBool, Ordering};
//!
//! let save = || {
//!     let saved = AtomicBool::new(false); // what the world knows
//!     let ended = crash::life(|| {
//!         fs::write("/tmp/file.new", "contents").unwrap();
//!         File::open("/tmp/file.new").unwrap().sync_all().unwrap();
//!         fs::rename("/tmp/file.new", "/tmp/file").unwrap();
//!         // A rename lasts once its directory is synced; leave this out, and seeds will fail.
//!         File::open("/tmp").unwrap().sync_all().unwrap();
//!         saved.store(true, Ordering::Relaxed);
//!     });
//!     if let Ended::Returned(()) = ended {
//!         crash::power_failure();
//!     }
//!     if saved.into_inner() {
//!         assert_eq!(fs::read_to_string("/tmp/file").unwrap(), "contents");
//!     }
//! };
//! // Every execution loses power at a point that its seed draws.
//! let crash_point = CrashPoint::Drawn(CrashKind::Power);
//! let checker = Checker::new("save").faults(Faults { crash_point, ..Faults::NONE });
//! let report = checker.seeds(0..500).run(&save);
//! assert_eq!(report.failures, 0);
//! assert_eq!(report.faults.of("power-failure"), 500);
//! ```
//!
//! The tasks of a life that crashes are unwound, as one would kill threads, while everything else
//! stands still. Their destructors run, since memory is to be given back, but touch no file, and
//! what they do to locks and channels that the life shared with others says nothing: what the world
//! keeps of a life, such as what it was told is durable, belongs into types of `std`, used between
//! two scheduling points. Instrumented `static`s keep their values over a crash.
//!
//! The schedulers `lens` and `surw` know objects by their addresses. Where a life gives memory back and
//! another takes it, they may take two objects for one, and then an execution depends on where the
//! allocator puts things: let the world keep what a life shared among its tasks to the end.
//!
//! What a power failure does to files is told in [`fs`](crate::fs). Which faults end lives, and how
//! often, is in [`Faults`](crate::Faults).

#![expect(unsafe_code, reason = "a life borrows from the task that starts it")]

use std::panic::Location;

use crate::core::{Execution, LifeEnd, current};
use crate::explore::CrashKind;
use crate::thread::{Thread, start};
use crate::trace::OpKind;

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// Its function returned this.
    Returned(T),
    /// It crashed: all its tasks are dead.
    Crashed(CrashKind),
}

impl<T> Ended<T> {
    /// What the function returned, if it did.
    pub fn returned(self) -> Option<T> {
        match self {
            Self::Returned(value) => Some(value),
            Self::Crashed(_) => None,
        }
    }
}

/// Runs `f` as a process: a task called `life`, with all that it spawns. Returns when `f` has
/// returned, or when the life has crashed.
///
/// As in a process, tasks that still run when `f` returns end with it. Several lives may run at one
/// time, one per task that waits for one, and a life may start others, which die with it.
///
/// # Panics
///
/// Outside of executions, where nothing crashes.
#[track_caller]
pub fn life<F, T>(f: F) -> Ended<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let place = Location::caller();
    let execution = inside("life");
    // SAFETY: this frame waits for the task and all others of its life, whatever happens; if the
    // execution ends first, the machine ends tasks in the reverse order of their creation.
    let packet = unsafe { start(execution, Some("life".into()), f, place) };
    packet.borrows_from(execution.current.get());
    let life = execution.begin_life(packet.id());
    while !execution.has_ended(packet.id()) && !execution.is_unwinding() {
        execution.wait_for_end(packet.id(), place);
    }
    match execution.end_life(life) {
        LifeEnd::Crashed(kind) => Ended::Crashed(kind),
        LifeEnd::Returned => match packet.take() {
            Some(Ok(value)) => Ended::Returned(value),
            // It was killed, and its life is over without a crash; or the execution is over.
            Some(Err(_)) | None => Ended::Crashed(CrashKind::Process),
        },
    }
}

/// The power fails: all lives end, and files keep what was synced, and of the rest what the seed
/// says. A caller that is part of a life dies here. A scheduling point.
///
/// # Panics
///
/// Outside of executions.
#[track_caller]
pub fn power_failure() {
    let execution = inside("power_failure");
    execution.point(OpKind::FileOther, 0, Location::caller());
    execution.crash_here(CrashKind::Power);
}

/// The process crashes whose life the calling task is part of; files keep everything. Does not
/// return. A scheduling point.
///
/// # Panics
///
/// Outside of lives: the body of an execution cannot crash alone.
#[track_caller]
pub fn process_crash() {
    let execution = inside("process_crash");
    assert!(
        execution.in_life(),
        "holdup::crash::process_crash was called outside of a life: call it within crash::life"
    );
    execution.point(OpKind::FileOther, 0, Location::caller());
    execution.crash_here(CrashKind::Process);
}

/// Task `thread` dies at the scheduling point where it is, alone: it never runs again and gives
/// nothing back. Locks that it holds stay locked, and who waits for them waits for ever; whoever
/// joins it is told that it was killed. This is what tells code that needs no lock from code that
/// only looks so. Tasks of its scopes die with it. A scheduling point; does not return if `thread` is
/// the caller.
///
/// What is on the stack of a dead task is dropped when its life or the execution is over, and leaks
/// if the task was spawned into a scope.
///
/// # Panics
///
/// Outside of executions, or if `thread` is no task of this one.
#[track_caller]
pub fn kill(thread: &Thread) {
    let execution = inside("kill");
    let Some(id) = thread.task_id() else {
        panic!("holdup::crash::kill was given a thread of the system, not a task")
    };
    execution.point(OpKind::Yield, 0, Location::caller());
    execution.kill(id, Location::caller());
}

#[track_caller]
fn inside(what: &str) -> &'static Execution {
    match current() {
        Some(execution) => execution,
        None => panic!(
            "holdup::crash::{what} was called outside of an execution: \
             call it from the body of a test with #[holdup::test] or of a Checker"
        ),
    }
}
