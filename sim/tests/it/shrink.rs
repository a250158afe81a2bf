//! Shrinking, explaining, and scripts under edits of the program: what comes out is small, was run,
//! and means what it says.

use std::sync::Mutex as StdMutex;

use holdup::explore::Shrunk;
use holdup::script::Script;
use holdup::sync::SpinLock;
use holdup::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use holdup::{Checker, Scheduler, name, note, thread};

fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    task: impl FnOnce() + Send + 'scope,
) {
    thread::Builder::new().name(name.into()).spawn_scoped(scope, task).unwrap();
}

/// Two tasks count in vain while others are busy elsewhere.
fn lost_update() {
    let (count, idle, work) = (AtomicU32::new(0), AtomicU32::new(0), SpinLock::new(0));
    thread::scope(|scope| {
        for role in ["left", "right"] {
            spawn(scope, role, || {
                (0..5).for_each(|_| *work.lock() += 1);
                let old = count.load(SeqCst);
                note!("finds {old}");
                (0..4).for_each(|_| _ = idle.load(SeqCst));
                count.store(old + 1, SeqCst);
                note!("stores {}", old + 1);
                (0..5).for_each(|_| *work.lock() += 1);
            });
        }
        spawn(scope, "busy", || (0..20).for_each(|_| *work.lock() += 1));
    });
    assert!(count.into_inner() == 2, "C-1: both count");
}

/// A reader must look into two windows, far apart, in which a writer is for a step.
fn two_windows() {
    let (first, second, work) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        spawn(scope, "writer", || {
            first.store(1, SeqCst);
            first.store(0, SeqCst);
            (0..20).for_each(|_| _ = work.load(SeqCst));
            second.store(1, SeqCst);
        });
        spawn(scope, "reader", || {
            let looks = [first.load(SeqCst), second.load(SeqCst)];
            assert!(looks != [1, 1], "W-1: looked into both windows");
        });
    });
}

/// Two locks in two orders.
fn deadlock() {
    let locks = [SpinLock::new(0), SpinLock::new(0)];
    thread::scope(|scope| {
        for (role, order) in [("forth", [0, 1]), ("back", [1, 0])] {
            let locks = &locks;
            spawn(scope, role, move || {
                let _first = locks[order[0]].lock();
                let _second = locks[order[1]].lock();
            });
        }
    });
}

fn first_failure(checker: &Checker, body: &(dyn Fn() + Sync)) -> u64 {
    failing_seeds(checker, body, 1)[0]
}

/// The lowest seeds that fail.
fn failing_seeds(checker: &Checker, body: &(dyn Fn() + Sync), n: usize) -> Vec<u64> {
    let mut from = 0;
    let next = || {
        let hunt = checker.clone().seeds(from..20_000).stop_at_first(true);
        let seed = hunt.run(body).first_failure?.seed;
        from = seed + 1;
        Some(seed)
    };
    std::iter::from_fn(next).take(n).collect()
}

#[track_caller]
fn shrinks(scheduler: &str, rule: &str, preemptions: usize, body: fn()) -> Shrunk {
    let checker = Checker::new("small").scheduler(scheduler.parse().unwrap());
    let seed = first_failure(&checker, &body);
    let shrunk = checker.shrink(seed, &body).unwrap();

    assert_eq!((shrunk.failure.rule.as_str(), shrunk.preemptions), (rule, preemptions));
    assert!(shrunk.fewest, "all schedules with fewer can be tried here");
    let script = Scheduler::Script(shrunk.script.clone().unwrap());
    for scheduler in [script, Scheduler::Replay(shrunk.schedule.clone())] {
        let again = checker.clone().scheduler(scheduler).trace(seed, &body);
        assert_eq!((again.hash, again.divergence), (shrunk.trace.hash, None));
        assert_eq!(again.failure.unwrap().rule, rule);
    }
    shrunk
}

#[test]
fn failures_shrink_to_the_preemptions_that_they_take() {
    shrinks("random", "C-1", 1, lost_update);
    shrinks("pct3", "W-1", 2, two_windows);
    shrinks("random", "deadlock", 1, deadlock);
}

#[test]
fn a_script_names_preemptions_by_the_notes_before_them() {
    let checker = Checker::new("small").scheduler(Scheduler::Random);

    for seed in failing_seeds(&checker, &lost_update, 10) {
        let script = checker.shrink(seed, &lost_update).unwrap().script.unwrap().to_string();
        assert!(script.contains("until \"finds 0\""), "{script}");
        assert!(!script.contains(" for "), "{script}");
    }
}

#[test]
fn a_failure_that_no_preemption_is_needed_for_shrinks_to_none() {
    let shrunk = shrinks("random", "B-1", 0, || {
        thread::scope(|scope| spawn(scope, "fails", || panic!("B-1: always")));
    });

    assert_eq!(shrunk.script.unwrap().turns, []);
}

#[test]
fn a_seed_that_passes_has_nothing_to_shrink_or_to_explain() {
    let checker = Checker::new("right");
    let body = || thread::scope(|scope| spawn(scope, "idle", || ()));

    assert!(checker.shrink(7, &body).is_none());
    assert!(checker.explain(7, &body).is_none());
}

#[test]
fn shrinking_gives_the_same_twice() {
    let checker = Checker::new("small");
    let seed = first_failure(&checker, &lost_update);

    let [one, two] = [0, 1].map(|_| checker.shrink(seed, &lost_update).unwrap());

    assert_eq!((&one.schedule, &one.script), (&two.schedule, &two.script));
    assert_eq!((one.reruns, one.trace.hash), (two.reruns, two.trace.hash));
}

#[test]
fn the_critical_pair_are_the_operations_whose_order_decides() {
    let checker = Checker::new("small").scheduler(Scheduler::Random);
    let body = || {
        let count = AtomicU32::new(0);
        name!(&count, "count");
        thread::scope(|scope| {
            for role in ["left", "right"] {
                let count = &count;
                spawn(scope, role, move || {
                    let old = count.load(SeqCst);
                    count.store(old + 1, SeqCst);
                });
            }
        });
        assert!(count.into_inner() == 2, "C-1: both count");
    };
    let seed = first_failure(&checker, &body);

    let pair = checker.explain(seed, &body).unwrap().pair.unwrap();

    // Whichever comes too early, one reads what the other is about to write.
    assert_ne!(pair.first.task, pair.second.task);
    assert!(pair.first.what.starts_with("reads count"), "{:?}", pair.first);
    assert!(pair.second.what.starts_with("writes count"), "{:?}", pair.second);
    assert!(pair.failing.failure.is_some() && pair.passing.failure.is_none());
    assert!(pair.first.site.is_some() && pair.second.site.is_some());
}

#[test]
fn a_failure_of_every_schedule_has_no_critical_pair() {
    let body = || thread::scope(|scope| spawn(scope, "fails", || panic!("B-1: always")));

    let explained = Checker::new("wrong").explain(7, &body).unwrap();

    assert!(explained.pair.is_none());
}

/// Harmless edits: what a commit may do to a program without changing what it does.
#[derive(Clone, Copy, Debug, Default)]
struct Edit {
    /// Loads that nobody needs, before each operation.
    loads: u32,
    /// A function is split, and its halves each count their calls.
    split: bool,
    /// Work of other tasks is longer.
    work: u32,
    /// A task more.
    bystander: bool,
}

/// As in a buffer pool: a reader checks the page and then pins the buffer, an evictor takes it.
fn buffer(edit: Edit) {
    let (page, pins, calls) = (AtomicU64::new(100), AtomicU64::new(0), AtomicU64::new(0));
    let lock = SpinLock::new(());
    let more = |word: &AtomicU64| (0..edit.loads).for_each(|_| _ = word.load(SeqCst));
    let step = || {
        if edit.split {
            calls.fetch_add(1, SeqCst);
        }
    };
    let work = || (0..4 + edit.work).for_each(|_| drop(lock.lock()));
    thread::scope(|scope| {
        spawn(scope, "reader", || {
            work();
            more(&page);
            let found = page.load(SeqCst);
            note!("finds page {found}");
            step();
            more(&pins);
            pins.fetch_add(1, SeqCst);
            note!("pins buffer 0");
            more(&page);
            // The bug: it should have compared again.
            assert!(page.load(SeqCst) == found, "I-ID3: a pin is on the page that was asked for");
            step();
            pins.fetch_sub(1, SeqCst);
            work();
        });
        spawn(scope, "evictor", || {
            work();
            more(&pins);
            let guard = lock.lock();
            step();
            if pins.load(SeqCst) == 0 {
                note!("takes buffer 0");
                more(&page);
                page.store(777, SeqCst);
                note!("writes page 777");
            }
            drop(guard);
            work();
        });
        if edit.bystander {
            spawn(scope, "bystander", work);
        }
    });
}

const EDITS: [Edit; 6] = [
    Edit { loads: 1, split: false, work: 0, bystander: false },
    Edit { loads: 5, split: false, work: 0, bystander: false },
    Edit { loads: 0, split: true, work: 0, bystander: false },
    Edit { loads: 0, split: false, work: 7, bystander: false },
    Edit { loads: 0, split: false, work: 0, bystander: true },
    Edit { loads: 3, split: true, work: 2, bystander: true },
];

/// Scripts from failures of the program as it was, each of another seed.
fn scripts() -> Vec<(u64, Script)> {
    let body = || buffer(Edit::default());
    let checker = Checker::new("buffer");
    let seeds = failing_seeds(&checker, &body, 8).into_iter();
    seeds.map(|seed| (seed, checker.shrink(seed, &body).unwrap().script.unwrap())).collect()
}

#[test]
fn scripts_meet_their_bug_whatever_harmless_edits_are_made() {
    let scripts = scripts();
    assert_eq!(scripts.len(), 8);

    for edit in EDITS {
        for (seed, script) in &scripts {
            let checker = Checker::new("buffer").scheduler(Scheduler::Script(script.clone()));
            let trace = checker.trace(*seed, &|| buffer(edit));
            let rule = trace.failure.map(|failure| failure.rule);
            assert_eq!(rule.as_deref(), Some("I-ID3"), "{edit:?} under\n{script}");
        }
    }
}

#[test]
fn schedules_do_not_survive_such_edits() {
    let body = || buffer(Edit::default());
    let checker = Checker::new("buffer");
    let shrunk = checker.shrink(first_failure(&checker, &body), &body).unwrap();
    let replay = checker.scheduler(Scheduler::Replay(shrunk.schedule));

    let lost = EDITS.iter().filter(|&&edit| replay.trace(0, &|| buffer(edit)).failure.is_none());

    assert!(lost.count() > 0, "if schedules did, scripts would be of no use");
}

#[test]
fn a_script_that_no_longer_fits_has_a_neighbour_that_meets_the_bug() {
    let body = || buffer(Edit::default());
    let checker = Checker::new("buffer");
    let script = "reader until \"finds page 100\"\nevictor until \"claims buffer 0\"\n";
    let script: Script = script.parse().unwrap();
    let seed = 3;

    let trace = checker.clone().scheduler(Scheduler::Script(script.clone())).trace(seed, &body);
    let found = checker.neighbour(seed, &script, Some("I-ID3"), &body).unwrap();

    assert_eq!(trace.divergence.as_deref(), Some("diverged at turn 2 of 2"));
    assert_eq!(found.turns, 1, "the first turn still fits");
    assert_eq!(found.trace.failure.as_ref().unwrap().rule, "I-ID3");
    let renewed = checker.shrink_trace(&found.trace, &body).unwrap();
    assert_eq!(renewed.failure.rule, "I-ID3");
}

#[test]
fn a_rule_that_nothing_breaks_has_no_neighbour() {
    let runs = StdMutex::new(0);
    let body = || {
        *runs.lock().unwrap() += 1;
        buffer(Edit::default());
    };
    let script: Script = "reader until \"finds page 100\"\n".parse().unwrap();

    assert!(Checker::new("buffer").neighbour(3, &script, Some("I-ID9"), &body).is_none());
    assert_eq!(runs.into_inner().unwrap(), 400, "200 behind each of two beginnings");
}
