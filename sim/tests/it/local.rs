use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use holdup::thread;

use crate::{fails, passes};

holdup::thread_local! {
    /// Counts.
    static COUNT: Cell<u32> = const { Cell::new(10) };
    pub(crate) static NAMES: RefCell<Vec<String>> = RefCell::new(vec!["first".into()]);
}

#[test]
fn every_task_has_its_own_value() {
    let body = || {
        COUNT.set(11);
        let tasks: Vec<_> = (0..3)
            .map(|n| {
                thread::spawn(move || {
                    assert_eq!(COUNT.get(), 10);
                    COUNT.set(COUNT.get() + n);
                    thread::yield_now();
                    assert_eq!(COUNT.get(), 10 + n);
                    NAMES.with_borrow_mut(|names| names.push(n.to_string()));
                    NAMES.with_borrow(|names| assert_eq!(names[1..], [n.to_string()]));
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(COUNT.replace(1), 11);
        assert_eq!(COUNT.take(), 1);
        assert_eq!(NAMES.take(), ["first"]);
    };
    passes(body);
    std::thread::spawn(body).join().unwrap();
}

#[test]
fn a_value_is_destroyed_when_its_task_ends_and_not_before_it_is_joined() {
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    struct Alive;
    impl Drop for Alive {
        fn drop(&mut self) {
            thread::yield_now();
            // What the destructor makes lives on to its own destruction.
            COUNT.set(7);
            ALIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    holdup::thread_local!(static KEPT: Alive = {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Alive
    });
    passes(|| {
        thread::spawn(|| KEPT.with(|_| assert_eq!(ALIVE.load(Ordering::SeqCst), 1)))
            .join()
            .unwrap();
        assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_value_that_looks_at_itself_while_it_is_destroyed_gets_an_error() {
    struct Looks;
    impl Drop for Looks {
        fn drop(&mut self) {
            assert!(LOOKS.try_with(|_| ()).is_err());
        }
    }
    holdup::thread_local!(static LOOKS: Looks = const { Looks });
    let body = || thread::spawn(|| LOOKS.with(|_| ())).join().unwrap();
    passes(body);
    body();
}

#[test]
fn a_destructor_of_a_local_that_panics_fails_the_execution() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "a local's destructor");
        }
    }
    holdup::thread_local!(static PANICS: Panics = const { Panics });
    let failure = fails(|| {
        thread::spawn(|| PANICS.with(|_| ())).join().unwrap();
    });
    assert!(failure.message.contains("a local's destructor"), "{}", failure.message);
}

#[test]
fn a_counter_in_a_local_does_not_count_for_all() {
    let failure = fails(|| {
        (0..2).for_each(|_| thread::spawn(|| COUNT.set(COUNT.get() + 1)).join().unwrap());
        assert_eq!(COUNT.get(), 12);
    });
    assert_eq!(failure.rule, "panic");
}
