//! The rules of holds: each is reported where it is broken, and nowhere else.

use std::time::Duration;

use holdup::fs::File;
use holdup::hold::{self, HoldKind, Rules};
use holdup::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use holdup::sync::{Arc, Barrier, Condvar, LockBit, Mutex, RwLock, SpinLock, mpsc};
use holdup::thread;

use crate::{fails, passes};

static FREE: HoldKind = HoldKind::new("free lock", Rules::NONE);
static AWAKE: HoldKind = HoldKind::new("wakeful lock", Rules { no_sleep: true, ..Rules::NONE });
static LAST: HoldKind = HoldKind::new("last lock", Rules { no_other_lock: true, ..Rules::NONE });
static SHORT: HoldKind = HoldKind::new("short lock", Rules { max_steps: 3, ..Rules::NONE });
static STRICT: HoldKind = HoldKind::new("strict lock", Rules::SPINLOCK);

/// Runs `inside` under a lock of this kind.
fn under(kind: &'static HoldKind, inside: impl FnOnce()) {
    let lock = SpinLock::with_kind((), kind);
    let _held = lock.lock();
    inside();
}

/// `sleeps` breaks the rule under a lock that forbids it, and only there.
#[track_caller]
fn is_a_sleep(doing: &str, sleeps: impl Fn() + Sync) {
    let failure = fails(|| under(&AWAKE, &sleeps));
    let message = format!("the holder of a wakeful lock must not sleep, but it {doing}");
    assert_eq!((&*failure.rule, failure.message), ("hold-no-sleep", message));
    assert!(failure.site.is_some());
    passes(|| {
        under(&AWAKE, || ());
        sleeps();
        under(&AWAKE, || ());
        under(&FREE, &sleeps);
        under(&SHORT, || ());
    });
}

#[test]
fn sleeping_and_parking_are_sleeps() {
    is_a_sleep("sleeps", || thread::sleep(Duration::from_micros(1)));
    is_a_sleep("is parked", || thread::park_timeout(Duration::from_micros(1)));
    is_a_sleep("is parked", || {
        let me = thread::current();
        thread::spawn(move || me.unpark());
        thread::park();
    });
}

#[test]
fn waiting_for_others_is_a_sleep() {
    is_a_sleep("waits for the end of", || thread::spawn(|| ()).join().unwrap());
    is_a_sleep("waits on", || {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let soon = Duration::from_micros(1);
        drop(condition.wait_timeout(lock.lock().unwrap(), soon).unwrap());
    });
    is_a_sleep("waits on", || {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        thread::spawn(move || other.wait());
        barrier.wait();
    });
    is_a_sleep("waits for a message from", || {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(1).unwrap());
        receiver.recv().unwrap();
    });
}

#[test]
fn waiting_for_the_disk_is_a_sleep() {
    is_a_sleep("waits for the disk", || drop(File::create("file").unwrap()));
}

#[test]
fn waiting_for_a_mutex_is_a_sleep_and_taking_a_free_one_is_none() {
    let failure = fails(|| {
        let lock = Mutex::new(());
        thread::scope(|scope| {
            scope.spawn(|| under(&AWAKE, || drop(lock.lock())));
            scope.spawn(|| {
                let _lock = lock.lock();
                thread::yield_now();
            });
        });
    });
    assert_eq!(failure.rule, "hold-no-sleep");
    assert!(failure.message.ends_with("must not sleep, but it waits for"), "{failure}");

    passes(|| under(&AWAKE, || drop(Mutex::new(()).lock())));
}

#[test]
fn spinning_is_no_sleep() {
    passes(|| {
        let (flag, lock) = (AtomicBool::new(false), SpinLock::new(()));
        thread::scope(|scope| {
            scope.spawn(|| {
                under(&AWAKE, || {
                    holdup::hint::spin_until(&flag, |value| value != 0);
                    drop(lock.lock());
                });
            });
            scope.spawn(|| {
                let _lock = lock.lock();
                flag.store(true, SeqCst);
            });
        });
    });
}

/// `locks` breaks the rule under a lock that must be the last, and only there.
#[track_caller]
fn is_another_lock(name: &str, locks: impl Fn() + Sync) {
    for kind in [&LAST, &STRICT] {
        let failure = fails(|| under(kind, &locks));
        let message =
            format!("the holder of a {} must take no other lock, but took a {name}", kind.name);
        assert_eq!((&*failure.rule, failure.message), ("hold-no-lock", message));
    }
    passes(|| {
        under(&LAST, || ());
        locks();
        under(&LAST, || ());
        under(&FREE, &locks);
        under(&FREE, || under(&LAST, || ()));
    });
}

#[test]
fn every_kind_of_lock_is_another_lock() {
    const BIT: LockBit<AtomicU32> = LockBit::new(&FREE, 1);
    is_another_lock("free lock", || under(&FREE, || ()));
    is_another_lock("free lock", || {
        let word = AtomicU32::new(0);
        BIT.lock(&word);
        BIT.unlock_sub(&word);
    });
    is_another_lock("free lock", || {
        hold::begin(&FREE, 64);
        hold::end(64);
    });
    is_another_lock("mutex", || drop(Mutex::new(()).lock().unwrap()));
    is_another_lock("rwlock", || drop(RwLock::new(()).write().unwrap()));
}

#[test]
fn an_attempt_that_gets_no_lock_breaks_no_rule() {
    passes(|| {
        let lock = SpinLock::new(());
        let _held = lock.lock();
        thread::scope(|scope| {
            scope.spawn(|| under(&STRICT, || assert!(lock.try_lock().is_none())));
        });
    });
}

/// A lock that may be held for three steps is held for `n` and one more, its release. Meanwhile
/// another task takes steps that do not count.
fn held_for(n: u32) {
    let (lock, word) = (SpinLock::with_kind((), &SHORT), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _held = lock.lock();
            (0..n).for_each(|_| _ = word.load(SeqCst));
        });
        scope.spawn(|| (0..20).for_each(|_| _ = word.load(SeqCst)));
    });
}

#[test]
fn a_lock_held_for_more_steps_than_its_kind_allows_is_reported_at_the_place_that_took_it() {
    passes(|| held_for(2));

    let failure = fails(|| held_for(3));

    assert_eq!(failure.rule, "hold-max-steps");
    assert_eq!(failure.message, "a short lock may be held for 3 steps, but was held for 4");
    assert!(failure.site.unwrap().file.ends_with("hold.rs"));
}

#[test]
fn holds_of_a_lock_of_ones_own_may_end_in_any_order() {
    passes(|| {
        hold::begin(&FREE, 64);
        hold::begin(&AWAKE, 128);
        hold::end(64);
        hold::end(128);
        thread::sleep(Duration::from_micros(1));
    });

    let failure = fails(|| {
        hold::begin(&FREE, 64);
        hold::begin(&AWAKE, 128);
        hold::end(64);
        thread::sleep(Duration::from_micros(1));
    });
    assert_eq!(failure.rule, "hold-no-sleep");
}

#[test]
fn outside_of_executions_nothing_is_checked() {
    under(&STRICT, || under(&SHORT, || thread::sleep(Duration::from_micros(1))));
    hold::end(64);
}
