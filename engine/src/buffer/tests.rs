//! Single-threaded rules of the buffer manager, each in both profiles.

use super::header::Change;
use super::state::{IO_ERROR, IO_IN_PROGRESS, USAGE_MAX};
use super::{delay, *};
use crate::storage::MemoryStorage;
use crate::sync::{Arc, Ordering};
use crate::tag::{Fork, RelationId};

const A: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
const B: RelationId = RelationId { number: 101, ..A };

fn page(block: u32) -> BufferTag {
    BufferTag::new(A, Fork::Main, block)
}

fn options(n_buffers: u32, profile: Profile) -> PoolOptions {
    PoolOptions { n_buffers, partitions: 2, page_size: 64, profile, ..PoolOptions::default() }
}

fn with_storage(options: PoolOptions) -> (BufferPool, Arc<MemoryStorage>) {
    let storage = Arc::new(MemoryStorage::new(64));
    for relation in [A, B] {
        storage.create(relation, Fork::Main, 32, |block, body| body[0] = block as u8);
    }
    (BufferPool::open(options, Arc::clone(&storage)).unwrap(), storage)
}

fn pool(n_buffers: u32, profile: Profile) -> BufferPool {
    with_storage(options(n_buffers, profile)).0
}

/// Runs a rule in both profiles and looks at what it leaves behind.
fn both(rule: impl Fn(Profile)) {
    rule(Profile::Classic);
    rule(Profile::Modern);
}

fn assert_quiescent(pool: &BufferPool) {
    check_quiescent(pool).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn a_page_read_is_the_page_stored() {
    both(|profile| {
        let pool = pool(3, profile);
        let session = pool.session();
        for block in (0..32).chain(0..32) {
            assert_eq!(session.read(page(block)).unwrap().lock_share().bytes()[0], block as u8);
        }
        assert_quiescent(&pool);
    });
}

#[test]
fn a_second_pin_counts_in_the_session_only() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        let first = session.read(page(1)).unwrap();
        let second = session.read(page(1)).unwrap();
        let third = second.again();
        assert_eq!(pool.state(0).refcount(), 1);
        assert_eq!(session.pin_count(0), 3);

        drop((first, second));
        assert_eq!(pool.state(0).refcount(), 1);
        drop(third);
        assert_quiescent(&pool);
    });
}

#[test]
fn a_pinned_buffer_survives_every_sweep() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        let held = session.read(page(1)).unwrap();

        for block in 2..32 {
            drop(session.read(page(block)).unwrap());
        }

        assert_eq!(held.lock_share().bytes()[0], 1);
        assert_eq!(pool.find(page(1)), Some(held.buf_id()));
    });
}

#[test]
fn a_pool_full_of_pins_says_so() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        let held = [session.read(page(1)).unwrap(), session.read(page(2)).unwrap()];

        let refused = session.read(page(3));

        assert!(matches!(refused, Err(BufferError::NoUnpinnedBuffers)));
        drop(held);
        assert!(session.read(page(3)).is_ok());
        assert_quiescent(&pool);
    });
}

#[test]
fn usage_stops_at_five_and_a_new_page_has_one() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        for _ in 0..10 {
            drop(session.read(page(1)).unwrap());
        }
        assert_eq!(u64::from(pool.state(0).usage()), USAGE_MAX);

        drop(session.read(page(2)).unwrap());

        assert_eq!(pool.state(0).usage(), 1);
        assert_eq!((pool.find(page(1)), pool.find(page(2))), (None, Some(0)));
    });
}

#[test]
fn a_change_survives_eviction() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        let pin = session.read(page(1)).unwrap();
        let mut guard = pin.lock_exclusive();
        guard.bytes_mut()[0] = 77;
        guard.mark_dirty();
        drop(guard);
        drop(pin);

        drop(session.read(page(2)).unwrap());

        assert_eq!(session.read(page(1)).unwrap().lock_share().bytes()[0], 77);
        assert_quiescent(&pool);
    });
}

#[test]
fn a_recent_buffer_is_found_or_not() {
    for recent in [RecentVariant::HeaderLock, RecentVariant::PinFirst, RecentVariant::SkipInvalid] {
        both(|profile| {
            let pool = with_storage(PoolOptions { recent, ..options(1, profile) }).0;
            let session = pool.session();
            assert!(session.read_recent(page(1), 0).is_none(), "nothing there");
            let hint = session.read(page(1)).unwrap().buf_id();

            let found = session.read_recent(page(1), hint).map(|pin| pin.tag());
            assert_eq!(found, Some(page(1)));
            assert!(session.read_recent(page(2), hint).is_none(), "another page");
            assert!(session.read_recent(page(1), 99).is_none(), "no such buffer");

            drop(session.read(page(2)).unwrap());
            assert!(session.read_recent(page(1), hint).is_none(), "evicted");
            assert_quiescent(&pool);
        });
    }
}

#[test]
fn a_failed_read_leaves_an_error_and_can_be_tried_again() {
    both(|profile| {
        let (pool, storage) = with_storage(options(1, profile));
        let session = pool.session();
        storage.fail_next_reads(1);

        assert!(matches!(session.read(page(1)), Err(BufferError::Storage(_))));
        assert!(pool.state(0).has_io_error() && !pool.state(0).is_valid());
        assert_quiescent(&pool);

        assert_eq!(session.read(page(1)).unwrap().lock_share().bytes()[0], 1);
        assert!(!pool.state(0).has_io_error());
    });
}

#[test]
fn a_failed_write_leaves_the_page_dirty() {
    both(|profile| {
        let (pool, storage) = with_storage(options(1, profile));
        let session = pool.session();
        session.read(page(1)).unwrap().lock_exclusive().mark_dirty();
        storage.fail_next_writes(1);

        assert!(matches!(session.read(page(2)), Err(BufferError::Storage(_))));
        assert!(pool.state(0).has_io_error() && pool.state(0).is_dirty());
        assert!(session.read(page(2)).is_ok());
        assert_quiescent(&pool);
    });
}

#[test]
fn a_rotten_page_is_refused() {
    both(|profile| {
        let (pool, storage) = with_storage(options(1, profile));
        storage.rot(page(1), 200);

        let refused = pool.session().read(page(1)).map(|_| ());

        assert!(matches!(refused, Err(BufferError::Corrupt { tag }) if tag == page(1)));
        assert_quiescent(&pool);
    });
}

#[test]
fn locks_of_two_sessions_conflict_as_the_table_says() {
    both(|profile| {
        let pool = pool(1, profile);
        let (one, two) = (pool.session(), pool.session());
        let (mine, yours) = (one.read(page(1)).unwrap(), two.read(page(1)).unwrap());

        let reading = mine.lock_share();
        drop(yours.lock_share());
        assert!(yours.try_lock_exclusive().is_none());
        drop(reading);

        let writing_out = mine.lock_share_exclusive();
        drop(yours.lock_share());
        assert!(yours.try_lock_exclusive().is_none());
        drop(writing_out);

        let changing = mine.lock_exclusive();
        assert!(yours.try_lock_exclusive().is_none());
        assert!(mine.try_lock_exclusive().is_none(), "a second lock of one's own always fails");
        drop(changing);
        assert!(yours.try_lock_exclusive().is_some());
    });
}

#[test]
fn a_cleanup_lock_needs_the_only_pin() {
    both(|profile| {
        let pool = pool(1, profile);
        let (one, two) = (pool.session(), pool.session());
        let (mine, yours) = (one.read(page(1)).unwrap(), two.read(page(1)).unwrap());
        assert!(mine.try_lock_for_cleanup().is_none());

        drop(yours);

        assert!(mine.try_lock_for_cleanup().is_some());
        assert!(mine.lock_for_cleanup().is_ok());
        drop(mine);
        assert_quiescent(&pool);
    });
}

#[test]
fn a_locked_page_gives_lock_and_pin_back_together() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        let mut locked = session.read(page(1)).unwrap().into_locked(LockMode::Exclusive);
        locked.bytes_mut()[0] = 5;
        locked.mark_dirty();
        drop(locked);

        assert_quiescent(&pool);
        let other = session.read(page(1)).unwrap();
        let locked = session.read(page(1)).unwrap().into_locked(LockMode::ShareExclusive);
        assert_eq!(locked.bytes()[0], 5);
        drop(locked);
        assert_eq!(session.pin_count(other.buf_id()), 1);
    });
}

#[test]
fn zero_and_lock_zeroes_only_what_is_not_there() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        drop(session.read(page(1)).unwrap());

        assert_eq!(session.zero_and_lock(page(1)).unwrap().bytes()[0], 1);
        assert_eq!(session.zero_and_lock(page(2)).unwrap().bytes()[0], 0);
        assert_eq!(session.zero_and_lock_for_cleanup(page(1)).unwrap().bytes()[0], 1);
        assert_eq!(session.zero_and_lock_for_cleanup(page(3)).unwrap().bytes()[0], 0);
        assert_quiescent(&pool);
    });
}

#[test]
fn an_extended_relation_has_one_page_more() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        let pin = session.extend(A, Fork::Main).unwrap();
        assert_eq!(pin.tag(), page(32));
        assert!(pin.lock_share().bytes().iter().all(|&byte| byte == 0));
        assert_eq!(pool.storage().size(A, Fork::Main).unwrap(), 33);
    });
}

#[test]
fn new_pages_are_zeroes_in_a_row_and_no_more_than_the_share_of_a_session() {
    both(|profile| {
        let pool = pool(8, profile);
        let session = pool.session();
        let share = 8 / pool.options().max_sessions;
        drop(session.read(page(1)).unwrap());

        let added = session.extend_by(A, Fork::Main, 1000).unwrap();

        assert_eq!(added.first.tag(), page(32));
        assert!(added.first.bytes().iter().all(|&byte| byte == 0));
        assert_eq!(added.others.len() as u32 + 1, share.max(1));
        for (block, pin) in (33..).zip(&added.others) {
            assert_eq!(pin.tag(), page(block));
            assert!(pin.lock_share().bytes().iter().all(|&byte| byte == 0));
        }
        drop(added);
        assert_eq!(pool.storage().size(A, Fork::Main).unwrap(), 32 + share.max(1));
        assert_quiescent(&pool);
    });
}

#[test]
fn a_fork_grows_up_to_a_size_and_not_beyond() {
    both(|profile| {
        let pool = pool(4, profile);
        let session = pool.session();
        assert_eq!(session.extend_to(A, Fork::Main, 40).unwrap().tag(), page(39));
        assert_eq!(session.extend_to(A, Fork::Main, 35).unwrap().tag(), page(34));
        assert_eq!(pool.storage().size(A, Fork::Main).unwrap(), 40);
        assert!(session.extend_to(A, Fork::Main, 0).is_err());
        assert_quiescent(&pool);
    });
}

#[test]
fn data_behind_the_end_is_not_written_over() {
    both(|profile| {
        let pool = pool(4, profile);
        let session = pool.session();
        session.zero_and_lock(page(32)).unwrap().bytes_mut()[0] = 7;

        let refused = session.extend(A, Fork::Main).map(|_| ());

        assert!(matches!(refused, Err(BufferError::DataBeyondEnd { .. })), "{refused:?}");
        assert_eq!(session.zero_and_lock(page(32)).unwrap().bytes()[0], 7);
        assert_eq!(pool.storage().size(A, Fork::Main).unwrap(), 32);
        assert_quiescent(&pool);
    });
}

#[test]
fn a_page_in_anothers_place_is_corrupt_until_it_is_written_anew() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        let mut other = vec![0; pool.options().page_size];
        pool.storage().read(page(2), &mut other).unwrap();
        pool.storage().write(page(1), &other).unwrap();

        let read = session.read(page(1)).map(|_| ());

        assert!(matches!(read, Err(BufferError::Corrupt { .. })), "{read:?}");
        let buf_id = pool.find(page(1)).unwrap();
        assert!(pool.state(buf_id).has_io_error() && !pool.state(buf_id).is_valid());
        session.zero_and_lock(page(1)).unwrap().mark_dirty();
        assert!(!pool.state(buf_id).has_io_error());
        assert_quiescent(&pool);
    });
}

#[test]
fn evict_and_flush_do_nothing_to_what_is_in_use_or_clean() {
    both(|profile| {
        let pool = pool(2, profile);
        let session = pool.session();
        assert!(!session.evict(0).unwrap(), "empty");
        let pin = session.read(page(1)).unwrap();
        assert!(!session.evict(pin.buf_id()).unwrap(), "pinned");
        assert!(!session.flush(pin.buf_id()).unwrap(), "clean");
        pin.lock_exclusive().mark_dirty();
        assert!(session.flush(pin.buf_id()).unwrap());
        assert!(!pool.state(pin.buf_id()).is_dirty());
        pin.lock_exclusive().mark_dirty();
        assert_eq!(session.flush_relation(B).unwrap(), 0);
        assert_eq!(session.flush_relation(A).unwrap(), 1);

        let buf_id = pin.buf_id();
        drop(pin);
        assert!(session.evict(buf_id).unwrap());
        assert_eq!(pool.find(page(1)), None);
        assert!(session.evict(7).is_err());
        assert_quiescent(&pool);
    });
}

#[test]
fn a_drop_forgets_its_relation_and_no_other() {
    for (drop, locks) in [(DropStrategy::EveryHeader, 4 * 8), (DropStrategy::Precheck, 3)] {
        both(|profile| {
            let pool = with_storage(PoolOptions { drop, ..options(8, profile) }).0;
            let session = pool.session();
            for block in 0..3 {
                session.read(page(block)).unwrap().lock_exclusive().mark_dirty();
            }
            let other = BufferTag::new(B, Fork::Main, 1);
            let _held = session.read(other).unwrap();

            let counts = session.drop_relation(A).unwrap();

            assert_eq!((counts.invalidations, counts.header_locks), (3, locks));
            assert_eq!(pool.find(page(0)), None);
            assert!(pool.find(other).is_some());
            let gone = session.read(page(0)).map(|_| ());
            assert!(matches!(gone, Err(BufferError::Storage(_))));
        });
    }
}

#[test]
fn who_drops_what_it_has_pinned_is_told() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        let _held = session.read(page(1)).unwrap();
        let refused = session.drop_relation(A);
        assert!(matches!(refused, Err(BufferError::PinnedByCaller { .. })));
    });
}

#[test]
fn a_bit_in_both_sets_of_a_release_is_set() {
    both(|profile| {
        let pool = pool(1, profile);
        let session = pool.session();
        let change = Change { unset: IO_ERROR | IO_IN_PROGRESS, set: IO_ERROR, pins: 0 };
        let left = session.lock_header(0).unlock_with(change);
        assert!(left.has_io_error() && !left.is_locked());
        assert_eq!(left, pool.state(0));
    });
}

#[test]
fn a_modern_release_keeps_a_pin_given_back_meanwhile() {
    let pool = pool(1, Profile::Modern);
    let (one, two) = (pool.session(), pool.session());
    let pin = one.read(page(1)).unwrap();

    let header = two.lock_header(0);
    drop(pin);
    header.unlock();

    assert_quiescent(&pool);
}

#[test]
fn the_delay_grows_by_at_most_two_and_begins_anew() {
    assert_eq!(delay::longer(1_000, 0.0), 1_000);
    assert_eq!(delay::longer(1_000, 0.5), 1_500);
    assert_eq!(delay::longer(600_000, 0.999), 1_000);
}

#[test]
fn what_a_session_learnt_is_a_sixteenth_of_the_estimate() {
    let pool = pool(1, Profile::Modern);
    let session = pool.session();
    session.spins_per_delay.set(delay::MAX_SPINS_PER_DELAY);
    drop(session);
    assert_eq!(pool.spins_per_delay.load(Ordering::Relaxed), (15 * 100 + 1000) / 16);
    assert_eq!(delay::fold(delay::MIN_SPINS_PER_DELAY, delay::MIN_SPINS_PER_DELAY), 10);
}

#[test]
fn a_state_word_prints_its_parts() {
    let pool = pool(1, Profile::Modern);
    let session = pool.session();
    let pin = session.read(page(1)).unwrap();
    let _guard = pin.lock_share();
    assert_eq!(pool.state(0).to_string(), "refs 1 usage 1 VALID TAG_VALID SHARE 1");
}

#[test]
fn a_pin_left_behind_is_reported() {
    let pool = pool(1, Profile::Modern);
    let session = pool.session();
    let _pin = session.read(page(1)).unwrap();

    let broken = check_quiescent(&pool).unwrap_err().to_string();

    assert_eq!(broken, "I-REF3: nobody holds a guard, so nobody holds a pin, buffer 0");
}

#[test]
fn options_that_make_no_pool_are_refused() {
    let storage = || MemoryStorage::new(64);
    let refused = |options| BufferPool::open(options, storage()).unwrap_err().to_string();
    let good = options(1, Profile::Modern);

    assert!(refused(PoolOptions { n_buffers: 0, ..good.clone() }).contains("1 to"));
    assert!(refused(PoolOptions { partitions: 0, ..good.clone() }).contains("partition"));
    assert!(refused(PoolOptions { page_size: 65, ..good.clone() }).contains("power of two"));
    assert!(refused(PoolOptions { page_size: 128, ..good.clone() }).contains("64 bytes"));
    assert!(refused(PoolOptions { max_sessions: 0, ..good }).contains("sessions"));
}

#[test]
fn every_mutant_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> =
        crate::mutant::ALL.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), crate::mutant::ALL.len());
}
