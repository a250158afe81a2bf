//! Scripts: each kind of turn ends where it says, and one that cannot be kept is told.

use holdup::hold::{self, HoldKind, Rules};
use holdup::script::Script;
use holdup::sync::SpinLock;
use holdup::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use holdup::trace::{Trace, What};
use holdup::{Checker, Scheduler, hint, name, note, thread};

static HEADER: HoldKind = HoldKind::new("header lock", Rules::NONE);

fn scripted(script: &str, body: impl Fn() + Sync) -> Trace {
    let script: Script = script.parse().unwrap();
    let seed = script.seed;
    let checker = Checker::new("scripted").max_steps(10_000);
    checker.scheduler(Scheduler::Script(script)).trace(seed, &body)
}

/// What the tasks noted, in order.
fn notes(trace: &Trace) -> Vec<String> {
    let notes = trace.events.iter().filter_map(|event| match &event.what {
        What::Note(text) => Some(format!("{} {text}", trace.tasks[event.task as usize].name)),
        _ => None,
    });
    notes.collect()
}

/// Two tasks that count to three, with a step before each number.
fn two_count() {
    let word = AtomicU32::new(0);
    thread::scope(|scope| {
        for name in ["left", "right"] {
            let count = || {
                for n in 1..=3 {
                    word.load(SeqCst);
                    note!("counts {n}");
                }
            };
            thread::Builder::new().name(name.into()).spawn_scoped(scope, count).unwrap();
        }
    });
}

#[track_caller]
fn order(script: &str, expected: [&str; 6]) {
    let trace = scripted(script, two_count);
    assert_eq!((trace.failure.as_ref(), trace.divergence.as_deref()), (None, None));
    let expected = expected.map(|short| short.replace(' ', " counts "));
    assert_eq!(notes(&trace), expected);
}

#[test]
fn a_turn_until_a_note_ends_with_that_note() {
    order(
        "left until \"counts 2\"\nright until \"counts 1\"\nleft to the end\nright to the end",
        ["left 1", "left 2", "right 1", "left 3", "right 2", "right 3"],
    );
    order(
        "right until \"3\"\nleft to the end",
        ["right 1", "right 2", "right 3", "left 1", "left 2", "left 3"],
    );
}

#[test]
fn a_turn_of_some_steps_ends_in_front_of_so_many_operations() {
    // The first step of a task leads up to its first operation.
    order(
        "left for 2 steps\nright for 3 steps\nleft for 1 step\nright to the end\nleft to the end",
        ["left 1", "right 1", "right 2", "left 2", "right 3", "left 3"],
    );
}

#[test]
fn what_a_script_leaves_open_goes_to_the_oldest_task_that_can_run() {
    order("", ["left 1", "left 2", "left 3", "right 1", "right 2", "right 3"]);
    order("right for 3 steps", ["right 1", "right 2", "left 1", "left 2", "left 3", "right 3"]);
}

/// Two tasks that take two locks one after the other.
fn two_lock() {
    let locks = ["a", "b"].map(|lock| (lock, AtomicBool::new(false)));
    locks.iter().for_each(|(lock, word)| name!(word, "{lock}"));
    let take = |word: &AtomicBool| {
        while word.swap(true, SeqCst) {
            hint::spin_loop();
        }
        hold::begin(&HEADER, (&raw const *word).addr());
    };
    thread::scope(|scope| {
        for name in ["first", "second"] {
            let both = || {
                for (lock, word) in &locks {
                    take(word);
                    word.load(SeqCst);
                    note!("has {lock}");
                    hold::end((&raw const *word).addr());
                    word.store(false, SeqCst);
                }
            };
            thread::Builder::new().name(name.into()).spawn_scoped(scope, both).unwrap();
        }
    });
}

#[track_caller]
fn lock_order(script: &str, expected: [&str; 4]) {
    let trace = scripted(script, two_lock);
    assert_eq!((trace.failure.as_ref(), trace.divergence.as_deref()), (None, None));
    assert_eq!(notes(&trace), expected.map(|short| short.replace(' ', " has ")));
}

#[test]
fn a_turn_until_holding_ends_when_the_hold_begins() {
    lock_order(
        "second until holding \"header lock\" of \"b\"\nfirst until blocked\nsecond to the end",
        ["second a", "first a", "second b", "first b"],
    );
    // It has the lock, and waits before it could say so; the other waits for the lock.
    lock_order(
        "second until holding \"header lock\"\nfirst until blocked\nsecond to the end",
        ["second a", "second b", "first a", "first b"],
    );
}

#[test]
fn a_task_to_the_end_that_waits_lets_others_run_until_it_can_go_on() {
    lock_order(
        "second until holding \"header lock\" of \"b\"\nfirst to the end\nsecond to the end",
        ["second a", "first a", "second b", "first b"],
    );
}

/// One task sets a flag in its last step, and another polls it in some way.
fn polled(poll: impl Fn(&AtomicBool) + Sync) -> Trace {
    let body = || {
        let (flag, work) = (AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            let polls = || poll(&flag);
            thread::Builder::new().name("polls".into()).spawn_scoped(scope, polls).unwrap();
            let sets = || {
                (0..5).for_each(|_| _ = work.fetch_add(1, SeqCst));
                flag.store(true, SeqCst);
            };
            thread::Builder::new().name("sets".into()).spawn_scoped(scope, sets).unwrap();
        });
    };
    scripted("polls to the end\nsets to the end", body)
}

#[test]
fn a_task_to_the_end_that_polls_for_another_lets_it_step() {
    let lock = || SpinLock::new(0);
    let traces = [
        polled(|flag| {
            while !flag.load(SeqCst) {
                thread::yield_now();
            }
        }),
        polled(|flag| {
            while !flag.load(SeqCst) {
                hint::spin_loop();
            }
        }),
        polled(|flag| {
            let polls = lock();
            while !flag.load(SeqCst) {
                // What it changes itself keeps it from counting as a loop that waits.
                *polls.lock() += 1;
                thread::yield_now();
            }
        }),
    ];

    for trace in traces {
        assert_eq!((trace.failure, trace.divergence), (None, None));
    }
}

#[test]
fn a_turn_that_cannot_be_kept_is_told_and_the_execution_goes_on_at_random() {
    // The note comes later than the end; nobody is called so; the task waits where it must not.
    for (script, told) in [
        ("left to the end\nleft until \"counts 1\"\nright to the end", "diverged at turn 2 of 3"),
        ("right until \"counts 1\"\nleft until \"counts 4\"", "diverged at turn 2 of 2"),
        ("left until \"counts 1\"\nmiddle to the end\nright to the end", "ended in turn 2 of 3"),
        ("main until \"counts 1\"\nleft to the end", "diverged at turn 1 of 2"),
    ] {
        let trace = scripted(script, two_count);

        assert_eq!(trace.failure, None, "{script}");
        assert_eq!(trace.divergence.as_deref(), Some(told), "{script}");
        assert_eq!(notes(&trace).len(), 6);
    }
}

#[test]
fn where_a_script_leaves_off_its_seed_decides() {
    let script = |seed| format!("seed {seed}\nmain until \"counts 1\"");
    let body = |seed: u64| notes(&scripted(&script(seed), two_count));

    let orders: std::collections::BTreeSet<_> = (0..50).map(body).collect();

    assert_eq!(body(7), body(7));
    assert!(orders.len() > 1, "{orders:?}");
}

#[test]
fn a_failure_under_a_script_that_did_not_fit_says_so() {
    let body = || {
        let task = || panic!("it fails");
        thread::Builder::new().name("fails".into()).spawn(task).unwrap().join().unwrap();
    };

    let failure = scripted("fails until \"a note\"\nmain to the end", body).failure.unwrap();

    assert_eq!(failure.message, "it fails");
    assert_eq!(failure.detail, ["the schedule ended in turn 1 of 2"]);
}

#[test]
fn tasks_of_one_name_are_told_apart_by_their_number() {
    let body = || {
        thread::scope(|scope| {
            for n in 1..=2 {
                let counts = move || note!("is number {n}");
                thread::Builder::new().name("one".into()).spawn_scoped(scope, counts).unwrap();
            }
        });
    };

    let trace = scripted("one 2 to the end\none to the end", body);

    assert_eq!(trace.divergence, None);
    assert_eq!(notes(&trace), ["one 2 is number 2", "one is number 1"]);
}
