//! Two tasks make a relation longer at the same time, one by two pages and one by one. A buffer has
//! a new page behind the end already, left by somebody who looked there.
//!
//! Not allowed: that both are given the same block, or that a block is theirs and the file does not
//! have it. Whoever measures the file before it has the extension lock, or takes the page that it
//! finds for one that the file has (B18), gives the same block twice.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, first_byte, options, page, pool_over, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::Arc;
use holdup_engine::{BlockNumber, BufferError, Fork, Profile, Session, Storage};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two tasks extend a relation, and a buffer has a page behind its end",
    rules: &["I-EXT1", "I-EXT2", "I-DISK1", "I-WAL4", "I-ID2", "I-IO1", "I-MAP2", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "extend.size_before_lock",
            budget: 20_000,
            note: "measures the file before it has the extension lock",
            catalogue: &[],
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "extend.skip_if_valid",
            budget: 20_000,
            note: "a buffer has the page, so the file is taken to have it too",
            catalogue: &["B18"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "many to the end\n\
         one to the end\n",
    ),
    script_mutant: Some("extend.skip_if_valid"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "relation-grows-twice-modern",
    body: || relation_grows_twice(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "relation-grows-twice-classic",
    body: || relation_grows_twice(Profile::Classic),
    ..STORY
});

/// Pages that the relation has at first.
const N_BLOCKS: BlockNumber = 4;

/// Adds up to `by` pages and writes `name` into each. Returns their blocks.
fn add(session: &Session<'_>, by: u32, name: u8) -> Result<Vec<BlockNumber>, BufferError> {
    let mut added = session.extend_by(RELATION, Fork::Main, by)?;
    added.first.bytes_mut()[0] = name;
    added.first.mark_dirty();
    let mut blocks = vec![added.first.tag().block];
    drop(added.first);
    for pin in added.others {
        let mut locked = pin.lock_exclusive();
        locked.bytes_mut()[0] = name;
        locked.mark_dirty();
        blocks.push(pin.tag().block);
    }
    Ok(blocks)
}

fn relation_grows_twice(profile: Profile) {
    // Given a new page behind the end of a relation,
    let storage = storage();
    let pool = pool_over(options(profile, 8), Arc::clone(&storage));
    if let Err(error) = pool.session().zero_and_lock(page(N_BLOCKS)).map(drop) {
        panic!("a page of an empty pool is to be had: {error}");
    }
    // when two tasks add pages,
    let many = actor("many", &pool, |session| add(session, 2, 7));
    let one = actor("one", &pool, |session| add(session, 1, 8));
    // then each has its own,
    let mut owners = Vec::new();
    for (name, added) in [(7, finish(many)), (8, finish(one))] {
        match added {
            Ok(blocks) => owners.extend(blocks.into_iter().map(|block| (block, name))),
            Err(error) => panic!("I-EXT1: a new block has one owner, but: {error}"),
        }
    }
    owners.sort_unstable();
    let blocks: Vec<BlockNumber> = owners.iter().map(|(block, _)| *block).collect();
    assert!(
        blocks == [N_BLOCKS, N_BLOCKS + 1, N_BLOCKS + 2],
        "I-EXT1: a new block has one owner, but {blocks:?} were given out"
    );
    // which the file has,
    let n_blocks = storage.size(RELATION, Fork::Main).unwrap_or(0);
    assert!(n_blocks == N_BLOCKS + 3, "I-DISK1: the file has every block, but has {n_blocks}");
    // and what was written there can be written out.
    if let Err(error) = pool.session().flush_relation(RELATION) {
        panic!("I-DISK1: no page goes beyond the end of its file, but: {error}");
    }
    for (block, name) in owners {
        let found = first_byte(&*storage, page(block));
        assert!(found == name, "I-WAL4: no change is lost, but page {block} has {found}");
    }
    check_nothing_is_left(&pool);
}
