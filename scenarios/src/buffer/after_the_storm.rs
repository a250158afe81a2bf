//! Everything goes wrong for a while: the disk fails, sleeps end for no reason, test-and-sets fail,
//! sessions are told to give up. A reader, a writer and a cleaner go on trying, through one buffer.
//!
//! Any error is allowed while it lasts. Not allowed: that one of them never gets what it wants once
//! the storm is over, because an error left something behind.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, files, first_byte, options, page, pool_over,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup::sync::Arc;
use holdup::thread::sleep;
use holdup::time::Duration;
use holdup_engine::{BufferError, PoolOptions, Profile};

/// Every eighth of everything fails, for 500 steps at most. Then 3,000 have to do.
const STORM: Faults = Faults {
    read_error: 1 << 13,
    write_error: 1 << 13,
    sync_error: 1 << 13,
    spurious_wakeup: 1 << 13,
    spurious_failure: 1 << 12,
    cancel: 1 << 13,
    storm_steps: 500,
    calm_steps: 3_000,
    ..Faults::NONE
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "after a storm of faults everybody gets what they want",
    rules: &["progress", "deadlock", "I-PR1", "I-PR2", "I-IO4", "I-WAL4", "I-LK4", "I-REF3"],
    mutants: &[MutantCase {
        name: "read.error_is_final",
        budget: 20_000,
        note: "a page whose read failed once is never read again",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    script: Some("writer to the end\nreader to the end\ncleaner to the end\n"),
    faults: STORM,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "after-the-storm-modern",
    body: || after_the_storm(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "after-the-storm-classic",
    body: || after_the_storm(Profile::Classic),
    ..STORY
});

/// Between two tries: others get the processor, whoever decides.
const PAUSE: Duration = Duration::from_micros(1);

/// Tries until it works. What may end in an error, and did, is let go before the next try.
fn insist<T>(mut operation: impl FnMut() -> Result<T, BufferError>) -> T {
    loop {
        match operation() {
            Ok(done) => return done,
            Err(
                BufferError::Storage(_) | BufferError::Cancelled | BufferError::NoUnpinnedBuffers,
            ) => sleep(PAUSE),
            Err(error) => panic!("I-PR2: a storm ends, but this does not: {error}"),
        }
    }
}

fn after_the_storm(profile: Profile) {
    // Given three pages in a file and one buffer,
    let storage = files(3);
    let options = PoolOptions { max_sessions: 3, ..options(profile, 1) };
    let pool = pool_over(options, Arc::clone(&storage));
    // when a writer changes page 0 and writes it out
    let writer = actor("writer", &pool, |session| {
        insist(|| {
            let pin = session.read(page(0))?;
            let mut guard = pin.lock_exclusive();
            guard.bytes_mut()[0] = 7;
            guard.mark_dirty();
            guard.flush()
        });
    });
    // while a reader reads page 1 and a cleaner cleans page 2, all of them for as long as it takes,
    let reader = actor("reader", &pool, |session| {
        insist(|| session.read(page(1)).map(|pin| pin.lock_share().bytes()[0]))
    });
    let cleaner = actor("cleaner", &pool, |session| {
        insist(|| {
            let pin = session.read(page(2))?;
            pin.lock_for_cleanup().map(drop)
        });
    });
    // then each got what it wanted,
    finish(writer);
    let read = finish(reader);
    assert!(read == 1, "I-ID3: page 1 begins with its number, but it was {read}");
    finish(cleaner);
    // the change is on the disk
    let found = first_byte(&*storage, page(0));
    assert!(found == 7, "I-WAL4: what was written out is on the disk, but page 0 has {found}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
