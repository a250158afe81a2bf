//! An evictor takes the buffer of page 1 for page 3, and a reader comes back for page 1.
//!
//! Losing the buffer is allowed. Not allowed: that the evictor takes an entry away that is not its
//! own any more, since the reader has found another buffer for page 1. Who reads page 1 next would
//! then find a third one. So the entry goes before anybody can look.

use crate::actor::finish;
use crate::buffer::stage::{actor, check_nothing_is_left, options, page, pool_with, storage};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BufferError, Profile};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a reader looks a page up while its buffer is being taken",
    rules: &["I-MAP2", "I-MAP4", "I-MAP5", "I-ID2", "I-ID3", "I-REF3"],
    mutants: &[MutantCase {
        name: "victim.unmap_late",
        budget: 20_000,
        note: "removes the entry late, whatever buffer the page is in by then",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    catalogue: &["B82"],
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "evicted-page-is-read-again-modern",
    body: || evicted_page_is_read_again(Profile::Modern),
    script: Some(
        "main until blocked\n\
         evictor until \"clears the tag of buffer 0\"\n\
         evictor for 1 step\n\
         reader to the end\n"
    ),
    script_mutant: Some("victim.unmap_late"),
    script_seed: 101,
    ..STORY
});
crate::register!(Scenario {
    name: "evicted-page-is-read-again-classic",
    body: || evicted_page_is_read_again(Profile::Classic),
    script: Some(
        "main until blocked\n\
         evictor until \"clears the tag of buffer 0\"\n\
         evictor for 1 step\n\
         reader to the end\n"
    ),
    script_mutant: Some("victim.unmap_late"),
    script_seed: 145,
    ..STORY
});

fn evicted_page_is_read_again(profile: Profile) {
    // Given pages 1 and 2 in two buffers,
    let pool = pool_with(options(profile, 2), storage(), &[page(1), page(2)]);
    // when an evictor needs it for page 3
    let evictor = actor("evictor", &pool, |session| {
        session.read(page(3)).map(|pin| pin.lock_share().bytes()[0])
    });
    // while a reader comes back for page 1,
    let reader = actor("reader", &pool, |session| {
        session.read(page(1)).map(|pin| pin.lock_share().bytes()[0])
    });
    // then each had its page, or was told that every buffer is pinned,
    for (had, wanted) in [(finish(evictor), 3), (finish(reader), 1)] {
        match had {
            Ok(byte) if byte == wanted => {}
            Err(BufferError::NoUnpinnedBuffers) => {}
            other => panic!("I-ID3: page {wanted} turned out to be {other:?}"),
        }
    }
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
