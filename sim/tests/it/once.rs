use std::sync::atomic::{AtomicU32, Ordering};

use holdup::sync::{LazyLock, Once, OnceLock};
use holdup::{Checker, thread};

use crate::{caught, fails, passes};

#[test]
fn call_once_runs_once_and_everybody_waits_for_it() {
    passes(|| {
        let (once, runs) = (Once::new(), holdup::sync::atomic::AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    once.call_once(|| {
                        thread::yield_now();
                        runs.fetch_add(1, Ordering::SeqCst);
                    });
                    assert!(once.is_completed());
                    assert_eq!(runs.load(Ordering::SeqCst), 1);
                });
            }
        });
    });
}

#[test]
fn a_flag_instead_of_a_once_initialises_twice() {
    let failure = fails(|| {
        let done = holdup::sync::atomic::AtomicBool::new(false);
        let runs = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    if !done.load(Ordering::SeqCst) {
                        runs.fetch_add(1, Ordering::SeqCst);
                        done.store(true, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    });
    assert_eq!(failure.rule, "panic");
}

#[test]
fn an_initialiser_that_needs_itself_is_a_deadlock() {
    let failure = fails(|| {
        let value = OnceLock::new();
        value.get_or_init(|| *value.get_or_init(|| 1) + 1);
    });
    assert_eq!(failure.rule, "deadlock");
    assert!(failure.message.contains("main waits for itself"), "{}", failure.message);
}

#[test]
fn waiting_for_what_nobody_initialises_is_a_deadlock() {
    let failure = fails(|| {
        OnceLock::<u32>::new().wait();
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn an_initialiser_that_panics_poisons_a_once_and_not_a_once_lock() {
    let body = || {
        let once = Once::new();
        caught(|| once.call_once(|| std::panic::resume_unwind(Box::new("initialising"))));
        assert!(!once.is_completed());
        caught(|| once.call_once(|| ()));
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(once.is_completed());

        let lock = OnceLock::new();
        caught(|| {
            lock.get_or_init(|| std::panic::resume_unwind(Box::new("initialising")));
        });
        assert_eq!(lock.get(), None);
        assert_eq!(*lock.get_or_init(|| 3), 3);

        let lazy: LazyLock<u32> = LazyLock::new(|| std::panic::resume_unwind(Box::new("lazy")));
        caught(|| assert_eq!(*lazy, 0));
        caught(|| assert_eq!(*lazy, 0));
    };
    passes(body);
}

#[test]
fn one_of_two_setters_wins_and_the_other_gets_its_value_back() {
    passes(|| {
        let lock = OnceLock::new();
        let refused = thread::scope(|scope| {
            let set = |n| {
                let lock = &lock;
                scope.spawn(move || lock.set(n).is_err())
            };
            let (one, two) = (set(1), set(2));
            scope.spawn(|| assert!([1, 2].contains(lock.wait())));
            [one.join().unwrap(), two.join().unwrap()]
        });
        assert_eq!(refused.iter().filter(|&&refused| refused).count(), 1);
        assert_eq!(lock.get(), Some(if refused[0] { &2 } else { &1 }));
    });
}

#[test]
fn a_once_lock_can_be_emptied_and_compared() {
    let body = || {
        let mut lock = OnceLock::from(String::from("a"));
        assert_eq!(lock, lock.clone());
        lock.get_mut().unwrap().push('b');
        assert_eq!(format!("{lock:?}"), "OnceLock(\"ab\")");
        assert_eq!(lock.take().as_deref(), Some("ab"));
        assert_eq!(lock.set("c".into()), Ok(()));
        assert_eq!(lock.into_inner().as_deref(), Some("c"));
    };
    passes(body);
    body();
}

#[test]
fn a_static_lazy_lock_is_made_and_dropped_in_every_execution() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Counted(Vec<u32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    static LAZY: LazyLock<Counted> = LazyLock::new(|| {
        MADE.fetch_add(1, Ordering::Relaxed);
        Counted(vec![1, 2, 3])
    });
    let body = || {
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| assert_eq!(LAZY.0.len(), 3));
            }
        });
    };
    assert_eq!(Checker::new("lazy").seeds(0..50).run(&body).failures, 0);
    // One more execution looks at the pilot's schedule before the sweep.
    let made = MADE.load(Ordering::Relaxed);
    assert!((50..60).contains(&made), "{made}");
    assert_eq!(made, DROPPED.load(Ordering::Relaxed));
}

#[test]
fn a_static_that_was_initialised_outside_is_made_anew_inside() {
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1]);
    static FILLED: OnceLock<String> = OnceLock::new();
    assert_eq!(*LAZY, [1]);
    FILLED.set("outside".into()).unwrap();
    passes(|| {
        assert_eq!(*LAZY, [1]);
        assert_eq!(FILLED.get(), None);
        FILLED.set("inside".into()).unwrap();
    });
    assert_eq!(*LAZY, [1]);
    assert_eq!(FILLED.get().map(String::as_str), Some("outside"));
}

#[test]
fn a_lazy_lock_drops_what_its_initialiser_owns() {
    let body = || {
        let owned = std::sync::Arc::new(1);
        let lazy = LazyLock::new({
            let owned = owned.clone();
            move || *owned
        });
        assert_eq!((*lazy, std::sync::Arc::strong_count(&owned)), (1, 1));
        let owned_too = owned.clone();
        drop(LazyLock::new(move || *owned_too));
        assert_eq!(std::sync::Arc::strong_count(&owned), 1);
    };
    passes(body);
    body();
}

#[test]
fn outside_of_executions_threads_initialise_once() {
    let (lock, runs) = (OnceLock::new(), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| lock.get_or_init(|| runs.fetch_add(1, Ordering::SeqCst)));
        }
        assert_eq!(*lock.wait(), 0);
    });
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
