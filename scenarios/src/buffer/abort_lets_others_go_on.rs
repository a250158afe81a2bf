//! A task fails while it has page 1 locked to change and page 2 pinned twice; the error jumps over
//! all that would have given them back. Recovery does it: locks first, then pins. A reader who waits
//! for the lock and a cleaner who waits for the only pin go on.
//!
//! Not allowed: a page unpinned while it is locked, a waiter that nobody wakes.

use crate::actor::{self, finish};
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup::note;
use holdup::sync::Arc;
use holdup_engine::{BufferError, BufferPool, LockMode, PoolOptions, Profile, Session};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a task fails with pins and locks in hand, which others wait for",
    rules: &["deadlock", "I-LK1", "I-LK2", "I-LK4", "I-CL1", "I-REF1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "abort.pins_first",
            budget: 20_000,
            note: "recovery unpins a page that is still locked",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "abort.wakes_no_cleaner",
            budget: 20_000,
            note: "recovery gives pins back and wakes nobody who waits for the only one",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "failing until \"fails\"\n\
         cleaner until blocked\n\
         failing to the end\n",
    ),
    script_mutant: Some("abort.wakes_no_cleaner"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "abort-lets-others-go-on-modern",
    body: || abort_lets_others_go_on(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "abort-lets-others-go-on-classic",
    body: || abort_lets_others_go_on(Profile::Classic),
    ..STORY
});

/// Takes locks and pins and loses all that would give them back.
fn fail(session: &Session<'_>) -> Result<(), BufferError> {
    std::mem::forget(session.read(page(1))?.into_locked(LockMode::Exclusive));
    let pin = session.read(page(2))?;
    std::mem::forget(pin.again());
    std::mem::forget(pin);
    note!("fails");
    Err(BufferError::Cancelled)
}

fn failing_task(pool: &BufferPool) {
    let mut session = pool.session();
    if fail(&session).is_err() {
        session.abort();
    }
}

fn abort_lets_others_go_on(profile: Profile) {
    // Given two pages in two buffers,
    let options = PoolOptions { max_sessions: 3, ..options(profile, 2) };
    let pool = pool_with(options, storage(), &[page(1), page(2)]);
    // when a task fails that has the one locked and the other pinned,
    let its_pool = Arc::clone(&pool);
    let failing = actor::actor("failing", move || failing_task(&its_pool));
    // while a reader wants the one and a cleaner the other,
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    let cleaner = actor("cleaner", &pool, |session| {
        let pin = session.read(page(2))?;
        drop(pin.lock_for_cleanup()?);
        Ok::<_, BufferError>(())
    });
    // then both have them in the end
    finish(failing);
    let read = finish(reader);
    assert!(matches!(read, Ok(1)), "page 1 is in the pool, but: {read:?}");
    let cleaned = finish(cleaner);
    assert!(matches!(cleaned, Ok(())), "page 2 is in the pool, but: {cleaned:?}");
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
