//! A cleaner waits until it has the only pin. It wakes for no reason, and it is told to give up, and
//! then it tries again; meanwhile a reader comes and goes.
//!
//! Not allowed: that it takes the flag that it left up itself for another cleaner's (B08), which
//! happens where it wakes or gives up without taking the flag down; that it sleeps for ever.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup_engine::{BufferError, PoolOptions, Profile};

/// Every second sleep ends for no reason.
const RESTLESS: Faults = Faults { spurious_wakeup: 1 << 15, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a cleaner that waits for pins wakes for no reason, or is cancelled",
    rules: &["deadlock", "I-LK4", "I-CL1", "I-CL2", "I-REF1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "cleanup.keep_flag",
            budget: 20_000,
            note: "who wakes for no reason leaves its own flag up and takes it for another's",
            catalogue: &["B08"],
            ..MutantCase::BASE
        },
        MutantCase {
            name: "cleanup.cancel_keeps_flag",
            budget: 20_000,
            note: "a cleaner that gives up leaves its flag up",
            ..MutantCase::BASE
        },
    ],
    catalogue: &["B08"],
    script: Some(
        "reader until \"pins buffer 0\"\n\
         cleaner until blocked\n\
         canceller to the end\n\
         cleaner to the end\n",
    ),
    script_mutant: Some("cleanup.cancel_keeps_flag"),
    faults: RESTLESS,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "cleanup-lock-wakes-for-nothing-modern",
    body: || cleanup_lock_wakes_for_nothing(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "cleanup-lock-wakes-for-nothing-classic",
    body: || cleanup_lock_wakes_for_nothing(Profile::Classic),
    ..STORY
});

fn cleanup_lock_wakes_for_nothing(profile: Profile) {
    // Given page 1 in a buffer,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    // when a reader pins it and gives the pin back, while a cleaner waits until it is alone
    let reader = actor("reader", &pool, |session| session.read(page(1)).map(drop));
    let cleaner = actor("cleaner", &pool, |session| {
        let pin = session.read(page(1))?;
        match pin.lock_for_cleanup() {
            Err(BufferError::Cancelled) => pin.lock_for_cleanup().map(drop),
            granted => granted.map(drop),
        }
    });
    // and somebody tells every waiter to give up,
    let sleepers = {
        let PoolOptions { max_sessions, .. } = options(profile, 1);
        let pool = holdup::sync::Arc::clone(&pool);
        crate::actor::actor("canceller", move || {
            (0..max_sessions).filter(|&session| pool.cancel(session)).count()
        })
    };
    // then the reader had its page,
    finish(reader).unwrap_or_else(|error| panic!("page 1 is in the pool: {error}"));
    // the cleaner had its turn, at the second try if it was told to give up
    let cancelled = finish(sleepers);
    assert!(cancelled <= 1, "I-CL2: one session waits, but {cancelled} did");
    finish(cleaner).unwrap_or_else(|error| panic!("I-CL2: nobody else waits: {error}"));
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
