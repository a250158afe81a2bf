//! Page 1 is dirty. Somebody empties its buffer and so writes it out, just as a checkpoint begins: the
//! checkpoint finds nothing to write, and has to sync the file even so. Then a sync fails. The system
//! has thrown away what it could not write, so the next sync says that all is well.
//!
//! Pages of unlogged relations can wait, since such a relation is empty after a crash; but not those of
//! its init fork, from which it is made then (B29).
//!
//! Not allowed: a checkpoint that calls durable what is not on the platter.

use std::collections::{BTreeMap, BTreeSet};

use crate::actor::finish;
use crate::buffer::stage::{
    OTHER_RELATION, actor, check_nothing_is_left, dirty, options, page, pool_over, storage,
};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::{Arc, Mutex, PoisonError};
use holdup_engine::{
    BlockNumber, BufferError, BufferTag, Fork, MemoryStorage, PoolOptions, Profile, RelationId,
    Storage, StorageError,
};

const STORY: Scenario = Scenario {
    area: "buffer",
    summary: "a checkpoint meets an evictor that writes its page; later a sync fails",
    rules: &["I-WAL5", "I-CKP1", "I-IO1", "I-REF3"],
    mutants: &[
        MutantCase {
            name: "checkpoint.syncs_own_only",
            budget: 20_000,
            note: "the checkpoint syncs only files of pages that it found dirty itself",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "sync.request_late",
            budget: 20_000,
            note: "the page is clean before its file is known to need a sync",
            preemptions: Some(1),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "alloc.init_not_permanent",
            budget: 20_000,
            note: "the checkpoint leaves the init page of an unlogged relation alone",
            catalogue: &["B29"],
            preemptions: Some(0),
            ..MutantCase::BASE
        },
        MutantCase {
            name: "sync.forgets_failure",
            budget: 20_000,
            note: "the sync after one that failed is believed",
            preemptions: Some(0),
            ..MutantCase::BASE
        },
    ],
    script: Some(
        "evictor until \"has yet to ask for a sync\"\n\
         checkpointer to the end\n",
    ),
    script_mutant: Some("sync.request_late"),
    ..Scenario::BASE
};

crate::register!(Scenario {
    name: "checkpoint-syncs-what-others-wrote-modern",
    body: || checkpoint_syncs_what_others_wrote(Profile::Modern),
    ..STORY
});
crate::register!(Scenario {
    name: "checkpoint-syncs-what-others-wrote-classic",
    body: || checkpoint_syncs_what_others_wrote(Profile::Classic),
    ..STORY
});

/// What the world knows of the disk: how often each page was written, and how much of that is on the
/// platter.
#[derive(Default)]
struct Ledger {
    in_cache: BTreeMap<BufferTag, u32>,
    on_platter: BTreeMap<BufferTag, u32>,
    writes: BTreeMap<BufferTag, u32>,
    next_sync_fails: bool,
}

/// A storage whose writes are in a cache until they are synced. A sync that fails empties the cache.
struct Cached {
    pages: Arc<MemoryStorage>,
    ledger: Mutex<Ledger>,
}

impl Cached {
    fn with<T>(&self, look: impl FnOnce(&mut Ledger) -> T) -> T {
        look(&mut self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes so far of which the platter knows.
    fn on_platter(&self, tag: BufferTag) -> u32 {
        self.with(|ledger| ledger.on_platter.get(&tag).copied().unwrap_or(0))
    }
}

impl Storage for Cached {
    fn page_size(&self) -> usize {
        self.pages.page_size()
    }
    fn read(&self, tag: BufferTag, page: &mut [u8]) -> Result<(), StorageError> {
        self.pages.read(tag, page)
    }
    fn write(&self, tag: BufferTag, page: &[u8]) -> Result<(), StorageError> {
        self.pages.write(tag, page)?;
        self.with(|ledger| {
            let writes = ledger.writes.entry(tag).or_default();
            *writes += 1;
            ledger.in_cache.insert(tag, *writes);
        });
        Ok(())
    }
    fn extend(
        &self,
        relation: RelationId,
        fork: Fork,
        page: &[u8],
    ) -> Result<BlockNumber, StorageError> {
        self.pages.extend(relation, fork, page)
    }
    fn grow(
        &self,
        relation: RelationId,
        fork: Fork,
        block: BlockNumber,
        by: u32,
    ) -> Result<(), StorageError> {
        self.pages.grow(relation, fork, block, by)
    }
    fn sync(&self, relation: RelationId, fork: Fork) -> Result<(), StorageError> {
        self.with(|ledger| {
            let of_file = |tag: &BufferTag| tag.relation == relation && tag.fork == fork;
            let cached: Vec<_> = ledger.in_cache.extract_if(.., |tag, _| of_file(tag)).collect();
            if std::mem::take(&mut ledger.next_sync_fails) {
                let source = std::io::Error::other("the disk is gone");
                return Err(StorageError::Io { what: "sync".to_owned(), source });
            }
            ledger.on_platter.extend(cached);
            Ok(())
        })
    }
    fn size(&self, relation: RelationId, fork: Fork) -> Result<BlockNumber, StorageError> {
        self.pages.size(relation, fork)
    }
    fn remove(&self, relation: RelationId) -> Result<(), StorageError> {
        self.pages.remove(relation)
    }
}

/// The page that tells what an unlogged relation is after a crash.
const INIT: BufferTag = BufferTag::new(OTHER_RELATION, Fork::Init, 0);

fn checkpoint_syncs_what_others_wrote(profile: Profile) {
    // Given page 1 in a buffer, dirty, and the init page of an unlogged relation in another,
    let disk = Arc::new(Cached { pages: storage(), ledger: Mutex::default() });
    disk.pages.create(OTHER_RELATION, Fork::Init, 1, |_, _| {});
    let unlogged = BTreeSet::from([OTHER_RELATION]);
    let options = PoolOptions { unlogged, ..options(profile, 2) };
    let pool = pool_over(options, Arc::clone(&disk));
    dirty(&pool, page(1));
    dirty(&pool, INIT);
    // when an evictor empties the first buffer
    let evictor = actor("evictor", &pool, |session| session.evict(0));
    // while a checkpointer makes a checkpoint,
    let its_disk = Arc::clone(&disk);
    let checkpointer = actor("checkpointer", &pool, move |session| {
        let done = session.checkpoint();
        // then both are on the platter as soon as that ends.
        for tag in [page(1), INIT] {
            let on_platter = its_disk.on_platter(tag);
            assert!(
                on_platter == 1,
                "I-WAL5: dirty before a checkpoint, {tag} is on disk after it"
            );
        }
        done
    });
    assert!(finish(evictor).is_ok(), "the storage works");
    assert!(finish(checkpointer).is_ok(), "the storage works");

    // When page 1 is changed again and its sync fails,
    dirty(&pool, page(1));
    disk.with(|ledger| ledger.next_sync_fails = true);
    let session = pool.session();
    let failed = session.checkpoint();
    assert!(matches!(failed, Err(BufferError::Storage(_))), "the sync failed, but: {failed:?}");
    // then no checkpoint says that it is durable.
    let next = session.checkpoint();
    let (on_platter, told) =
        (disk.on_platter(page(1)), matches!(next, Err(BufferError::SyncLost { .. })));
    assert!(
        told || on_platter == 2,
        "I-WAL5: a change is durable or somebody is told, but the platter has {on_platter}: {next:?}"
    );
    drop(session);
    check_nothing_is_left(&pool);
}
