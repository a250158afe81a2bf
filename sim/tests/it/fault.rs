use holdup::fault;
use holdup::hint::spin_loop;
use holdup::hold::{HoldKind, Rules};
use holdup::sync::atomic::{AtomicU32, Ordering};
use holdup::sync::{Arc, Condvar, LockBit, Mutex, SpinLock};
use holdup::time::Duration;
use holdup::{Checker, Failure, Faults, Report, thread};

const OFTEN: u32 = 1 << 14;

fn run(faults: Faults, body: impl Fn() + Sync) -> Report {
    let checker = Checker::new("a program with faults").seeds(0..2_000).max_steps(20_000);
    checker.faults(faults).stop_at_first(true).run(&body)
}

#[track_caller]
fn bears(faults: Faults, body: impl Fn() + Sync) {
    if let Some(first) = run(faults, body).first_failure {
        panic!("seed {} failed: {:#?}", first.seed, first.failure);
    }
}

#[track_caller]
fn falls_to(faults: Faults, body: impl Fn() + Sync) -> Failure {
    match run(faults, body).first_failure {
        Some(first) => first.failure,
        None => panic!("no seed found the bug"),
    }
}

/// One task waits for a flag that another sets; `patient` looks again after a wake-up.
fn flag_behind_a_condvar(patient: bool) {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let setter = thread::spawn({
        let pair = Arc::clone(&pair);
        move || {
            // Time for a wait to begin and to end.
            let other = AtomicU32::new(0);
            (0..50).for_each(|_| _ = other.load(Ordering::Relaxed));
            *pair.0.lock().unwrap() = true;
            pair.1.notify_one();
        }
    });
    let mut flag = pair.0.lock().unwrap();
    if patient {
        while !*flag {
            flag = pair.1.wait(flag).unwrap();
        }
    } else if !*flag {
        flag = pair.1.wait(flag).unwrap();
    }
    assert!(*flag, "the flag is set");
    drop(flag);
    setter.join().unwrap();
}

#[test]
fn a_wait_may_end_for_no_reason() {
    let faults = Faults { spurious_wakeup: OFTEN, ..Faults::NONE };
    bears(faults, || flag_behind_a_condvar(true));
    bears(Faults::NONE, || flag_behind_a_condvar(false));
    let failure = falls_to(faults, || flag_behind_a_condvar(false));
    assert_eq!(failure.message, "the flag is set");
}

#[test]
fn a_park_may_end_for_no_reason() {
    fn parked(patient: bool) {
        let ready = Arc::new(AtomicU32::new(0));
        let sleeper = thread::spawn({
            let ready = Arc::clone(&ready);
            move || {
                thread::park();
                while patient && ready.load(Ordering::Acquire) == 0 {
                    thread::park();
                }
                assert_eq!(ready.load(Ordering::Acquire), 1);
            }
        });
        // Long enough for a sleep to end meanwhile.
        let work = AtomicU32::new(0);
        for _ in 0..100 {
            work.fetch_add(1, Ordering::Relaxed);
        }
        ready.store(1, Ordering::Release);
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    }
    let faults = Faults { spurious_wakeup: OFTEN, ..Faults::NONE };
    bears(faults, || parked(true));
    bears(Faults::NONE, || parked(false));
    falls_to(faults, || parked(false));
}

#[test]
fn a_wait_with_a_time_that_ends_for_no_reason_has_not_timed_out() {
    let faults = Faults { spurious_wakeup: 1 << 15, ..Faults::NONE };
    bears(faults, || {
        let (mutex, condvar) = (Mutex::new(()), Condvar::new());
        let start = holdup::time::Instant::now();
        let mut guard = mutex.lock().unwrap();
        loop {
            let (back, result) = condvar.wait_timeout(guard, Duration::from_millis(5)).unwrap();
            guard = back;
            if result.timed_out() {
                break;
            }
        }
        assert!(start.elapsed() >= Duration::from_millis(5), "{:?}", start.elapsed());
    });
}

#[test]
fn a_lost_wake_up_is_still_found() {
    // A wake-up for no reason may save the waiter, but not in every execution.
    let faults = Faults { spurious_wakeup: OFTEN, ..Faults::NONE };
    let failure = falls_to(faults, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let setter = thread::spawn({
            let pair = Arc::clone(&pair);
            move || *pair.0.lock().unwrap() = true
        });
        let mut flag = pair.0.lock().unwrap();
        while !*flag {
            flag = pair.1.wait(flag).unwrap();
        }
        drop(flag);
        setter.join().unwrap();
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_weak_compare_and_swap_may_fail_for_no_reason() {
    fn count(tries: u32) {
        let word = AtomicU32::new(0);
        let mut left = tries;
        while word.compare_exchange_weak(0, 1, Ordering::AcqRel, Ordering::Acquire).is_err() {
            left -= 1;
            assert!(left > 0, "nobody else changes the word");
            spin_loop();
        }
    }
    let faults = Faults { spurious_failure: OFTEN, ..Faults::NONE };
    bears(faults, || count(u32::MAX));
    bears(Faults::NONE, || count(1));
    falls_to(faults, || count(1));
    // The strong one does not.
    bears(faults, || {
        let word = AtomicU32::new(0);
        let swapped = word.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Acquire);
        assert_eq!(swapped, Ok(0));
    });
}

#[test]
fn a_test_and_set_may_fail_for_no_reason() {
    static KIND: HoldKind = HoldKind::new("bit", Rules::SPINLOCK);
    const BIT: LockBit<AtomicU32> = LockBit::new(&KIND, 1);
    let faults = Faults { spurious_failure: OFTEN, ..Faults::NONE };
    let failure = falls_to(faults, || {
        let word = AtomicU32::new(8);
        assert_eq!(BIT.try_lock(&word), Ok(9), "nobody has the lock");
        BIT.unlock_store(&word, 8);
    });
    assert!(failure.message.contains("nobody has the lock"), "{failure:#?}");
    // Who waits for the lock gets it in the end, and alone.
    bears(faults, || {
        let counter = Arc::new(SpinLock::new(0));
        let tasks = [0; 3].map(|_| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || *counter.lock() += 1)
        });
        for task in tasks {
            task.join().unwrap();
        }
        assert_eq!(*counter.lock(), 3);
    });
}

#[test]
fn programs_ask_for_faults_of_their_own() {
    assert!(!fault::allocation_fails() && !fault::cancelled(), "only inside of executions");
    bears(Faults::NONE, || assert!(!fault::allocation_fails() && !fault::cancelled()));
    falls_to(Faults { allocation: OFTEN, ..Faults::NONE }, || assert!(!fault::allocation_fails()));
    falls_to(Faults { cancel: OFTEN, ..Faults::NONE }, || assert!(!fault::cancelled()));
    bears(Faults { cancel: OFTEN, ..Faults::NONE }, || assert!(!fault::allocation_fails()));
}

#[test]
fn a_spinlock_holder_does_not_allocate() {
    static KIND: HoldKind = HoldKind::new("latch", Rules::SPINLOCK);
    let failure = falls_to(Faults::NONE, || {
        let lock = SpinLock::with_kind(0, &KIND);
        let _guard = lock.lock();
        let _ = fault::allocation_fails();
    });
    assert_eq!(failure.rule, "hold-no-allocation");
    assert_eq!(failure.message, "the holder of a latch must not allocate");
}

/// Writes until it succeeds; `hopeless` gives up for ever after the first error, and waits.
fn until_it_succeeds(hopeless: bool) {
    let mut failed = false;
    loop {
        failed |= fault::cancelled();
        if !failed {
            return;
        }
        failed = hopeless;
        thread::sleep(Duration::from_nanos(100));
    }
}

#[test]
fn after_the_storm_every_task_must_end() {
    let storm = Faults { cancel: 1 << 15, storm_steps: 50, calm_steps: 200, ..Faults::NONE };
    bears(storm, || until_it_succeeds(false));
    let failure = falls_to(storm, || until_it_succeeds(true));
    assert_eq!(failure.rule, "progress");
    // Without an end of the faults there is no such demand.
    let endless = Faults { storm_steps: 0, ..storm };
    let failure = falls_to(endless, || until_it_succeeds(true));
    assert_ne!(failure.rule, "progress");
}

#[test]
fn faults_end_with_the_storm() {
    let storm = Faults { cancel: 1 << 16, storm_steps: 10, ..Faults::NONE };
    bears(storm, || {
        let mut asked = 0;
        while fault::cancelled() {
            asked += 1;
            assert!(asked <= 10, "the storm has at most ten steps");
            thread::yield_now();
        }
    });
}

#[test]
fn a_holder_may_be_taken_off_the_processor_for_long() {
    fn two_turns(limit: Duration) {
        let start = holdup::time::Instant::now();
        static KIND: HoldKind = HoldKind::new("latch", Rules::SPINLOCK);
        let lock = Arc::new(SpinLock::with_kind(0, &KIND));
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || *lock.lock() += 1
        });
        *lock.lock() += 1;
        other.join().unwrap();
        assert_eq!(*lock.lock(), 2);
        assert!(start.elapsed() < limit, "{:?}", start.elapsed());
    }
    let faults = Faults { descheduled: OFTEN, descheduled_ms: 20, ..Faults::NONE };
    bears(faults, || two_turns(Duration::from_millis(61)));
    bears(Faults::NONE, || two_turns(Duration::from_millis(1)));
    falls_to(faults, || two_turns(Duration::from_millis(30)));
}
