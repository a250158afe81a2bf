//! A task makes a relation longer and fills the first of its new pages, while a reader asks for
//! just that page. Every buffer had another page before.
//!
//! To be told that there is no such page is allowed. So is in `Classic`, where a page is valid before
//! its creator has locked it, to see zeroes. Not allowed in `Modern`: to see the page before its
//! creator wrote it (B16). Not allowed in either: that a new page has bytes of an old one, left in
//! its buffer by a read that failed.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, other_page, page, pool_with, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup_engine::{BlockNumber, BufferError, Fork, Profile, Session, StorageError};

const KEEPS_GARBAGE: MutantCase = MutantCase {
    name: "extend.keep_garbage",
    budget: 20_000,
    note: "the buffer of a failed read is taken as it is for the new page",
    catalogue: &[],
    preemptions: Some(0),
    ..MutantCase::BASE
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a reader asks for the page that is just being added to its relation",
    rules: &["I-EXT3", "I-EXT4", "I-IO1", "I-IO2", "I-ID3", "I-MAP2", "I-LK1", "I-REF3"],
    mutants: &[KEEPS_GARBAGE],
    script: Some(
        "reader to the end\n\
         creator to the end\n",
    ),
    script_mutant: Some("extend.keep_garbage"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "new-page-seen-too-early-modern",
    mutants: &[
        KEEPS_GARBAGE,
        MutantCase {
            name: "extend.valid_before_lock",
            budget: 20_000,
            note: "the page is valid before its creator has locked it",
            catalogue: &["B16"],
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "extend.grow_before_claim",
            budget: 20_000,
            note: "the file has the page before a buffer has it",
            catalogue: &[],
            preemptions: Some(1),
            ..MutantCase::BASE
        },
    ],
    body: || new_page_seen_too_early(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "new-page-seen-too-early-classic",
    body: || new_page_seen_too_early(Profile::Classic),
    ..STORY
});

/// Pages that the relation has at first.
const N_BLOCKS: BlockNumber = 4;

/// Adds two pages, and writes into the first.
fn create(session: &Session<'_>) -> Result<(), BufferError> {
    let mut added = session.extend_by(RELATION, Fork::Main, 2)?;
    let is_new = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let mut all_new = is_new(added.first.bytes());
    for pin in &added.others {
        all_new &= is_new(pin.lock_share().bytes());
    }
    assert!(all_new, "I-EXT3: a new page is zeroes, but had bytes of another");
    added.first.bytes_mut()[0] = 7;
    added.first.mark_dirty();
    Ok(())
}

fn new_page_seen_too_early(profile: Profile) {
    // Given buffers that have other pages,
    let pages = [page(3), page(2), page(1), other_page(3)];
    let pool = pool_with(options(profile, 4), storage(), &pages);
    // when a task adds pages
    let creator = actor("creator", &pool, create);
    // and a reader asks for the first of them,
    let reader = actor("reader", &pool, |session| {
        session.read(page(N_BLOCKS)).map(|pin| pin.lock_share().bytes()[0])
    });
    // then the pages were added,
    let created = finish(creator);
    assert!(created.is_ok(), "a relation can be made longer, but: {created:?}");
    // and the reader saw what their creator wrote, or no page.
    let seen = finish(reader);
    let may_be_new = profile == Profile::Classic;
    let is_allowed = match seen {
        Ok(byte) => byte == 7 || (byte == 0 && may_be_new),
        Err(BufferError::Storage(StorageError::PastEnd { .. })) => true,
        Err(_) => false,
    };
    assert!(
        is_allowed,
        "I-EXT4: nobody sees a new page before its creator wrote it, but the reader saw {seen:?}"
    );
    check_nothing_is_left(&pool);
}
