//! Many tasks create a file each: it looks for a free block under that block's lock.
//!
//! The bug looks whether a block is busy before it takes the block's lock, so that two files may get
//! the same one. Where files begin to look is spread so that only neighbours compete.
//! Source: Flanagan and Godefroid, POPL 2005; `fsbench` of SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const FILES: usize = 16;
const BLOCKS: usize = 26;

register!(Scenario {
    name: "file-system",
    area: "classic",
    summary: "16 tasks look for a free block for a file each",
    rules: &["I-BLOCK"],
    mutants: &[MutantCase {
        name: "classic.file_system",
        budget: 1_000,
        note: "a block is found free before its lock is taken",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: file_system,
    ..Scenario::BASE
});

/// One block of the disk.
#[derive(Default)]
struct Block {
    lock: Mutex<()>,
    is_busy: AtomicBool,
    /// How many files have it.
    files: AtomicUsize,
}

impl Block {
    /// Takes the block if it is free, and says whether it was.
    fn take(&self) -> bool {
        let seen_early = mutant::is("classic.file_system").then(|| self.is_busy.load(SeqCst));
        let _lock = lock(&self.lock);
        if seen_early.unwrap_or_else(|| self.is_busy.load(SeqCst)) {
            return false;
        }
        self.is_busy.store(true, SeqCst);
        let others = self.files.fetch_add(1, SeqCst);
        assert!(others == 0, "I-BLOCK: a block belongs to one file");
        true
    }
}

fn file_system() {
    // Given an empty disk,
    let blocks: Arc<[Block; BLOCKS]> = Arc::new(std::array::from_fn(|_| Block::default()));
    // when files are created, each looking from its own place on,
    let tasks: [_; FILES] = std::array::from_fn(|file| {
        let blocks = blocks.clone();
        actor("creator", move || {
            let first = file * 2 % BLOCKS;
            let mut places = (0..BLOCKS).map(|away| (first + away) % BLOCKS);
            // then each gets a block of its own.
            assert!(places.any(|place| blocks[place].take()), "I-BLOCK: there is room for all");
        })
    });
    tasks.into_iter().for_each(finish);
}
