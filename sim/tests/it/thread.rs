use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Mutex as StdMutex;
use std::sync::atomic::AtomicU32 as StdAtomicU32;
use std::time::Duration;

use holdup::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use holdup::thread::{self, Builder, JoinHandle, ThreadId};
use holdup::time::Instant;
use holdup::{Checker, hint};

use crate::{fails, passes};

const OUTSIDE: &str = "the handle of a task was used outside of the execution that made it";

/// The same program as tasks and as threads.
#[track_caller]
fn in_both_worlds(body: impl Fn() + Sync) {
    passes(&body);
    std::thread::scope(|scope| {
        let main = std::thread::Builder::new().name("main".into());
        main.spawn_scoped(scope, &body).unwrap().join().unwrap();
    });
}

#[test]
fn joining_gives_what_the_closure_returned() {
    in_both_worlds(|| {
        let handles = [1, 2, 3].map(|n| thread::spawn(move || vec![n; n]));
        let results = handles.map(|handle| handle.join().unwrap());
        assert_eq!(results, [vec![1], vec![2; 2], vec![3; 3]]);
    });
}

#[test]
fn a_thread_has_the_name_it_was_given_and_an_identity_of_its_own() {
    in_both_worlds(|| {
        let named = Builder::new().name("reader".into());
        let named = named.spawn(|| (thread::current().id(), thread::current().name().is_none()));
        let named = named.unwrap();
        let unnamed = thread::spawn(|| thread::current().name().map(str::to_owned));
        assert_eq!(thread::current().name(), Some("main"));
        assert_eq!((named.thread().name(), unnamed.thread().name()), (Some("reader"), None));

        let ids = [thread::current().id(), named.thread().id(), unnamed.thread().id()];
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
        assert_eq!(thread::current().id(), ids[0]);
        assert_eq!(named.join().unwrap(), (ids[1], false));
        assert_eq!(unnamed.join().unwrap(), None);
    });
}

#[test]
fn scoped_threads_borrow_and_have_ended_when_the_scope_has() {
    in_both_worlds(|| {
        let (mut left, mut right, count) = (vec![1], vec![2], AtomicU32::new(0));
        let sum = thread::scope(|scope| {
            let builder = Builder::new().name("right".into());
            let handle = builder.spawn_scoped(scope, || {
                right.push(3);
                assert_eq!(thread::current().name(), Some("right"));
                right.iter().sum::<u32>()
            });
            scope.spawn(|| {
                left.push(4);
                // Threads of a scope may spawn into it.
                scope.spawn(|| count.fetch_add(1, SeqCst));
                thread::scope(|inner| _ = inner.spawn(|| count.fetch_add(1, SeqCst)));
            });
            handle.unwrap().join().unwrap()
        });
        assert_eq!((left, right, sum, count.into_inner()), (vec![1, 4], vec![2, 3], 5, 2));
    });
}

#[test]
fn is_finished_says_so_once_the_thread_has_ended_and_not_before() {
    in_both_worlds(|| {
        let go = std::sync::Arc::new(AtomicBool::new(false));
        let told = go.clone();
        let handle = thread::spawn(move || hint::spin_until(&*told, |value| value != 0));
        assert!(!handle.is_finished());
        go.store(true, SeqCst);
        while !handle.is_finished() {
            thread::yield_now();
        }
        assert_eq!(handle.join().unwrap(), 1);
    });
}

#[test]
fn an_execution_ends_when_all_tasks_have_and_not_when_main_has() {
    let ended = StdAtomicU32::new(0);
    let body = || {
        let ended: &StdAtomicU32 = &ended;
        thread::scope(|scope| {
            // The handle is dropped; nobody joins.
            scope.spawn(|| {
                thread::sleep(Duration::from_secs(1));
                ended.fetch_add(1, SeqCst);
            });
        });
        thread::spawn(|| thread::sleep(Duration::from_secs(1)));
    };

    let trace = Checker::new("detached").trace(0, &body);

    assert_eq!(trace.failure, None);
    assert_eq!(trace.tasks.len(), 3);
    assert_eq!(trace.events.last().unwrap().now_ns / 1_000_000_000, 2);
}

#[test]
fn a_token_lets_one_park_return_and_tokens_do_not_add_up() {
    passes(|| {
        let me = thread::current();
        me.unpark();
        me.unpark();
        thread::park();

        let start = Instant::now();
        thread::park_timeout(Duration::from_secs(1));
        assert!(start.elapsed() >= Duration::from_secs(1), "the second token was no second");
    });
}

#[test]
fn unpark_ends_a_park_whether_it_comes_before_or_after() {
    in_both_worlds(|| {
        let ready = AtomicBool::new(false);
        thread::scope(|scope| {
            let parked = scope.spawn(|| {
                while !ready.load(SeqCst) {
                    thread::park();
                }
            });
            ready.store(true, SeqCst);
            parked.thread().unpark();
        });
    });
}

#[test]
fn a_park_with_a_timeout_ends_at_the_latest_then() {
    passes(|| {
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        let parked = thread::spawn(move || {
            thread::park_timeout(minute);
            thread::park_timeout(minute);
        });
        thread::sleep(minute / 2);
        parked.thread().unpark();
        parked.join().unwrap();
        assert!(start.elapsed() >= minute / 2 + minute && start.elapsed() < 2 * minute);
    });
}

#[test]
fn a_park_that_nobody_ends_is_a_deadlock() {
    let failure = fails(|| {
        let me = thread::current();
        thread::spawn(move || me.unpark()).join().unwrap();
        thread::park();
        thread::park();
    });

    assert_eq!(failure.rule, "deadlock");
    assert!(failure.detail[0].starts_with("main is parked at "), "{failure:?}");
}

#[test]
fn an_unpark_between_the_check_and_the_park_is_lost_if_the_check_comes_without_a_token() {
    let failure = fails(|| {
        let (flag, eaten) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let parked = scope.spawn(|| {
                if !flag.load(SeqCst) {
                    // Something inside parks too, and eats the token.
                    thread::park();
                    eaten.store(true, SeqCst);
                    thread::park();
                }
            });
            flag.store(true, SeqCst);
            parked.thread().unpark();
        });
    });

    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_panic_in_any_task_fails_once_with_the_first_message_and_the_tasks_name() {
    let failure = fails(|| {
        let first = Builder::new().name("first".into()).spawn(|| panic!("the reason"));
        let second = first.unwrap().join();
        panic!("join returned {}", second.is_ok());
    });
    assert_eq!((&*failure.rule, &*failure.task), ("panic", "first"));
    assert_eq!((&*failure.message, failure.detail), ("the reason", vec![]));

    let report = Checker::new("two panics").seeds(0..100).run(&|| {
        thread::scope(|scope| (0..2).for_each(|n| _ = scope.spawn(move || panic!("task {n}"))));
    });
    assert_eq!((report.failures, report.rules.get("panic")), (100, Some(&100)));
}

#[test]
fn a_panic_in_the_body_of_a_scope_is_the_failure_though_its_tasks_wait() {
    let failure = fails(|| {
        let flag = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| hint::spin_until(&flag, |value| value != 0));
            scope.spawn(thread::park);
            panic!("in the scope");
        });
    });

    assert_eq!((&*failure.message, &*failure.task), ("in the scope", "main"));
}

#[test]
fn outside_of_executions_a_panic_is_what_join_returns() {
    let quiet = || std::panic::resume_unwind(Box::new("payload"));
    let payload = thread::spawn(quiet).join().unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"payload"));
}

#[test]
fn parallelism_is_the_same_on_every_machine() {
    passes(|| assert_eq!(thread::available_parallelism().unwrap().get(), 4));
}

/// The handle of a task that ended with its execution.
fn left_over() -> JoinHandle<()> {
    let slot = StdMutex::new(None);
    let report = Checker::new("leaves a handle").seeds(0..1).run(&|| {
        *slot.lock().unwrap() = Some(thread::spawn(|| ()));
    });
    assert_eq!(report.failures, 0);
    slot.into_inner().unwrap().unwrap()
}

#[test]
fn the_handle_of_a_task_is_of_no_use_outside_of_its_execution() {
    let uses: [fn(JoinHandle<()>); 3] = [
        |handle| handle.join().unwrap(),
        |handle| handle.thread().unpark(),
        |handle| _ = handle.is_finished(),
    ];
    for use_it in uses {
        let handle = left_over();

        let used = std::thread::spawn(move || use_it(handle)).join();

        assert_eq!(used.unwrap_err().downcast_ref::<&str>(), Some(&OUTSIDE));
    }
}

#[test]
fn the_handle_of_a_task_is_of_no_use_in_another_execution() {
    let handle = StdMutex::new(Some(left_over()));

    let report =
        Checker::new("another").scheduler(holdup::Scheduler::Random).seeds(0..1).run(&|| {
            let ours = thread::spawn(|| ());
            let handle = handle.lock().unwrap().take().unwrap();
            assert_ne!(ours.thread().id(), handle.thread().id());
            handle.join().unwrap();
        });

    assert_eq!(report.first_failure.unwrap().failure.message, OUTSIDE);
}

#[test]
fn what_a_program_does_by_the_hash_of_a_thread_depends_on_the_seed_alone() {
    fn shard(id: ThreadId) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish() % 16
    }
    let body = || {
        let steps = shard(thread::spawn(|| ()).thread().id());
        (0..steps).for_each(|_| thread::yield_now());
    };
    let checker = Checker::new("shards").scheduler(holdup::Scheduler::Random);

    let sweep = checker.clone().seeds(0..20).run(&body);

    let alone = (0..20).map(|seed| checker.trace(seed, &body).steps).sum::<u64>();
    assert_eq!(sweep.steps, alone);
}
