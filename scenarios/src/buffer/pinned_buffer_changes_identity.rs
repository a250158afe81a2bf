//! A reader remembers that page 1 was in buffer 0 and comes back for it without a lookup, just as
//! an allocator takes the buffer for page 2. The reader's pin is then the only one that the
//! mapping's lock does not keep away.
//!
//! Losing the page is allowed, and so is being told that every buffer is pinned. Not allowed: to
//! pin a buffer while it has no name, or to take page 2 for page 1.
//!
//! The hint is followed as in PostgreSQL 19, in both profiles: compare, pin if valid, compare
//! again. `recent.pin_any` is what the mailing list first proposed (B01).

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a reader follows a stale hint into a buffer that is given to another page",
    rules: &["I-ID1", "I-ID2", "I-ID3", "I-REF1", "I-REF3", "I-MAP3", "I-MAP4"],
    mutants: &[
        MutantCase {
            name: "recent.pin_any",
            budget: 20_000,
            note: "pins whatever the buffer has, a page or none",
            catalogue: &["B01"],
            critical_pair: Some([("reader", "buffer 0 state"), ("allocator", "buffer 0 state")]),
            // The catalogue says 2. The allocator that notices must in addition come before the
            // reader unpins: no schedule with 2 breaks I-ID2.
            preemptions: Some(3),
        },
        MutantCase {
            name: "recent.no_restart",
            budget: 20_000,
            note: "tests that the page is valid, waits for the header, and does not test again",
            catalogue: &["B02"],
            critical_pair: Some([("reader", "buffer 0 state"), ("allocator", "buffer 0 state")]),
            // The catalogue says 2; as above.
            preemptions: Some(3),
        },
        MutantCase {
            name: "recent.no_recheck",
            budget: 20_000,
            note: "does not compare the tag again once the pin is held",
            catalogue: &["B01"],
            critical_pair: Some([
                ("reader", "in the tag of buffer 0"),
                ("allocator", "in the tag of buffer 0"),
            ]),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "recent.expect_from_frame",
            budget: 20_000,
            note: "compares the tag with the one that the buffer has",
            catalogue: &["B87"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "alloc.reset_refcount_on_retag",
            budget: 20_000,
            note: "pins whatever the buffer has, and a new tag resets the count of pins",
            catalogue: &["B80"],
            critical_pair: Some([("reader", "buffer 0 state"), ("allocator", "buffer 0 state")]),
            // The catalogue says 2; as for `recent.pin_any`.
            preemptions: Some(3),
        },
    ],
    catalogue: &["B01", "B02", "B80", "B87"],
    script: Some(
        "reader until \"finds page 1 in buffer 0\"\n\
         allocator until \"clears the tag of buffer 0\"\n\
         allocator for 1 step\n\
         reader until \"pins buffer 0\"\n\
         allocator to the end\n",
    ),
    script_mutant: Some("recent.pin_any"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "pinned-buffer-changes-identity-modern",
    body: || pinned_buffer_changes_identity(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "pinned-buffer-changes-identity-classic",
    body: || pinned_buffer_changes_identity(Profile::Classic),
    ..STORY
});

fn pinned_buffer_changes_identity(profile: Profile) {
    // Given one buffer that has page 1, unpinned,
    let pool = pool_with(options(profile, 1), storage(), &[page(1)]);
    // when a reader comes back for page 1 to where it was
    let reader = actor("reader", &pool, |session| {
        let pinned = session.read_recent(page(1), 0);
        pinned.map(|pin| pin.lock_share().bytes()[0])
    });
    // while an allocator brings in page 2,
    let allocator = actor("allocator", &pool, |session| match session.read(page(2)) {
        Ok(pin) => Ok(pin.lock_share().bytes()[0]),
        Err(error) => Err(error),
    });
    // then the reader had page 1 or nothing,
    let read = finish(reader);
    assert!(
        matches!(read, None | Some(1)),
        "I-ID3: a pin is on the page that was asked for, but page 1 turned out to be {read:?}"
    );
    // the allocator had page 2, or met the reader's pin,
    match finish(allocator) {
        Ok(2) | Err(BufferError::NoUnpinnedBuffers) => {}
        other => panic!("I-ID3: a pin is on the page that was asked for, but page 2 was {other:?}"),
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
