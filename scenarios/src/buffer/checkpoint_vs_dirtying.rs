//! A checkpoint begins: page 1 is dirty, page 2 is not. A writer changes both.
//!
//! What page 1 was must be on disk when the checkpoint ends, even if it is being changed when its turn
//! comes: the checkpoint waits. And no change may be lost: whoever looks at a header in `Classic`
//! writes the whole word back, so nobody marks a page dirty meanwhile.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, first_byte, options, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::Arc;
use holdup_engine::{BufferError, BufferTag, Profile, Session};

const SKIP_LOCKED: MutantCase = MutantCase {
    name: "checkpoint.skip_locked",
    budget: 20_000,
    note: "passes over a page that somebody has locked",
    preemptions: Some(1),
    ..MutantCase::BASE
};

const KEEPS_MARK: MutantCase = MutantCase {
    name: "flush.keeps_mark",
    budget: 20_000,
    note: "a page that is written out keeps the mark of the checkpoint",
    preemptions: Some(0),
    ..MutantCase::BASE
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a checkpoint meets a writer of the pages it has to write",
    rules: &["I-WAL4", "I-WAL5", "I-CKP1", "I-IO1", "I-LK1", "I-REF3"],
    mutants: &[SKIP_LOCKED, KEEPS_MARK],
    script: Some(
        "checkpointer until \"begins a checkpoint\"\n\
         writer until \"marks buffer 0 dirty\"\n\
         checkpointer to the end\n\
         writer to the end\n",
    ),
    script_mutant: Some("checkpoint.skip_locked"),
    ..Scenario::BASE
};

const CLASSIC: Scenario = Scenario {
    mutants: &[
        SKIP_LOCKED,
        KEEPS_MARK,
        MutantCase {
            name: "dirty.ignore_locked",
            budget: 20_000,
            note: "marks a page dirty while somebody has its header locked",
            preemptions: Some(2),
            critical_pair: Some([("writer", "buffer 1 state"), ("checkpointer", "buffer 1 state")]),
            ..MutantCase::BASE
        },
    ],
    ..STORY
};

crate::register!(Scenario {
    name: "checkpoint-vs-dirtying-modern",
    body: || checkpoint_vs_dirtying(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "checkpoint-vs-dirtying-classic",
    body: || checkpoint_vs_dirtying(Profile::Classic),
    ..CLASSIC
});

fn change(session: &Session<'_>, tag: BufferTag) -> Result<(), BufferError> {
    let pin = session.read(tag)?;
    let mut locked = pin.lock_exclusive();
    locked.bytes_mut()[0] += 10;
    locked.mark_dirty();
    Ok(())
}

fn checkpoint_vs_dirtying(profile: Profile) {
    // Given two pages in two buffers, the first changed,
    let storage = storage();
    let pool = pool_with(options(profile, 2), Arc::clone(&storage), &[page(1), page(2)]);
    assert!(change(&pool.session(), page(1)).is_ok(), "page 1 is in the pool");
    // when a checkpointer makes a checkpoint
    let checkpointer = actor("checkpointer", &pool, |session| session.checkpoint());
    // while a writer changes both,
    let writer = actor("writer", &pool, |session| {
        change(session, page(1))?;
        change(session, page(2))
    });
    let counts = finish(checkpointer);
    assert!(counts.is_ok(), "the storage works");
    let stored = first_byte(&*storage, page(1));
    assert!(matches!(finish(writer), Ok(())), "both pages are in the pool");
    // then the first change was on disk when the checkpoint ended,
    assert!(stored >= 11, "I-WAL5: a checkpoint writes what is dirty, but {stored} was on disk");
    // all changes get there,
    let session = pool.session();
    for (buf_id, tag, changed) in [(0, page(1), 21), (1, page(2), 12)] {
        assert!(session.flush(buf_id).is_ok(), "the storage works");
        let stored = first_byte(&*storage, tag);
        assert!(stored == changed, "I-WAL4: no change is lost, but {tag} is {stored} on disk");
    }
    drop(session);
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
