//! One execution: whose turn it is, and the loop that resumes whoever it is.
//!
//! All tasks of an execution are coroutines on one OS thread. A task that makes way chooses who
//! goes on, makes it current, and suspends itself. Nothing here is shared between OS threads: a
//! worker owns one `Execution` and reuses it, stacks and task slots included, for all the seeds it
//! runs.
//!
//! Keeps: `current` and `task` name the task whose code runs; `runnable` holds exactly the tasks
//! with `runnable_at` set, at that index; while a task runs, its `fiber` is touched by the module
//! `fiber` only.
#![expect(unsafe_code, reason = "tasks and host share one state on one OS thread")]

use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clocks::{Clocks, KeepClocks};
use super::draws::{Domain, Draws};
use super::fiber::{Host, Stacks};
use super::lives::Lives;
use super::panics::{self, PanicRecord};
use super::recorder::Recorder;
use super::statics::{StaticCopies, StaticRange};
use super::task::{NOT_RUNNABLE, Pending, Task};
use super::words::Watcher;
use crate::explore::{Failure, FaultCounts, Faults, LifeSteps};
use crate::scheduler::{Strategy, Turn};
use crate::trace::{SwitchReason, What};

/// Virtual nanoseconds that a scheduling point takes.
pub(crate) const STEP_NS: u64 = 10;

/// What one execution is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) mutant: Option<&'static str>,
    pub(crate) faults: Faults,
    pub(crate) max_steps: u64,
    pub(crate) spin_budget: bool,
    pub(crate) leak_unfinished: bool,
    pub(crate) clocks: KeepClocks,
    /// How long the lives of the program are, where crashes are drawn.
    pub(crate) life_steps: LifeSteps,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) steps: u64,
    pub(crate) hash: u64,
    pub(crate) failure: Option<Failure>,
    /// This OS thread's panic state is beyond repair: run the next execution on another.
    pub(crate) retire: bool,
    pub(crate) arm: &'static str,
    /// Plain memory was touched and no clocks were kept: the seed has to be run again with them.
    pub(crate) needed_clocks: bool,
    /// The faults that struck, if any did.
    pub(crate) faults: Option<Box<FaultCounts>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Scheduling points schedule.
    Running,
    /// The running task panicked and unwinds; scheduling points do nothing.
    Panicking,
    /// The execution is over; unfinished tasks are unwound one after the other.
    Dying,
}

#[repr(C, align(64))]
pub(crate) struct Execution {
    // The hot line: all that a scheduling point without an event touches.
    pub(super) step: Cell<u64>,
    pub(super) next_event: Cell<u64>,
    /// The running task; what its latest step met are its first fields.
    pub(super) task: Cell<*mut Task>,
    pub(super) statics: StaticRange,
    /// Times an atomic word got another value.
    pub(super) changes: Cell<u64>,
    /// Tasks that watch words.
    pub(super) watching: Cell<u32>,
    pub(crate) current: Cell<u32>,
    pub(crate) recording: Cell<bool>,
    pub(super) stop: Cell<bool>,
    /// Somebody is to be told of every operation: the recorder, or the clocks.
    pub(super) observed: Cell<bool>,
    pub(super) clocked: Cell<bool>,
    pub(super) host: Host,
    inner: UnsafeCell<Inner>,
}

pub(crate) struct Inner {
    pub(super) mode: Mode,
    #[expect(clippy::vec_box, reason = "tasks are pointed to, so they must not move")]
    pub(crate) tasks: Vec<Box<Task>>,
    pub(crate) n_tasks: usize,
    pub(super) unfinished: usize,
    pub(super) runnable: Vec<u32>,
    pub(super) strategy: Strategy,
    pub(super) strategy_at: u64,
    /// The next step at which a timer, the step limit or the watchdog wants attention.
    pub(super) special_at: u64,
    /// The step of the next crash.
    pub(super) crash_at: u64,
    /// The step from which on no fault strikes.
    pub(super) storm_ends_at: u64,
    pub(super) watchdog_at: u64,
    pub(super) watchdog_changes: u64,
    pub(super) draws: Draws,
    pub(super) fault_draws: Draws,
    pub(super) crash_draws: Draws,
    pub(super) crash_started: bool,
    pub(super) workload_draws: Draws,
    pub(super) workload_started: bool,
    pub(super) wake_draws: Draws,
    pub(super) wake_started: bool,
    pub(super) hash: u64,
    pub(super) seed: u64,
    /// Which execution of the process this is; no two have the same number.
    pub(crate) epoch: u64,
    pub(super) leap_ns: u64,
    pub(super) timers: Vec<(u64, u32)>,
    pub(super) watchers: Vec<Watcher>,
    /// Tasks in a lap that is written down.
    pub(super) laps: u32,
    /// Locks that are owned, over all tasks.
    pub(super) n_holds: u32,
    pub(super) setup: Setup,
    pub(super) failure: Option<Failure>,
    pub(super) panic: Option<PanicRecord>,
    /// The latest panic while that one unwinds.
    pub(super) later_panic: Option<PanicRecord>,
    pub(super) unwinding_steps: u32,
    pub(super) retire: bool,
    pub(super) copies: StaticCopies,
    pub(super) stacks: Stacks,
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) clocks: Option<Box<Clocks>>,
    pub(super) needed_clocks: bool,
    pub(super) lives: Lives,
    /// The faults that struck in this execution.
    pub(super) faults: Option<Box<FaultCounts>>,
    /// Names given with `name!`, kept only where somebody will read them.
    pub(super) listening: bool,
    /// Whatever instrumented types keep for the length of an execution.
    pub(super) extensions: Vec<Box<dyn std::any::Any>>,
}

/// Where the next worker's epochs begin.
static EPOCHS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    pub(super) static CURRENT: Cell<*const Execution> = const { Cell::new(ptr::null()) };
}

/// The execution whose task is calling, or `None` outside of executions.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Execution> {
    let execution = CURRENT.get();
    // SAFETY: set by `Execution::run` for as long as it borrows the execution, on this OS thread.
    // Callers are task code, which `run` outlives.
    unsafe { execution.as_ref() }
}

impl Execution {
    pub(crate) fn new(stack_bytes: usize) -> Box<Self> {
        panics::install_hook();
        Box::new(Self {
            step: Cell::new(0),
            next_event: Cell::new(0),
            task: Cell::new(ptr::null_mut()),
            statics: StaticRange::of_this_program(),
            changes: Cell::new(0),
            watching: Cell::new(0),
            current: Cell::new(0),
            recording: Cell::new(false),
            stop: Cell::new(false),
            observed: Cell::new(false),
            clocked: Cell::new(false),
            host: Host::new(),
            inner: UnsafeCell::new(Inner {
                mode: Mode::Running,
                tasks: Vec::new(),
                n_tasks: 0,
                unfinished: 0,
                runnable: Vec::new(),
                strategy: Strategy::Random(crate::scheduler::Random),
                strategy_at: 0,
                special_at: 0,
                crash_at: u64::MAX,
                storm_ends_at: u64::MAX,
                watchdog_at: 0,
                watchdog_changes: 0,
                draws: Draws::new(Domain::Schedule),
                fault_draws: Draws::new(Domain::Fault),
                crash_draws: Draws::new(Domain::Crash),
                crash_started: false,
                workload_draws: Draws::new(Domain::Workload),
                workload_started: false,
                wake_draws: Draws::new(Domain::Wake),
                wake_started: false,
                hash: 0,
                seed: 0,
                epoch: EPOCHS.fetch_add(1 << 32, Ordering::Relaxed),
                leap_ns: 0,
                timers: Vec::new(),
                watchers: Vec::new(),
                laps: 0,
                n_holds: 0,
                setup: Setup {
                    mutant: None,
                    faults: Faults::default(),
                    max_steps: 0,
                    spin_budget: false,
                    leak_unfinished: false,
                    clocks: KeepClocks::Never,
                    life_steps: LifeSteps::default(),
                },
                failure: None,
                panic: None,
                later_panic: None,
                unwinding_steps: 0,
                retire: false,
                copies: StaticCopies::default(),
                stacks: Stacks::new(stack_bytes),
                recorder: None,
                clocks: None,
                needed_clocks: false,
                lives: Lives::default(),
                faults: None,
                listening: false,
                extensions: Vec::new(),
            }),
        })
    }

    /// The state behind the hot line.
    ///
    /// Short-lived by convention: no reference is kept across a switch or a call into task code.
    #[expect(clippy::mut_from_ref, reason = "see the safety comment")]
    #[inline(always)]
    pub(crate) fn inner(&self) -> &mut Inner {
        // SAFETY: one OS thread; every caller lets go before code that could call again.
        unsafe { &mut *self.inner.get() }
    }

    /// The running task.
    #[expect(clippy::mut_from_ref, reason = "see the safety comment")]
    #[inline(always)]
    pub(crate) fn me(&self) -> &mut Task {
        // SAFETY: points to a boxed task slot, which lives as long as the execution; short-lived
        // as `inner`.
        unsafe { &mut *self.task.get() }
    }

    #[inline(always)]
    pub(super) fn set_current(&self, id: u32) {
        let step = self.step.get();
        let task = &mut self.inner().tasks[id as usize];
        task.switched_in = step;
        self.current.set(id);
        self.task.set(&raw mut **task);
    }

    #[inline]
    pub(super) fn make_runnable(&self, id: u32) {
        let inner = self.inner();
        let task = &mut inner.tasks[id as usize];
        if task.runnable_at == NOT_RUNNABLE {
            task.runnable_at = inner.runnable.len() as u32;
            inner.runnable.push(id);
            inner.strategy_at = 0;
            self.next_event.set(0);
        }
    }

    #[inline]
    pub(super) fn make_unrunnable(&self, id: u32) {
        let inner = self.inner();
        let at = std::mem::replace(&mut inner.tasks[id as usize].runnable_at, NOT_RUNNABLE);
        if at != NOT_RUNNABLE {
            inner.runnable.swap_remove(at as usize);
            if let Some(&moved) = inner.runnable.get(at as usize) {
                inner.tasks[moved as usize].runnable_at = at;
            }
        }
    }

    /// Suspends the running task; whoever is current goes on, or the host.
    #[inline(always)]
    pub(super) fn suspend(&self, task: *mut Task) {
        self.transfer(task);
        if self.inner().mode == Mode::Dying {
            panics::unwind_dying();
        }
    }

    /// Switches from the running task to `next`.
    #[inline(always)]
    pub(super) fn switch_to(&self, next: u32, reason: SwitchReason) {
        let task = self.task.get();
        self.leave(next, reason);
        self.suspend(task);
    }

    /// The books of a switch: own steps, hash, record, who is current.
    #[inline(always)]
    pub(super) fn leave(&self, next: u32, reason: SwitchReason) {
        let step = self.step.get();
        let me = self.me();
        me.own_steps += step - me.switched_in;
        let inner = self.inner();
        inner.hash = mix(inner.hash, step << 16 | u64::from(next));
        if self.recording.get() {
            self.record(None, What::Switch { to: next, reason });
        }
        self.set_current(next);
    }

    /// The visible part of the tasks for a scheduler, and its answer.
    #[inline(always)]
    pub(super) fn ask(&self, at_point: bool) -> u32 {
        let inner = self.inner();
        let mut turn = Turn {
            step: self.step.get(),
            current: self.current.get(),
            runnable: &inner.runnable,
            tasks: &inner.tasks[..inner.n_tasks],
            draws: &mut inner.draws,
            next_event: 0,
        };
        let next = if at_point {
            inner.strategy.at_point(&mut turn)
        } else {
            inner.strategy.at_block(&mut turn)
        };
        let strategy_at = turn.next_event;
        inner.strategy_at = strategy_at;
        self.set_next_event(strategy_at);
        next
    }

    /// The value that the running task's atomic operation found.
    #[inline(always)]
    pub(crate) fn saw(&self, value: u64) {
        self.me().last_seen = value;
    }

    /// The running task tried to give a word the value that it has already: a test-and-set that
    /// found the lock taken.
    #[inline(always)]
    pub(crate) fn changed_nothing(&self) {
        self.me().changed_nothing_at = self.step.get();
    }

    /// Own steps of the running task so far.
    pub(super) fn own_steps(&self) -> u64 {
        let me = self.me();
        me.own_steps + (self.step.get() - me.switched_in)
    }

    /// The execution failed; the first failure is kept.
    #[cold]
    pub(crate) fn fail(&self, mut failure: Failure) {
        let inner = self.inner();
        if inner.failure.is_none() {
            if failure.task.is_empty() {
                failure.task = self.role(self.current.get());
            }
            inner.failure = Some(failure);
        }
        self.stop.set(true);
    }

    /// Fails and never returns to the calling task.
    #[cold]
    pub(crate) fn fail_here(&self, failure: Failure) -> ! {
        self.fail(failure);
        self.stop_here()
    }

    /// The execution is over: back to the host, to be unwound.
    #[cold]
    pub(crate) fn stop_here(&self) -> ! {
        self.suspend(self.task.get());
        panics::unwind_dying()
    }
}

/// Steps between two looks at whether a task spins without a hint.
pub(super) const WATCHDOG_STEPS: u64 = 4_096;

/// Runs `f` with the execution of the calling task, which exists.
#[inline(always)]
pub(super) fn in_task<R>(f: impl FnOnce(&'static Execution) -> R) -> R {
    match current() {
        Some(execution) => f(execution),
        None => unreachable!("a task runs outside of its execution"),
    }
}

#[inline(always)]
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
}

/// A hash of a text that never changes: it is part of the schedule hash.
pub(crate) fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash, u64::from(byte)))
}

impl Inner {
    pub(super) fn pending(&self, id: u32) -> Pending {
        self.tasks[id as usize].pending
    }
}
