//! Rounds, threads, the best of them, and how it is printed.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use holdup_engine::{BufferPool, Session};
use rustix::time::{ClockId, clock_gettime};

/// The best of at least so many rounds counts, not counting those that were not left alone,
const ROUNDS: u32 = 9;
/// of as many as fit into this time,
const AT_LEAST: Duration = Duration::from_millis(300);
/// and where others want the processors, of no more than fit into this.
const AT_MOST: Duration = Duration::from_secs(4);
/// A round was left alone if its threads had at least this share of the processors they could use.
const ALONE: f64 = 0.9;
/// Pairs of locked operations in one calibration: a fraction of a millisecond.
const PAIRS: u32 = 20_000;

/// One line of the result.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) case: String,
    pub(crate) threads: u32,
    /// Time of one operation of one thread, in nanoseconds.
    pub(crate) ns_per_op: f64,
    /// Operations a second of all threads together.
    pub(crate) ops_per_second: f64,
    /// Time of two locked operations on a hot line, meanwhile, in nanoseconds.
    pub(crate) pair_ns: f64,
    /// What the threads had of the processors they could use, in the round that is told.
    pub(crate) share: f64,
    /// Memory that came into use, in bytes, where the case is about that.
    pub(crate) resident_bytes: Option<u64>,
}

/// What came of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// How long it took.
    pub(crate) took: Duration,
    /// How often each thread did what is to be told.
    pub(crate) count: u32,
    /// What the threads had of the processors they could use: 1 for processor time.
    pub(crate) share: f64,
}

impl Round {
    /// Of one thread, in processor time.
    pub(crate) fn alone(took: Duration, count: u32) -> Self {
        Self { took, count, share: 1.0 }
    }

    fn ns_per_op(self) -> f64 {
        self.took.as_nanos() as f64 / f64::from(self.count)
    }
}

/// Collects rows.
pub(crate) struct Bench<'a> {
    only: &'a str,
    rows: Vec<Row>,
    cases: Vec<String>,
}

impl<'a> Bench<'a> {
    pub(crate) fn new(only: &'a str) -> Self {
        Self { only, rows: Vec::new(), cases: Vec::new() }
    }

    /// The rows, or why there are none.
    pub(crate) fn finish(mut self) -> Result<Vec<Row>, String> {
        if self.rows.is_empty() {
            self.cases.sort_unstable();
            self.cases.dedup();
            let cases = self.cases.join(", ");
            return Err(format!("no case has `{}` in its name; there are {cases}", self.only));
        }
        Ok(self.rows)
    }

    /// Times `round` again and again, and takes the best of those that were left alone. If none
    /// was, the one that was disturbed least.
    pub(crate) fn rounds(&mut self, case: &str, threads: u32, mut round: impl FnMut() -> Round) {
        self.cases.push(case.to_owned());
        if !case.contains(self.only) {
            return;
        }
        let (mut best, mut pair_ns) = (None::<Round>, f64::INFINITY);
        let (start, mut rounds) = (Instant::now(), 0);
        let is_enough = |rounds, time| rounds >= ROUNDS && time >= AT_LEAST || time >= AT_MOST;
        while best.is_none() || !is_enough(rounds, start.elapsed()) {
            pair_ns = pair_ns.min(two_locked_operations());
            let round = round();
            rounds += u32::from(round.share >= ALONE);
            let is_better = best.is_none_or(|best| {
                if best.share.min(round.share) >= ALONE {
                    round.ns_per_op() < best.ns_per_op()
                } else {
                    round.share > best.share
                }
            });
            best = if is_better { Some(round) } else { best };
        }
        let Some(best) = best else { return };
        let ns_per_op = best.ns_per_op();
        self.rows.push(Row {
            case: case.to_owned(),
            threads,
            ns_per_op,
            ops_per_second: 1e9 / ns_per_op * f64::from(threads),
            pair_ns,
            share: best.share,
            resident_bytes: None,
        });
    }

    /// Runs `operation(session, thread, n)` for n in `0..count` on every thread. A round ends with
    /// its last thread.
    pub(crate) fn threads<'p>(
        &mut self,
        case: &str,
        (threads, count): (u32, u32),
        pool: impl Fn() -> &'p BufferPool,
        operation: impl Fn(&Session<'_>, u32, u32) + Sync,
    ) {
        self.rounds(case, threads, || {
            let (pool, operation) = (pool(), &operation);
            if threads == 1 {
                let session = pool.session();
                let start = processor_time();
                (0..count).for_each(|n| operation(&session, 0, n));
                return Round::alone(processor_time() - start, count);
            }
            let arrived = &AtomicU64::new(0);
            let one = move |thread| {
                let session = pool.session();
                // Not a barrier that sleeps: who is woken last would begin when others have ended.
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < u64::from(threads) {
                    thread::yield_now();
                }
                let (start, had) = (Instant::now(), processor_time());
                (0..count).for_each(|n| operation(&session, thread, n));
                (start, Instant::now(), processor_time() - had)
            };
            let times: Vec<_> = thread::scope(|scope| {
                let tasks: Vec<_> = (0..threads).map(|t| scope.spawn(move || one(t))).collect();
                tasks.into_iter().map(|task| task.join().expect("no operation panics")).collect()
            });
            let first = times.iter().map(|(start, ..)| *start).min().expect("there are threads");
            let last = times.iter().map(|(_, end, _)| *end).max().expect("there are threads");
            let had: Duration = times.iter().map(|(.., had)| *had).sum();
            let processors = thread::available_parallelism().map_or(1, |n| n.get() as u32);
            let usable = (last - first) * threads.min(processors);
            Round { took: last - first, count, share: had.as_secs_f64() / usable.as_secs_f64() }
        });
    }

    /// Adds to the last row, if it is the one of `case`, what memory it took.
    pub(crate) fn resident(&mut self, case: &str, resident_bytes: u64) {
        if let Some(row) = self.rows.last_mut().filter(|row| row.case == case) {
            row.resident_bytes = Some(resident_bytes);
        }
    }
}

/// Time this thread has had a processor. What one thread does is told in it, as it does not count
/// when others are given the processor; how several meet is told in time on the wall.
pub(crate) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread has not run for less than no time")
}

/// Time of two locked operations on a hot line, in nanoseconds: what a pin and an unpin cost if
/// nothing else did.
fn two_locked_operations() -> f64 {
    let word = AtomicU64::new(0);
    let start = processor_time();
    for _ in 0..PAIRS {
        let old = word.load(Ordering::Acquire);
        let _ = word.compare_exchange(old, old + 1, Ordering::AcqRel, Ordering::Acquire);
        black_box(word.fetch_sub(1, Ordering::AcqRel));
    }
    (processor_time() - start).as_nanos() as f64 / f64::from(PAIRS)
}

pub(crate) fn print_json(rows: &[Row]) {
    let row = |row: &Row| {
        let Row { case, threads, ns_per_op, ops_per_second, pair_ns, share, resident_bytes } = row;
        let resident =
            resident_bytes.map_or(String::new(), |bytes| format!(r#","resident_bytes":{bytes}"#));
        format!(
            r#"{{"case":"{case}","threads":{threads},"ns_per_op":{ns_per_op:.1},"ops_per_second":{ops_per_second:.0},"pair_ns":{pair_ns:.2},"share":{share:.2}{resident}}}"#
        )
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    println!(r#"{{"rows":[{}]}}"#, rows.join(","));
}

pub(crate) fn print_table(rows: &[Row]) {
    println!(
        "{:<37} {:>7} {:>12} {:>16} {:>14} {:>8}",
        "case", "threads", "ns/op", "million ops/s", "2 locked, ns", "ratio"
    );
    for Row { case, threads, ns_per_op, ops_per_second, pair_ns, share, resident_bytes } in rows {
        let millions = ops_per_second / 1e6;
        let ratio = ns_per_op / pair_ns;
        print!(
            "{case:<37} {threads:>7} {ns_per_op:>12.1} {millions:>16.3} {pair_ns:>14.1} {ratio:>8.1}"
        );
        if let Some(bytes) = resident_bytes {
            print!("  {} KiB came into use", bytes >> 10);
        }
        if *share < ALONE {
            print!("  not left alone: had {:.0} % of the processors", share * 100.0);
        }
        println!();
    }
}
