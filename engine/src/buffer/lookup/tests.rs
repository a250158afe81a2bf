//! Look-ups on real threads, in a pool whose pages all belong into one bucket: entries move along
//! its chain all the time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::{
    BlockNumber, BufferError, BufferPool, BufferTag, Fork, Lookup, MemoryStorage, PoolOptions,
    Profile, RelationId, check_quiescent,
};

const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
const BUFFERS: u32 = 64;
const PAGES: usize = 60;

fn page(block: BlockNumber) -> BufferTag {
    BufferTag::new(RELATION, Fork::Main, block)
}

/// An empty pool, and pages that belong into one bucket of it. The first four bytes of a page are
/// its number.
fn crowded_pool(
    n_buffers: u32,
    profile: Profile,
    lookup: Lookup,
) -> (BufferPool, Vec<BlockNumber>) {
    let storage = MemoryStorage::new(64);
    let body =
        |block: BlockNumber, body: &mut [u8]| body[..4].copy_from_slice(&block.to_le_bytes());
    storage.create(RELATION, Fork::Main, 4_000, body);
    let options = PoolOptions {
        n_buffers,
        partitions: 1,
        page_size: 64,
        profile,
        lookup,
        ghosts: false,
        ..PoolOptions::default()
    };
    let pool = BufferPool::open(options, storage).unwrap();
    let bucket = |block: &BlockNumber| pool.mapping.key(page(*block)).place().bucket();
    let first = bucket(&0);
    let pages = (0..4_000).filter(|block| bucket(block) == first).take(PAGES).collect();
    (pool, pages)
}

#[test]
fn a_chain_of_buckets_has_every_page() {
    for lookup in [Lookup::Partitioned, Lookup::LockFree] {
        let (pool, pages) = crowded_pool(BUFFERS, Profile::Modern, lookup);
        assert_eq!(pages.len(), PAGES);
        let session = pool.session();
        for &block in &pages {
            drop(session.read(page(block)).unwrap());
        }

        for &block in &pages {
            let buf_id = pool.find(page(block)).expect("there is a buffer for each");
            assert_eq!(session.read(page(block)).unwrap().buf_id(), buf_id);
        }

        assert_eq!(check_quiescent(&pool), Ok(()));
    }
}

#[test]
fn what_is_found_while_entries_move_is_the_page() {
    for profile in [Profile::Classic, Profile::Modern] {
        for lookup in [Lookup::Partitioned, Lookup::LockFree] {
            // Fewer buffers than pages, so that most reads move entries.
            let (pool, pages) = crowded_pool(40, profile, lookup);
            let found = AtomicU32::new(0);
            thread::scope(|scope| {
                for seed in 1..=3_usize {
                    let (pool, pages, found) = (&pool, &pages, &found);
                    scope.spawn(move || {
                        let session = pool.session();
                        for n in 0..6_000_usize {
                            let block = pages[(n * n * seed + n) % PAGES];
                            match session.read(page(block)) {
                                Ok(pin) => {
                                    let bytes = pin.lock_share().bytes()[..4].to_vec();
                                    assert_eq!(bytes, block.to_le_bytes());
                                    found.fetch_add(1, Ordering::Relaxed);
                                }
                                Err(BufferError::NoUnpinnedBuffers) => {}
                                Err(error) => panic!("{error:?}"),
                            }
                        }
                    });
                }
            });

            assert!(found.into_inner() > 9_000, "most pages are read");
            assert_eq!(check_quiescent(&pool), Ok(()));
        }
    }
}
