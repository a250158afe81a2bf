//! Two readers want page 1, which is in no buffer, and the disk fails once. One of them is told; the
//! other, which may be waiting for that very read, tries again and gets the page.
//!
//! Not allowed: a failed read that leaves a valid page or no trace of the error, a failed write that
//! leaves the page clean, a waiter that sleeps on.
//!
//! The end of an I/O clears `IO_ERROR` and, if it failed, sets it. A release that sets first and
//! clears then loses it (B05).

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, dirty, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::Arc;
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a read fails while another reader waits for it; then a write fails",
    rules: &["I-IO1", "I-IO3", "I-IO4", "I-IO5", "I-MAP2", "I-REF3"],
    mutants: &[MutantCase {
        name: "hdr.set_then_clear",
        budget: 20_000,
        note: "the header's release sets bits before it clears others, and so clears the error",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    catalogue: &["B05"],
    script: Some(
        "first until \"loads page 1 into buffer 0\"\n\
         second until blocked\n\
         first to the end\n",
    ),
    script_mutant: Some("hdr.set_then_clear"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "failed-io-keeps-its-error-modern",
    body: || failed_io_keeps_its_error(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "failed-io-keeps-its-error-classic",
    body: || failed_io_keeps_its_error(Profile::Classic),
    ..STORY
});

fn failed_io_keeps_its_error(profile: Profile) {
    // Given two empty buffers and a disk that fails once,
    let storage = storage();
    storage.fail_next_reads(1);
    let pool = pool_with(options(profile, 2), Arc::clone(&storage), &[]);
    // when two readers want page 1,
    let [first, second] = ["first", "second"].map(|role| {
        actor(role, &pool, |session| {
            let pinned = session.read(page(1));
            pinned.map(|pin| pin.lock_share().bytes()[0])
        })
    });
    // then one was told and the other read the page.
    match (finish(first), finish(second)) {
        (Ok(1), Err(BufferError::Storage(_))) | (Err(BufferError::Storage(_)), Ok(1)) => {}
        others => panic!("I-IO4: one read fails and the other does not, but they were {others:?}"),
    }

    // When a write of the page fails,
    let buf_id = pool.find(page(1)).unwrap_or_else(|| panic!("I-MAP4: a page read is mapped"));
    dirty(&pool, page(1));
    storage.fail_next_writes(1);
    let session = pool.session();
    let failed = session.flush(buf_id);
    // then the page stays dirty until the next write has succeeded,
    let left = pool.state(buf_id);
    assert!(matches!(failed, Err(BufferError::Storage(_))), "{failed:?}");
    assert!(left.is_dirty() && left.has_io_error(), "I-IO4: a failed write left {left}");
    let written = session.flush(buf_id);
    let left = pool.state(buf_id);
    assert!(matches!(written, Ok(true)), "I-IO4: what is dirty is written, but {written:?}");
    assert!(!left.is_dirty() && !left.has_io_error(), "I-IO4: a good write left {left}");
    // and nothing is left behind.
    drop(session);
    check_nothing_is_left(&pool);
}
