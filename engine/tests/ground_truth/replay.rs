//! A recording replayed by the engine, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdup_engine::{
    BufferError, BufferPool, BufferTag, Fork, Log, MemoryStorage, Pin, PoolOptions, Profile, Ring,
    RingKind, Session, VictimStrategy,
};

use crate::data::{Frame, Recording, Step};
use crate::warm::{filler, observe, warm};

const PAGE_SIZE: usize = 64;

/// The log of a server that has flushed nothing of what the recording does.
#[derive(Debug)]
struct NothingFlushed;

impl Log for NothingFlushed {
    fn needs_flush(&self, _lsn: u64) -> bool {
        true
    }
}

/// Replays `recording`. Returns how many steps agreed, all of them.
///
/// # Panics
///
/// At the first step after which the engine's pool is not the server's.
pub(crate) fn replay(recording: &Recording, profile: Profile) -> usize {
    let pool = BufferPool::open(options(recording.n_buffers, profile), storage(recording)).unwrap();
    let session = pool.session();
    warm(&session, &recording.steps[0]);
    let mut backend = Backend::new(&session, recording);
    backend.compare(0, &recording.steps[0]);
    for (n, step) in recording.steps.iter().enumerate().skip(1) {
        let before = observe(&pool);
        backend.run(step, &recording.steps[n - 1]);
        let after = observe(&pool);
        let changed = (0..recording.n_buffers)
            .filter(|&id| before[id as usize].tag != after[id as usize].tag);
        let changed: Vec<u32> = changed.collect();
        assert_eq!(changed, step.changed, "{} step {n}: buffers with new pages", recording.name);
        backend.compare(n, step);
    }
    recording.steps.len() - 1
}

fn options(n_buffers: u32, profile: Profile) -> PoolOptions {
    PoolOptions {
        n_buffers,
        page_size: PAGE_SIZE,
        profile,
        victims: Some(VictimStrategy::FreeListAndSweep),
        log: Some(Arc::new(NothingFlushed)),
        ..PoolOptions::default()
    }
}

/// Every page a recording speaks of.
fn storage(recording: &Recording) -> MemoryStorage {
    let storage = MemoryStorage::new(PAGE_SIZE);
    let mut sizes: BTreeMap<_, u32> = BTreeMap::new();
    let accessed = recording.steps.iter().flat_map(|step| step.accesses.iter().copied());
    let cached = recording.steps.iter().flat_map(|step| &step.pool).filter_map(|frame| frame.tag);
    for tag in accessed.chain(cached) {
        let size = sizes.entry((tag.relation, tag.fork)).or_default();
        *size = (*size).max(tag.block + 1);
    }
    let (filler, n_blocks) = filler(recording.n_buffers);
    sizes.insert((filler, Fork::Main), n_blocks);
    for ((relation, fork), n_blocks) in sizes {
        storage.create(relation, fork, n_blocks, |_, _| {});
    }
    storage
}

/// The connection that made the accesses.
struct Backend<'s, 'p> {
    session: &'s Session<'p>,
    recording: &'s Recording,
    /// What cursors keep pinned.
    held: BTreeMap<BufferTag, Pin<'s, 'p>>,
    ring: Option<Ring>,
    /// The page the scan is on.
    scanned: Option<Pin<'s, 'p>>,
    /// Pages with dead row versions. Who reads one removes them, which changes the page.
    dead_rows: BTreeSet<BufferTag>,
}

impl<'s, 'p> Backend<'s, 'p> {
    fn new(session: &'s Session<'p>, recording: &'s Recording) -> Self {
        let mut dead_rows = BTreeSet::new();
        if recording.name == "seqscan_dirty" {
            // Left behind by the recording before, as its description says.
            let h = recording.steps.iter().find_map(|step| step.accesses.first());
            let h = h.expect("a scan reads").relation;
            dead_rows.extend([2, 5, 9, 30, 61].map(|block| BufferTag::new(h, Fork::Main, block)));
        }
        let (held, ring, scanned) = (BTreeMap::new(), None, None);
        Self { session, recording, held, ring, scanned, dead_rows }
    }

    fn run(&mut self, step: &Step, before: &Step) {
        match step.op.as_str() {
            "read" | "index" => step.accesses.iter().for_each(|&tag| drop(self.read(tag))),
            "update" => self.update(step.accesses[0]),
            "pin" => {
                let pin = self.read(step.accesses[0]);
                self.held.insert(step.accesses[0], pin);
            }
            "unpin" => drop(self.held.remove(&step.accesses[0]).expect("a cursor has it")),
            "failed" => self.fail(step.accesses[0]),
            "declare" if step.note.contains("scan") => self.declare_scan(),
            "scan" => self.scan(step.accesses[0]),
            "close" => self.scanned = None,
            "checkpoint" => self.checkpoint(),
            "drop" => self.drop_z(step, before),
            "declare" | "commit" | "set" | "idle" => {}
            other => panic!("no such operation: {other}"),
        }
    }

    fn read(&mut self, tag: BufferTag) -> Pin<'s, 'p> {
        let pin = self.session.read(tag).unwrap();
        self.prune(&pin);
        pin
    }

    fn prune(&mut self, pin: &Pin<'_, '_>) {
        if self.dead_rows.remove(&pin.tag()) {
            pin.lock_exclusive().mark_dirty();
        }
    }

    /// The scan finds the row and the update changes it: two pins, of which one counts.
    fn update(&mut self, tag: BufferTag) {
        let found = self.read(tag);
        let changed = self.session.read(tag).unwrap();
        changed.lock_exclusive().mark_dirty();
        drop((found, changed));
        self.dead_rows.insert(tag);
    }

    /// The read fails, and with it the transaction: its pins go away.
    fn fail(&mut self, tag: BufferTag) {
        let refused = self.session.read(tag).map(|_| ());
        assert!(matches!(refused, Err(BufferError::NoUnpinnedBuffers)), "{refused:?}");
        self.held.clear();
    }

    /// A scan of a table larger than a quarter of the pool uses a ring. The table has 64 blocks.
    fn declare_scan(&mut self) {
        let pool = self.session.pool();
        let is_large = 64 > pool.options().n_buffers / 4;
        self.ring = is_large.then(|| Ring::new(RingKind::BulkRead, pool));
    }

    /// The page before is let go after the new one is pinned.
    fn scan(&mut self, tag: BufferTag) {
        let pin = match &mut self.ring {
            Some(ring) => self.session.read_with(ring, tag).unwrap(),
            None => self.session.read(tag).unwrap(),
        };
        self.prune(&pin);
        self.scanned = Some(pin);
    }

    fn checkpoint(&self) {
        for buf_id in 0..self.recording.n_buffers {
            self.session.flush(buf_id).unwrap();
        }
    }

    /// Another backend drops table z. Which catalogue pages it read, all of them cached, and which
    /// of them it changed, is not in the steps; so that is taken from the pools before and after.
    fn drop_z(&self, step: &Step, before: &Step) {
        let other = self.session.pool().session();
        for (frame, after) in before.pool.iter().zip(&step.pool) {
            let Some(tag) = frame.tag.filter(|_| frame.tag == after.tag) else { continue };
            for _ in frame.usage..after.usage {
                drop(other.read(tag).unwrap());
            }
            if after.is_dirty && !frame.is_dirty {
                // Full to the brim, so that this read shows in the flag only.
                assert_eq!(after.usage, 5);
                other.read(tag).unwrap().lock_exclusive().mark_dirty();
            }
        }
        let gone = before.pool.iter().zip(&step.pool).find(|(_, after)| after.tag.is_none());
        let z = gone.and_then(|(before, _)| before.tag).expect("z was cached").relation;
        assert_eq!(self.recording.relations.name(z), "z");
        other.drop_buffers(z).unwrap();
    }

    /// Holds the engine's pool against the server's.
    fn compare(&self, n: usize, step: &Step) {
        let (pool, place) = (self.session.pool(), format!("{} step {n}", self.recording.name));
        for (buf_id, (ours, theirs)) in observe(pool).iter().zip(&step.pool).enumerate() {
            assert_eq!(
                ours,
                theirs,
                "{place} ({}), buffer {buf_id}: ours is {}, the server's {}",
                step.op,
                self.show(ours),
                self.show(theirs)
            );
        }
        let clock = pool.clock();
        assert_eq!((clock.hand, clock.complete_passes), (step.hand, step.passes), "{place}: hand");
        assert_eq!(pool.free_list(), step.free_list, "{place}: free list");
    }

    fn show(&self, frame: &Frame) -> String {
        frame.tag.map_or("free".to_owned(), |tag| {
            format!(
                "{} {} {}",
                self.recording.relations.name(tag.relation),
                tag.fork.name(),
                tag.block
            )
        })
    }
}
