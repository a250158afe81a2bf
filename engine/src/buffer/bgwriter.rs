//! The background writer: writes pages out before the clock hand comes for their buffers.
//!
//! It runs ahead of the hand. How far is an estimate of how many victims will be asked for until its
//! next round, from moving averages of how many were and of how many buffers the hand passes for
//! one. Where nothing is asked for it sleeps for long, and the next allocation wakes it.
//!
//! Touches: flags, content locks. Takes hand, laps and allocations from one look at the clock.
//! Keeps: writes only what is unpinned and has no point of usage; lapped by the hand, it goes on from
//! there.
//! Source: `BgBufferSync` in PostgreSQL's `bufmgr.c`, and the loop of `bgwriter.c`.

use super::desc::NOBODY;
use super::error::BufferError;
use super::session::Session;
use super::strategy::ClockPosition;
use crate::sync::{Duration, note};

/// Samples of the moving averages.
const SAMPLES: f64 = 16.0;
/// The whole pool is looked at in this time, in milliseconds, even where nothing happens.
const WHOLE_POOL_MS: u64 = 120_000;
/// So many delays long is a sleep where nothing happens.
const HIBERNATE_FACTOR: u32 = 50;

/// How a background writer goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BgWriterOptions {
    /// Sleep between two rounds.
    pub delay: Duration,
    /// Most pages written in a round; 0 switches the writing off.
    pub max_pages: u32,
    /// How many times the expected number of victims should be ready.
    pub multiplier: f64,
}

impl Default for BgWriterOptions {
    fn default() -> Self {
        Self { delay: Duration::from_millis(200), max_pages: 100, multiplier: 2.0 }
    }
}

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounts {
    /// Buffers looked at.
    pub scanned: u32,
    /// Pages written out.
    pub written: u32,
    /// Whether nothing happened and nothing is left to look at.
    pub is_idle: bool,
}

/// A background writer: what it learnt in earlier rounds.
#[derive(Clone, Debug)]
pub struct BgWriter {
    options: BgWriterOptions,
    /// The clock as the last round saw it, and where that round stopped.
    last: Option<(ClockPosition, Place)>,
    smoothed_allocations: f64,
    /// Buffers the hand passes for one victim.
    smoothed_density: f64,
}

/// A place on the way of the hand: laps, and the buffer in the lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    passes: u32,
    buf_id: u32,
}

/// What became of one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Synced {
    /// It was unpinned and had no point of usage, so the hand would take it.
    pub(super) is_reusable: bool,
    /// Its page was written out.
    pub(super) written: bool,
}

impl BgWriter {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new(options: BgWriterOptions) -> Self {
        Self { options, last: None, smoothed_allocations: 0.0, smoothed_density: 10.0 }
    }

    /// Writes and sleeps until `is_over`, which is asked before each round.
    ///
    /// # Errors
    ///
    /// [`BufferError::Storage`] at the first write that fails; the page is still dirty. Running it
    /// again goes on behind that page.
    pub fn run(
        &mut self,
        session: &Session<'_>,
        mut is_over: impl FnMut() -> bool,
    ) -> Result<(), BufferError> {
        let mut was_idle = false;
        while !is_over() {
            let is_idle = self.round(session)?.is_idle;
            let latch = &session.slot().latch;
            let woken = latch.wait_for(self.options.delay);
            if !woken && is_idle && was_idle {
                // Between the round and this, allocations can be missed: the sleep has an end.
                let strategy = &session.pool.strategy;
                strategy.set_sleeper(session.id);
                note!("hibernates");
                latch.wait_for(self.options.delay * HIBERNATE_FACTOR);
                strategy.set_sleeper(NOBODY);
            }
            was_idle = is_idle;
        }
        Ok(())
    }

    /// One round.
    ///
    /// # Errors
    ///
    /// As [`BgWriter::run`].
    pub fn round(&mut self, session: &Session<'_>) -> Result<RoundCounts, BufferError> {
        let n_buffers = session.pool().options().n_buffers;
        let clock = session.pool.strategy.sync_start();
        if self.options.max_pages == 0 {
            self.last = None;
            return Ok(RoundCounts { is_idle: true, ..RoundCounts::default() });
        }
        let (mut place, to_lap) = self.begin(clock, n_buffers);
        let ready = f64::from(n_buffers - to_lap) / self.smoothed_density;
        let wanted = self.wanted(clock.allocations, ready, n_buffers);

        let (mut counts, mut reusable) = (RoundCounts::default(), 0_u32);
        let mut failed = None;
        while counts.scanned < to_lap && ready + f64::from(reusable) < wanted {
            let synced = session.sync_buffer(place.buf_id, true);
            place = place.next(n_buffers);
            counts.scanned += 1;
            match synced {
                Ok(synced) => {
                    reusable += u32::from(synced.is_reusable || synced.written);
                    counts.written += u32::from(synced.written);
                }
                Err(error) => failed = Some(error),
            }
            if counts.written >= self.options.max_pages || failed.is_some() {
                break;
            }
        }
        self.learn_density(counts.scanned, reusable);
        self.last = Some((clock, place));
        counts.is_idle = to_lap == 0 && clock.allocations == 0;
        failed.map_or(Ok(counts), Err)
    }

    /// Where to go on, and how many buffers there are until the hand is lapped.
    fn begin(&mut self, clock: ClockPosition, n_buffers: u32) -> (Place, u32) {
        let hand = Place { passes: clock.complete_passes, buf_id: clock.hand };
        let Some((last, place)) = self.last else { return (hand, n_buffers) };
        let moved = Place { passes: last.complete_passes, buf_id: last.hand };
        self.learn_density(hand.behind(moved, n_buffers).max(0) as u32, clock.allocations);
        let ahead = place.behind(hand, n_buffers);
        match u32::try_from(ahead) {
            Ok(ahead) => (place, n_buffers - ahead.min(n_buffers)),
            // The hand has overtaken us.
            Err(_) => (hand, n_buffers),
        }
    }

    fn learn_density(&mut self, passed: u32, victims: u32) {
        if passed > 0 && victims > 0 {
            let density = f64::from(passed) / f64::from(victims);
            self.smoothed_density += (density - self.smoothed_density) / SAMPLES;
        }
    }

    /// How many reusable buffers there should be ahead of the hand.
    fn wanted(&mut self, allocations: u32, ready: f64, n_buffers: u32) -> f64 {
        let recent = f64::from(allocations);
        // A rise is believed at once, a fall slowly.
        if self.smoothed_allocations <= recent {
            self.smoothed_allocations = recent;
        } else {
            self.smoothed_allocations += (recent - self.smoothed_allocations) / SAMPLES;
        }
        let upcoming = (self.smoothed_allocations * self.options.multiplier).floor();
        if upcoming == 0.0 {
            // Or it would be a denormal number one day.
            self.smoothed_allocations = 0.0;
        }
        let rounds = (WHOLE_POOL_MS / (self.options.delay.as_millis() as u64).max(1)).max(1);
        upcoming.max((u64::from(n_buffers) / rounds) as f64 + ready)
    }
}

impl Place {
    fn next(self, n_buffers: u32) -> Self {
        if self.buf_id + 1 < n_buffers {
            return Self { buf_id: self.buf_id + 1, ..self };
        }
        Self { passes: self.passes.wrapping_add(1), buf_id: 0 }
    }

    /// Buffers from `other` to here on the way of the hand. Laps wrap around.
    fn behind(self, other: Self, n_buffers: u32) -> i64 {
        let laps = i64::from(self.passes.wrapping_sub(other.passes).cast_signed());
        laps * i64::from(n_buffers) + i64::from(self.buf_id) - i64::from(other.buf_id)
    }
}
