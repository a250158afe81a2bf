//! Two tasks make a relation longer on a disk that fails now and then, and is full now and then in
//! the middle of a write. Each tries again until it has its pages.
//!
//! To be told of the failure is allowed, and a file that is longer than all that was given out. Not
//! allowed: that a failure counts as success, so that the file does not have a page that has an
//! owner; that whoever comes for the block next waits for an input that nobody will end; that a block
//! is given out twice.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, files, first_byte, options, page, pool_over,
    until_the_disk_works,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup::sync::Arc;
use holdup_engine::{BlockNumber, BufferError, Fork, Profile, Session};

/// A disk on which one write in four fails, is cut short, or finds it full.
const BAD_DISK: Faults =
    Faults { write_error: 1 << 14, short_write: 1 << 14, disk_full: 1 << 14, ..Faults::NONE };

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "two tasks extend a relation on a disk that fails and is full now and then",
    rules: &["I-EXT1", "I-EXT3", "I-DISK1", "I-IO1", "I-IO4", "I-WAL4", "I-MAP2", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "extend.ignore_error",
            budget: 20_000,
            note: "a file that could not grow counts as grown",
            // None where the file that cannot grow is the last one's to grow; a seed may have
            // another fail.
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "extend.keep_io",
            budget: 20_000,
            note: "input on the pages stays in progress after the failure",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "many to the end\n\
         one to the end\n",
    ),
    script_mutant: Some("extend.ignore_error"),
    script_seed: 2,
    faults: BAD_DISK,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "extension-fails-halfway-modern",
    script_seed: 1,
    body: || extension_fails_halfway(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "extension-fails-halfway-classic",
    body: || extension_fails_halfway(Profile::Classic),
    ..STORY
});

/// Pages that the relation has at first.
const N_BLOCKS: BlockNumber = 1;

/// Adds up to `by` pages and writes `name` into each. Returns their blocks.
fn add(session: &Session<'_>, by: u32, name: u8) -> Vec<BlockNumber> {
    let mut added = until_the_disk_works(|| match session.extend_by(RELATION, Fork::Main, by) {
        Err(error @ BufferError::DataBeyondEnd { .. }) => {
            panic!("I-DISK1: the file has every page that somebody has, but {error}")
        }
        done => done,
    });
    let is_new = added.first.bytes().iter().all(|&byte| byte == 0);
    assert!(is_new, "I-EXT3: a new page is zeroes, but had bytes of another");
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
    blocks
}

fn extension_fails_halfway(profile: Profile) {
    // Given a relation of one page on a bad disk,
    let storage = files(N_BLOCKS);
    let pool = pool_over(options(profile, 8), Arc::clone(&storage));
    // when two tasks add pages,
    let many = actor("many", &pool, |session| add(session, 2, 7));
    let one = actor("one", &pool, |session| add(session, 1, 8));
    // then no block has two owners,
    let mut owners = Vec::new();
    for (name, blocks) in [(7, finish(many)), (8, finish(one))] {
        owners.extend(blocks.into_iter().map(|block| (block, name)));
    }
    let mut blocks: Vec<BlockNumber> = owners.iter().map(|(block, _)| *block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert!(
        blocks.len() == owners.len(),
        "I-EXT1: a new block has one owner, but {owners:?} were given out"
    );
    // and what was written there gets to the disk.
    until_the_disk_works(|| pool.session().flush_relation(RELATION));
    for (block, name) in owners {
        let found = first_byte(&*storage, page(block));
        assert!(found == name, "I-WAL4: no change is lost, but page {block} has {found}");
    }
    check_nothing_is_left(&pool);
}
