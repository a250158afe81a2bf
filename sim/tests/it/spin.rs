//! Loops that wait: each kind ends, and each kind that nobody can end is reported.

use holdup::hint::{self, spin_loop, spin_until};
use holdup::hold::{HoldKind, Rules};
use holdup::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::SeqCst};
use holdup::sync::{LockBit, SpinLock};
use holdup::{Checker, thread};

use crate::{fails, passes};

static HEADER: HoldKind = HoldKind::new("header lock", Rules::NONE);
const LOCKED: LockBit<AtomicU32> = LockBit::new(&HEADER, 1 << 31);

/// Steps within which a loop with a hint is caught; one without waits for the watchdog.
const AT_ONCE: u64 = 100;
const WATCHDOG: u64 = 20_000;

/// Every seed fails with `rule`, and within `steps` each. Returns the first failure.
#[track_caller]
fn always_fails(rule: &str, steps: u64, body: impl Fn() + Sync) -> holdup::Failure {
    let report = Checker::new("spins for ever").seeds(0..50).run(&body);
    assert_eq!(report.rules.get(rule), Some(&50), "{:#?}", report.first_failure);
    assert!(report.steps <= 50 * steps, "{} steps an execution", report.steps / 50);
    report.first_failure.unwrap().failure
}

/// One task waits with `wait` while another takes some steps and then sets the flag.
#[track_caller]
fn ends(wait: impl Fn(&AtomicBool) + Sync) {
    passes(|| {
        let (flag, other) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| wait(&flag));
            scope.spawn(|| {
                (0..5).for_each(|_| _ = other.fetch_add(1, SeqCst));
                flag.store(true, SeqCst);
            });
        });
    });
}

#[test]
fn a_test_and_set_loop_excludes_and_ends() {
    passes(|| {
        let (locked, count) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while locked.swap(true, SeqCst) {
                        spin_loop();
                    }
                    count.store(count.load(SeqCst) + 1, SeqCst);
                    locked.store(false, SeqCst);
                });
            }
        });
        assert_eq!(count.into_inner(), 3);
    });
}

#[test]
fn a_compare_and_swap_loop_excludes_and_ends() {
    passes(|| {
        let (owner, count) = (AtomicU8::new(0), AtomicU32::new(0));
        let (owner, count) = (&owner, &count);
        thread::scope(|scope| {
            for me in 1..=3 {
                scope.spawn(move || {
                    while owner.compare_exchange_weak(0, me, SeqCst, SeqCst).is_err() {
                        spin_loop();
                    }
                    count.store(count.load(SeqCst) + 1, SeqCst);
                    owner.store(0, SeqCst);
                });
            }
        });
        assert_eq!(count.load(SeqCst), 3);
    });
}

#[test]
fn a_loop_over_one_word_ends_however_it_waits() {
    ends(|flag| {
        while !flag.load(SeqCst) {
            spin_loop();
        }
    });
    ends(|flag| {
        while !flag.load(SeqCst) {
            (0..3).for_each(|_| spin_loop());
        }
    });
    ends(|flag| {
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
    ends(|flag| assert_eq!(spin_until(flag, |value| value != 0), 1));
}

#[test]
fn a_loop_without_a_hint_ends() {
    ends(|flag| while !flag.load(SeqCst) {});
    ends(|flag| while flag.compare_exchange(true, false, SeqCst, SeqCst).is_err() {});
}

#[test]
fn a_loop_over_several_words_ends_whichever_changes() {
    for last in 0..3 {
        for hint in [hint::spin_loop, thread::yield_now] {
            passes(move || {
                let words = [const { AtomicU32::new(0) }; 3];
                thread::scope(|scope| {
                    scope.spawn(|| {
                        while !words.iter().any(|word| word.load(SeqCst) == 2) {
                            hint();
                        }
                    });
                    scope.spawn(|| {
                        words.iter().for_each(|word| word.store(1, SeqCst));
                        words[last].store(2, SeqCst);
                    });
                });
            });
        }
    }
}

#[test]
fn a_word_that_goes_back_to_its_old_value_ends_the_loop_or_not_but_never_hangs() {
    passes(|| {
        let (word, stop) = (AtomicU32::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 && !stop.load(SeqCst) {
                    spin_loop();
                }
            });
            scope.spawn(|| {
                word.store(1, SeqCst);
                word.store(0, SeqCst);
                stop.store(true, SeqCst);
            });
        });
    });
}

#[test]
fn tasks_that_wait_for_each_other_in_turns_end() {
    passes(|| {
        let turn = AtomicU32::new(0);
        let turn = &turn;
        thread::scope(|scope| {
            for me in 0..3 {
                scope.spawn(move || {
                    for round in 0..4 {
                        while turn.load(SeqCst) != 3 * round + me {
                            spin_loop();
                        }
                        turn.fetch_add(1, SeqCst);
                    }
                });
            }
        });
        assert_eq!(turn.load(SeqCst), 12);
    });
}

#[test]
fn who_polls_a_flag_and_takes_a_spinlock_in_the_loop_is_not_stuck() {
    passes(|| {
        let (done, count) = (AtomicBool::new(false), SpinLock::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    *count.lock() += 1;
                    spin_loop();
                }
            });
            scope.spawn(|| {
                (0..3).for_each(|_| *count.lock() += 1);
                done.store(true, SeqCst);
            });
        });
    });
}

#[test]
fn who_polls_a_flag_and_takes_a_lock_bit_in_the_loop_is_not_stuck() {
    passes(|| {
        let (done, word, other) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(SeqCst) {
                        other.load(SeqCst);
                        LOCKED.lock(&word);
                        LOCKED.unlock_sub(&word);
                        spin_loop();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..3 {
                    LOCKED.lock(&word);
                    other.load(SeqCst);
                    LOCKED.unlock_sub(&word);
                }
                done.store(true, SeqCst);
            });
        });
        assert_eq!(word.into_inner(), 0);
    });
}

#[test]
fn a_spin_that_nobody_can_end_is_a_livelock_at_once_and_its_place_is_named() {
    let failure = always_fails("livelock", AT_ONCE, || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            spin_loop();
        }
    });
    assert_eq!(failure.message, "main spins, and nobody is left to end it");
    assert!(failure.site.unwrap().file.ends_with("spin.rs"));

    always_fails("livelock", AT_ONCE, || {
        let locked = AtomicBool::new(true);
        while locked.swap(true, SeqCst) {
            spin_loop();
        }
    });
    always_fails("livelock", AT_ONCE, || {
        let words = [const { AtomicU32::new(0) }; 5];
        while words.iter().all(|word| word.load(SeqCst) == 0) {
            spin_loop();
        }
    });
    always_fails("livelock", AT_ONCE, || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {
            thread::yield_now();
        }
    });
}

#[test]
fn who_finds_a_lock_taken_waits_after_one_look_whichever_operation_looks() {
    let steps = |look: fn(&AtomicU32) -> bool| {
        let body = move || {
            let locked = AtomicU32::new(1);
            while look(&locked) {
                spin_loop();
            }
        };
        Checker::new("taken").seeds(0..1).run(&body).steps
    };

    let looks = [
        steps(|lock| lock.swap(1, SeqCst) == 1),
        steps(|lock| lock.fetch_or(1, SeqCst) == 1),
        steps(|lock| lock.compare_exchange(0, 1, SeqCst, SeqCst).is_err()),
    ];

    // One look, and one more when nobody else can run.
    assert_eq!(looks, [2; 3]);
    assert!(steps(|lock| lock.load(SeqCst) == 1) > 2, "one look at a value says little");
}

#[test]
fn a_loop_without_a_hint_that_nobody_can_end_is_a_livelock() {
    always_fails("livelock", WATCHDOG, || {
        let flag = AtomicBool::new(false);
        while !flag.load(SeqCst) {}
    });
    always_fails("livelock", WATCHDOG, || {
        let words = [const { AtomicU32::new(0) }; 3];
        while words.iter().all(|word| word.load(SeqCst) == 0) {}
    });
}

#[test]
fn a_wait_for_a_word_that_nobody_will_change_is_a_deadlock_at_once() {
    let failure = always_fails("deadlock", AT_ONCE, || {
        let word = AtomicU32::new(3);
        spin_until(&word, |value| value == 4);
    });

    assert_eq!(failure.message, "main waits for ever");
    assert!(failure.detail[0].starts_with("main spins on"), "{failure:?}");
}

#[test]
fn two_tasks_that_spin_on_each_others_flags_are_a_deadlock_of_both() {
    let failure = always_fails("deadlock", AT_ONCE, || {
        let flags = [const { AtomicBool::new(false) }; 2];
        let flags = &flags;
        thread::scope(|scope| {
            for (name, me) in [("left", 0), ("right", 1)] {
                let spins = move || {
                    while !flags[1 - me].load(SeqCst) {
                        spin_loop();
                    }
                    flags[me].store(true, SeqCst);
                };
                thread::Builder::new().name(name.into()).spawn_scoped(scope, spins).unwrap();
            }
        });
    });

    assert_eq!(failure.message, "main, left, right wait for ever");
    assert!(failure.detail[1].starts_with("left spins on"), "{failure:?}");
    assert!(failure.detail[2].starts_with("right spins on"), "{failure:?}");
}

#[test]
fn a_flag_that_is_set_too_early_is_a_livelock_in_some_schedules_only() {
    let body = || {
        let (flag, ready) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                ready.store(true, SeqCst);
                flag.store(false, SeqCst); // too late: the signal may have come
                while !flag.load(SeqCst) {
                    spin_loop();
                }
            });
            scope.spawn(|| {
                spin_until(&ready, |value| value != 0);
                flag.store(true, SeqCst);
            });
        });
    };

    let report = Checker::new("lost signal").seeds(0..300).run(&body);

    assert!(report.failures > 0 && report.failures < 300, "{report:?}");
    assert_eq!(report.rules.get("livelock"), Some(&report.failures));
}

#[test]
fn a_lock_that_its_owner_never_gives_back_is_reported() {
    let failure = fails(|| {
        let (lock, is_kept) = (SpinLock::new(()), AtomicBool::new(false));
        thread::scope(|scope| {
            let keeper = || {
                let _guard = lock.lock();
                is_kept.store(true, SeqCst);
                thread::park();
            };
            thread::Builder::new().name("keeper".into()).spawn_scoped(scope, keeper).unwrap();
            scope.spawn(|| {
                spin_until(&is_kept, |is_kept| is_kept != 0);
                drop(lock.lock());
            });
        });
    });

    assert_eq!(failure.rule, "deadlock");
    assert!(
        failure.detail.iter().any(|line| line.starts_with("keeper is parked at ")),
        "{failure:?}"
    );
    assert!(failure.detail.iter().any(|line| line.contains("held by keeper since")));
}

#[test]
fn with_a_spin_budget_waiters_spin_and_still_end() {
    let body = || {
        let (word, count) = (AtomicU32::new(0), SpinLock::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2 {
                        *count.lock() += 1;
                        LOCKED.lock(&word);
                        LOCKED.unlock_sub(&word);
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 6);
    };
    let checker = Checker::new("spin budget").seeds(0..300).max_steps(100_000);

    let blocking = checker.run(&body);
    let spinning = checker.clone().spin_budget(true).run(&body);

    assert_eq!((blocking.first_failure, spinning.first_failure), (None, None));
    assert!(spinning.steps != blocking.steps, "nobody spun");
}

#[test]
fn with_a_spin_budget_a_lock_that_is_never_given_back_is_reported() {
    let body = || {
        let word = AtomicU32::new(1 << 31);
        LOCKED.lock(&word);
    };

    let report = Checker::new("spin budget").seeds(0..20).spin_budget(true).run(&body);

    assert_eq!(report.rules.get("livelock"), Some(&20), "{report:?}");
}
