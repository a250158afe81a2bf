//! An owner pushes work to the tail of a queue and pops it from there, while a thief steals from the
//! head: each piece of work is done once.
//!
//! Where they may meet over the last piece, the owner first moves the tail and then looks at the
//! head; who loses takes a lock (`work-stealing-queue`) or has its compare-and-swap fail
//! (`work-stealing-queue-interlocked`). The one's bug looks at the head before it moves the tail, the
//! other's takes the last piece without the compare-and-swap.
//! Source: Frigo, Leiserson, Randall, PLDI 1998; Chase and Lev, SPAA 2005; `WSQ` and
//! `InterlockedWSQ` of CHESS, in SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI64, AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

const WORK: usize = 4;
const STEALS: usize = 3;

register!(Scenario {
    name: "work-stealing-queue",
    area: "classic",
    summary: "an owner and a thief meet over the last piece of work in a queue with a lock",
    rules: &["I-ONCE"],
    mutants: &[MutantCase {
        name: "classic.work_stealing",
        budget: 5_000,
        note: "the owner looks at the head before it moves the tail",
        critical_pair: Some([("thief", "tail"), ("owner", "tail")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: || work_stealing(Queue::pop, Queue::steal),
    ..Scenario::BASE
});

register!(Scenario {
    name: "work-stealing-queue-interlocked",
    area: "classic",
    summary: "an owner and a thief meet over the last piece of work in a queue without a lock",
    rules: &["I-ONCE"],
    mutants: &[MutantCase {
        name: "classic.work_stealing_interlocked",
        budget: 5_000,
        note: "the owner takes the last piece without a compare-and-swap of the head",
        critical_pair: Some([("thief", "head"), ("owner", "head")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: || work_stealing(Queue::pop_interlocked, Queue::steal_interlocked),
    ..Scenario::BASE
});

#[derive(Default)]
struct Queue {
    lock: Mutex<()>,
    head: AtomicI64,
    tail: AtomicI64,
    /// How often each piece was done.
    done: [AtomicU32; WORK],
}

impl Queue {
    fn push(&self) {
        self.tail.store(self.tail.load(SeqCst) + 1, SeqCst);
    }

    fn pop(&self) -> Option<i64> {
        let early = mutant::is("classic.work_stealing").then(|| self.head.load(SeqCst));
        let last = self.tail.load(SeqCst) - 1;
        self.tail.store(last, SeqCst);
        if early.unwrap_or_else(|| self.head.load(SeqCst)) <= last {
            return Some(last);
        }
        self.tail.store(last + 1, SeqCst);
        let _lock = lock(&self.lock);
        if self.head.load(SeqCst) <= last {
            self.tail.store(last, SeqCst);
            return Some(last);
        }
        None
    }

    fn steal(&self) -> Option<i64> {
        let _lock = lock(&self.lock);
        let first = self.head.load(SeqCst);
        self.head.store(first + 1, SeqCst);
        if first < self.tail.load(SeqCst) {
            return Some(first);
        }
        self.head.store(first, SeqCst);
        None
    }

    fn pop_interlocked(&self) -> Option<i64> {
        let last = self.tail.load(SeqCst) - 1;
        self.tail.store(last, SeqCst);
        let first = self.head.load(SeqCst);
        if first < last {
            return Some(last);
        }
        self.tail.store(first.max(last + 1), SeqCst);
        if first > last {
            return None;
        }
        let is_ours = mutant::is("classic.work_stealing_interlocked")
            || self.head.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok();
        if is_ours {
            self.head.store(first + 1, SeqCst);
        }
        is_ours.then_some(last)
    }

    fn steal_interlocked(&self) -> Option<i64> {
        let first = self.head.load(SeqCst);
        if first >= self.tail.load(SeqCst) {
            return None;
        }
        self.head.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok().then_some(first)
    }

    fn do_work(&self, piece: Option<i64>) {
        let Some(piece) = piece else { return };
        note!("does piece {piece}");
        let before = self.done[piece as usize].fetch_add(1, SeqCst);
        assert!(before == 0, "I-ONCE: a piece of work is done once, but piece {piece} was done");
    }
}

fn work_stealing(pop: fn(&Queue) -> Option<i64>, steal: fn(&Queue) -> Option<i64>) {
    // Given an empty queue,
    let queue = Arc::new(Queue::default());
    name!(&queue.head, "head");
    name!(&queue.tail, "tail");
    // when a thief steals some work,
    let thief = {
        let queue = queue.clone();
        actor("thief", move || (0..STEALS).for_each(|_| queue.do_work(steal(&queue))))
    };
    // while its owner pushes and pops,
    let owner = actor("owner", move || {
        (0..WORK).for_each(|_| queue.push());
        (0..WORK).for_each(|_| queue.do_work(pop(&queue)));
    });
    // then no piece is done twice.
    finish(thief);
    finish(owner);
}
