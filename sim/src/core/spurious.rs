//! Mishaps that programs must bear: wakes and failures for no reason, and the calm after them.
//!
//! A wake-up for no reason is a deadline of a few steps that the program did not ask for. A
//! test-and-set that fails for no reason is decided where every step is looked at anyway, so that
//! executions without such faults pay nothing for them.

use super::execution::{Execution, STEP_NS};
use super::task::Place;
use super::wait::Request;
use crate::explore::{Failure, FaultKind};
use crate::trace::OpKind;

/// Steps after which a wait ends for no reason, at most.
const LONGEST_WAIT_STEPS: u32 = 64;

impl Execution {
    /// Draws when faults end, and bounds what comes after them.
    pub(super) fn begin_storm(&self) {
        let inner = self.inner();
        let faults = inner.setup.faults;
        inner.storm_ends_at = u64::MAX;
        if faults.storm_steps == 0 {
            return;
        }
        let ends_at = 1 + u64::from(inner.fault_draws.below(faults.storm_steps));
        inner.storm_ends_at = ends_at;
        if faults.calm_steps > 0 {
            let calm_ends_at = ends_at + u64::from(faults.calm_steps);
            inner.setup.max_steps = inner.setup.max_steps.min(calm_ends_at);
        }
    }

    /// The execution had as many steps as it may have.
    #[cold]
    pub(super) fn out_of_steps(&self) -> Failure {
        let inner = self.inner();
        let (limit, faults) = (inner.setup.max_steps, inner.setup.faults);
        let storm = inner.storm_ends_at;
        if storm.checked_add(u64::from(faults.calm_steps)) == Some(limit) {
            let message = format!(
                "no fault struck after step {storm}, but {} more were not enough to end",
                faults.calm_steps
            );
            return Failure::new("progress", message);
        }
        Failure::new("step-limit", format!("the execution did not end within {limit} steps"))
    }

    /// The virtual time at which a wait that begins now ends for no reason, if it does so.
    #[inline]
    pub(crate) fn spurious_deadline_ns(&self) -> Option<u64> {
        if !self.wants_fault(|faults| faults.spurious_wakeup) {
            return None;
        }
        let steps = 1 + self.fault_draw(LONGEST_WAIT_STEPS);
        Some(self.now_ns() + u64::from(steps) * STEP_NS)
    }

    /// A wait ended for no reason.
    #[cold]
    pub(crate) fn woke_spuriously(&self, place: Place) {
        self.struck(FaultKind::SpuriousWakeup, 1, place, || "wakes up for no reason".to_owned());
    }

    /// Whether a test-and-set that could succeed fails for no reason.
    #[inline(always)]
    pub(crate) fn fails_spuriously(&self, place: Place) -> bool {
        self.observed.get() && self.fails_spuriously_slow(place)
    }

    #[cold]
    #[inline(never)]
    fn fails_spuriously_slow(&self, place: Place) -> bool {
        let fails = self.fault(
            FaultKind::SpuriousFailure,
            |faults| faults.spurious_failure,
            "fails for no reason",
            place,
        );
        if fails {
            self.progress();
        }
        fails
    }

    /// The running task got the lock at `object`: the seed may take it off the processor for long.
    #[cold]
    pub(super) fn may_be_descheduled(&self, object: usize, place: Place) {
        if !self.wants_fault(|faults| faults.descheduled) {
            return;
        }
        let longest_ms = self.inner().setup.faults.descheduled_ms.max(1);
        let ms = 1 + self.fault_draw(longest_ms);
        self.struck(FaultKind::Descheduled, 1, place, || {
            format!("is off the processor for {ms} ms")
        });
        let deadline_ns = Some(self.now_ns() + u64::from(ms) * 1_000_000);
        // Not a sleep in the sense of rules: nobody asked the program.
        let kind = OpKind::Sleep;
        let object = self.descheduled_object(object);
        self.wait(Request { kind, object, class: 1, deadline_ns, sleeps: false }, place);
    }

    /// Nobody enables it: only its time ends the wait.
    fn descheduled_object(&self, object: usize) -> usize {
        object ^ (1 << (usize::BITS - 1))
    }

    /// The running task will not do again what it did: no lap of a loop ends here.
    fn progress(&self) {
        self.changes.set(self.changes.get() + 1);
        if let super::task::Spin::Lap { .. } = self.me().spin {
            self.end_lap();
        }
        self.me().hint = super::task::Hint::default();
    }
}
