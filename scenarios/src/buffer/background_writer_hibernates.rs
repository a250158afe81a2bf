//! Nothing happens, so the background writer sleeps for long. Five seconds later somebody needs a
//! buffer, and the writer is up again long before its sleep would have ended.
//!
//! Who allocates looks for a sleeper without a lock and may miss one that is about to sleep; that is
//! allowed, since the sleep has an end. A sleeper that sleeps already is not missed.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::Arc;
use holdup::thread::sleep;
use holdup::time::{Duration, Instant};
use holdup_engine::{BgWriter, BgWriterOptions, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "an allocation wakes the background writer out of a long sleep",
    rules: &["I-BGW1", "I-LK4", "I-REF3"],
    mutants: &[MutantCase {
        name: "bgwriter.not_woken",
        budget: 20_000,
        note: "an allocation does not wake the background writer",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    script: Some("main until blocked\nwriter until blocked\n"),
    script_mutant: Some("bgwriter.not_woken"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "background-writer-hibernates-modern",
    body: || background_writer_hibernates(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "background-writer-hibernates-classic",
    body: || background_writer_hibernates(Profile::Classic),
    ..STORY
});

fn background_writer_hibernates(profile: Profile) {
    // Given a background writer that has nothing to do: its sleep will be ten seconds long,
    let pool = pool_with(options(profile, 2), storage(), &[]);
    let start = Instant::now();
    let is_over = Arc::new(AtomicBool::new(false));
    let its_end = Arc::clone(&is_over);
    let writer = actor("writer", &pool, move |session| {
        let delay = Duration::from_millis(200);
        let options = BgWriterOptions { delay, max_pages: 0, ..BgWriterOptions::default() };
        BgWriter::new(options).run(session, || its_end.load(Ordering::Relaxed))
    });
    // when somebody needs a buffer after five,
    let allocator = actor("allocator", &pool, move |session| {
        sleep(Duration::from_secs(5));
        is_over.store(true, Ordering::Relaxed);
        session.read(page(1)).map(drop)
    });
    let read = finish(allocator);
    assert!(read.is_ok(), "the storage works, but: {read:?}");
    // then the writer is up again soon.
    let ended = finish(writer);
    assert!(ended.is_ok(), "a writer that writes nothing does not fail, but: {ended:?}");
    let took = start.elapsed();
    assert!(
        took < Duration::from_secs(7),
        "I-BGW1: an allocation wakes the background writer, but it slept on for {took:?}"
    );
    check_nothing_is_left(&pool);
}
