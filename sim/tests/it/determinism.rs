//! One seed is one execution: run again, on other threads, in pieces, from its schedule.

use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32 as StdAtomicU32, Ordering::Relaxed};
use std::time::Duration;

use holdup::fs::{self, File};
use holdup::scheduler::Schedule;
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::sync::{Condvar, Mutex, RwLock, SpinLock, mpsc};
use holdup::trace::Trace;
use holdup::{Checker, Faults, Report, Scheduler, hint, note, random, thread, time};

const CHILD: &str = "DETERMINISM_TEST_CHILD";

/// Locks, atomics, time, files and draws; some seeds lose an update, and some a write.
fn program() {
    static STARTED: AtomicU32 = AtomicU32::new(0);
    let (done, woken, table) = (Mutex::new(0), Condvar::new(), RwLock::new([0; 2]));
    let (count, total) = (AtomicU32::new(0), SpinLock::new(0_u64));
    let (done, woken, table, count, total) = (&done, &woken, &table, &count, &total);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for id in 0..3_usize {
            let sender = sender.clone();
            scope.spawn(move || {
                STARTED.fetch_add(1, SeqCst);
                hint::spin_until(&STARTED, |started| started >= 2);
                let before = time::Instant::now();
                thread::sleep(Duration::from_nanos(random::below(300)));
                *total.lock() += u64::try_from(before.elapsed().as_nanos()).unwrap();
                table.write().unwrap()[id % 2] += 1;
                count.store(count.load(SeqCst) + 1, SeqCst);
                note!("task {id} has counted");
                let mut file = File::create(format!("file {id}")).unwrap();
                sender.send(file.write_all(b"text").is_ok()).unwrap();
                *done.lock().unwrap() += 1;
                woken.notify_one();
            });
        }
        let mut done = done.lock().unwrap();
        while *done < 3 {
            done = woken.wait_timeout(done, Duration::from_micros(1)).unwrap().0;
        }
    });
    assert_eq!(table.read().unwrap().iter().sum::<u32>(), 3);
    assert_eq!(count.load(SeqCst), 3, "I-LOST: every task counts");
    let written = receiver.try_iter().filter(|written| *written).count();
    assert!(written > 0 && fs::exists("file 0").unwrap(), "I-IO: somebody writes");
}

fn checker() -> Checker {
    let faults = Faults { write_error: 40_000, ..Faults::NONE };
    Checker::new("everything").faults(faults).max_steps(20_000).seeds(0..1_000)
}

fn schedulers() -> impl Iterator<Item = Scheduler> {
    Scheduler::NAMES.iter().map(|name| name.parse().unwrap())
}

/// What was written down, addresses and clocks aside, is all there is to an execution.
fn facts(trace: &Trace) -> String {
    let events = trace.events.iter().map(|event| format!("{event:?}\n"));
    format!("{:?} {} {:x}\n{}", trace.failure, trace.steps, trace.hash, events.collect::<String>())
}

#[test]
fn each_scheduler_gives_the_same_execution_for_a_seed_again_and_others_for_other_seeds() {
    for scheduler in schedulers() {
        let checker = checker().scheduler(scheduler);
        let mut hashes = std::collections::BTreeSet::new();
        for seed in 0..10 {
            let first = checker.trace(seed, &program);
            let second = checker.trace(seed, &program);
            assert_eq!(facts(&first), facts(&second));
            hashes.insert(first.hash);
        }
        assert!(hashes.len() > 5, "{hashes:x?}");
    }
}

#[test]
fn an_execution_is_the_same_in_a_sweep_and_written_down() {
    for scheduler in schedulers() {
        let checker = checker().scheduler(scheduler);
        let found = checker.clone().stop_at_first(true).run(&program).first_failure.unwrap();

        let alone = checker.clone().seeds(found.seed..found.seed + 1).run(&program);
        let trace = checker.trace(found.seed, &program);

        assert_eq!(alone.first_failure.unwrap().failure, found.failure);
        assert_eq!(trace.failure, Some(found.failure));
        assert_eq!(trace.steps, alone.steps);
    }
}

#[test]
fn a_sweep_gives_the_same_report_with_any_number_of_jobs() {
    for scheduler in schedulers() {
        for stop_at_first in [false, true] {
            let checker = checker().scheduler(scheduler.clone()).stop_at_first(stop_at_first);

            let [one, two, three] = [1, 2, 3].map(|jobs| checker.clone().jobs(jobs).run(&program));

            assert!(one.failures > 0);
            assert_eq!(one, two);
            assert_eq!(one, three);
        }
    }
}

/// Executions are numbered within a piece, so that number is the piece's own.
fn but_for_the_number(mut report: Report) -> Report {
    report.first_failure.as_mut().unwrap().execution = 0;
    report
}

#[test]
fn a_sweep_gives_the_same_report_in_pieces_in_any_order() {
    let whole = but_for_the_number(checker().run(&program));

    let ranges = [(600..1_000), (0..1), (1..600)].map(|seeds| checker().seeds(seeds).run(&program));
    let shards = [2, 0, 1].map(|index| checker().shard(index, 3).run(&program));

    assert!(whole.distinct_failures() == 2 && whole.failures < 1_000, "{whole:?}");
    for pieces in [&ranges, &shards] {
        let mut sum = Report::default();
        pieces.iter().for_each(|piece| sum.merge(piece));
        assert_eq!(but_for_the_number(sum), whole);
    }
}

#[test]
fn draws_of_the_program_do_not_move_the_schedule() {
    let draws = |n: u64| move || (0..n).for_each(|_| _ = random::next_u64());
    let body = |n| {
        move || {
            thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(thread::yield_now)));
            draws(n)();
            thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(thread::yield_now)));
        }
    };

    let reports = [0, 100].map(|n| Checker::new("draws").seeds(0..100).run(&body(n)));

    assert_eq!(reports[0], reports[1]);
}

/// Runs the recorded execution again from its schedule alone, by way of its text. The seed stays,
/// for faults and draws.
fn replayed(checker: &Checker, recorded: &Trace, body: &(dyn Fn() + Sync)) -> Trace {
    let text = Schedule::from(recorded).to_string();
    let schedule = text.parse().unwrap();
    checker.clone().scheduler(Scheduler::Replay(schedule)).trace(recorded.seed, body)
}

#[test]
fn the_schedule_of_a_seed_gives_its_execution_again() {
    for seed in 0..300 {
        let recorded = checker().trace(seed, &program);

        let replayed = replayed(&checker(), &recorded, &program);

        assert_eq!(replayed.divergence, None, "{}", Schedule::from(&recorded));
        assert_eq!(facts(&replayed), facts(&recorded));
    }
}

#[test]
fn a_replay_wakes_the_waiter_that_was_woken() {
    let body = || {
        let (waiting, changed) = (Mutex::new(3), Condvar::new());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut waiting = waiting.lock().unwrap();
                    *waiting -= 1;
                    drop(changed.wait(waiting).unwrap());
                    thread::yield_now();
                });
            }
            scope.spawn(|| {
                while *waiting.lock().unwrap() > 0 {
                    hint::spin_loop();
                }
                (0..3).for_each(|_| changed.notify_one());
            });
        });
    };
    let checker = Checker::new("three waiters");
    for seed in 0..100 {
        let recorded = checker.trace(seed, &body);

        let replayed = replayed(&checker, &recorded, &body);

        assert_eq!(replayed.divergence, None, "{}", Schedule::from(&recorded));
        assert_eq!(facts(&replayed), facts(&recorded));
    }
}

#[test]
fn the_schedule_of_a_deadlock_gives_it_again() {
    let body = || {
        let locks = [const { Mutex::new(()) }; 2];
        let locks = &locks;
        thread::scope(|scope| {
            for first in [0, 1] {
                scope.spawn(move || {
                    let _first = locks[first].lock();
                    thread::sleep(Duration::from_nanos(20));
                    let _second = locks[1 - first].lock();
                });
            }
        });
    };
    let checker = Checker::new("opposite orders").stop_at_first(true);
    let seed = checker.run(&body).first_failure.unwrap().seed;
    let recorded = checker.trace(seed, &body);

    let replayed = replayed(&checker, &recorded, &body);

    assert_eq!(recorded.failure.as_ref().unwrap().rule, "deadlock");
    assert_eq!(replayed.divergence, None);
    assert_eq!(facts(&replayed), facts(&recorded));
}

#[test]
fn a_schedule_that_does_not_fit_says_where_it_was_left_and_the_execution_goes_on() {
    let two_tasks = || {
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(thread::yield_now)));
    };
    let run = |text: &str, body: &(dyn Fn() + Sync)| {
        let replay = Scheduler::Replay(text.parse().unwrap());
        Checker::new("does not fit").scheduler(replay).trace(0, body)
    };

    for text in ["v1:2.7", "v1:1+0,2.1"] {
        let trace = run(text, &two_tasks);
        assert_eq!(trace.failure, None);
        let expected =
            format!("diverged at step 2, switch 1 of {}", text.matches(['.', '+']).count());
        assert_eq!(trace.divergence.unwrap(), expected);
    }
    let trace = run("v1:1000.1", &thread::yield_now);
    assert_eq!(trace.divergence.unwrap(), "ended after 0 of 1 switches of the schedule");
    assert_eq!(run("v1:", &thread::yield_now).divergence, None);
}

/// A schedule that counts executions, so that the next one differs.
fn counts_executions(fail: bool) {
    static RUNS: StdAtomicU32 = StdAtomicU32::new(0);
    let run = RUNS.fetch_add(1, Relaxed);
    (0..run % 7).for_each(|_| thread::yield_now());
    assert!(!fail, "always");
}

#[holdup::test(seeds = 50)]
fn passes_with_another_schedule_each_time() {
    if std::env::var_os(CHILD).is_some() {
        counts_executions(false);
    }
}

#[holdup::test(seeds = 50)]
fn fails_with_another_schedule_each_time() {
    if std::env::var_os(CHILD).is_some() {
        counts_executions(true);
    }
}

#[holdup::test(seeds = 50)]
fn passes_with_the_same_schedule_each_time() {
    (0..random::below(7)).for_each(|_| thread::yield_now());
}

/// Runs a test of this module in a child, and returns whether it passed and what it printed.
fn child(name: &str, check_determinism: bool) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("HOLDUP_") {
            command.env_remove(variable);
        }
    }
    if check_determinism {
        command.env("HOLDUP_CHECK_DETERMINISM", "1");
    }
    command.args([&format!("determinism::{name}"), "--exact"]).env(CHILD, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("running 1 test\n"), "{text}");
    (output.status.success(), text.into_owned())
}

#[test]
fn a_program_that_depends_on_more_than_the_seed_is_reported_by_the_self_check() {
    let name = "passes_with_another_schedule_each_time";
    assert!(child(name, false).0, "nobody notices without the check");

    let (passed, text) = child(name, true);

    assert!(!passed);
    assert!(text.contains("not deterministic: seed 0 run twice gave two executions"), "{text}");
}

#[test]
fn a_failure_that_does_not_come_again_in_the_same_way_is_reported_as_such() {
    let (passed, text) = child("fails_with_another_schedule_each_time", false);

    assert!(!passed);
    assert!(text.contains("not deterministic: seed 0 gave another execution"), "{text}");
}

#[test]
fn a_program_that_depends_on_the_seed_alone_passes_the_self_check() {
    let (passed, text) = child("passes_with_the_same_schedule_each_time", true);

    assert!(passed, "{text}");
}
