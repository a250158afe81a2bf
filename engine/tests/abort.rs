//! A task that dies in the middle of an I/O leaves nothing behind for others to wait for.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use holdup_engine::{
    BufferPool, BufferTag, Fork, INSTRUMENTED, MemoryStorage, PoolOptions, Profile, RelationId,
    Storage, check_quiescent,
};

const RELATION: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };

/// A pool whose page 1 is dirty, in buffer 0, of a relation that has been removed: to write it out
/// panics, in the middle of the I/O, with the page pinned and locked.
fn pool_that_panics(profile: Profile) -> BufferPool {
    let storage = Arc::new(MemoryStorage::new(64));
    storage.create(RELATION, Fork::Main, 2, |block, body| body[0] = block as u8);
    let options = PoolOptions { n_buffers: 2, page_size: 64, profile, ..Default::default() };
    let pool = BufferPool::open(options, Arc::clone(&storage)).unwrap();
    let session = pool.session();
    let page = session.read(BufferTag::new(RELATION, Fork::Main, 1)).unwrap();
    page.lock_exclusive().mark_dirty();
    drop(page);
    drop(session);
    storage.remove(RELATION).unwrap();
    pool
}

fn assert_let_go(pool: &BufferPool) {
    let left = pool.state(0);
    assert!(left.is_dirty() && left.has_io_error(), "a write that died was left {left}");
    check_quiescent(pool).unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn a_session_that_panicked_in_mid_write_gives_back_all() {
    for profile in [Profile::Classic, Profile::Modern] {
        let pool = pool_that_panics(profile);
        let mut session = pool.session();
        assert!(catch_unwind(AssertUnwindSafe(|| session.flush(0).is_ok())).is_err());
        assert_eq!(check_quiescent(&pool).unwrap_err().rule, "I-REF3");
        session.abort();
        assert_let_go(&pool);
    }
}

#[test]
fn a_task_that_dies_in_mid_write_gives_back_all() {
    // A panic of a task ends an execution, and nothing is cleaned up there.
    for profile in [Profile::Classic, Profile::Modern] {
        let pool = pool_that_panics(profile);
        let died = std::thread::scope(|scope| {
            scope.spawn(|| pool.session().flush(0).is_ok()).join().is_err()
        });
        assert!(died);
        if !INSTRUMENTED {
            assert_let_go(&pool);
        }
    }
}
