//! A session has eight pages pinned, as many as it remembers without memory of its own, when it
//! writes a ninth out. There may be no memory to remember one pin more.
//!
//! Being told so is allowed. Not allowed: to find out under the header lock, where nothing may fail
//! (B23). The room is made before.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, dirty, options, page, pool_with,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup::sync::Arc;
use holdup_engine::{BufferError, Fork, MemoryStorage, Profile};

/// Pins that a session remembers without memory of its own.
const PINS: u32 = 8;
/// Every fourth allocation fails.
const SHORT_MEMORY: Faults = Faults { allocation: 1 << 14, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a session with eight pins needs memory for a ninth, and there may be none",
    rules: &["hold-no-allocation", "I-SP1", "I-REF1", "I-REF3"],
    mutants: &[MutantCase {
        name: "priv.insert_under_hdr",
        budget: 1_000,
        note: "makes room for the pin when the header is locked",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B23"],
    script: Some("writer to the end\n"),
    script_mutant: Some("priv.insert_under_hdr"),
    faults: SHORT_MEMORY,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "memory-runs-short-modern",
    body: || memory_runs_short(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "memory-runs-short-classic",
    body: || memory_runs_short(Profile::Classic),
    ..STORY
});

fn memory_runs_short(profile: Profile) {
    // Given nine pages in nine buffers, the last dirty,
    let options = options(profile, PINS + 1);
    let storage = Arc::new(MemoryStorage::new(options.page_size));
    storage.create(RELATION, Fork::Main, PINS + 1, |block, body| body[0] = block as u8);
    let pages: Vec<_> = (0..=PINS).map(page).collect();
    let pool = pool_with(options, storage, &pages);
    dirty(&pool, page(PINS));
    // when a writer that has eight of them pinned writes the ninth out
    let writer = actor("writer", &pool, |session| {
        let pins: Result<Vec<_>, BufferError> =
            (0..PINS).map(|block| session.read(page(block))).collect();
        let written = pins.and_then(|pins| {
            let written = session.flush(PINS);
            pins.iter().for_each(|pin| pin.check_identity());
            written
        });
        (0..PINS).for_each(|buf_id| assert!(session.pin_count(buf_id) == 0, "I-REF3: {buf_id}"));
        written
    });
    // while a reader reads it,
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(PINS));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // then it is written, or the writer was told that memory is short,
    let written = finish(writer);
    match written {
        Ok(true) => assert!(!pool.state(PINS).is_dirty(), "I-IO4: what was written is clean"),
        Err(BufferError::PinMemory) => assert!(pool.state(PINS).is_dirty(), "I-WAL4: it is dirty"),
        other => panic!("I-SP1: the page is written or memory is short, but it was {other:?}"),
    }
    // the reader, with one pin, had its page,
    let read = finish(reader);
    assert!(matches!(read, Ok(8)), "I-ID3: page 8 is read, but that was {read:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
