//! Four threads on a small pool, on the real machine, against a model. Bounded by operations.
//!
//! Every page counts its own changes in its first eight bytes and repeats the count in the next
//! eight; the model counts them again in atomics. Pages come and go all the time, so every path
//! from hit to victim is walked. A fifth thread has a relation to itself, which it lets grow, reads
//! back and drops, again and again. Not a replacement for schedules: it checks that the engine is an
//! engine outside of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use holdup_engine::{
    BufferError, BufferPool, BufferTag, DropStrategy, FileStorage, Fork, LockMode, Lookup,
    MemoryStorage, Pin, PoolOptions, Profile, RecentVariant, RelationId, Session, Storage,
    check_quiescent,
};

const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
/// The one that comes and goes.
const FLEETING: RelationId = RelationId { number: 200, ..RELATION };
const BLOCKS: u32 = 24;
const BUFFERS: u32 = 8;
const THREADS: u64 = 4;
const STEPS: u64 = 15_000;
/// Lives of the relation that comes and goes, and its pages in each.
const LIVES: u64 = 300;
const LIFE_BLOCKS: u32 = 6;

fn options(profile: Profile, lookup: Lookup, recent: RecentVariant) -> PoolOptions {
    PoolOptions {
        n_buffers: BUFFERS,
        partitions: 4,
        page_size: 64,
        profile,
        lookup,
        recent,
        drop: DropStrategy::Precheck,
        ghosts: false,
        ..PoolOptions::default()
    }
}

/// A small generator, so that a run can be told by its seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn count(bytes: &[u8]) -> u64 {
    let first = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let second = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
    assert_eq!(first, second, "a page is read while it changes");
    first
}

fn step(session: &Session<'_>, draw: &mut Draw, model: &[AtomicU64]) {
    let block = draw.below(u64::from(BLOCKS)) as u32;
    let tag = BufferTag::new(RELATION, Fork::Main, block);
    let hint = draw.below(u64::from(BUFFERS)) as u32;
    let recent = if draw.below(4) == 0 { session.read_recent(tag, hint) } else { None };
    let pin = match recent.map_or_else(|| session.read(tag), Ok) {
        Ok(pin) => pin,
        // Every buffer was pinned when the hand came by: the others hold at most one each and
        // strangers for moments, but the sweep does not look at all of them at one instant.
        Err(BufferError::NoUnpinnedBuffers) => return,
        Err(error) => panic!("{error:?}"),
    };
    let at_least = model[block as usize].load(Ordering::Acquire);
    match draw.below(8) {
        0..3 => assert!(count(pin.lock_share().bytes()) >= at_least),
        3 => assert!(count(pin.into_locked(LockMode::Share).bytes()) >= at_least),
        4..7 => {
            let mut page = pin.into_locked(LockMode::Exclusive);
            let next = count(page.bytes()) + 1;
            page.bytes_mut()[..8].copy_from_slice(&next.to_le_bytes());
            page.bytes_mut()[8..16].copy_from_slice(&next.to_le_bytes());
            page.mark_dirty();
            model[block as usize].fetch_add(1, Ordering::Release);
        }
        _ => {
            if let Some(guard) = pin.try_lock_for_cleanup() {
                count(guard.bytes());
                return;
            }
            drop(pin);
            session.flush(hint).unwrap();
            session.evict(hint).unwrap();
        }
    }
}

/// Tries again while every buffer is pinned by others for the moment.
fn patiently<'s, 'p>(read: impl Fn() -> Result<Pin<'s, 'p>, BufferError>) -> Pin<'s, 'p> {
    loop {
        match read() {
            Ok(pin) => return pin,
            Err(BufferError::NoUnpinnedBuffers) => thread::yield_now(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// A relation grows, is read back and is dropped. Its pages never have anything of an earlier life.
fn live(session: &Session<'_>, life: u64) {
    for block in 0..LIFE_BLOCKS {
        let pin = patiently(|| session.extend(FLEETING, Fork::Main));
        assert_eq!(pin.tag(), BufferTag::new(FLEETING, Fork::Main, block));
        let mut page = pin.into_locked(LockMode::Exclusive);
        assert_eq!(count(page.bytes()), 0, "a new page is empty");
        page.bytes_mut()[..8].copy_from_slice(&life.to_le_bytes());
        page.bytes_mut()[8..16].copy_from_slice(&life.to_le_bytes());
        page.mark_dirty();
    }
    for block in (0..LIFE_BLOCKS).rev() {
        let tag = BufferTag::new(FLEETING, Fork::Main, block);
        assert_eq!(count(patiently(|| session.read(tag)).lock_share().bytes()), life);
    }
    session.drop_relation(FLEETING).unwrap();
    for block in 0..LIFE_BLOCKS {
        let tag = BufferTag::new(FLEETING, Fork::Main, block);
        assert_eq!(session.pool().find(tag), None, "a dropped page is in no buffer");
    }
}

fn soak(pool: &BufferPool) {
    let model: Vec<AtomicU64> = (0..BLOCKS).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let session = pool.session();
            (1..=LIVES).for_each(|life| live(&session, life));
        });
        for seed in 1..=THREADS {
            let model = &model;
            scope.spawn(move || {
                let session = pool.session();
                let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                (0..STEPS).for_each(|_| step(&session, &mut draw, model));
            });
        }
    });
    check_quiescent(pool).unwrap_or_else(|broken| panic!("{broken}"));
    let session = pool.session();
    session.flush_relation(RELATION).unwrap();
    for (block, expected) in model.iter().enumerate() {
        let pin = session.read(BufferTag::new(RELATION, Fork::Main, block as u32)).unwrap();
        assert_eq!(count(pin.lock_share().bytes()), expected.load(Ordering::Relaxed));
    }
}

fn memory() -> MemoryStorage {
    let storage = MemoryStorage::new(64);
    storage.create(RELATION, Fork::Main, BLOCKS, |_, _| {});
    storage
}

#[test]
fn no_change_is_lost_in_the_modern_profile() {
    let options = options(Profile::Modern, Lookup::Partitioned, RecentVariant::SkipInvalid);
    soak(&BufferPool::open(options, memory()).unwrap());
}

#[test]
fn no_change_is_lost_in_the_classic_profile() {
    let options = options(Profile::Classic, Lookup::Partitioned, RecentVariant::HeaderLock);
    soak(&BufferPool::open(options, memory()).unwrap());
}

#[test]
fn no_change_is_lost_in_the_modern_profile_without_locks_to_look_up() {
    let options = options(Profile::Modern, Lookup::LockFree, RecentVariant::SkipInvalid);
    soak(&BufferPool::open(options, memory()).unwrap());
}

#[test]
fn no_change_is_lost_in_the_classic_profile_without_locks_to_look_up() {
    let options = options(Profile::Classic, Lookup::LockFree, RecentVariant::SkipInvalid);
    soak(&BufferPool::open(options, memory()).unwrap());
}

#[test]
fn what_was_flushed_is_there_when_the_files_are_opened_again() {
    for (profile, lookup) in
        [(Profile::Modern, Lookup::LockFree), (Profile::Classic, Lookup::Partitioned)]
    {
        soak_on_files(&options(profile, lookup, RecentVariant::SkipInvalid));
    }
}

fn soak_on_files(options: &PoolOptions) {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::open(directory.path(), 64).unwrap();
    for _ in 0..BLOCKS {
        storage.extend(RELATION, Fork::Main, &[0; 64]).unwrap();
    }
    let pool = BufferPool::open(options.clone(), storage).unwrap();
    soak(&pool);
    let read = |pool: &BufferPool| -> Vec<u64> {
        let session = pool.session();
        let count = |block| {
            let pin = session.read(BufferTag::new(RELATION, Fork::Main, block)).unwrap();
            count(pin.lock_share().bytes())
        };
        (0..BLOCKS).map(count).collect()
    };
    let before = read(&pool);
    drop(pool);

    let storage = FileStorage::open(directory.path(), 64).unwrap();
    assert_eq!(read(&BufferPool::open(options.clone(), storage).unwrap()), before);
}

#[test]
fn a_cleaner_gets_the_page_when_the_last_reader_leaves() {
    for profile in [Profile::Classic, Profile::Modern] {
        let options = options(profile, Lookup::LockFree, RecentVariant::SkipInvalid);
        let pool = BufferPool::open(options, memory()).unwrap();
        let tag = BufferTag::new(RELATION, Fork::Main, 1);
        thread::scope(|scope| {
            for cleaner in [true, false, false] {
                let pool = &pool;
                scope.spawn(move || {
                    let session = pool.session();
                    for _ in 0..5_000 {
                        let pin = session.read(tag).unwrap();
                        if cleaner {
                            drop(pin.lock_for_cleanup().unwrap());
                        } else {
                            count(pin.lock_share().bytes());
                        }
                    }
                });
            }
        });
        check_quiescent(&pool).unwrap_or_else(|broken| panic!("{broken}"));
    }
}
