use std::sync::Arc;

use holdup::sync::{Mutex, TryLockError};
use holdup::{Checker, hint, thread};

use crate::{caught, fails, passes};

#[test]
fn increments_under_a_mutex_are_not_lost() {
    passes(|| {
        let count = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..3 {
                        *count.lock().unwrap() += 1;
                    }
                });
            }
        });
        assert_eq!(count.into_inner().unwrap(), 9);
    });
}

#[test]
fn an_increment_under_two_locks_is_lost() {
    let failure = fails(|| {
        let count = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let old = *count.lock().unwrap();
                    *count.lock().unwrap() = old + 1;
                });
            }
        });
        assert_eq!(*count.lock().unwrap(), 2);
    });
    assert_eq!(failure.rule, "panic");
}

#[test]
fn two_mutexes_in_opposite_orders_deadlock_and_the_report_names_both_tasks() {
    let failure = fails(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        holdup::name!(&*a, "lock a");
        holdup::name!(&*b, "lock b");
        let (a2, b2) = (a.clone(), b.clone());
        let spawn = |name: &str, main: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(main).unwrap()
        };
        let left = spawn(
            "left",
            Box::new(move || {
                let _a = a.lock().unwrap();
                let _b = b.lock().unwrap();
            }),
        );
        let right = spawn(
            "right",
            Box::new(move || {
                let _b = b2.lock().unwrap();
                let _a = a2.lock().unwrap();
            }),
        );
        left.join().unwrap();
        right.join().unwrap();
    });
    assert_eq!(failure.rule, "deadlock");
    let text = format!("{} {}", failure.message, failure.detail.join("\n"));
    assert!(text.contains("left") && text.contains("right"), "{text}");
    assert!(text.contains("held by left") && text.contains("held by right"), "{text}");
}

#[test]
fn locking_a_mutex_twice_is_a_deadlock_of_one() {
    let failure = fails(|| {
        let lock = Mutex::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });
    assert_eq!(failure.rule, "deadlock");
    assert!(failure.message.contains("main waits for itself"), "{}", failure.message);
}

#[test]
fn a_panic_under_the_lock_poisons_it() {
    passes(|| {
        let lock = Mutex::new(7);
        caught(|| {
            let _guard = lock.lock().unwrap();
            panic!("under the lock");
        });
        assert!(lock.is_poisoned());
        assert_eq!(*lock.lock().unwrap_err().into_inner(), 7);
        assert!(matches!(lock.try_lock(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        assert_eq!(*lock.lock().unwrap(), 7);
    });
}

#[test]
fn a_panic_before_the_lock_does_not_poison_it() {
    struct LocksWhenDropped<'a>(&'a Mutex<u32>);
    impl Drop for LocksWhenDropped<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    passes(|| {
        let lock = Mutex::new(0);
        caught(|| {
            let _locks = LocksWhenDropped(&lock);
            panic!("without the lock");
        });
        assert_eq!(*lock.lock().unwrap(), 1);
    });
}

#[test]
fn try_lock_is_refused_while_somebody_holds_the_lock() {
    passes(|| {
        let lock = Mutex::new(0);
        let guard = lock.try_lock().unwrap();
        assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(format!("{lock:?}").contains("<locked>"));
        drop(guard);
        assert!(lock.try_lock().is_ok());
        assert_eq!(format!("{lock:?}"), "Mutex { data: 0, poisoned: false, .. }");
    });
}

#[test]
fn a_loop_that_polls_with_try_lock_ends() {
    passes(|| {
        let done = Mutex::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.try_lock().is_ok_and(|done| *done) {
                        hint::spin_loop();
                    }
                });
            }
            scope.spawn(|| *done.lock().unwrap() = true);
        });
    });
}

#[test]
fn loops_that_poll_a_value_under_the_lock_end_without_starving_the_writer() {
    passes(|| {
        let done = Mutex::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !*done.lock().unwrap() {
                        hint::spin_loop();
                    }
                });
            }
            scope.spawn(|| *done.lock().unwrap() = true);
        });
    });
}

#[test]
fn a_loop_that_polls_what_nobody_will_write_is_a_livelock() {
    let failure = fails(|| {
        let done = Mutex::new(false);
        while !*done.lock().unwrap() {
            hint::spin_loop();
        }
    });
    assert_eq!(failure.rule, "livelock");
}

#[test]
fn a_mutex_takes_unsized_values() {
    let lock: Arc<Mutex<[u32]>> = Arc::new(Mutex::new([1, 2, 3]));
    lock.lock().unwrap()[0] = 5;
    assert_eq!(lock.lock().unwrap().iter().sum::<u32>(), 10);
    passes(|| {
        let lock: Box<Mutex<dyn std::fmt::Debug + Send>> = Box::new(Mutex::new("value"));
        assert_eq!(format!("{:?}", lock.lock().unwrap()), "\"value\"");
    });
}

#[test]
fn outside_of_executions_a_mutex_excludes_threads_and_is_poisoned() {
    let lock = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let lock = lock.clone();
            std::thread::spawn(move || (0..1_000).for_each(|_| *lock.lock().unwrap() += 1))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*lock.lock().unwrap(), 4_000);

    caught(|| {
        let _guard = lock.lock().unwrap();
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(lock.is_poisoned());
    assert_eq!(*lock.lock().unwrap_err().into_inner(), 4_000);
}

#[test]
fn the_hold_of_a_failed_execution_is_gone_in_the_next() {
    let report = Checker::new("fails while it holds").seeds(0..20).run(&|| {
        static LOCK: Mutex<u32> = Mutex::new(0);
        let mut count = LOCK.lock().unwrap();
        *count += 1;
        assert_eq!(*count, 2, "each execution counts from 0");
    });
    assert_eq!(report.rules.get("panic"), Some(&20));
}
