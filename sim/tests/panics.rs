//! The first failure is kept, nothing aborts, and the harness ends.

use holdup::{Checker, thread};

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the destructor's own panic");
    }
}

#[test]
fn a_second_panic_in_a_destructor_does_not_hide_the_first() {
    let report = Checker::new("bombs").seeds(0..20).run(&|| {
        let parked = thread::spawn(|| {
            let _bomb = Bomb;
            thread::park();
        });
        let _bomb = Bomb;
        assert!(parked.is_finished(), "I-REF3: the first panic");
    });

    assert_eq!((report.executions, report.failures), (20, 20));
    let failure = report.first_failure.unwrap().failure;
    assert_eq!((&*failure.rule, &*failure.message), ("I-REF3", "the first panic"));
    assert!(failure.detail[0].contains("the destructor's own panic"), "{failure:?}");
}

#[test]
fn a_panic_hook_can_be_taken_after_a_task_was_abandoned() {
    Checker::new("bomb").seeds(0..1).run(&|| {
        let _bomb = Bomb;
        panic!("first");
    });

    // Blocks for ever if an abandoned task kept the lock around hooks.
    let hook = std::panic::take_hook();
    std::panic::set_hook(hook);
}

#[test]
fn a_destructor_that_waits_for_ever_does_not_hang_the_execution() {
    struct Waits(std::sync::Arc<holdup::sync::atomic::AtomicBool>);
    impl Drop for Waits {
        fn drop(&mut self) {
            while !self.0.load(holdup::sync::atomic::Ordering::SeqCst) {
                holdup::hint::spin_loop();
            }
        }
    }

    let report = Checker::new("waits").seeds(0..3).run(&|| {
        let _waits = Waits(std::sync::Arc::default());
        panic!("first");
    });

    assert_eq!(report.failures, 3);
    assert_eq!(report.first_failure.unwrap().failure.message, "first");
}

#[test]
fn a_panic_that_the_program_catches_is_no_failure() {
    let report = Checker::new("caught").seeds(0..20).run(&|| {
        let caught = std::panic::catch_unwind(|| panic!("caught"));
        assert!(caught.is_err());
        thread::yield_now();
        thread::spawn(thread::yield_now).join().unwrap();
    });

    assert_eq!(report.failures, 0);
}

#[test]
fn panics_that_the_program_catches_one_after_the_other_are_no_failure() {
    let report = Checker::new("caught").seeds(0..20).run(&|| {
        for _ in 0..3 {
            assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
        }
    });

    assert_eq!(report.failures, 0);
}

#[test]
fn of_two_panics_the_one_that_nobody_catches_is_the_failure() {
    struct Careful;
    impl Drop for Careful {
        fn drop(&mut self) {
            assert!(std::panic::catch_unwind(|| panic!("caught in a destructor")).is_err());
        }
    }
    let message = |body: fn()| {
        let report = Checker::new("caught").seeds(0..5).run(&body);
        assert_eq!(report.failures, 5);
        report.first_failure.unwrap().failure.message
    };

    let second = message(|| {
        assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
        panic!("second");
    });
    let first = message(|| {
        let _careful = Careful;
        panic!("first");
    });

    assert_eq!((&*second, &*first), ("second", "first"));
}

#[test]
fn unfinished_tasks_run_their_destructors() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }

    Checker::new("drops").seeds(0..10).run(&|| {
        thread::spawn(|| {
            let _counts = Counts;
            thread::park();
        });
        thread::sleep(std::time::Duration::from_millis(1));
        panic!("over");
    });
    assert!(DROPPED.load(Ordering::SeqCst) >= 10);
}
