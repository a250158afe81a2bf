//! A compressor's main task frees the queue's mutex at the end; consumers may still be using it.
//!
//! Source: `pbzip2-0.9.4` of the CB suite (Yu and Narayanasamy, ISCA 2009), in SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, Ordering::SeqCst};
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

const CONSUMERS: usize = 2;
const BLOCKS: u32 = 3;

register!(Scenario {
    name: "pbzip2",
    area: "classic",
    summary: "the queue of a compressor is freed once all blocks are written",
    rules: &["I-FREED"],
    mutants: &[MutantCase {
        name: "classic.pbzip2",
        budget: 1_000,
        note: "the queue is freed before the consumers have been waited for",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: pbzip2,
    ..Scenario::BASE
});

#[derive(Default)]
struct Work {
    queued: u32,
    written: u32,
    is_complete: bool,
}

#[derive(Default)]
struct Queue {
    work: Mutex<Work>,
    filled: Condvar,
    all_written: Condvar,
    is_freed: AtomicBool,
}

impl Queue {
    fn is_there(&self) {
        let is_freed = self.is_freed.load(SeqCst);
        assert!(!is_freed, "I-FREED: nobody uses a queue that was freed");
    }
}

fn consume(queue: &Queue) {
    loop {
        queue.is_there();
        let mut work = lock(&queue.work);
        while work.queued == 0 && !work.is_complete {
            work = queue.filled.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        if work.queued == 0 {
            return;
        }
        work.queued -= 1;
        work.written += 1;
        if work.written == BLOCKS {
            queue.all_written.notify_one();
        }
    }
}

fn pbzip2() {
    // Given a queue and consumers of what is put there,
    let queue = Arc::new(Queue::default());
    let consumers: [_; CONSUMERS] = std::array::from_fn(|_| {
        let queue = queue.clone();
        actor("consumer", move || consume(&queue))
    });
    // when blocks are queued one by one
    for _ in 0..BLOCKS {
        lock(&queue.work).queued += 1;
        queue.filled.notify_one();
    }
    let mut work = lock(&queue.work);
    work.is_complete = true;
    queue.filled.notify_all();
    // and all have been written,
    while work.written < BLOCKS {
        work = queue.all_written.wait(work).unwrap_or_else(PoisonError::into_inner);
    }
    drop(work);
    let consumers = if mutant::is("classic.pbzip2") {
        Some(consumers)
    } else {
        consumers.into_iter().for_each(finish);
        None
    };
    // then the queue is freed, and nobody uses it.
    queue.is_freed.store(true, SeqCst);
    note!("frees the queue");
    consumers.into_iter().flatten().for_each(finish);
}
