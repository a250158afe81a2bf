use std::sync::atomic::{AtomicU32, Ordering};

use holdup::sync::{RwLock, RwLockWriteGuard, TryLockError};
use holdup::{Checker, thread};

use crate::{caught, fails, passes};

#[test]
fn a_writer_is_alone_and_readers_see_whole_pairs() {
    passes(|| {
        let pair = RwLock::new((0, 0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..3 {
                    let mut pair = pair.write().unwrap();
                    pair.0 += 1;
                    thread::yield_now();
                    pair.1 += 1;
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let pair = pair.read().unwrap();
                    let first = pair.0;
                    thread::yield_now();
                    assert_eq!(first, pair.1);
                });
            }
        });
        assert_eq!(pair.into_inner().unwrap(), (3, 3));
    });
}

#[test]
fn readers_share_the_lock_under_some_seed() {
    static MOST: AtomicU32 = AtomicU32::new(0);
    passes(|| {
        let lock = RwLock::new(());
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _shared = lock.read().unwrap();
                    let now = inside.fetch_add(1, Ordering::Relaxed) + 1;
                    MOST.fetch_max(now, Ordering::Relaxed);
                    thread::yield_now();
                    inside.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
    });
    assert_eq!(MOST.load(Ordering::Relaxed), 3);
}

#[test]
fn two_readers_that_become_writers_lose_an_update() {
    let failure = fails(|| {
        let count = RwLock::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let old = *count.read().unwrap();
                    *count.write().unwrap() = old + 1;
                });
            }
        });
        assert_eq!(*count.read().unwrap(), 2);
    });
    assert_eq!(failure.rule, "panic");
}

#[test]
fn a_writer_that_still_reads_waits_for_itself() {
    let failure = fails(|| {
        let lock = RwLock::new(());
        let _shared = lock.read();
        let _exclusive = lock.write();
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn reading_twice_deadlocks_if_a_writer_comes_in_between() {
    let failure = fails(|| {
        let lock = RwLock::new(());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _first = lock.read();
                let _second = lock.read();
            });
            scope.spawn(|| drop(lock.write()));
        });
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_downgraded_writer_lets_readers_in_and_writers_not() {
    passes(|| {
        let count = RwLock::new(0);
        thread::scope(|scope| {
            for n in 1..3 {
                let count = &count;
                scope.spawn(move || {
                    let mut exclusive = count.write().unwrap();
                    *exclusive = n;
                    let shared = RwLockWriteGuard::downgrade(exclusive);
                    thread::yield_now();
                    assert_eq!(*shared, n);
                    assert!(matches!(count.try_write(), Err(TryLockError::WouldBlock)));
                });
            }
        });
    });
}

#[test]
fn a_writer_that_panics_poisons_and_a_reader_that_panics_does_not() {
    passes(|| {
        let lock = RwLock::new(7);
        caught(|| {
            let _shared = lock.read().unwrap();
            panic!("reading");
        });
        assert!(!lock.is_poisoned());
        caught(|| {
            let _exclusive = lock.write().unwrap();
            panic!("writing");
        });
        assert!(lock.is_poisoned());
        assert_eq!(*lock.read().unwrap_err().into_inner(), 7);
        lock.clear_poison();
        assert_eq!(*lock.write().unwrap(), 7);
    });
}

#[test]
fn outside_of_executions_it_is_the_real_lock() {
    let mut lock = RwLock::from(1);
    let shared = lock.read().unwrap();
    assert_eq!(*lock.try_read().unwrap(), 1);
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
    drop(shared);
    *lock.write().unwrap() += 1;
    assert_eq!(*RwLockWriteGuard::downgrade(lock.write().unwrap()), 2);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 2, poisoned: false, .. }");
    assert_eq!(*lock.get_mut().unwrap(), 2);
}

#[test]
fn a_static_starts_afresh_in_every_execution() {
    static COUNT: RwLock<u32> = RwLock::new(0);
    let body = || {
        *COUNT.write().unwrap() += 1;
        assert_eq!(*COUNT.read().unwrap(), 1);
    };
    let report = Checker::new("static").seeds(0..50).jobs(2).run(&body);
    assert_eq!(report.failures, 0);
    assert_eq!(*COUNT.read().unwrap(), 0);
}
