//! What a pin costs on this machine: hits, recent reads, misses.
//!
//! Native only: an instrumented build would measure the simulator. `--json` prints one document,
//! otherwise a table; the `--bench` that cargo appends is accepted and means nothing.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use holdup_engine::{
    BufferPool, BufferTag, Fork, INSTRUMENTED, MemoryStorage, PoolOptions, Profile, RecentVariant,
    RelationId, Session,
};

const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
const BUFFERS: u32 = 1024;
const BLOCKS: u32 = 4096;
const PAGE_SIZE: usize = 8192;
/// Operations of one thread in one round.
const HITS: u32 = 400_000;
const MISSES: u32 = 20_000;
/// The best of so many rounds counts: what disturbs a round only ever makes it slower.
const ROUNDS: u32 = 7;

struct Row {
    case: String,
    threads: u32,
    ns_per_op: f64,
}

fn page(block: u32) -> BufferTag {
    BufferTag::new(RELATION, Fork::Main, block)
}

fn pool(profile: Profile, recent: RecentVariant) -> BufferPool {
    let storage = MemoryStorage::new(PAGE_SIZE);
    storage.create(RELATION, Fork::Main, BLOCKS, |_, _| {});
    let options = PoolOptions { n_buffers: BUFFERS, profile, recent, ..PoolOptions::default() };
    let pool = BufferPool::open(options, storage).expect("a small pool fits");
    let session = pool.session();
    (0..BUFFERS).for_each(|block| drop(session.read(page(block)).expect("the page exists")));
    drop(session);
    pool
}

/// Runs `operation(session, thread, n)` for n in `0..count` on every thread.
fn measure(
    rows: &mut Vec<Row>,
    case: &str,
    pool: &BufferPool,
    (threads, count): (u32, u32),
    operation: impl Fn(&Session<'_>, u32, u32) + Sync,
) {
    let round = || {
        let barrier = Barrier::new(threads as usize);
        let one = |thread| {
            let session = pool.session();
            barrier.wait();
            let start = Instant::now();
            (0..count).for_each(|n| operation(&session, thread, n));
            start.elapsed().as_nanos() as f64 / f64::from(count)
        };
        thread::scope(|scope| {
            let one = &one;
            let tasks: Vec<_> = (0..threads).map(|t| scope.spawn(move || one(t))).collect();
            let each = tasks.into_iter().map(|task| task.join().expect("no operation panics"));
            each.sum::<f64>() / f64::from(threads)
        })
    };
    let ns_per_op = (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min);
    rows.push(Row { case: case.to_owned(), threads, ns_per_op });
}

fn read(session: &Session<'_>, block: u32) {
    black_box(session.read(page(block)).expect("the page exists").buf_id());
}

fn cases() -> Vec<Row> {
    let mut rows = Vec::new();
    for (profile, name) in [(Profile::Classic, "classic"), (Profile::Modern, "modern")] {
        let pool = pool(profile, RecentVariant::default());
        for threads in [1, 2] {
            let case = format!("hit-hot-{name}");
            measure(&mut rows, &case, &pool, (threads, HITS), |session, _, _| read(session, 7));
            let case = format!("hit-spread-{name}");
            measure(&mut rows, &case, &pool, (threads, HITS), |session, thread, n| {
                read(session, n.wrapping_mul(0x9E37_79B1).wrapping_add(thread << 16) % BUFFERS);
            });
        }
    }
    for (recent, name) in [
        (RecentVariant::HeaderLock, "header-lock"),
        (RecentVariant::PinFirst, "pin-first"),
        (RecentVariant::SkipInvalid, "skip-invalid"),
    ] {
        let pool = pool(Profile::Modern, recent);
        let hint = pool.find(page(7)).expect("the page was read");
        for threads in [1, 2] {
            let case = format!("recent-{name}");
            measure(&mut rows, &case, &pool, (threads, HITS), |session, _, _| {
                black_box(session.read_recent(page(7), hint).is_some());
            });
        }
    }
    for (profile, name) in [(Profile::Classic, "classic"), (Profile::Modern, "modern")] {
        let pool = pool(profile, RecentVariant::default());
        let case = format!("miss-{name}");
        measure(&mut rows, &case, &pool, (1, MISSES), |session, _, n| read(session, n % BLOCKS));
    }
    rows
}

fn main() -> ExitCode {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            "--bench" => {}
            other => {
                eprintln!("pool: no option {other}; there is --json");
                return ExitCode::from(2);
            }
        }
    }
    if INSTRUMENTED {
        eprintln!(
            "pool: this build is instrumented and would measure the simulator; \
             run cargo bench -p holdup-engine --bench pool"
        );
        return ExitCode::from(2);
    }
    let rows = cases();
    if json {
        let row = |Row { case, threads, ns_per_op }: &Row| {
            format!(r#"{{"case":"{case}","threads":{threads},"ns_per_op":{ns_per_op:.1}}}"#)
        };
        let rows: Vec<String> = rows.iter().map(row).collect();
        println!(r#"{{"rows":[{}]}}"#, rows.join(","));
    } else {
        println!("{:<24} {:>7} {:>10}", "case", "threads", "ns/op");
        for Row { case, threads, ns_per_op } in rows {
            println!("{case:<24} {threads:>7} {ns_per_op:>10.1}");
        }
    }
    ExitCode::SUCCESS
}
