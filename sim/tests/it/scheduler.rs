//! What each scheduler is good at, counted over fixed seeds.

use std::sync::Mutex as StdMutex;

use holdup::sync::SpinLock;
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::{Checker, Report, Scheduler, thread};

const ALL: &[&str] = Scheduler::NAMES;

fn run(scheduler: &str, seeds: u64, body: impl Fn() + Sync) -> Report {
    let scheduler = scheduler.parse().unwrap();
    Checker::new("counted").scheduler(scheduler).seeds(0..seeds).jobs(2).run(&body)
}

/// A writer opens a window, closes it, and works on; the reader must look in between.
/// Depth 2: the writer is made to wait once.
fn one_window() {
    let (window, work) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..10).for_each(|_| _ = work.load(SeqCst));
            window.store(1, SeqCst);
            window.store(0, SeqCst);
            (0..10).for_each(|_| _ = work.load(SeqCst));
        });
        scope.spawn(|| assert_eq!(window.load(SeqCst), 0, "looked into the window"));
    });
}

/// The reader must look twice: into a window that is open for a moment, and, before its next step,
/// into one that opens much later. Depth 3: the writer is made to wait, and then the reader.
fn two_windows() {
    let (first, second, work) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            first.store(1, SeqCst);
            first.store(0, SeqCst);
            (0..20).for_each(|_| _ = work.load(SeqCst));
            second.store(1, SeqCst);
        });
        scope.spawn(|| {
            let looks = [first.load(SeqCst), second.load(SeqCst)];
            assert_ne!(looks, [1, 1], "looked into both windows");
        });
    });
}

/// Three tasks, of which the first to wait must go on last. Depth 3, and found only by a rule that
/// lets the earlier of two demotions be the lower one.
fn nested() {
    let at = AtomicU32::new(0);
    let go = |from, to| at.compare_exchange(from, to, SeqCst, SeqCst).is_ok();
    thread::scope(|scope| {
        scope.spawn(|| {
            go(0, 1);
            assert!(!go(4, 5), "the outer task went on last");
        });
        scope.spawn(|| {
            go(1, 2);
            go(3, 4);
        });
        scope.spawn(|| go(2, 3));
    });
}

/// The bound of the paper, `1 / (n k^(d-1))` for `n` tasks and `k` steps, holds at this depth.
#[track_caller]
fn keeps_the_bound(depth: u32, tasks: f64, seeds: u64, body: impl Fn() + Sync) {
    let report = run(&format!("pct{depth}"), seeds, body);
    let steps = report.steps as f64 / seeds as f64;
    let bound = seeds as f64 / (tasks * steps.powi(depth as i32 - 1));
    assert!(bound > 10.0, "too few seeds to tell: {bound}");
    assert!(report.failures as f64 >= bound, "{} of {seeds}, bound {bound}", report.failures);
}

#[test]
fn pct_of_depth_two_finds_a_window_as_often_as_the_paper_says() {
    keeps_the_bound(2, 3.0, 3_000, one_window);
}

#[test]
fn pct_of_depth_three_finds_two_windows_and_a_nest_as_often_as_the_paper_says() {
    keeps_the_bound(3, 3.0, 40_000, two_windows);
    keeps_the_bound(3, 4.0, 40_000, nested);
}

#[test]
fn pct_finds_no_bug_that_is_deeper_than_it_is() {
    assert_eq!(run("pct1", 2_000, one_window).failures, 0);
    assert_eq!(run("pct2", 2_000, two_windows).failures, 0);
}

#[test]
fn a_random_walk_never_finds_two_windows_that_are_far_apart() {
    assert_eq!(run("random", 40_000, two_windows).failures, 0);
    assert!(run("random", 3_000, one_window).failures > 0);
}

#[test]
fn a_sticky_walk_finds_what_a_random_walk_does_not() {
    assert!(run("sticky", 40_000, two_windows).failures > 0);
}

#[test]
fn a_random_walk_finds_tasks_close_together_more_often_than_pct() {
    let body = || {
        let inside = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    assert!(inside.fetch_add(1, SeqCst) < 2, "three at once");
                    inside.fetch_sub(1, SeqCst);
                });
            }
        });
    };

    let [random, pct] = ["random", "pct2"].map(|scheduler| run(scheduler, 2_000, body).failures);

    assert!(random > 0);
    assert_eq!(pct, 0, "two of them must wait, and depth 2 makes one");
}

/// Locks that are taken and released, and a lost update beside them.
fn lost_beside_locks() {
    let (lock, count) = (SpinLock::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                (0..3).for_each(|_| *lock.lock() += 1);
                let old = count.load(SeqCst);
                count.store(old + 1, SeqCst);
                (0..3).for_each(|_| *lock.lock() += 1);
            });
        }
    });
    assert_eq!(count.load(SeqCst), 2, "both count");
}

#[test]
fn the_lens_finds_a_bug_that_no_hold_sees() {
    let report = run("lens", 2_000, lost_beside_locks);

    assert_eq!(report.arms.keys().collect::<Vec<_>>(), ["lens"]);
    // One in five executions is not aimed at a lock.
    assert!(report.failures > 5, "{report:?}");
}

#[test]
fn the_lens_finds_a_bug_between_two_holds_more_often_than_pct() {
    let body = || {
        let (lock, work) = (SpinLock::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    (0..100).for_each(|_| _ = work.load(SeqCst));
                    let old = *lock.lock();
                    *lock.lock() = old + 1;
                    (0..100).for_each(|_| _ = work.load(SeqCst));
                });
            }
        });
        assert_eq!(lock.into_inner(), 2, "both count");
    };

    let [lens, pct] = ["lens", "pct"].map(|scheduler| run(scheduler, 1_000, body).failures);

    assert!(lens > 2 * pct, "lens {lens}, pct {pct}");
}

#[test]
fn every_scheduler_gives_every_task_a_chance_to_be_first_and_to_be_last() {
    for scheduler in ALL {
        let orders = StdMutex::new(std::collections::BTreeSet::new());
        let report = run(scheduler, 1_000, || {
            let (lock, order) = (SpinLock::new(0), StdMutex::new(vec![]));
            thread::scope(|scope| {
                for task in 0..3 {
                    let (lock, order) = (&lock, &order);
                    scope.spawn(move || {
                        *lock.lock() += 1;
                        order.lock().unwrap().push(task);
                    });
                }
            });
            orders.lock().unwrap().insert(order.into_inner().unwrap());
        });

        assert_eq!(report.failures, 0);
        assert_eq!(orders.into_inner().unwrap().len(), 6, "{scheduler} does not give all orders");
    }
}

#[test]
fn every_scheduler_ends_a_program_in_which_one_task_polls_for_another() {
    for scheduler in ALL {
        let report = run(scheduler, 200, || {
            let (done, polls) = (AtomicU32::new(0), SpinLock::new(0));
            thread::scope(|scope| {
                scope.spawn(|| {
                    while done.load(SeqCst) == 0 {
                        *polls.lock() += 1;
                    }
                });
                scope.spawn(|| done.store(1, SeqCst));
            });
        });

        assert_eq!(report.first_failure, None, "{scheduler}");
        assert!(report.steps < 200 * 20_000, "{scheduler}: {} steps", report.steps);
    }
}

#[test]
fn the_portfolio_runs_every_scheduler_and_counts_what_each_found() {
    let report = run("portfolio", 2_000, lost_beside_locks);

    let arms: Vec<_> = report.arms.keys().map(String::as_str).collect();
    let pct = ["pct1", "pct2", "pct3", "pct4"];
    assert_eq!(
        arms,
        [&["delay", "lens"], &pct[..], &["pos", "random", "starve", "sticky", "surw", "urw"]]
            .concat()
    );
    assert_eq!(report.arms.values().map(|arm| arm.executions).sum::<u64>(), 2_000);
    assert_eq!(report.arms.values().map(|arm| arm.failures).sum::<u64>(), report.failures);
    assert_eq!(report.arms["pct1"].failures, 0);
    assert!(report.arms["random"].failures > 0);
}

#[test]
fn a_schedulers_name_reads_back_and_others_are_refused() {
    for name in ALL.iter().chain(&["pct1", "pct9"]) {
        assert_eq!(name.parse::<Scheduler>().unwrap().to_string(), *name);
    }
    for name in ["", "fair", "pct0", "pct10", "pct+2", "Random", "replay", "script"] {
        let error = name.parse::<Scheduler>().unwrap_err();
        assert_eq!(error.found, name);
        assert!(error.to_string().contains("there are portfolio, random"), "{error}");
    }
}
