//! Rounds, threads, the best of them, and how it is printed.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use holdup_engine::{BufferPool, Session};
use rustix::time::{ClockId, clock_gettime};

/// The best of at least so many rounds counts,
const ROUNDS: u32 = 9;
/// and of as many as fit into this time: on a busy machine few rounds are left alone.
const AT_LEAST: Duration = Duration::from_millis(400);
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
    /// Memory that came into use, in bytes, where the case is about that.
    pub(crate) resident_bytes: Option<u64>,
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

    /// Times `round` again and again. It returns how long it took and how often it did what is to
    /// be told.
    pub(crate) fn rounds(
        &mut self,
        case: &str,
        threads: u32,
        mut round: impl FnMut() -> (Duration, u32),
    ) {
        self.cases.push(case.to_owned());
        if !case.contains(self.only) {
            return;
        }
        let (mut ns_per_op, mut pair_ns) = (f64::INFINITY, f64::INFINITY);
        let (start, mut rounds) = (Instant::now(), 0);
        while rounds < ROUNDS || start.elapsed() < AT_LEAST {
            rounds += 1;
            pair_ns = pair_ns.min(two_locked_operations());
            let (took, count) = round();
            ns_per_op = ns_per_op.min(took.as_nanos() as f64 / f64::from(count));
        }
        let ops_per_second = 1e9 / ns_per_op * f64::from(threads);
        let case = case.to_owned();
        self.rows.push(Row {
            case,
            threads,
            ns_per_op,
            ops_per_second,
            pair_ns,
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
                return (processor_time() - start, count);
            }
            let arrived = &AtomicU64::new(0);
            let one = move |thread| {
                let session = pool.session();
                // Not a barrier that sleeps: who is woken last would begin when others have ended.
                arrived.fetch_add(1, Ordering::AcqRel);
                while arrived.load(Ordering::Acquire) < u64::from(threads) {
                    thread::yield_now();
                }
                let start = Instant::now();
                (0..count).for_each(|n| operation(&session, thread, n));
                (start, Instant::now())
            };
            let times: Vec<_> = thread::scope(|scope| {
                let tasks: Vec<_> = (0..threads).map(|t| scope.spawn(move || one(t))).collect();
                tasks.into_iter().map(|task| task.join().expect("no operation panics")).collect()
            });
            let first = times.iter().map(|(start, _)| *start).min().expect("there are threads");
            let last = times.iter().map(|(_, end)| *end).max().expect("there are threads");
            (last - first, count)
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
        let Row { case, threads, ns_per_op, ops_per_second, pair_ns, resident_bytes } = row;
        let resident =
            resident_bytes.map_or(String::new(), |bytes| format!(r#","resident_bytes":{bytes}"#));
        format!(
            r#"{{"case":"{case}","threads":{threads},"ns_per_op":{ns_per_op:.1},"ops_per_second":{ops_per_second:.0},"pair_ns":{pair_ns:.2}{resident}}}"#
        )
    };
    let rows: Vec<String> = rows.iter().map(row).collect();
    println!(r#"{{"rows":[{}]}}"#, rows.join(","));
}

pub(crate) fn print_table(rows: &[Row]) {
    println!(
        "{:<32} {:>7} {:>12} {:>16} {:>14} {:>8}",
        "case", "threads", "ns/op", "million ops/s", "2 locked, ns", "ratio"
    );
    for Row { case, threads, ns_per_op, ops_per_second, pair_ns, resident_bytes } in rows {
        let millions = ops_per_second / 1e6;
        let ratio = ns_per_op / pair_ns;
        print!(
            "{case:<32} {threads:>7} {ns_per_op:>12.1} {millions:>16.3} {pair_ns:>14.1} {ratio:>8.1}"
        );
        match resident_bytes {
            Some(bytes) => println!("  {} KiB came into use", bytes >> 10),
            None => println!(),
        }
    }
}
