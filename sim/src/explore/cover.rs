//! Coverage of a program: its seeds run again, written down and looked at.
//!
//! Writing an execution down costs about ten times as much as running it, so a sweep looks at a
//! sample of its seeds. Counts add up, so the result does not depend on the number of jobs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Checker, pilot};
use crate::core::Execution;
use crate::coverage::Coverage;

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

impl Checker {
    /// What the executions of all seeds show of each other's doings. A failing execution counts as
    /// far as it went.
    pub fn coverage(&self, body: &(dyn Fn() + Sync)) -> Coverage {
        let knowing = &*self.knowing_lives(body);
        let pilot = pilot::measure(self, body);
        let next = AtomicU64::new(0);
        let total = Mutex::new(Coverage::default());
        // A thread that must retire ends; the next one takes the next seed.
        let work = || {
            let execution = Execution::new(self.stack_bytes);
            let mut coverage = Coverage::default();
            let mut retired = false;
            while !retired {
                let position = next.fetch_add(1, Ordering::Relaxed);
                if position >= self.n_seeds() {
                    break;
                }
                let recorded = knowing.record(&execution, &pilot, self.seed_at(position), body);
                coverage.observe(&recorded.trace);
                retired = recorded.retire;
            }
            total.lock().unwrap_or_else(std::sync::PoisonError::into_inner).merge(&coverage);
            retired
        };
        std::thread::scope(|scope| {
            let workers = (self.jobs as u64).min(self.n_seeds());
            for _ in 0..workers {
                scope.spawn(|| while std::thread::scope(|inner| joined(inner.spawn(work))) {});
            }
        });
        total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
