//! Which pages a checkpoint writes, and whose; what the background writer writes ahead of the hand; in
//! which order a batched hand takes buffers.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdup_engine::{
    BgWriter, BgWriterOptions, BufferPool, BufferTag, Fork, MemoryStorage, PoolOptions, Profile,
    RelationId, VictimStrategy, check_quiescent,
};

const LOGGED: RelationId = RelationId { tablespace: 1663, database: 1, number: 100 };
const UNLOGGED: RelationId = RelationId { number: 200, ..LOGGED };
const PROFILES: [Profile; 2] = [Profile::Classic, Profile::Modern];

fn pool(options: PoolOptions) -> BufferPool {
    let storage = Arc::new(MemoryStorage::new(64));
    for relation in [LOGGED, UNLOGGED] {
        for fork in [Fork::Main, Fork::Init] {
            storage.create(relation, fork, 64, |_, _| {});
        }
    }
    let unlogged = BTreeSet::from([UNLOGGED]);
    BufferPool::open(PoolOptions { page_size: 64, unlogged, ..options }, storage).unwrap()
}

fn dirty(pool: &BufferPool, tag: BufferTag) -> u32 {
    let session = pool.session();
    let pin = session.read(tag).unwrap();
    pin.lock_exclusive().mark_dirty();
    pin.buf_id()
}

#[test]
fn a_checkpoint_leaves_unlogged_pages_until_the_end_but_for_init_forks() {
    for profile in PROFILES {
        let pool = pool(PoolOptions { n_buffers: 8, profile, ..PoolOptions::default() });
        let tags = [
            BufferTag::new(LOGGED, Fork::Main, 1),
            BufferTag::new(UNLOGGED, Fork::Main, 1),
            BufferTag::new(UNLOGGED, Fork::Init, 0),
        ];
        let [logged, unlogged, init] = tags.map(|tag| dirty(&pool, tag));
        let is_dirty = || [logged, unlogged, init].map(|buf_id| pool.state(buf_id).is_dirty());
        let session = pool.session();

        assert_eq!(session.checkpoint().unwrap().written, 2);
        assert_eq!(is_dirty(), [false, true, false]);
        assert_eq!(session.shutdown_checkpoint().unwrap().written, 1);
        assert_eq!(is_dirty(), [false; 3]);
        drop(session);
        check_quiescent(&pool).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

#[test]
fn a_background_writer_writes_what_the_hand_will_come_for_and_nothing_in_use() {
    for profile in PROFILES {
        let victims = Some(VictimStrategy::SweepOnly);
        let pool = pool(PoolOptions { n_buffers: 8, profile, victims, ..PoolOptions::default() });
        let page = |block| BufferTag::new(LOGGED, Fork::Main, block);
        let buffers: Vec<u32> = (0..8).map(|block| dirty(&pool, page(block))).collect();
        // The hand takes all points of usage on its way, and then the page in buffer 0.
        let session = pool.session();
        drop(session.read(page(8)).unwrap());
        let pinned = session.read(page(3)).unwrap();

        let mut rounds = 0;
        let options = BgWriterOptions { delay: std::time::Duration::ZERO, ..Default::default() };
        let mut writer = BgWriter::new(options);
        let of_writer = pool.session();
        writer
            .run(&of_writer, || {
                rounds += 1;
                rounds > 3
            })
            .unwrap();

        let dirty: Vec<u32> =
            buffers.iter().copied().filter(|&buf_id| pool.state(buf_id).is_dirty()).collect();
        assert_eq!(dirty, [pinned.buf_id()]);
    }
}

#[test]
fn a_background_writer_that_may_not_write_does_not() {
    let pool = pool(PoolOptions { n_buffers: 4, ..PoolOptions::default() });
    let buf_id = dirty(&pool, BufferTag::new(LOGGED, Fork::Main, 1));
    let session = pool.session();
    let options = BgWriterOptions { max_pages: 0, ..BgWriterOptions::default() };
    let counts = BgWriter::new(options).round(&session).unwrap();
    assert!(counts.is_idle && counts.scanned == 0 && counts.written == 0);
    assert!(pool.state(buf_id).is_dirty());
}

/// The buffers that `n` pages go into, one after the other.
fn buffers_of(victims: VictimStrategy, n: u32) -> Vec<u32> {
    let pool = pool(PoolOptions { n_buffers: 8, victims: Some(victims), ..Default::default() });
    let session = pool.session();
    (0..n)
        .map(|block| session.read(BufferTag::new(LOGGED, Fork::Main, block)).unwrap().buf_id())
        .collect()
}

#[test]
fn a_batched_hand_of_one_session_takes_the_buffers_of_a_hand() {
    let expected = buffers_of(VictimStrategy::SweepOnly, 60);
    for batch in [1, 3, 8, 64] {
        assert_eq!(buffers_of(VictimStrategy::BatchedHand { batch }, 60), expected, "{batch}");
    }
}

#[test]
fn two_sessions_with_batches_of_their_own_leave_no_buffer_out() {
    let victims = Some(VictimStrategy::BatchedHand { batch: 4 });
    let pool = pool(PoolOptions { n_buffers: 8, victims, ..PoolOptions::default() });
    let sessions = [pool.session(), pool.session()];
    let mut used = BTreeSet::new();
    for block in 0..8 {
        let tag = BufferTag::new(LOGGED, Fork::Main, block);
        used.insert(sessions[block as usize % 2].read(tag).unwrap().buf_id());
    }
    assert_eq!(used.len(), 8);
}
