//! Scheduling points: the one thing every visible operation does first.
//!
//! The fast path counts the step, remembers the object, and compares the step with the next event:
//! three memory operations and a branch. Everything else happens in `point_slow`, which decides and
//! suspends in the same frame, so that no frame of ours lies between the task's operation and the
//! switch but this one.

use super::execution::{Execution, Mode, STEP_NS, WATCHDOG_STEPS};
use super::panics;
use super::task::{Pending, Place, Spin};
use crate::scheduler::NOBODY;
use crate::trace::{OpKind, SwitchReason};

impl Execution {
    /// A scheduling point before the operation `kind` on `object` (an address; 0 for none).
    ///
    /// Returns whether the operation is to be told of once it is done: written down, or entered in
    /// the clocks.
    #[inline(always)]
    pub(crate) fn point(&self, kind: OpKind, object: usize, place: Place) -> bool {
        let step = self.step.get() + 1;
        self.step.set(step);
        self.me().last_object = object;
        if step >= self.next_event.get() { self.point_slow(kind, object, place) } else { false }
    }

    #[cold]
    #[inline(never)]
    fn point_slow(&self, kind: OpKind, object: usize, place: Place) -> bool {
        let step = self.step.get();
        if self.inner().mode != Mode::Running && self.point_while_unwinding() {
            return false;
        }
        self.me().pending = Pending { kind, object, place };
        if step >= self.inner().special_at {
            self.special();
        }
        if let Spin::Lap { .. } = self.me().spin {
            self.write_down_lap(object, place);
        }
        if step >= self.inner().strategy_at {
            let next = self.ask(true);
            if next != self.current.get() {
                if next == NOBODY {
                    self.stop.set(true);
                    self.stop_here();
                }
                self.switch_to(next, SwitchReason::Preempted);
            }
        } else {
            self.rearm();
        }
        self.observed.get()
    }

    /// While a task unwinds, scheduling points do nothing. Returns false if it unwinds no more:
    /// the program caught its panic.
    #[cold]
    fn point_while_unwinding(&self) -> bool {
        let inner = self.inner();
        if inner.mode == Mode::Panicking && !std::thread::panicking() {
            inner.mode = Mode::Running;
            inner.panic = None;
            inner.strategy_at = 0;
            self.stop_clocks();
            return false;
        }
        inner.unwinding_steps += 1;
        if inner.unwinding_steps > panics::MAX_UNWINDING_STEPS {
            self.abandon("a destructor did not end while its task was unwound");
        }
        true
    }

    /// Timers, the step limit, tasks that spin without telling.
    #[cold]
    #[inline(never)]
    fn special(&self) {
        let step = self.step.get();
        let inner = self.inner();
        if step >= inner.setup.max_steps {
            self.fail_here(self.out_of_steps());
        }
        if step >= inner.crash_at {
            self.crash_due();
        }
        self.fire_timers();
        if step >= inner.watchdog_at {
            inner.watchdog_at = step + WATCHDOG_STEPS;
            let alone = self.me().switched_in + WATCHDOG_STEPS <= step;
            let unchanged = inner.watchdog_changes == self.changes.get();
            inner.watchdog_changes = self.changes.get();
            if alone && unchanged {
                self.begin_lap(false);
            }
        }
        self.update_special();
    }

    /// The next event from what scheduler and machine asked for.
    #[inline(always)]
    pub(super) fn set_next_event(&self, strategy_at: u64) {
        let inner = self.inner();
        let every_step = self.observed.get() || inner.laps > 0;
        self.next_event.set(if every_step { 0 } else { strategy_at.min(inner.special_at) });
    }

    /// Sets the next event when the scheduler was not asked.
    fn rearm(&self) {
        let inner = self.inner();
        self.set_next_event(inner.strategy_at);
    }

    /// The next step at which [`Execution::special`] has something to do.
    pub(super) fn update_special(&self) {
        let inner = self.inner();
        let timer = inner.timers.iter().map(|&(deadline, _)| deadline).min();
        let timer_step = timer.map_or(u64::MAX, |deadline| {
            deadline.saturating_sub(inner.leap_ns).div_ceil(STEP_NS).max(self.step.get() + 1)
        });
        let machine = inner.setup.max_steps.min(inner.watchdog_at).min(inner.crash_at);
        inner.special_at = machine.min(timer_step);
        if self.next_event.get() > inner.special_at {
            self.next_event.set(inner.special_at);
        }
    }

    /// Virtual time since the start of the execution.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        self.inner().leap_ns + self.step.get() * STEP_NS
    }
}
