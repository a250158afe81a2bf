//! Lives and their ends: processes within an execution, and tasks that die before their time.
//!
//! A *life* is a group of tasks, those that its first task spawned and their children. When it
//! crashes, all of them die at one step: the task that runs suspends to the host, which unwinds them
//! under the mode `Dying`, youngest first, while everything else stands still, and then goes on with
//! whoever lives. A task that is *killed* alone is not unwound: it never runs again, what it holds
//! stays held, and its stack is kept until its life or the execution is over, since others may
//! borrow from it.
//!
//! Touches: the books of the dead. Keeps: outside of crashes nothing here costs a step anything; a
//! crash at a drawn point is one more reason for `special`.
#![expect(unsafe_code, reason = "ends fibers")]

use super::execution::{Execution, Mode};
use super::fiber::Fiber;
use super::task::{Place, Spin};
use crate::explore::{CrashKind, CrashPoint, FaultKind, LifeSteps};
use crate::scheduler::Told;
use crate::trace::{SwitchReason, What};

/// The tasks of no life.
pub(super) const NO_LIFE: u32 = 0;

/// A group of tasks that live and die together. Its number is its place from 1 on.
struct Life {
    /// The life of the task that began it.
    parent: u32,
    /// The scheduling points before its first.
    from: u64,
    /// How many it had when it ended.
    steps: u64,
    /// The step at which it crashes, and how.
    crash: Option<(u64, CrashKind)>,
    ended: Option<LifeEnd>,
}

/// How a life ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LifeEnd {
    Returned,
    Crashed(CrashKind),
}

/// What is to be done by the host before anybody goes on.
enum Doom {
    /// These lives end so.
    Lives(Vec<u32>, LifeEnd),
}

/// All lives of an execution.
#[derive(Default)]
pub(super) struct Lives {
    all: Vec<Life>,
    doom: Option<Doom>,
    /// Killed tasks that have not been unwound.
    pub(super) killed: u32,
    /// What the world does when the power fails, once the dead are buried.
    on_power_failure: Vec<fn(&Execution)>,
}

impl Lives {
    pub(super) fn begin(&mut self) {
        self.all.clear();
        self.doom = None;
        self.killed = 0;
        self.on_power_failure.clear();
    }

    fn get(&self, life: u32) -> Option<&Life> {
        self.all.get((life as usize).checked_sub(1)?)
    }

    fn is_running(&self, life: u32) -> bool {
        self.get(life).is_some_and(|life| life.ended.is_none())
    }

    /// Whether `life` is `ancestor` or began within it.
    fn is_within(&self, life: u32, ancestor: u32) -> bool {
        let parent = |&life: &u32| self.get(life).map(|life| life.parent);
        std::iter::successors(Some(life), parent).any(|life| life == ancestor)
    }

    fn next_crash(&self) -> u64 {
        let crashes = self.all.iter().filter(|life| life.ended.is_none());
        crashes.filter_map(|life| life.crash.map(|(at, _)| at)).min().unwrap_or(u64::MAX)
    }

    /// How many steps each life took, for those that came to their end.
    pub(super) fn lengths(&self) -> LifeSteps {
        let mut lengths = LifeSteps::default();
        let returned = |life: &&Life| life.ended == Some(LifeEnd::Returned);
        for (nth, life) in self.all.iter().enumerate().filter(|(_, life)| returned(life)) {
            lengths.observe(nth, life.steps);
        }
        lengths
    }
}

impl Execution {
    /// A life begins, whose first task is `task`, just made by the running one.
    pub(crate) fn begin_life(&self, task: u32) -> u32 {
        let from = self.step.get();
        let parent = self.me().life;
        let nth = self.inner().lives.all.len();
        let crash = match self.inner().setup.faults.crash_point {
            CrashPoint::Never => None,
            CrashPoint::At(kind, nth) => Some((from + nth.max(1), kind)),
            CrashPoint::Drawn(kind) => {
                let range = self.inner().setup.life_steps.range(nth);
                Some((from + 1 + u64::from(self.crash_draw(range)), kind))
            }
        };
        let inner = self.inner();
        inner.lives.all.push(Life { parent, from, steps: 0, crash, ended: None });
        let life = inner.lives.all.len() as u32;
        inner.tasks[task as usize].life = life;
        inner.crash_at = inner.lives.next_crash();
        self.update_special();
        life
    }

    /// The first task of `life` has come to its end, or the life has crashed: the calling task, which
    /// is of another life, goes on when nothing is left of it.
    pub(crate) fn end_life(&self, life: u32) -> LifeEnd {
        if self.inner().lives.is_running(life) && !self.is_unwinding() {
            self.meet_doom(Doom::Lives(vec![life], LifeEnd::Returned));
        }
        for id in 0..self.inner().n_tasks as u32 {
            let task = &self.inner().tasks[id as usize];
            if task.finished && self.inner().lives.is_within(task.life, life) {
                self.clock_joined(id);
            }
        }
        self.inner().lives.get(life).and_then(|life| life.ended).unwrap_or(LifeEnd::Returned)
    }

    /// Whether task `id` has come to its end, or died.
    pub(crate) fn has_ended(&self, id: u32) -> bool {
        self.inner().tasks[id as usize].finished
    }

    /// Whether the calling task is part of a life.
    pub(crate) fn in_life(&self) -> bool {
        self.me().life != NO_LIFE
    }

    /// `what` is done whenever the power fails.
    pub(crate) fn on_power_failure(&self, what: fn(&Execution)) {
        self.inner().lives.on_power_failure.push(what);
    }

    /// A number below `n` that decides how a crash goes. These draws are of their own, so that what
    /// a crash does depends on what there is to lose rather than on the faults before it.
    pub(crate) fn crash_draw(&self, n: u32) -> u32 {
        self.tell(Told::Draws);
        let inner = self.inner();
        if !std::mem::replace(&mut inner.crash_started, true) {
            inner.crash_draws.start(inner.seed);
        }
        inner.crash_draws.below(n)
    }

    /// A crash whose time has come, at the scheduling point where the running task is.
    #[cold]
    pub(super) fn crash_due(&self) {
        let step = self.step.get();
        let due =
            |life: &Life| life.ended.is_none() && life.crash.is_some_and(|(at, _)| at <= step);
        let Some(at) = self.inner().lives.all.iter().position(due) else { return };
        let crash = self.inner().lives.all[at].crash.take();
        if let Some((_, kind)) = crash {
            self.crash(kind, at as u32 + 1);
        }
        let inner = self.inner();
        inner.crash_at = inner.lives.next_crash();
    }

    /// The power fails, or the process of `life` crashes. Returns to a caller that survives.
    #[cold]
    pub(crate) fn crash(&self, kind: CrashKind, life: u32) {
        if self.is_unwinding() {
            return;
        }
        self.tell(Told::Draws);
        let lives = &self.inner().lives;
        let doomed = match kind {
            CrashKind::Process => vec![life],
            CrashKind::Power => (1..=lives.all.len() as u32).collect(),
        };
        let doomed = doomed.into_iter().filter(|&life| lives.is_running(life)).collect();
        let place = self.me().pending.place;
        match kind {
            CrashKind::Process => {
                self.struck(FaultKind::ProcessCrash, 1, place, || "the process crashes".into());
            }
            CrashKind::Power => {
                self.struck(FaultKind::PowerFailure, 1, place, || "the power fails".into());
            }
        }
        self.meet_doom(Doom::Lives(doomed, LifeEnd::Crashed(kind)));
    }

    /// As [`Execution::crash`] for the life of the calling task.
    pub(crate) fn crash_here(&self, kind: CrashKind) {
        self.crash(kind, self.me().life);
    }

    /// Suspends the running task until the host has done `doom`; for good, if it is among the dead.
    fn meet_doom(&self, doom: Doom) {
        let step = self.step.get();
        let me = self.me();
        me.own_steps += step - me.switched_in;
        me.switched_in = step;
        self.inner().lives.doom = Some(doom);
        self.stop.set(true);
        self.suspend(self.task.get());
    }

    /// The host's part. False if there is nothing to do, or nobody to go on.
    #[cold]
    pub(super) fn carry_out_doom(&self) -> bool {
        let Some(Doom::Lives(doomed, end)) = self.inner().lives.doom.take() else { return false };
        let interrupted = self.current.get();
        self.inner().mode = Mode::Dying;
        self.inner().unwinding_steps = 0;
        self.next_event.set(0);
        for id in (0..self.inner().n_tasks as u32).rev() {
            let inner = self.inner();
            let life = inner.tasks[id as usize].life;
            let dies = doomed.iter().any(|&doomed| inner.lives.is_within(life, doomed));
            if dies {
                self.set_current(id);
                self.unwind_current();
                self.strike_off(id);
            }
        }
        self.set_current(interrupted);
        let step = self.step.get();
        let lives = &mut self.inner().lives;
        for life in &doomed {
            let life = &mut lives.all[*life as usize - 1];
            life.ended = Some(end);
            life.steps = step - life.from;
        }
        if self.inner().retire {
            // A destructor of the dead went wrong, and that is the failure.
            return false;
        }
        self.inner().mode = Mode::Running;
        self.inner().strategy_at = 0;
        self.inner().crash_at = self.inner().lives.next_crash();
        if end == LifeEnd::Crashed(CrashKind::Power) {
            for what in self.inner().lives.on_power_failure.clone() {
                what(self);
            }
        }
        self.stop.set(false);
        if self.inner().unfinished == 0 {
            return false;
        }
        self.update_special();
        // A survivor goes on where it was.
        !self.inner().tasks[interrupted as usize].finished
            || self.choose_next(SwitchReason::Finished)
    }

    /// Runs the current task, which does not run, to its end under the mode `Dying`.
    pub(super) fn unwind_current(&self) {
        let task = self.task.get();
        // SAFETY: a boxed slot that lives as long as the execution, whose task does not run.
        let fiber = unsafe { &mut (*task).fiber };
        if !fiber.is_alive() {
            return;
        }
        // A killed task of a scope may have outlived what it borrows.
        let gone = self.me().killed && self.me().scoped.is_some();
        if gone || (self.inner().setup.leak_unfinished && !self.inner().retire) {
            // For the others, the scenario declared that nothing on its stacks needs its drop.
            if let Some(stack) = fiber.take_stack() {
                self.inner().stacks.give(stack);
            }
            self.inner().unfinished -= u32::from(!self.me().finished) as usize;
            self.me().finished = true;
            return;
        }
        if !self.inner().retire {
            self.run_tasks();
        }
        // SAFETY: as above.
        let fiber = unsafe { &mut (*task).fiber };
        if fiber.is_alive() {
            // It would not end, as `abandon` said, or must not be touched: lost with all that its
            // stack owns.
            std::mem::forget(std::mem::replace(fiber, Fiber::NONE));
        }
    }

    /// Takes the current task, which is dead, out of all books.
    fn strike_off(&self, id: u32) {
        self.make_unrunnable(id);
        self.stop_watching(id);
        if let Spin::Lap { .. } = self.me().spin {
            self.end_lap();
        }
        let me = self.me();
        me.spin = Spin::No;
        me.wait = None;
        me.killed = false;
        let n_holds = me.holds.len() as u32;
        me.holds.clear();
        let inner = self.inner();
        inner.n_holds -= n_holds;
        inner.timers.retain(|&(_, task)| task != id);
        self.enable(self.join_object(id), u8::MAX);
    }

    /// Task `id` dies, and those of its scopes with it, since they borrow from it. Does not return if
    /// the running task is among them.
    pub(crate) fn kill(&self, id: u32, place: Place) {
        if self.is_unwinding() || self.inner().tasks[id as usize].finished {
            return;
        }
        self.tell(Told::Draws);
        self.struck(FaultKind::Kill, 1, place, || format!("{} is killed", self.role(id)));
        let mut dead = vec![id];
        // Tasks are younger than those that they borrow from.
        for (task, id) in self.inner().tasks[..self.inner().n_tasks].iter().zip(0..) {
            if !task.finished && task.scoped.is_some_and(|owner| dead.contains(&owner)) {
                dead.push(id);
            }
        }
        let me = self.current.get();
        for &id in &dead {
            self.lay_down(id);
        }
        if self.inner().unfinished == 0 {
            self.stop.set(true);
        }
        if dead.contains(&me) {
            let me = self.task.get();
            if !self.stop.get() {
                self.choose_next(SwitchReason::Finished);
            }
            loop {
                self.suspend(me);
            }
        }
    }

    /// Task `id` never runs again, and keeps what it holds.
    fn lay_down(&self, id: u32) {
        if id == self.current.get() {
            if let Spin::Lap { .. } = self.me().spin {
                self.end_lap();
            }
            if self.recording.get() {
                self.record(None, What::Finished);
            }
        }
        self.make_unrunnable(id);
        self.stop_watching(id);
        let inner = self.inner();
        inner.timers.retain(|&(_, task)| task != id);
        let task = &mut inner.tasks[id as usize];
        task.wait = None;
        task.killed = true;
        task.finished = true;
        inner.unfinished -= 1;
        inner.lives.killed += 1;
        self.enable(self.join_object(id), u8::MAX);
    }

    /// How long the lives of the latest run were that came to their end.
    pub(crate) fn life_steps(&self) -> LifeSteps {
        self.inner().lives.lengths()
    }
}
