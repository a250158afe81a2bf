use std::time::Duration;

use holdup::sync::{Condvar, Mutex};
use holdup::thread;

use crate::{caught, fails, passes};

/// Two consumers wait for two items.
fn consumers(wait: impl Fn(&Mutex<u32>, &Condvar) + Sync, notify: impl Fn(&Condvar) + Sync) {
    let (items, more) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| wait(&items, &more));
        }
        for _ in 0..2 {
            *items.lock().unwrap() += 1;
            notify(&more);
        }
    });
    assert_eq!(*items.lock().unwrap(), 0);
}

fn wait_in_a_loop(items: &Mutex<u32>, more: &Condvar) {
    let mut items = items.lock().unwrap();
    while *items == 0 {
        items = more.wait(items).unwrap();
    }
    *items -= 1;
}

#[test]
fn waiting_in_a_loop_consumes_every_item() {
    passes(|| consumers(wait_in_a_loop, Condvar::notify_one));
    passes(|| consumers(wait_in_a_loop, Condvar::notify_all));
    let wait_while = |items: &Mutex<u32>, more: &Condvar| {
        let mut items = more.wait_while(items.lock().unwrap(), |items| *items == 0).unwrap();
        *items -= 1;
    };
    passes(|| consumers(wait_while, Condvar::notify_all));
}

#[test]
fn if_instead_of_while_around_a_wait_takes_an_item_that_is_not_there() {
    let wait = |items: &Mutex<u32>, more: &Condvar| {
        let mut items = items.lock().unwrap();
        if *items == 0 {
            items = more.wait(items).unwrap();
        }
        *items = items.checked_sub(1).expect("an item is there");
    };
    let failure = fails(|| consumers(wait, Condvar::notify_all));
    assert!(failure.message.contains("an item is there"), "{}", failure.message);
}

#[test]
fn a_missing_notify_is_a_deadlock() {
    let failure = fails(|| consumers(wait_in_a_loop, |_| ()));
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_flag_read_before_the_lock_loses_the_wake_up() {
    let failure = fails(|| {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let is_ready = *ready.lock().unwrap();
                if !is_ready {
                    drop(changed.wait(ready.lock().unwrap()));
                }
            });
            *ready.lock().unwrap() = true;
            changed.notify_all();
        });
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn notify_one_wakes_one_and_the_seed_chooses_which() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static FIRST: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
    passes(|| {
        let (waiting, woken, changed) = (Mutex::new(0), Mutex::new(0), Condvar::new());
        thread::scope(|scope| {
            for first in &FIRST {
                let (waiting, woken, changed) = (&waiting, &woken, &changed);
                scope.spawn(move || {
                    let mut inside = waiting.lock().unwrap();
                    *inside += 1;
                    drop(changed.wait(inside).unwrap());
                    let mut woken = woken.lock().unwrap();
                    if *woken == 0 {
                        first.fetch_add(1, Ordering::Relaxed);
                    }
                    *woken += 1;
                });
            }
            while *waiting.lock().unwrap() < 2 {
                holdup::hint::spin_loop();
            }
            changed.notify_one();
            thread::sleep(Duration::from_millis(1));
            assert_eq!(*woken.lock().unwrap(), 1);
            changed.notify_one();
        });
    });
    let first = FIRST.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(first[0] > 50 && first[1] > 50, "{first:?}");
}

#[test]
fn a_wait_with_a_timeout_ends_when_nobody_notifies() {
    passes(|| {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let start = holdup::time::Instant::now();
        let timeout = Duration::from_secs(3600);
        let (_, result) = changed.wait_timeout(lock.lock().unwrap(), timeout).unwrap();
        assert!(result.timed_out());
        assert!(start.elapsed() >= timeout);
    });
}

#[test]
fn a_wait_with_a_timeout_is_woken_before_its_time() {
    passes(|| {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                changed.notify_one();
            });
            let forever = Duration::MAX;
            let guard = ready.lock().unwrap();
            let waited = changed.wait_timeout_while(guard, forever, |ready| !*ready);
            assert!(!waited.unwrap().1.timed_out());
        });
    });
}

#[test]
fn a_wait_returns_the_guard_of_a_poisoned_mutex_as_an_error() {
    passes(|| {
        let (waits, changed) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut guard = waits.lock().unwrap();
                *guard = true;
                assert!(changed.wait(guard).is_err());
            });
            while !*waits.lock().unwrap() {
                holdup::hint::spin_loop();
            }
            caught(|| {
                let _guard = waits.lock().unwrap();
                panic!("under the lock");
            });
            changed.notify_all();
        });
    });
}

#[test]
fn outside_of_executions_it_is_the_real_condvar() {
    consumers(wait_in_a_loop, Condvar::notify_one);

    let (lock, changed) = (Mutex::new(5), Condvar::new());
    let timeout = Duration::from_millis(1);
    let waited = changed.wait_timeout_while(lock.lock().unwrap(), timeout, |_| true);
    let (guard, result) = waited.unwrap();
    assert_eq!((*guard, result.timed_out()), (5, true));
}
