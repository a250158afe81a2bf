//! Guided searches: the same again, and what they find replays alone.

use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::sync::{Condvar, Mutex};
use holdup::{Checker, Scheduler, hint, thread};

/// The window is two operations wide, at the end of one task and the beginning of the other.
fn late_reader() {
    let words = [const { AtomicU32::new(0) }; 3];
    let words = &words;
    thread::scope(|scope| {
        scope.spawn(move || {
            (0..20).for_each(|_| _ = words[0].fetch_add(1, SeqCst));
            words[1].store(1, SeqCst);
            words[2].store(1, SeqCst);
        });
        scope.spawn(move || {
            let (one, two) = (words[1].load(SeqCst), words[2].load(SeqCst));
            (0..20).for_each(|_| _ = words[0].fetch_add(1, SeqCst));
            assert!(one == two, "both or none");
        });
    });
}

#[test]
fn a_search_is_the_same_again() {
    let checker = Checker::new("late reader").seeds(0..500);

    let first = checker.guided(&late_reader);
    let again = checker.clone().jobs(2).guided(&late_reader);

    assert_eq!(first.executions, 500);
    assert_eq!(first, again);
    assert_ne!(first.coverage, checker.seeds(500..1_000).guided(&late_reader).coverage);
}

#[test]
fn what_a_search_finds_replays_alone() {
    let checker = Checker::new("late reader").seeds(0..2_000).stop_at_first(true);

    let guided = checker.guided(&late_reader);

    let finding = &guided.findings["panic"];
    assert_eq!((guided.failures, guided.executions), (1, finding.execution));
    let replay = checker.scheduler(Scheduler::Replay(finding.schedule.clone()));
    let trace = replay.trace(finding.seed, &late_reader);
    assert_eq!(trace.failure.unwrap().rule, "panic");
    assert_eq!(trace.divergence, None);
}

#[test]
fn a_search_sees_what_a_random_walk_does_not() {
    let checker = Checker::new("late reader").seeds(0..2_000);

    let walked = checker.clone().scheduler(Scheduler::Random).run(&late_reader);
    let guided = checker.guided(&late_reader);

    assert_eq!(walked.failures, 0);
    assert!(guided.failures > 0);
    assert!(guided.corpus > 1);
}

#[test]
fn programs_that_wait_spin_and_wake_end_under_a_search() {
    let body = || {
        let (ready, changed, word) = (Mutex::new(false), Condvar::new(), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut ready = ready.lock().unwrap();
                while !*ready {
                    ready = changed.wait(ready).unwrap();
                }
                word.store(1, SeqCst);
            });
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                changed.notify_one();
                while word.load(SeqCst) == 0 {
                    hint::spin_loop();
                }
            });
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    thread::yield_now();
                }
            });
        });
    };

    let guided = Checker::new("waits").seeds(0..300).max_steps(20_000).guided(&body);

    assert_eq!(guided.findings, [].into());
    assert_eq!(guided.executions, 300);
}
