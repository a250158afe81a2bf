use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use holdup::crash::{self, Ended};
use holdup::sync::Arc;
use holdup::sync::atomic::{AtomicU32 as Word, Ordering::SeqCst};
use holdup::thread::{self, JoinHandle};
use holdup::{Checker, CrashKind, CrashPoint, Faults, fs, note};

use crate::{fails, passes};

fn crashing(kind: CrashKind) -> Faults {
    Faults { crash_point: CrashPoint::Drawn(kind), ..Faults::NONE }
}

/// Counts how often it is dropped.
struct Dropped<'a>(&'a AtomicU32);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_life_returns_what_its_function_returns() {
    passes(|| {
        let text = String::from("borrowed");
        let ended = crash::life(|| thread::scope(|scope| scope.spawn(|| text.len()).join()));
        assert_eq!(ended.returned().unwrap().unwrap(), 8);
    });
}

#[test]
fn tasks_that_still_run_when_a_life_returns_end_with_it() {
    passes(|| {
        let drops = std::sync::Arc::new(AtomicU32::new(0));
        let theirs = std::sync::Arc::clone(&drops);
        let ended = crash::life(move || {
            thread::spawn(move || {
                let _dropped = Dropped(&theirs);
                thread::park();
            });
            Word::new(0).load(SeqCst);
        });
        assert_eq!(ended, Ended::Returned(()));
        assert_eq!(std::sync::Arc::strong_count(&drops), 1, "its closure is gone");
    });
}

#[test]
fn a_panic_in_a_life_fails_the_execution() {
    let failure = fails(|| {
        crash::life(|| panic!("I-X1: it went wrong"));
    });
    assert_eq!(failure.rule, "I-X1");
    assert_eq!(failure.task, "life");
}

#[test]
fn a_crash_ends_all_tasks_of_the_life_at_one_step_and_no_others() {
    let body = || {
        let (inside, outside) = (AtomicU64::new(0), Word::new(0));
        let drops = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| (0..20).for_each(|_| _ = outside.fetch_add(1, SeqCst)));
            let ended = crash::life(|| {
                let _dropped = Dropped(&drops);
                let words = [Word::new(0), Word::new(0)];
                thread::scope(|scope| {
                    for word in &words {
                        let (inside, drops) = (&inside, &drops);
                        scope.spawn(move || {
                            let _dropped = Dropped(drops);
                            (0..20).for_each(|_| {
                                word.fetch_add(1, SeqCst);
                                inside.fetch_add(1, Relaxed);
                            });
                        });
                    }
                });
            });
            let then = inside.load(Relaxed);
            thread::yield_now();
            assert_eq!(inside.load(Relaxed), then, "the dead do nothing more");
            assert!(drops.load(Relaxed) <= 3);
            match ended {
                Ended::Returned(()) => assert_eq!((then, drops.load(Relaxed)), (40, 3)),
                Ended::Crashed(kind) => assert_eq!(kind, CrashKind::Process),
            }
        });
        assert_eq!(outside.into_inner(), 20);
    };
    let checker = Checker::new("crash").faults(crashing(CrashKind::Process)).seeds(0..2_000);
    let report = checker.run(&body);
    assert_eq!(report.first_failure, None);
    let crashes = report.faults.of("process-crash");
    assert!((1_400..1_800).contains(&crashes), "{crashes} of 2000 crash");
    assert_eq!(report.faults.iter().count(), 1, "{}", report.faults);
}

#[test]
fn crashes_are_drawn_evenly_over_the_points_of_a_life() {
    let points = Mutex::new(vec![0_u32; 50]);
    let body = || {
        let done = AtomicU64::new(0);
        crash::life(|| {
            let word = Word::new(0);
            for _ in 0..40 {
                word.load(SeqCst);
                done.fetch_add(1, Relaxed);
            }
        });
        points.lock().unwrap()[done.into_inner() as usize] += 1;
    };
    let checker = Checker::new("crash").faults(crashing(CrashKind::Process)).seeds(0..5_000);
    checker.run(&body);

    let points = points.into_inner().unwrap();
    let mean = 5_000 / 50;
    let evenly = |&count: &u32| (mean / 2..mean * 2).contains(&count);
    assert!(points[1..40].iter().all(evenly), "{points:?}");
    assert!((800..1_300).contains(&points[40]), "one in five is not cut short: {points:?}");
}

#[test]
fn a_crash_comes_at_the_scheduling_point_that_was_asked_for() {
    for nth in 1..=10 {
        let done = AtomicU64::new(0);
        let body = || {
            done.store(0, Relaxed);
            crash::life(|| {
                let word = Word::new(0);
                for _ in 0..20 {
                    word.load(SeqCst);
                    done.fetch_add(1, Relaxed);
                }
            });
        };
        let crash_point = CrashPoint::At(CrashKind::Process, nth);
        let checker = Checker::new("at").faults(Faults { crash_point, ..Faults::NONE });
        let report = checker.seeds(0..1).run(&body);
        assert_eq!((report.faults.of("process-crash"), done.into_inner()), (1, nth - 1));
    }
}

#[test]
fn a_crash_gives_back_what_the_dead_owned_and_lets_go_of_their_locks() {
    let body = || {
        let lock = Arc::new(holdup::sync::Mutex::new(0));
        let theirs = Arc::clone(&lock);
        let ended = crash::life(move || {
            let guard = theirs.lock().unwrap();
            fs::write("/tmp/file", "x").unwrap();
            drop(guard);
        });
        assert_eq!(Arc::strong_count(&lock), 1);
        // Who crashed while it held the lock has not poisoned it for ever.
        let value = *lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        assert_eq!(value, 0, "after {ended:?}");
    };
    let checker = Checker::new("locks").faults(crashing(CrashKind::Power)).seeds(0..500);
    assert_eq!(checker.run(&body).first_failure, None);
}

#[test]
fn lives_within_a_life_die_with_it_and_a_power_failure_ends_all() {
    passes(|| {
        let reached = AtomicU32::new(0);
        let ended = crash::life(|| {
            let inner = crash::life(|| crash::process_crash());
            assert_eq!(inner, Ended::Crashed(CrashKind::Process));
            crash::life(|| {
                reached.fetch_add(1, Relaxed);
                crash::power_failure();
                reached.fetch_add(1, Relaxed);
            });
            reached.fetch_add(1, Relaxed);
        });
        assert_eq!(ended, Ended::Crashed(CrashKind::Power));
        assert_eq!(reached.into_inner(), 1);
    });
}

#[test]
fn a_life_after_a_crash_is_cut_short_too() {
    let body = || {
        let mut lives = 0;
        let restarted = || crash::life(|| (0..10).for_each(|_| _ = Word::new(0).load(SeqCst)));
        while let Ended::Crashed(_) = restarted() {
            lives += 1;
        }
        note!("{lives} crashes");
    };
    let checker = Checker::new("again").faults(crashing(CrashKind::Process)).seeds(0..1_000);
    let report = checker.run(&body);
    assert_eq!(report.failures, 0);
    // Each life crashes four times out of five.
    let crashes = report.faults.of("process-crash");
    assert!((3_300..5_600).contains(&crashes), "{crashes}");
}

#[test]
fn a_crash_is_replayed_by_its_seed_and_drawn() {
    let body = || {
        let last = AtomicU32::new(0);
        let ended = crash::life(|| {
            thread::scope(|scope| {
                for id in 1..=2 {
                    let last = &last;
                    scope.spawn(move || {
                        for turn in 0..5 {
                            note!("turn {turn}");
                            fs::write("/tmp/file", "x").unwrap();
                            last.store(id, Relaxed);
                        }
                    });
                }
            });
        });
        assert!(ended.returned().is_some() || last.into_inner() != 2, "the second came last");
    };
    let checker = Checker::new("replay").faults(crashing(CrashKind::Power)).seeds(0..200);
    let report = checker.run(&body);
    assert_eq!(report, checker.clone().jobs(3).run(&body));
    let first = report.first_failure.unwrap();

    let trace = checker.trace(first.seed, &body);
    assert_eq!(trace.failure.as_ref(), Some(&first.failure));
    assert_eq!(trace.faults.of("power-failure"), 1);
    assert!(trace.timeline().to_string().contains("-- the power fails --"));
    let schedule = holdup::scheduler::Schedule::from(&trace);
    let replay = checker.clone().scheduler(holdup::Scheduler::Replay(schedule));
    let again = replay.trace(first.seed, &body);
    assert_eq!((again.hash, again.divergence), (trace.hash, None));

    let shrunk = checker.shrink(first.seed, &body).unwrap();
    assert_eq!(shrunk.trace.failure.unwrap().rule, first.failure.rule);
}

#[test]
fn a_killed_task_holds_what_it_holds() {
    let failure = fails(|| {
        let lock = Arc::new(holdup::sync::Mutex::new(0));
        let theirs = Arc::clone(&lock);
        let holder = thread::spawn(move || {
            let _guard = theirs.lock();
            thread::park();
        });
        thread::yield_now();
        crash::kill(holder.thread());
        let _unlucky = lock.lock();
    });
    assert_eq!(failure.rule, "deadlock");
    assert!(failure.detail[0].ends_with("which was killed"), "{failure:?}");
}

#[test]
fn who_joins_a_killed_task_is_told() {
    passes(|| {
        let drops = std::sync::Arc::new(());
        let theirs = drops.clone();
        let killed: JoinHandle<()> = thread::spawn(move || {
            let _held = theirs;
            thread::park();
        });
        let itself = thread::spawn(|| -> u32 {
            crash::kill(&thread::current());
            unreachable!("it is dead")
        });
        crash::kill(killed.thread());
        crash::kill(killed.thread());
        assert!(killed.is_finished());
        let message = |payload: Box<dyn std::any::Any + Send>| *payload.downcast::<&str>().unwrap();
        assert_eq!(killed.join().map_err(message), Err("the task was killed"));
        assert!(itself.join().is_err());
    });
}

#[test]
fn tasks_of_the_scopes_of_a_killed_task_die_with_it() {
    passes(|| {
        let steps = AtomicU32::new(0);
        thread::scope(|scope| {
            let outer = scope.spawn(|| {
                let local = Word::new(0);
                thread::scope(|inner| {
                    inner.spawn(|| {
                        loop {
                            local.fetch_add(1, SeqCst);
                            steps.fetch_add(1, Relaxed);
                        }
                    });
                });
            });
            thread::yield_now();
            crash::kill(outer.thread());
            let then = steps.load(Relaxed);
            thread::yield_now();
            assert_eq!(steps.load(Relaxed), then);
        });
    });
}

#[test]
fn a_counter_needs_no_lock_if_it_survives_the_death_of_a_task_anywhere() {
    let wait_free = || {
        let count = Arc::new(Word::new(0));
        let spawn = || {
            thread::spawn({
                let count = Arc::clone(&count);
                move || _ = count.fetch_add(1, SeqCst)
            })
        };
        let (victim, other) = (spawn(), spawn());
        crash::kill(victim.thread());
        assert!(other.join().is_ok());
    };
    passes(wait_free);
}

#[test]
fn outside_of_executions_nothing_crashes_and_the_message_says_so() {
    for attempt in [|| _ = crash::life(|| ()), crash::power_failure, crash::process_crash] {
        let message = std::panic::catch_unwind(attempt).unwrap_err();
        let message = message.downcast::<String>().unwrap();
        assert!(message.contains("outside of an execution"), "{message}");
    }
    let failure = fails(crash::process_crash);
    assert!(failure.message.contains("crash::life"), "{}", failure.message);
}
