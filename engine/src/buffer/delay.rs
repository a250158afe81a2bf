//! The delay ladder of a spinlock: spin a while, then sleep longer and longer.
//!
//! A session learns how long spinning pays: it spins longer after a wait that ended without sleep
//! and shorter after one that did not. What it learnt is folded into an estimate all sessions
//! start from. The sleep grows by a random factor between 1 and 2 up to a second and then begins
//! anew, so that a holder of low priority gets to run in the end.
//!
//! Touches: the session's own estimate. Keeps: after 1000 whole sleeps the lock is stuck, and we panic.
//! Source: `s_lock.c` of PostgreSQL.

use super::session::Session;
use crate::sync::{
    Backoff, Condvar, Duration, Instant, Mutex, lock, mutant, note, spin_loop, wait_for,
};

pub(super) const MIN_SPINS_PER_DELAY: u32 = 10;
pub(super) const MAX_SPINS_PER_DELAY: u32 = 1000;
const MIN_DELAY_US: u64 = 1_000;
const MAX_DELAY_US: u64 = 1_000_000;

/// A sleep that signals cut short, as they do a process's. It goes on until its time is over: a sleep
/// that counts as whole when it was not makes a lock look stuck whose holder only waits for the
/// processor (B74).
#[derive(Debug, Default)]
pub(super) struct Nap {
    mutex: Mutex<()>,
    /// Nobody notifies it.
    signal: Condvar,
}

impl Nap {
    fn sleep(&self, time: Duration) {
        let start = Instant::now();
        let mut guard = lock(&self.mutex);
        while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            guard = wait_for(&self.signal, guard, left);
            if mutant::is("spin.count_interrupted_sleeps") {
                break;
            }
        }
    }
}

/// One wait for one spinlock.
pub(super) struct SpinDelay<'s, 'p> {
    session: &'s Session<'p>,
    what: &'static str,
    buf_id: u32,
    spins: u32,
    delays: u32,
    /// Length of the next sleep, in microseconds; 0 before the first.
    delay_us: u64,
}

impl<'s, 'p> SpinDelay<'s, 'p> {
    pub(super) fn new(session: &'s Session<'p>, what: &'static str, buf_id: u32) -> Self {
        Self { session, what, buf_id, spins: 0, delays: 0, delay_us: 0 }
    }

    /// The wait is over; learn from it.
    pub(super) fn finish(self) {
        let estimate = &self.session.spins_per_delay;
        let spins = estimate.get();
        estimate.set(if self.delay_us == 0 {
            (spins + 100).min(MAX_SPINS_PER_DELAY)
        } else {
            (spins - 1).max(MIN_SPINS_PER_DELAY)
        });
    }
}

impl Backoff for SpinDelay<'_, '_> {
    fn spin(&mut self) {
        spin_loop();
        self.spins += 1;
        if self.spins < self.session.spins_per_delay.get() {
            return;
        }
        self.delays += 1;
        let (what, buf_id) = (self.what, self.buf_id);
        let most = self.session.pool.options.spin.delays;
        assert!(
            self.delays <= most,
            "stuck-spinlock: {what} of buffer {buf_id} not free after {most} delays"
        );
        if self.delay_us == 0 {
            self.delay_us = MIN_DELAY_US;
        }
        note!("backs off from {what} of buffer {buf_id}");
        self.session.nap.sleep(Duration::from_micros(self.delay_us));
        self.delay_us = longer(self.delay_us, self.session.fraction());
        self.spins = 0;
    }
}

/// The sleep after one of `delay_us`, where `fraction` is in [0, 1).
pub(super) fn longer(delay_us: u64, fraction: f64) -> u64 {
    let grown = delay_us + (delay_us as f64 * fraction + 0.5) as u64;
    if grown > MAX_DELAY_US { MIN_DELAY_US } else { grown }
}

/// The shared estimate after a session ends that learnt `mine`.
pub(super) fn fold(shared: u32, mine: u32) -> u32 {
    (shared * 15 + mine) / 16
}
