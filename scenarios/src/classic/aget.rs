//! A download by several tasks keeps count of what has arrived; a signal handler saves the count.
//!
//! A worker writes its bytes and then adds them to the count. The bug adds first, so that a handler
//! in between saves a count of bytes that are not there: the download resumed later has a hole.
//! Source: `aget-bug2` of the CB suite (Yu and Narayanasamy, ISCA 2009), in SCTBench.

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicU32, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

const WORKERS: usize = 3;
const PIECES: usize = 2;

register!(Scenario {
    name: "aget",
    area: "classic",
    summary: "a signal handler saves how much has arrived while workers download",
    rules: &["I-HOLE"],
    mutants: &[MutantCase {
        name: "classic.aget",
        budget: 1_000,
        note: "bytes are counted before they are written",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: aget,
    ..Scenario::BASE
});

#[derive(Default)]
struct Download {
    written: AtomicU32,
    counted: AtomicU32,
}

fn aget() {
    // Given a download that has not begun,
    let download = Arc::new(Download::default());
    // when workers write pieces and count them
    let workers: [_; WORKERS] = std::array::from_fn(|_| {
        let download = download.clone();
        actor("worker", move || {
            let (first, second) = if mutant::is("classic.aget") {
                (&download.counted, &download.written)
            } else {
                (&download.written, &download.counted)
            };
            for _ in 0..PIECES {
                first.fetch_add(1, SeqCst);
                second.fetch_add(1, SeqCst);
            }
        })
    });
    // while a handler saves the count,
    let handler = actor("handler", move || {
        let counted = download.counted.load(SeqCst);
        let written = download.written.load(SeqCst);
        note!("saves {counted}");
        // then so much is there.
        assert!(counted <= written, "I-HOLE: {counted} pieces are counted, {written} are there");
    });
    finish(handler);
    workers.into_iter().for_each(finish);
}
