//! A writer changes pages and a reader looks at them, on a disk that now and then reads or writes
//! another place of the file than it was told, and whose bits rot.
//!
//! To be told that a page is corrupt is allowed. So is a page that is older than it was: the write went
//! elsewhere, and no checksum tells that. Not allowed: a page of another place, or with a bit flipped,
//! taken for the one asked for.

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, page, pool_over, until_the_disk_works,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::Faults;
use holdup::sync::Arc;
use holdup_engine::page::{HEADER_SIZE, set_checksum};
use holdup_engine::{
    BlockNumber, BufferError, FileStorage, Fork, PoolOptions, Profile, Session, Storage,
};

/// Bytes of a page: one sector of the disk.
const PAGE_SIZE: usize = 512;
/// Pages of the relation.
const N_BLOCKS: BlockNumber = 4;

const BAD_DISK: Faults = Faults {
    misdirected_read: 1 << 12,
    misdirected_write: 1 << 12,
    bit_rot: 1 << 12,
    ..Faults::NONE
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a disk reads and writes the wrong places and rots while pages are changed and read",
    rules: &["I-WAL3", "I-ID3", "I-IO1", "I-IO4", "I-LK1", "I-MAP4", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "checksum.no_block",
            budget: 20_000,
            note: "a checksum does not say which block it is of",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "read.no_verify",
            budget: 20_000,
            note: "what was read is taken without a look at its checksum",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "reader to the end\n\
         writer to the end\n",
    ),
    script_mutant: Some("checksum.no_block"),
    script_seed: 26,
    faults: BAD_DISK,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "misdirected-io-is-found-modern",
    body: || misdirected_io_is_found(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "misdirected-io-is-found-classic",
    body: || misdirected_io_is_found(Profile::Classic),
    ..STORY
});

/// What every byte of a page is but the first one, which is its version.
const fn filling(block: BlockNumber) -> u8 {
    block as u8 + 1
}

fn check(bytes: &[u8], block: BlockNumber) {
    // A page that went elsewhere when it was first written left zeroes: a new page.
    let is_new = bytes.iter().all(|&byte| byte == 0);
    let is_own = bytes[1..].iter().all(|&byte| byte == filling(block));
    assert!(
        is_new || is_own,
        "I-WAL3: a page is whole and the one asked for, but page {block} has {}",
        bytes[1]
    );
}

/// Looks at every page, and changes it if it `writes`.
fn visit(session: &Session<'_>, writes: bool) {
    for block in 0..N_BLOCKS {
        let pin = match session.read(page(block)) {
            Ok(pin) => pin,
            Err(BufferError::Corrupt { .. } | BufferError::NoUnpinnedBuffers) => continue,
            Err(error) => panic!("the disk tells of no error, but page {block}: {error}"),
        };
        if !writes {
            check(pin.lock_share().bytes(), block);
            continue;
        }
        let mut locked = pin.lock_exclusive();
        check(locked.bytes(), block);
        let version = locked.bytes()[0].wrapping_add(1);
        locked.bytes_mut().fill(filling(block));
        locked.bytes_mut()[0] = version;
        locked.mark_dirty();
    }
}

fn misdirected_io_is_found(profile: Profile) {
    // Given pages on a disk that does not do what it is told,
    let storage = until_the_disk_works(|| FileStorage::open("/data", PAGE_SIZE));
    for block in 0..N_BLOCKS {
        let mut bytes = [filling(block); PAGE_SIZE];
        bytes[..=HEADER_SIZE].fill(0);
        set_checksum(&mut bytes, block);
        until_the_disk_works(|| storage.extend(RELATION, Fork::Main, &bytes));
    }
    // What is not durable does not rot.
    until_the_disk_works(|| storage.sync(RELATION, Fork::Main));
    let options = PoolOptions { page_size: PAGE_SIZE, ..options(profile, 2) };
    let pool = pool_over(options, Arc::new(storage));
    // when a writer changes them through fewer buffers than there are pages
    let writer = actor("writer", &pool, |session| visit(session, true));
    // while a reader looks at them,
    let reader = actor("reader", &pool, |session| visit(session, false));
    finish(writer);
    finish(reader);
    // then no page was taken for another, nor is one later,
    visit(&pool.session(), false);
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
