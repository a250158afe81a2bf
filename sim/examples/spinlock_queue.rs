//! A queue behind a spinlock of its own, as somebody might write it, and the ten lines that test it.
//!
//! The bug: `pop` looks whether there is anything before it takes the lock, and trusts what it saw.
//!
//! `cargo run -p holdup --example spinlock_queue`

#![expect(unsafe_code, reason = "a lock of its own guards plain memory")]

use std::cell::UnsafeCell;
use std::collections::VecDeque;

use holdup::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use holdup::{Checker, hint, note, thread};

#[derive(Default)]
struct Queue {
    locked: AtomicBool,
    len: AtomicUsize,
    items: UnsafeCell<VecDeque<u32>>,
}

// SAFETY: `items` is touched by `with_items` only, which owns the lock meanwhile.
unsafe impl Sync for Queue {}

impl Queue {
    #[track_caller]
    fn with_items<T>(&self, f: impl FnOnce(&mut VecDeque<u32>) -> T) -> T {
        while self.locked.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
        // SAFETY: unaliased, since only the owner of the lock gets here, and `f` keeps no reference.
        let items = unsafe { &mut *self.items.get() };
        let result = f(items);
        self.len.store(items.len(), Ordering::Relaxed);
        self.locked.store(false, Ordering::Release);
        result
    }

    fn push(&self, item: u32) {
        self.with_items(|items| items.push_back(item));
    }

    fn pop_wrong(&self) -> Option<u32> {
        if self.len.load(Ordering::Relaxed) == 0 {
            note!("finds nothing");
            return None;
        }
        note!("finds something");
        Some(self.with_items(|items| items.pop_front().expect("the queue had an item")))
    }

    fn pop_right(&self) -> Option<u32> {
        let item = self.with_items(VecDeque::pop_front);
        note!("gets {item:?}");
        item
    }
}

/// One item, two consumers: exactly one of them gets it.
fn two_consumers(pop: fn(&Queue) -> Option<u32>) {
    let queue = Queue::default();
    queue.push(7);
    let popped = thread::scope(|scope| {
        let consumers = [scope.spawn(|| pop(&queue)), scope.spawn(|| pop(&queue))];
        consumers.map(|consumer| consumer.join().unwrap())
    });
    assert!(matches!(popped, [Some(7), None] | [None, Some(7)]), "popped {popped:?}");
}

fn main() {
    let checker = Checker::new("two consumers").seeds(0..10_000);

    let wrong = || two_consumers(Queue::pop_wrong);
    let report = checker.clone().stop_at_first(true).run(&wrong);
    let found = report.first_failure.expect("somebody pops from an empty queue");
    let replay = "cargo run -p holdup --example spinlock_queue";
    println!("{}\n", checker.trace(found.seed, &wrong).failure_report(replay));

    let right = || two_consumers(Queue::pop_right);
    let report = checker.run(&right);
    assert_eq!(report.first_failure, None);
    println!("With the look inside of the lock, all {} executions pass.", report.executions);
}

#[test]
fn the_wrong_queue_fails_and_the_right_one_passes() {
    main();
}

#[holdup::test]
fn two_consumers_share_one_item() {
    two_consumers(Queue::pop_right);
}

#[holdup::test]
#[should_panic(expected = "the queue had an item")]
fn a_look_outside_of_the_lock_is_no_promise() {
    two_consumers(Queue::pop_wrong);
}
