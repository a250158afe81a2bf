use holdup::hold::{HoldKind, Rules};
use holdup::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use holdup::sync::{Backoff, LockBit};
use holdup::trace::What;
use holdup::{Checker, thread};

use crate::{fails, passes};

static HEADER: HoldKind = HoldKind::new("header lock", Rules::SPINLOCK);
static PARTITION: HoldKind = HoldKind::new("partition lock", Rules::NONE);

const LOCKED: u32 = 1 << 22;
const HEADER_LOCK: LockBit<AtomicU32> = LockBit::new(&HEADER, LOCKED);

/// The same claims for both widths of a word. The low bits count, bit 8 and up are another count.
macro_rules! claims_for {
    ($width:ident, $atomic:ident, $value:ty, $locked:expr) => {
        mod $width {
            use super::*;

            const BIT: $value = $locked;
            const LOCK: LockBit<$atomic> = LockBit::new(&PARTITION, BIT);

            #[test]
            fn every_way_to_lock_and_unlock_does_what_it_says() {
                let body = || {
                    let word = $atomic::new(7);
                    assert_eq!(LOCK.wait_unlocked(&word), 7);
                    assert_eq!(LOCK.lock(&word), 7 | BIT);
                    assert_eq!(LOCK.try_lock(&word), Err(7 | BIT));
                    LOCK.unlock_store(&word, 8 | BIT);
                    assert_eq!(LOCK.try_lock(&word), Ok(8 | BIT));
                    word.fetch_add(1, SeqCst);
                    assert_eq!(LOCK.unlock_sub(&word), 9 | BIT);
                    assert_eq!(LOCK.lock(&word), 9 | BIT);
                    assert_eq!(LOCK.unlock_cas(&word, 8 | BIT, 0), Err(9 | BIT));
                    assert_eq!(LOCK.try_lock(&word), Err(9 | BIT));
                    assert_eq!(LOCK.unlock_cas(&word, 9 | BIT, 5 | BIT), Ok(9 | BIT));
                    assert_eq!(word.into_inner(), 5);
                };
                passes(body);
                body();
            }

            /// Two tasks lock, add to the low count in two steps and release, while a third adds to
            /// the high count without the lock.
            fn count(release: impl Fn(&$atomic, $value) + Sync) {
                let (word, count) = ($atomic::new(0), AtomicU32::new(0));
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            let value = LOCK.lock(&word);
                            count.store(count.load(SeqCst) + 1, SeqCst);
                            release(&word, value);
                        });
                    }
                    scope.spawn(|| (0..2).for_each(|_| _ = word.fetch_add(256, SeqCst)));
                });
                assert_eq!(count.into_inner(), 2, "the lock excludes");
                assert_eq!(word.into_inner(), 512, "nothing is lost");
            }

            #[test]
            fn a_release_by_subtraction_keeps_what_others_did_meanwhile() {
                passes(|| count(|word, _| _ = LOCK.unlock_sub(word)));
            }

            #[test]
            fn a_release_by_compare_and_swap_keeps_what_others_did_meanwhile() {
                passes(|| {
                    count(|word, mut value| {
                        while let Err(now) = LOCK.unlock_cas(word, value, value) {
                            value = now;
                        }
                    });
                });
            }

            #[test]
            fn a_release_by_store_loses_what_others_did_meanwhile() {
                let failure = fails(|| count(|word, value| LOCK.unlock_store(word, value)));

                assert!(failure.message.contains("nothing is lost"), "{failure}");
            }

            #[test]
            fn who_waits_until_the_bit_is_clear_can_swap_past_the_lock() {
                passes(|| {
                    let (word, guarded) = ($atomic::new(0), AtomicU32::new(0));
                    thread::scope(|scope| {
                        scope.spawn(|| {
                            let value = LOCK.lock(&word);
                            guarded.store(1, SeqCst);
                            guarded.store(0, SeqCst);
                            LOCK.unlock_store(&word, value);
                        });
                        scope.spawn(|| {
                            loop {
                                let value = LOCK.wait_unlocked(&word);
                                assert_eq!(value & BIT, 0);
                                if word.compare_exchange(value, value + 1, SeqCst, SeqCst).is_ok() {
                                    break;
                                }
                            }
                        });
                    });
                    assert_eq!(word.into_inner(), 1);
                });
            }

            #[test]
            fn outside_of_executions_it_excludes_threads() {
                let (word, count) = ($atomic::new(0), AtomicU32::new(0));

                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            for _ in 0..500 {
                                LOCK.lock(&word);
                                count.store(count.load(SeqCst) + 1, SeqCst);
                                LOCK.unlock_sub(&word);
                            }
                        });
                    }
                });

                assert_eq!((count.into_inner(), word.into_inner()), (1_500, 0));
            }
        }
    };
}

claims_for!(of_32_bits, AtomicU32, u32, 1 << 31);
claims_for!(of_64_bits, AtomicU64, u64, 1 << 63);

#[test]
fn two_bits_of_one_word_are_two_locks() {
    const OTHER: LockBit<AtomicU32> = LockBit::new(&PARTITION, 2);
    const FIRST: LockBit<AtomicU32> = LockBit::new(&PARTITION, 1);
    passes(|| {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                FIRST.lock(&word);
                FIRST.unlock_sub(&word);
            });
            scope.spawn(|| {
                OTHER.lock(&word);
                assert_eq!(OTHER.unlock_sub(&word) & 2, 2);
            });
        });
        assert_eq!(word.into_inner(), 0);
    });
}

#[test]
fn a_hold_begins_with_the_lock_and_ends_with_the_release() {
    let body = || {
        let word = AtomicU32::new(0);
        holdup::name!(&word, "buffer 0 state");
        HEADER_LOCK.lock(&word);
        assert!(HEADER_LOCK.try_lock(&word).is_err());
        word.fetch_add(1, SeqCst);
        assert!(HEADER_LOCK.unlock_cas(&word, 0, 0).is_err());
        HEADER_LOCK.unlock_sub(&word);
    };

    let trace = Checker::new("hold").trace(0, &body);

    let shown = trace.events.iter().filter_map(|event| match event.what {
        What::HoldBegin { kind, object } => Some((event.step, kind, object)),
        What::HoldEnd { kind, object } => Some((event.step, kind, object)),
        _ => None,
    });
    let shown: Vec<_> = shown.collect();
    assert_eq!(trace.failure, None);
    assert_eq!(shown.iter().map(|hold| hold.0).collect::<Vec<_>>(), [1, 5]);
    for (_, kind, object) in shown {
        assert_eq!(
            (kind, &*trace.objects[object as usize].name),
            ("header lock", "buffer 0 state")
        );
    }
}

#[test]
fn a_task_that_ends_with_a_lock_bit_set_fails() {
    let body = || {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| _ = HEADER_LOCK.lock(&word));
        });
    };

    let failure = fails(body);

    assert_eq!(failure.rule, "I-SP1");
    assert!(failure.message.starts_with("a task ended holding header lock of"), "{failure}");
}

#[test]
fn a_release_by_a_task_that_does_not_hold_the_lock_fails() {
    const LOCK: LockBit<AtomicU32> = LockBit::new(&PARTITION, 1);
    let failure = fails(|| {
        let word = AtomicU32::new(0);
        LOCK.lock(&word);
        thread::scope(|scope| {
            scope.spawn(|| _ = LOCK.unlock_sub(&word));
        });
    });

    assert_eq!(failure.rule, "I-SP1");
    assert!(failure.message.contains("by a task that does not hold it"), "{failure}");
}

#[test]
fn two_holders_that_wait_for_each_others_bit_are_a_deadlock_with_owners() {
    const LOCK: LockBit<AtomicU64> = LockBit::new(&PARTITION, 4);
    let body = || {
        let words = [const { AtomicU64::new(0) }; 2];
        let words = &words;
        thread::scope(|scope| {
            for (name, first) in [("left", 0), ("right", 1)] {
                let both = move || {
                    LOCK.lock(&words[first]);
                    LOCK.lock(&words[1 - first]);
                    LOCK.unlock_sub(&words[1 - first]);
                    LOCK.unlock_sub(&words[first]);
                };
                thread::Builder::new().name(name.into()).spawn_scoped(scope, both).unwrap();
            }
        });
    };

    let failure = fails(body);

    assert_eq!(failure.rule, "deadlock");
    let detail = failure.detail.join("\n");
    assert!(detail.contains("held by left since"), "{detail}");
    assert!(detail.contains("held by right since"), "{detail}");
}

#[test]
fn the_backoff_is_asked_where_waiters_spin_and_only_there() {
    struct Counts(u32);
    impl Backoff for Counts {
        fn spin(&mut self) {
            self.0 += 1;
            thread::yield_now();
        }
    }
    let spins = std::sync::atomic::AtomicU32::new(0);
    let body = || {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut backoff = Counts(0);
                    HEADER_LOCK.lock_with(&word, &mut backoff);
                    HEADER_LOCK.unlock_sub(&word);
                    HEADER_LOCK.wait_unlocked_with(&word, &mut backoff);
                    spins.fetch_add(backoff.0, SeqCst);
                });
            }
        });
    };

    passes(body);
    assert_eq!(spins.load(SeqCst), 0);

    let report = Checker::new("spins").seeds(0..300).spin_budget(true).run(&body);
    assert_eq!(report.first_failure, None);
    assert!(spins.load(SeqCst) > 0);
}
