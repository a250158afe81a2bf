use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use holdup::hold::{HoldKind, Rules};
use holdup::sync::SpinLock;
use holdup::{Checker, hint, thread};

use crate::{caught, fails, passes};

#[test]
fn increments_under_a_spinlock_are_not_lost() {
    passes(|| {
        let count = SpinLock::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2 {
                        let mut count = count.lock();
                        let old = *count;
                        thread::yield_now();
                        *count = old + 1;
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 6);
    });
}

#[test]
fn an_increment_under_two_holds_is_lost() {
    let failure = fails(|| {
        let count = SpinLock::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let old = *count.lock();
                    *count.lock() = old + 1;
                });
            }
        });
        assert_eq!(*count.lock(), 2, "both count");
    });

    assert!(failure.message.contains("both count"), "{}", failure.message);
}

#[test]
fn an_attempt_that_fails_leaves_the_lock_closed() {
    let body = || {
        let lock = SpinLock::new(0);

        let guard = lock.lock();
        for _ in 0..3 {
            assert!(lock.try_lock().is_none());
        }
        drop(guard);

        *lock.try_lock().unwrap() += 1;
        assert_eq!(lock.into_inner(), 1);
    };
    passes(body);
    body();
}

#[test]
fn tasks_that_try_until_they_get_the_lock_exclude_each_other() {
    passes(|| {
        let (lock, inside) = (SpinLock::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut count = loop {
                        match lock.try_lock() {
                            Some(guard) => break guard,
                            None => hint::spin_loop(),
                        }
                    };
                    assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "nobody else is inside");
                    thread::yield_now();
                    *count += inside.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(lock.into_inner(), 3);
    });
}

/// Two tasks take two locks, each in its own order.
fn opposite_orders() {
    static ACCOUNT: HoldKind = HoldKind::new("account lock", Rules::NONE);
    let [a, b] = ["a", "b"].map(|name| {
        let lock = Arc::new(SpinLock::with_kind(0, &ACCOUNT));
        holdup::name!(&*lock, "account {name}");
        lock
    });
    let spawn = |name: &str, first: &Arc<SpinLock<u32>>, second: &Arc<SpinLock<u32>>| {
        let (first, second) = (first.clone(), second.clone());
        let transfer = move || *second.lock() += *first.lock();
        // The right-hand side is evaluated first: `first` is held when `second` is asked for.
        thread::Builder::new().name(name.into()).spawn(transfer).unwrap()
    };
    let tasks = [spawn("alice", &a, &b), spawn("bob", &b, &a)];
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn two_spinlocks_in_opposite_orders_deadlock_and_a_short_report_names_both_owners() {
    let checker = Checker::new("transfers").seeds(0..300).stop_at_first(true);

    let found = checker.run(&opposite_orders).first_failure.unwrap();
    let report = checker.trace(found.seed, &opposite_orders).failure_report("replay line");

    assert_eq!(found.failure.rule, "deadlock");
    assert!(report.lines().count() < 30, "{report}");
    for line in [
        "alice spins on account b",
        "bob spins on account a",
        "held by alice since",
        "held by bob since",
    ] {
        assert!(report.contains(line), "no {line:?} in\n{report}");
    }
}

#[test]
fn a_spinlock_that_its_owner_wants_again_is_a_deadlock_of_one() {
    let failure = fails(|| {
        let lock = SpinLock::new(());
        let _first = lock.lock();
        let _second = lock.lock();
    });

    assert_eq!(failure.rule, "deadlock");
    assert_eq!(failure.message, "main waits for itself");
}

#[test]
fn a_task_that_ends_with_a_spinlock_fails() {
    let failure = fails(|| {
        let lock = Arc::new(SpinLock::new(()));
        let forgets = lock.clone();
        let forgets = move || std::mem::forget(forgets.lock());
        thread::Builder::new().name("forgets".into()).spawn(forgets).unwrap().join().unwrap();
    });

    assert_eq!((&*failure.rule, &*failure.task), ("I-SP1", "forgets"));
    assert!(failure.message.contains("ended holding spinlock"), "{}", failure.message);
}

#[test]
fn a_panic_under_a_spinlock_opens_it_and_poisons_nothing() {
    passes(|| {
        let lock = SpinLock::new(1);

        caught(|| {
            let _guard = lock.lock();
            panic!("under the lock");
        });

        assert_eq!(*lock.lock(), 1);
    });
}

#[test]
fn a_static_spinlock_starts_afresh_in_every_execution() {
    static NAMES: SpinLock<Vec<String>> = SpinLock::new(Vec::new());
    passes(|| {
        let tasks = [0, 1].map(|n| thread::spawn(move || NAMES.lock().push(n.to_string())));
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(NAMES.lock().len(), 2);
    });
    assert!(NAMES.lock().is_empty());
}

#[test]
fn a_static_spinlock_that_was_used_outside_first_is_refused_if_its_value_has_a_destructor() {
    static NAMES: SpinLock<Vec<String>> = SpinLock::new(Vec::new());
    NAMES.lock().push("outside".into());

    let failure = fails(|| NAMES.lock().push("inside".into()));

    assert!(failure.message.contains("was used outside of executions first"), "{failure}");
    assert_eq!(*NAMES.lock(), ["outside"]);
}

#[test]
fn a_spinlock_gives_its_value_to_who_owns_it_and_shows_it_to_nobody() {
    let body = || {
        let mut lock = SpinLock::new(String::from("a"));
        lock.get_mut().push('b');
        assert_eq!(format!("{:?}", lock.lock()), "\"ab\"");
        assert_eq!(format!("{lock:?}"), "SpinLock { .. }");
        let guard = lock.lock();
        assert_eq!(format!("{lock:?}"), "SpinLock { .. }");
        drop(guard);
        assert_eq!(lock.into_inner(), "ab");
        assert_eq!(SpinLock::<u32>::default().into_inner(), 0);

        let unsized_value: Box<SpinLock<[u32]>> = Box::new(SpinLock::new([1, 2]));
        unsized_value.lock()[1] = 5;
        assert_eq!(unsized_value.lock().iter().sum::<u32>(), 6);
    };
    passes(body);
    body();
}

#[test]
fn outside_of_executions_a_spinlock_excludes_threads() {
    let count = SpinLock::new(0);

    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                (0..500).for_each(|_| *count.lock() += 1);
                (0..500).for_each(|_| {
                    while count.try_lock().map(|mut count| *count += 1).is_none() {
                        std::thread::yield_now();
                    }
                });
            });
        }
    });

    assert_eq!(count.into_inner(), 4_000);
}
