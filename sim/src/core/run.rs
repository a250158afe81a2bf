//! An execution from its beginning to its end.
//!
//! The host resumes whichever task is current until the execution stops, does what is only the
//! host's to do, such as burying the dead of a crash, and in the end unwinds whoever is left.
//!
//! Keeps: nothing of one execution is left for the next but stacks and task slots.
#![expect(unsafe_code, reason = "makes the first task, whose body is borrowed")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::draws::Draws;
use super::execution::{
    CURRENT, Execution, Mode, Outcome, Setup, WATCHDOG_STEPS, in_task, mix, text_hash,
};
use super::panics::PanicRecord;
use super::recorder::Recorder;
use crate::scheduler::Strategy;

impl Execution {
    /// Runs `body` as the task `main` under `strategy`, to the end or to the first failure.
    pub(crate) fn run(
        &self,
        seed: u64,
        setup: &Setup,
        strategy: impl FnOnce(&mut Draws) -> Strategy,
        body: &(dyn Fn() + Sync),
        recorder: Option<Box<Recorder>>,
    ) -> Outcome {
        self.begin(seed, setup, strategy, recorder);
        let outer = CURRENT.replace(self);
        assert!(outer.is_null(), "an execution was started inside an execution");
        let main = move || {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
                in_task(|execution| execution.caught_panic(&*payload));
            }
        };
        // SAFETY: all tasks end, or are abandoned and never run again, before `run` returns.
        unsafe { self.create(None, main) };
        self.set_current(0);
        self.run_tasks();
        while self.carry_out_doom() {
            self.run_tasks();
        }
        if self.inner().unfinished > 0 || self.inner().lives.killed > 0 {
            self.tear_down();
        }
        CURRENT.set(ptr::null());
        self.end()
    }

    fn begin(
        &self,
        seed: u64,
        setup: &Setup,
        strategy: impl FnOnce(&mut Draws) -> Strategy,
        recorder: Option<Box<Recorder>>,
    ) {
        let inner = self.inner();
        inner.draws.start(seed);
        inner.strategy = strategy(&mut inner.draws);
        inner.strategy_at = 0;
        inner.mode = Mode::Running;
        inner.seed = seed;
        inner.hash = 0x9e37_79b9_7f4a_7c15;
        inner.epoch += 1;
        inner.leap_ns = 0;
        inner.n_tasks = 0;
        inner.unfinished = 0;
        inner.watchdog_at = WATCHDOG_STEPS;
        inner.watchdog_changes = u64::MAX;
        inner.unwinding_steps = 0;
        inner.laps = 0;
        inner.n_holds = 0;
        inner.setup = *setup;
        inner.listening = recorder.is_some() || inner.strategy.listens();
        if setup.faults.any() {
            inner.fault_draws.start(seed);
        }
        inner.crash_at = u64::MAX;
        inner.crash_started = false;
        inner.lives.begin();
        self.begin_storm();
        inner.workload_started = false;
        inner.wake_started = false;
        inner.special_at = inner.setup.max_steps.min(inner.watchdog_at);
        self.recording.set(recorder.is_some());
        self.begin_clocks(setup.clocks, recorder.is_some());
        inner.recorder = recorder;
        self.step.set(0);
        self.next_event.set(0);
        self.changes.set(0);
        self.watching.set(0);
        self.stop.set(false);
    }

    fn end(&self) -> Outcome {
        let inner = self.inner();
        if self.recording.get() {
            self.write_down_tasks();
        }
        inner.runnable.clear();
        inner.timers.clear();
        inner.watchers.clear();
        inner.panic = None;
        inner.later_panic = None;
        inner.extensions.clear();
        if !inner.copies.is_empty()
            && let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.inner().copies.drop_all()))
        {
            let record = PanicRecord::from_payload(&*payload);
            inner.failure.get_or_insert_with(|| record.failure("a static's destructor".into()));
        }
        let failure = inner.failure.take();
        let verdict = failure.as_ref().map_or(0, |failure| text_hash(&failure.rule));
        let hash = mix(mix(inner.hash, self.step.get()), verdict);
        let (steps, retire, arm) = (self.step.get(), inner.retire, inner.strategy.arm());
        let (needed_clocks, faults) = (inner.needed_clocks, inner.faults.take());
        Outcome { steps, hash, failure, retire, arm, needed_clocks, faults }
    }

    /// The scheduler of the latest run, and what was written down.
    pub(crate) fn take_results(&self) -> (Strategy, Option<Box<Recorder>>) {
        let inner = self.inner();
        let random = Strategy::Random(crate::scheduler::Random);
        (std::mem::replace(&mut inner.strategy, random), inner.recorder.take())
    }
}
