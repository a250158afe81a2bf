//! Proofs: exact numbers of executions, all outcomes, and what is refused.

use std::collections::BTreeSet;
use std::sync::Mutex as Seen;

use holdup::explore::{Proof, ProofOptions};
use holdup::hint::{self, spin_until};
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::sync::{Barrier, Condvar, Mutex, RwLock, SpinLock, mpsc};
use holdup::{Checker, Scheduler, thread};

fn prove(body: impl Fn() + Sync) -> Proof {
    Checker::new("a small program").prove(ProofOptions::new(), &body)
}

/// Every execution of a right program is run: so many, each another trace.
#[track_caller]
fn has_executions(executions: u64, body: impl Fn() + Sync) -> Proof {
    let proof = prove(body);
    assert!(proof.complete, "{proof:#?}");
    assert_eq!(proof.failures, 0, "{:#?}", proof.first_failure);
    assert_eq!((proof.executions, proof.distinct_traces), (executions, executions), "{proof:#?}");
    proof
}

/// Runs `n` tasks that do the same, and waits for them.
fn tasks(n: usize, task: impl Fn() + Sync) {
    thread::scope(|scope| (0..n).for_each(|_| _ = scope.spawn(&task)));
}

/// All that `body` returns over all executions, each another trace.
fn outcomes<T: Ord + Send>(body: impl Fn() -> T + Sync) -> (BTreeSet<T>, Proof) {
    let (seen, proof) = outcomes_of(body);
    assert_eq!(proof.executions, proof.distinct_traces);
    (seen, proof)
}

fn outcomes_of<T: Ord + Send>(body: impl Fn() -> T + Sync) -> (BTreeSet<T>, Proof) {
    let seen = Seen::new(BTreeSet::new());
    let proof = prove(|| {
        let outcome = body();
        seen.lock().unwrap().insert(outcome);
    });
    assert!(proof.complete && proof.failures == 0, "{proof:#?}");
    (seen.into_inner().unwrap(), proof)
}

#[test]
fn tasks_that_lock_one_mutex_once_have_as_many_executions_as_orders() {
    for (n, orders) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let proof = has_executions(orders, || {
            let mutex = Mutex::new(0);
            tasks(n, || *mutex.lock().unwrap() += 1);
        });
        assert_eq!(proof.blocked, 0, "whether a mutex is free is known without trying");
    }
}

#[test]
fn tasks_that_add_twice_have_as_many_executions_as_orders() {
    for (n, orders) in [(2, 6), (3, 90)] {
        let proof = has_executions(orders, || {
            let word = AtomicU32::new(0);
            tasks(n, || (0..2).for_each(|_| _ = word.fetch_add(1, SeqCst)));
        });
        assert_eq!(proof.blocked, 0);
    }
}

#[test]
fn tasks_on_a_spinlock_have_as_many_executions_as_orders() {
    for (n, orders) in [(2, 2), (3, 6), (4, 24)] {
        has_executions(orders, || {
            let lock = SpinLock::new(0);
            tasks(n, || *lock.lock() += 1);
        });
    }
}

#[test]
fn tasks_on_a_hand_written_spinlock_have_as_many_executions_as_orders() {
    for (n, orders) in [(2, 2), (3, 6)] {
        has_executions(orders, || {
            let word = AtomicU32::new(0);
            tasks(n, || {
                loop {
                    spin_until(&word, |value| value == 0);
                    if word.compare_exchange(0, 1, SeqCst, SeqCst).is_ok() {
                        break;
                    }
                }
                word.store(0, SeqCst);
            });
        });
        has_executions(orders, || {
            let word = AtomicU32::new(0);
            tasks(n, || {
                while word.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
                    spin_until(&word, |value| value == 0);
                }
                word.store(0, SeqCst);
            });
        });
    }
}

#[test]
fn independent_tasks_have_one_execution() {
    has_executions(1, || {
        let words = [const { AtomicU32::new(0) }; 4];
        let next = AtomicU32::new(0);
        thread::scope(|scope| {
            for word in &words {
                scope.spawn(|| (0..5).for_each(|_| _ = word.fetch_add(1, SeqCst)));
            }
        });
        _ = next.load(SeqCst);
    });
}

#[test]
fn store_buffering_has_the_three_outcomes_of_sequential_consistency() {
    let (seen, proof) = outcomes(|| {
        let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            let a = scope.spawn(|| {
                x.store(1, SeqCst);
                y.load(SeqCst)
            });
            let b = scope.spawn(|| {
                y.store(1, SeqCst);
                x.load(SeqCst)
            });
            (a.join().unwrap(), b.join().unwrap())
        })
    });

    assert_eq!(seen, [(0, 1), (1, 0), (1, 1)].into());
    assert_eq!(proof.executions, 3);
}

#[test]
fn message_passing_never_shows_the_flag_without_the_data() {
    let (seen, _) = outcomes(|| {
        let (data, flag) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                data.store(1, SeqCst);
                flag.store(1, SeqCst);
            });
            let reader = scope.spawn(|| (flag.load(SeqCst), data.load(SeqCst)));
            reader.join().unwrap()
        })
    });

    assert_eq!(seen, [(0, 0), (0, 1), (1, 1)].into());
}

fn lost_update() {
    let word = AtomicU32::new(0);
    tasks(2, || word.store(word.load(SeqCst) + 1, SeqCst));
    assert_eq!(word.into_inner(), 2);
}

#[test]
fn a_lost_update_is_found_and_its_schedule_replays() {
    let proof = prove(lost_update);
    let first = proof.first_failure.unwrap();

    assert!(proof.complete && proof.failures > 0 && proof.failures < proof.executions);
    let checker = Checker::new("again").scheduler(Scheduler::Replay(first.schedule.clone()));
    let trace = checker.trace(0, &lost_update);
    assert_eq!(trace.divergence, None);
    assert_eq!(trace.failure.map(|failure| failure.rule), Some(first.failure.rule));
}

#[test]
fn a_deadlock_is_found_and_its_schedule_replays() {
    let body = || {
        let (a, b) = (Mutex::new(()), Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| drop((a.lock().unwrap(), b.lock().unwrap())));
            scope.spawn(|| drop((b.lock().unwrap(), a.lock().unwrap())));
        });
    };
    let proof = prove(body);
    let first = proof.first_failure.clone().unwrap();

    assert!(proof.complete, "{proof:#?}");
    assert_eq!(proof.rules.keys().collect::<Vec<_>>(), ["deadlock"]);
    let checker = Checker::new("again").scheduler(Scheduler::Replay(first.schedule));
    assert_eq!(
        checker.trace(0, &body).failure.map(|failure| failure.rule),
        Some("deadlock".into())
    );
}

#[test]
fn a_bound_on_preemptions_grows_to_all_schedules() {
    let of = |options| Checker::new("bounded").prove(options, &lost_update);
    let bounded = [0, 1, 2, 9].map(|bound| of(ProofOptions::new().preemptions(bound)));

    assert!(bounded.iter().all(|proof| proof.complete));
    assert_eq!(bounded[0].failures, 0, "one task after the other loses nothing");
    assert!(bounded[1].failures > 0, "one preemption is enough");
    let executions = bounded.each_ref().map(|proof| proof.executions);
    assert!(executions.is_sorted() && executions[0] < executions[1], "{executions:?}");
    assert_eq!(bounded[3].distinct_traces, of(ProofOptions::new()).distinct_traces);
}

#[test]
fn a_search_that_is_cut_off_says_what_is_left() {
    let body = || {
        let mutex = Mutex::new(0);
        tasks(5, || *mutex.lock().unwrap() += 1);
    };
    let options = ProofOptions::new().max_executions(20);
    let proof = Checker::new("cut off").prove(options, &body);
    let left = proof.remaining_estimate.unwrap();

    assert!(!proof.complete && proof.executions == 20);
    assert_eq!((left.executions, left.standard_error), (100.0, 0.0), "5! executions, less 20");
    assert_eq!(Checker::new("again").prove(options, &body), proof);
}

#[test]
fn an_estimate_is_near_where_paths_differ() {
    let body = || {
        let word = AtomicU32::new(0);
        tasks(3, || (0..3).for_each(|_| _ = word.fetch_add(1, SeqCst)));
    };
    let proof = Checker::new("cut off").prove(ProofOptions::new().max_executions(1), &body);
    let left = proof.remaining_estimate.unwrap();

    // 9! / 3!^3 orders.
    assert!((left.executions - 1_679.0).abs() < 4.0 * left.standard_error, "{left:?}");
    assert!(left.standard_error > 0.0);
}

#[test]
fn a_failure_hides_no_other() {
    let proof = prove(|| {
        let word = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| assert_ne!(word.fetch_add(1, SeqCst), 0, "I-A: never first"));
            scope.spawn(|| assert_ne!(word.fetch_add(1, SeqCst), 0, "I-B: never first"));
        });
    });

    assert!(proof.complete);
    assert_eq!(proof.failures, 2, "whoever is first fails: {:?}", proof.rules);
}

#[test]
fn a_spin_loop_that_nobody_ends_is_a_livelock() {
    let proof = prove(|| {
        let flag = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| spin_until(&flag, |value| value == 2));
            scope.spawn(|| flag.store(1, SeqCst));
        });
    });

    assert!(proof.complete && proof.executions > 0, "{proof:#?}");
    assert_eq!(proof.failures, proof.executions);
}

#[test]
fn tasks_wait_in_loops_with_hints_too() {
    for wait in [hint::spin_loop, thread::yield_now] {
        let (seen, _) = outcomes(move || {
            let (flag, data) = (AtomicU32::new(0), AtomicU32::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    data.store(1, SeqCst);
                    flag.store(1, SeqCst);
                    data.store(2, SeqCst);
                });
                let reader = scope.spawn(|| {
                    while flag.load(SeqCst) == 0 {
                        wait();
                    }
                    data.load(SeqCst)
                });
                reader.join().unwrap()
            })
        });
        assert_eq!(seen, [1, 2].into());
    }
}

#[test]
fn condition_variables_barriers_channels_and_parking_end() {
    let (seen, _) = outcomes(|| {
        let (ready, condition) = (Mutex::new(false), Condvar::new());
        let barrier = Barrier::new(2);
        let (sender, receiver) = mpsc::channel();
        let (ready, condition, barrier) = (&ready, &condition, &barrier);
        thread::scope(|scope| {
            let waiter = scope.spawn(move || {
                let mut guard = ready.lock().unwrap();
                while !*guard {
                    guard = condition.wait(guard).unwrap();
                }
                drop(guard);
                thread::park();
                barrier.wait();
                receiver.recv().unwrap()
            });
            *ready.lock().unwrap() = true;
            condition.notify_all();
            waiter.thread().unpark();
            sender.send(7).unwrap();
            barrier.wait();
            waiter.join().unwrap()
        })
    });
    assert_eq!(seen, [7].into());
}

#[test]
fn readers_share_a_lock_and_writers_do_not() {
    let (seen, proof) = outcomes(|| {
        let value = RwLock::new(0);
        thread::scope(|scope| {
            let readers = [(); 2].map(|()| scope.spawn(|| *value.read().unwrap()));
            scope.spawn(|| *value.write().unwrap() += 1);
            readers.map(|reader| reader.join().unwrap())
        })
    });

    assert_eq!(seen.len(), 4);
    assert_eq!(proof.executions, 4, "readers have no order among themselves");
}

#[track_caller]
fn is_refused(checker: Checker, body: impl Fn() + Sync, sentence: &str) {
    let proof = checker.prove(ProofOptions::new(), &body);
    assert!(!proof.complete);
    let refused = proof.refused.unwrap();
    assert!(refused.contains(sentence), "{refused}");
}

#[test]
fn what_has_executions_for_other_reasons_than_schedules_is_refused() {
    let checker = || Checker::new("refused");
    is_refused(checker(), || _ = holdup::random::next_u64(), "draws from the seed");
    is_refused(checker(), || _ = holdup::time::Instant::now(), "reads the clock");
    is_refused(checker(), || thread::sleep(std::time::Duration::from_secs(1)), "waits for a time");
    is_refused(checker().spin_budget(true), || (), "virtual time");
    let endless = || {
        let (flag, count) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while flag.load(SeqCst) == 0 {
                    count.fetch_add(1, SeqCst);
                }
            });
            scope.spawn(|| flag.store(1, SeqCst));
        });
    };
    is_refused(checker(), endless, "give a hint");
}

/// Four tasks that add thrice: 12! / 3!^4 executions.
fn many_orders() {
    let word = AtomicU32::new(0);
    tasks(4, || (0..3).for_each(|_| _ = word.fetch_add(1, SeqCst)));
}

#[test]
fn the_number_of_jobs_changes_nothing() {
    let options = [
        ProofOptions::new().max_executions(20_000),
        ProofOptions::new().preemptions(3),
        ProofOptions::new().preemptions(4).max_executions(3_000),
    ];
    for options in options {
        let with = |jobs| Checker::new("jobs").jobs(jobs).prove(options, &many_orders);
        let one = with(1);
        assert!(one.executions > 1_000);
        assert_eq!(with(2), one);
        assert_eq!(with(7), one);
    }
}

#[test]
fn a_search_in_parts_runs_every_trace_once() {
    let body = || {
        let word = AtomicU32::new(0);
        tasks(3, || (0..3).for_each(|_| _ = word.fetch_add(1, SeqCst)));
    };
    // 9! / 3!^3: more than one part runs in its first round.
    has_executions(1_680, body);
}

#[test]
fn a_wake_up_reaches_each_of_the_waiting() {
    let body = || {
        let (turn, condition) = (Mutex::new(0), Condvar::new());
        let (turn, condition) = (&turn, &condition);
        thread::scope(|scope| {
            let waiters = [1, 2, 3].map(|id| {
                scope.spawn(move || {
                    let mut guard = turn.lock().unwrap();
                    while *guard == 0 {
                        guard = condition.wait(guard).unwrap();
                    }
                    *guard = *guard * 4 + id;
                    condition.notify_one();
                })
            });
            *turn.lock().unwrap() = 1;
            condition.notify_one();
            for waiter in waiters {
                waiter.join().unwrap();
            }
        });
        turn.lock().map(|turn| *turn).unwrap()
    };
    let (seen, _) = outcomes_of(body);
    assert_eq!(seen.len(), 6, "in each of 3! orders: {seen:?}");
}

#[test]
fn a_pick_is_replayed() {
    let body = || {
        let (count, condition) = (Mutex::new(0), Condvar::new());
        let (count, condition, woken) = (&count, &condition, &AtomicU32::new(0));
        thread::scope(|scope| {
            for id in [1, 2] {
                scope.spawn(move || {
                    let mut guard = count.lock().unwrap();
                    *guard += 1;
                    drop(condition.wait(guard).unwrap());
                    let first = woken.fetch_add(1, SeqCst) == 0;
                    assert!(!first || id == 1, "I-ONE: never the second first");
                    condition.notify_one();
                });
            }
            while *count.lock().unwrap() < 2 {
                thread::yield_now();
            }
            condition.notify_one();
        });
    };
    let proof = prove(body);
    let first = proof.first_failure.unwrap();

    assert!(proof.failures < proof.executions, "{} of {}", proof.failures, proof.executions);
    let text = first.schedule.to_string();
    assert!(text.contains(';'), "{text}");
    let checker = Checker::new("again").scheduler(Scheduler::Replay(text.parse().unwrap()));
    assert_eq!(checker.trace(0, &body).failure.map(|failure| failure.rule), Some("I-ONE".into()));
}

#[test]
fn a_fault_strikes_wherever_it_can() {
    let faults = holdup::Faults { write_error: 1, ..holdup::Faults::NONE };
    let body = || {
        let mut file = holdup::fs::File::create("/data").unwrap();
        let written = [(); 3].map(|()| std::io::Write::write_all(&mut file, b"x").is_ok());
        written.iter().fold(0, |all, &one| all * 2 + u32::from(one))
    };
    for (most, expected) in [(0, 1), (1, 4), (2, 7), (3, 8)] {
        let seen = Seen::new(BTreeSet::new());
        let checker = Checker::new("faults").faults(faults);
        let proof = checker
            .prove(ProofOptions::new().faults(most), &|| _ = seen.lock().unwrap().insert(body()));
        assert!(proof.complete, "{proof:#?}");
        assert_eq!(seen.into_inner().unwrap().len(), expected, "with at most {most}");
        assert_eq!(proof.executions, expected as u64);
    }
}
