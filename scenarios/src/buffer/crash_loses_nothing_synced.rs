//! A small database at work when the power fails: a writer changes pages, another makes the file
//! longer, a reader gets in their way, a checkpointer writes all out and syncs.
//!
//! Pages are two sectors long, so a write may be torn. Not allowed after the crash: that a page is
//! older than the sync that covered it, or gone; that it is damaged although nobody had changed it
//! since; that it passes for whole and is a mixture of two versions. Who was told that a sync failed
//! was promised nothing.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc as StdArc, Mutex, PoisonError};

use crate::actor::finish;
use crate::buffer::stage::{
    RELATION, actor, check_nothing_is_left, options, page, pool_over, until_the_disk_works,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::crash::{self, Ended};
use holdup::sync::Arc;
use holdup::{CrashKind, CrashPoint, Faults, note};
use holdup_engine::page::{HEADER_SIZE, set_checksum};
use holdup_engine::{
    BlockNumber, BufferError, FileStorage, Fork, Pin, PoolOptions, Profile, Session, Storage,
    StorageError,
};

/// Bytes of a page: two sectors of the disk.
const PAGE_SIZE: usize = 1024;

/// The power fails somewhere, and one sync in sixteen fails before that.
const FAULTS: Faults = Faults {
    sync_error: 1 << 12,
    crash_point: CrashPoint::Drawn(CrashKind::Power),
    ..Faults::NONE
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "the power fails while pages are changed, added, written out and synced",
    rules: &["I-WAL3", "I-WAL4", "I-WAL5", "I-DISK1", "I-LK1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "storage.no_sync",
            budget: 20_000,
            note: "what was written is taken for durable without a sync of its file",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "storage.no_dir_sync",
            budget: 20_000,
            note: "the file is synced, but not the directory it was created in",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "sync.ignore_error",
            budget: 20_000,
            note: "a sync that failed counts as done",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "writer until \"unlocks the content of buffer 0\"\n\
         checkpointer until \"knows that all is on disk\"\n",
    ),
    script_mutant: Some("storage.no_sync"),
    faults: FAULTS,
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "crash-loses-nothing-synced-modern",
    script_seed: 29,
    body: || crash_loses_nothing_synced(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "crash-loses-nothing-synced-classic",
    script_seed: 266,
    body: || crash_loses_nothing_synced(Profile::Classic),
    ..STORY
});

/// What is known of a page: every byte of version `v` is `v`, and version 0 is a new page.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The newest version in a buffer or on disk.
    made: u8,
    /// The newest version that a sync covered.
    synced: Option<u8>,
}

/// What the world knows of all pages. It outlives the crash and is no part of the program: it is
/// used between two scheduling points.
#[derive(Clone, Default)]
struct Ledger(StdArc<Mutex<BTreeMap<BlockNumber, Known>>>);

/// What the first life had in memory, kept to the end: schedulers know objects by their addresses, and
/// those of the second life are to be others.
type Remains = Mutex<Vec<Box<dyn Any + Send>>>;

fn keep(remains: &Remains, what: impl Any + Send) {
    remains.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(what));
}

impl Ledger {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<BlockNumber, Known>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn made(&self, block: BlockNumber, version: u8) {
        self.with(|pages| pages.entry(block).or_default().made = version);
    }

    fn all(&self) -> BTreeMap<BlockNumber, Known> {
        self.with(|pages| pages.clone())
    }

    /// A sync is over that began when pages were as `then`.
    fn synced(&self, then: &BTreeMap<BlockNumber, Known>) {
        self.with(|pages| {
            for (block, known) in then {
                let page = pages.entry(*block).or_default();
                page.synced = page.synced.max(Some(known.made));
            }
        });
        note!("knows that all is on disk");
    }
}

/// Makes the next version of a page.
fn change(pin: &Pin<'_, '_>, ledger: &Ledger) {
    let mut locked = pin.lock_exclusive();
    let version = locked.bytes()[0] + 1;
    locked.bytes_mut().fill(version);
    locked.mark_dirty();
    ledger.made(pin.tag().block, version);
}

/// Writes everything out and syncs it; the ledger is told what that covers.
fn checkpoint(session: &Session<'_>, ledger: &Ledger) -> Result<(), BufferError> {
    let then = ledger.all();
    session.flush_relation(RELATION)?;
    ledger.synced(&then);
    Ok(())
}

/// A storage with two pages, both synced.
fn make_storage(ledger: &Ledger, remains: &Remains) -> Result<Arc<FileStorage>, StorageError> {
    let storage = Arc::new(FileStorage::open("/data", PAGE_SIZE)?);
    keep(remains, Arc::clone(&storage));
    for block in 0..2 {
        let mut first = [1; PAGE_SIZE];
        first[..HEADER_SIZE].fill(0);
        set_checksum(&mut first, block);
        let block = storage.extend(RELATION, Fork::Main, &first)?;
        ledger.made(block, 1);
    }
    let then = ledger.all();
    storage.sync(RELATION, Fork::Main)?;
    ledger.synced(&then);
    Ok(storage)
}

fn pool_options(profile: Profile) -> PoolOptions {
    PoolOptions { page_size: PAGE_SIZE, max_sessions: 4, ..options(profile, 2) }
}

/// The database at work, until it has nothing to do, a sync fails or the power does.
fn work(profile: Profile, ledger: &Ledger, remains: &Remains) {
    let Ok(storage) = make_storage(ledger, remains) else { return };
    let pool = pool_over(pool_options(profile), storage);
    keep(remains, Arc::clone(&pool));
    let the = ledger.clone();
    let writer = actor("writer", &pool, move |session| {
        for block in [0, 1] {
            change(&session.read(page(block))?, &the);
        }
        Ok::<_, BufferError>(())
    });
    let the = ledger.clone();
    let grower = actor("grower", &pool, move |session| {
        let pin = session.extend(RELATION, Fork::Main)?;
        the.made(pin.tag().block, 0);
        change(&pin, &the);
        Ok::<_, BufferError>(())
    });
    let the = ledger.clone();
    let checkpointer = actor("checkpointer", &pool, move |session| checkpoint(session, &the));
    let reader = actor("reader", &pool, |session| {
        let pin = session.read(page(1))?;
        let locked = pin.lock_share();
        let bytes = locked.bytes();
        let is_whole = bytes.iter().all(|&byte| byte == bytes[0]);
        assert!(is_whole, "I-LK1: nobody changes a page that is being read");
        Ok::<_, BufferError>(())
    });
    for done in [finish(writer), finish(grower), finish(reader)] {
        let had_no_room = matches!(done, Err(BufferError::NoUnpinnedBuffers));
        assert!(done.is_ok() || had_no_room, "reads and writes work, but: {done:?}");
    }
    let done = finish(checkpointer);
    let allowed = matches!(
        done,
        Ok(())
            | Err(BufferError::Storage(StorageError::Io { .. }) | BufferError::NoUnpinnedBuffers)
    );
    assert!(allowed, "a checkpoint is made, or its sync fails, but: {done:?}");
}

/// Looks at a page after the crash, through the pool of another life of the database.
fn check_page(session: &Session<'_>, block: BlockNumber, known: Known) {
    let Known { made, synced } = known;
    let read = session.read(page(block));
    let pin = match read {
        Ok(pin) => pin,
        Err(BufferError::Corrupt { .. }) => {
            let changed = made > synced.unwrap_or(0);
            assert!(changed, "I-WAL3: nobody has changed page {block} since, but it is damaged");
            return;
        }
        Err(BufferError::Storage(StorageError::PastEnd { .. })) => {
            assert!(synced.is_none(), "I-WAL4: page {block} was synced, but it is gone");
            return;
        }
        Err(error) => panic!("page {block} can be read, but: {error}"),
    };
    let locked = pin.lock_share();
    let (version, bytes) = (locked.bytes()[0], locked.bytes());
    let is_whole = bytes.iter().all(|&byte| byte == version) && version <= made;
    assert!(is_whole, "I-WAL3: page {block} is one version of 0 to {made}, but begins {version}");
    assert!(
        synced.is_none_or(|synced| synced <= version),
        "I-WAL5: version {} of page {block} was synced, but version {version} is on disk",
        synced.unwrap_or(0)
    );
}

fn crash_loses_nothing_synced(profile: Profile) {
    // Given a database that reads, changes, extends and syncs
    let (ledger, remains) = (Ledger::default(), Remains::default());
    // when the power fails,
    let ended = crash::life(|| work(profile, &ledger, &remains));
    if ended == Ended::Returned(()) {
        crash::power_failure();
    }
    // then it can be opened again,
    let storage = until_the_disk_works(|| FileStorage::open("/data", PAGE_SIZE));
    let n_blocks = until_the_disk_works(|| storage.size(RELATION, Fork::Main));
    let pool = pool_over(pool_options(profile), Arc::new(storage));
    let session = pool.session();
    // every page is a version that was made and no older than its last sync, or known to be torn,
    let known = ledger.all();
    let n_known = known.keys().next_back().map_or(0, |last| last + 1);
    for block in 0..n_blocks.max(n_known) {
        check_page(&session, block, known.get(&block).copied().unwrap_or_default());
    }
    drop(session);
    // and nothing is left behind.
    check_nothing_is_left(&pool);
}
