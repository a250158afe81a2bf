//! Data races on plain memory: what is not ordered is caught, what is ordered is clean.
#![expect(unsafe_code, reason = "reads and writes through cells")]

use std::sync::Arc;

use holdup::cell::UnsafeCell;
use holdup::explore::Environment;
use holdup::hint::spin_until;
use holdup::hold::{HoldKind, Rules};
use holdup::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use holdup::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering, fence};
use holdup::sync::{Barrier, Condvar, LockBit, Mutex, Once, OnceLock, RwLock, SpinLock, mpsc};
use holdup::{Checker, Failure, memory, note, thread};

mod edges;
mod memory_in_use;

/// Seeds of each right program; `HOLDUP_SEEDS` asks for others. All of them together are more than
/// 100,000.
const CLEAN: u64 = 5_000;

/// Plain memory that tasks share.
struct Plain(UnsafeCell<u32>);
// SAFETY: the tasks of an execution share one OS thread.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    #[track_caller]
    fn read(&self) -> u32 {
        // SAFETY: nobody keeps a reference to the value.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn write(&self, new: u32) {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

fn checker() -> Checker {
    Checker::new("plain memory").max_steps(100_000)
}

#[track_caller]
fn clean(body: impl Fn() + Sync) {
    let environment = Environment::read().unwrap();
    let report = checker().seeds(0..CLEAN).environment(&environment).run(&body);
    if let Some(first) = report.first_failure {
        panic!("seed {} failed: {:#?}", first.seed, first.failure);
    }
}

#[track_caller]
fn races(body: impl Fn() + Sync) -> Failure {
    let found = checker().seeds(0..300).stop_at_first(true).run(&body).first_failure;
    let Some(found) = found else { panic!("no seed found the race") };
    assert_eq!(found.failure.rule, "data-race", "{:#?}", found.failure);
    found.failure
}

/// One task writes and raises a flag, another sees the flag and reads.
fn publication(store: Ordering, load: Ordering) {
    let (plain, flag) = (Plain::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.write(7);
            flag.store(true, store);
        });
        if flag.load(load) {
            assert_eq!(plain.read(), 7);
        }
    });
}

#[test]
fn a_release_store_that_an_acquire_load_finds_publishes() {
    clean(|| publication(Release, Acquire));
    clean(|| publication(SeqCst, SeqCst));
}

#[test]
fn a_missing_release_is_caught() {
    races(|| publication(Relaxed, Acquire));
}

#[test]
fn a_missing_acquire_is_caught() {
    races(|| publication(Release, Relaxed));
}

#[test]
fn a_relaxed_publication_is_caught() {
    races(|| publication(Relaxed, Relaxed));
}

/// The same with read-modify-writes, and with a waiting reader.
fn hand_over(update: Ordering) {
    let (plain, turn) = (Plain::new(), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.write(7);
            turn.fetch_add(1, update);
        });
        spin_until(&turn, |turn| turn == 1);
        assert_eq!(plain.read(), 7);
    });
}

#[test]
fn a_read_modify_write_publishes_as_it_is_written() {
    clean(|| hand_over(AcqRel));
    clean(|| hand_over(Release));
    races(|| hand_over(Acquire));
    races(|| hand_over(Relaxed));
}

/// A test-and-set lock of the program's own.
fn spinlock(take: Ordering, failed: Ordering, give: Ordering) {
    let (plain, lock) = (Plain::new(), AtomicBool::new(false));
    let increment = || {
        while lock.compare_exchange(false, true, take, failed).is_err() {
            holdup::hint::spin_loop();
        }
        plain.write(plain.read() + 1);
        lock.store(false, give);
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(increment)));
    assert_eq!(plain.read(), 2);
}

#[test]
fn a_spinlock_orders_what_is_done_under_it_if_its_orders_say_so() {
    clean(|| spinlock(Acquire, Relaxed, Release));
    races(|| spinlock(Relaxed, Acquire, Release));
    races(|| spinlock(Acquire, Acquire, Relaxed));
}

/// The first publishes, the second changes the word as `second` does, the third reads.
fn relay(second: impl Fn(&AtomicU32) + Sync) {
    let (plain, word) = (Plain::new(), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.write(7);
            word.store(1, Release);
        });
        scope.spawn(|| {
            while word.load(Relaxed) == 0 {
                holdup::hint::spin_loop();
            }
            second(&word);
        });
        spin_until(&word, |word| word == 2);
        assert_eq!(plain.read(), 7);
    });
}

#[test]
fn a_release_sequence_goes_on_through_the_read_modify_writes_of_others() {
    clean(|| relay(|word| _ = word.fetch_add(1, Relaxed)));
    clean(|| relay(|word| _ = word.compare_exchange(1, 2, Relaxed, Relaxed)));
}

#[test]
fn a_plain_store_of_another_task_ends_a_release_sequence() {
    races(|| relay(|word| word.store(2, Relaxed)));
    races(|| relay(|word| word.store(2, Release)));
}

/// A relaxed publication, with fences if asked for.
fn fenced(before_store: Option<Ordering>, after_load: Option<Ordering>) {
    let (plain, flag) = (Plain::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.write(7);
            before_store.into_iter().for_each(fence);
            flag.store(true, Relaxed);
        });
        if flag.load(Relaxed) {
            after_load.into_iter().for_each(fence);
            assert_eq!(plain.read(), 7);
        }
    });
}

#[test]
fn two_fences_order_what_relaxed_operations_do_not() {
    clean(|| fenced(Some(Release), Some(Acquire)));
    clean(|| fenced(Some(SeqCst), Some(AcqRel)));
    races(|| fenced(Some(Release), None));
    races(|| fenced(None, Some(Acquire)));
    races(|| fenced(Some(Acquire), Some(Release)));
}

#[test]
fn what_follows_a_release_fence_is_not_published_by_it() {
    races(|| {
        let (plain, flag) = (Plain::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                fence(Release);
                plain.write(7);
                flag.store(true, Relaxed);
            });
            if flag.load(Acquire) {
                plain.read();
            }
        });
    });
}

#[test]
fn a_race_is_told_with_both_places_and_what_was_said_last() {
    let body = || {
        let (plain, flag) = (Plain::new(), AtomicBool::new(false));
        holdup::name!(&plain, "the price");
        thread::scope(|scope| {
            let writer = || {
                note!("sets the price");
                plain.write(7);
                flag.store(true, Relaxed);
            };
            thread::Builder::new().name("writer".into()).spawn_scoped(scope, writer).unwrap();
            if flag.load(Acquire) {
                note!("sees the flag");
                plain.read();
            }
        });
    };
    let found = checker().stop_at_first(true).run(&body).first_failure.unwrap();

    let trace = checker().trace(found.seed, &body);

    let failure = trace.failure.as_ref().unwrap();
    let message = "main reads the price, which writer writes, and nothing orders the two";
    assert_eq!((&*failure.rule, &*failure.message), ("data-race", message));
    assert_eq!(failure.task, "main");
    let [wrote, read] = &failure.detail[..] else { panic!("{:?}", failure.detail) };
    assert!(wrote.starts_with("writer writes at ") && wrote.contains("race.rs:"), "{wrote}");
    assert!(wrote.ends_with(", after it said \"sets the price\""), "{wrote}");
    assert!(read.ends_with(", after it said \"sees the flag\""), "{read}");
    let report = trace.failure_report("again");
    assert!(report.contains(wrote) && report.contains("data-race in main"), "{report}");
    assert!(report.lines().count() < 30);
}
