//! A writer changes page 0 and a reader wants page 1, through one buffer and from files on a disk
//! that fails now and then: each of them needs the other's page written out first.
//!
//! Being told of an error is allowed, and to be told that every buffer is pinned. Not allowed: a
//! change that its writer was told is made and that never reaches the disk, a change on the disk
//! that nobody made, a page that is not the one that was asked for.

use crate::actor::finish;
use crate::buffer::stage::{
    actor, check_nothing_is_left, files, first_byte, options, page, pool_over, until_the_disk_works,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup::sync::Arc;
use holdup_engine::{BufferError, Profile};

/// A disk on which every eighth operation fails.
const BAD_DISK: Faults =
    Faults { read_error: 1 << 13, write_error: 1 << 13, sync_error: 1 << 13, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a writer and a reader want one buffer on a disk that fails now and then",
    rules: &["I-IO1", "I-IO4", "I-WAL4", "I-ID3", "I-MAP4", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "flush.ignore_error",
            budget: 20_000,
            note: "a write that failed counts as done, and the page as clean",
            ..MutantCase::BASE
        },
        MutantCase {
            name: "hdr.set_then_clear",
            budget: 20_000,
            note: "the header's release sets bits before it clears others, and so clears the error",
            catalogue: &["B05"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "writer until \"unpins buffer 0\"\n\
         reader until \"flushes buffer 0\"\n\
         reader to the end\n",
    ),
    script_mutant: Some("flush.ignore_error"),
    script_seed: 3,
    faults: BAD_DISK,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "disk-errors-lose-nothing-modern",
    body: || disk_errors_lose_nothing(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "disk-errors-lose-nothing-classic",
    body: || disk_errors_lose_nothing(Profile::Classic),
    ..STORY
});

fn disk_errors_lose_nothing(profile: Profile) {
    // Given two pages in a file and one buffer,
    let storage = files(2);
    let pool = pool_over(options(profile, 1), Arc::clone(&storage));
    // when a writer changes page 0
    let writer = actor("writer", &pool, |session| {
        let pin = session.read(page(0))?;
        let mut guard = pin.lock_exclusive();
        guard.bytes_mut()[0] = 7;
        guard.mark_dirty();
        Ok::<_, BufferError>(())
    });
    // while a reader wants page 1,
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read(page(1));
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // then the reader had page 1, or was told why not,
    let read = finish(reader);
    assert!(
        matches!(read, Ok(1) | Err(BufferError::Storage(_) | BufferError::NoUnpinnedBuffers)),
        "I-ID3: a pin is on the page that was asked for, but page 1 was {read:?}"
    );
    // and once everything could be written, the writer's change is on the disk, if it was made.
    let written = finish(writer);
    until_the_disk_works(|| pool.session().flush(0));
    let (found, expected) = (first_byte(&*storage, page(0)), if written.is_ok() { 7 } else { 0 });
    assert!(
        found == expected,
        "I-WAL4: a change is on the disk if it was made, but page 0 has {found} after {written:?}"
    );
    // Nothing is left behind.
    check_nothing_is_left(&pool);
}
