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

/// Two tasks increment under a mutex; `look` is what the body does in the meantime.
fn counted(look: impl Fn(&Mutex<()>, &Plain)) {
    let (plain, lock) = (Plain::new(), Mutex::new(()));
    let increment = || {
        let _locked = lock.lock().unwrap();
        plain.write(plain.read() + 1);
    };
    thread::scope(|scope| {
        (0..2).for_each(|_| _ = scope.spawn(increment));
        look(&lock, &plain);
    });
    assert_eq!(plain.read(), 2);
}

#[test]
fn a_plain_read_of_a_locked_field_is_caught() {
    clean(|| counted(|lock, plain| _ = lock.lock().map(|_locked| plain.read())));
    clean(|| counted(|lock, plain| _ = lock.try_lock().map(|_locked| plain.read())));
    let failure = races(|| counted(|_, plain| _ = plain.read()));
    let told = ["main", " a cell"].map(|part| failure.message.contains(part));
    assert_eq!(told, [true; 2], "{failure}");
}

#[test]
fn readers_of_a_lock_come_after_writers_but_not_after_each_other() {
    let shared = |reader: fn(&Plain)| {
        let (plain, lock) = (Plain::new(), RwLock::new(()));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _read = lock.read().unwrap();
                    reader(&plain);
                });
            }
            let _written = lock.write().unwrap();
            plain.write(7);
        });
    };
    clean(|| shared(|plain| _ = plain.read()));
    races(|| shared(|plain| plain.write(8)));
    // Not even where one has given the lock back long before the other takes it.
    races(|| {
        let (plain, lock, gone) = (Plain::new(), RwLock::new(()), AtomicBool::new(false));
        let write_as_a_reader = || {
            let _read = lock.read().unwrap();
            plain.write(8);
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                write_as_a_reader();
                gone.store(true, Relaxed);
            });
            spin_until(&gone, |gone| gone == 1);
            write_as_a_reader();
        });
    });
}

#[test]
fn a_write_races_with_every_earlier_read_that_does_not_come_before_it() {
    let read_then_write = |order: Ordering| {
        let (plain, readers) = (Plain::new(), AtomicU32::new(0));
        thread::scope(|scope| {
            for order in [Release, order] {
                let (plain, readers) = (&plain, &readers);
                scope.spawn(move || {
                    plain.read();
                    readers.fetch_add(1, order);
                });
            }
            spin_until(&readers, |readers| readers == 2);
            plain.write(7);
        });
    };
    clean(|| read_then_write(Release));
    races(|| read_then_write(Relaxed));
}

#[test]
fn spinlocks_and_lock_bits_order_what_is_done_under_them() {
    static BIT: HoldKind = HoldKind::new("bit", Rules::SPINLOCK);
    let bit = LockBit::new(&BIT, 1);
    clean(|| {
        let (plain, lock) = (Plain::new(), SpinLock::new(()));
        let increment = || {
            let _locked = lock.lock();
            plain.write(plain.read() + 1);
        };
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(increment)));
    });
    clean(|| {
        let (plain, word) = (Plain::new(), AtomicU32::new(0));
        let increment = |release: fn(&LockBit<AtomicU32>, &AtomicU32)| {
            bit.lock(&word);
            plain.write(plain.read() + 1);
            release(&bit, &word);
        };
        thread::scope(|scope| {
            scope.spawn(|| increment(|bit, word| bit.unlock_store(word, 0)));
            scope.spawn(|| increment(|bit, word| _ = bit.unlock_sub(word)));
            scope.spawn(|| increment(|bit, word| _ = bit.unlock_cas(word, 1, 0)));
        });
    });
}

#[test]
fn a_condition_variable_orders_notifier_and_waiter() {
    clean(|| {
        let (plain, ready, changed) = (Plain::new(), Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                plain.write(7);
                *ready.lock().unwrap() = true;
                changed.notify_one();
            });
            let ready = changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap();
            assert_eq!(plain.read(), 7);
            drop(ready);
        });
    });
    // There are no spurious wake-ups: who wakes up was notified.
    clean(|| {
        let (plain, lock, changed) = (Plain::new(), Mutex::new(()), Condvar::new());
        thread::scope(|scope| {
            let waits = lock.lock().unwrap();
            scope.spawn(|| {
                drop(lock.lock());
                plain.write(7);
                changed.notify_all();
            });
            drop(changed.wait(waits));
            assert_eq!(plain.read(), 7);
        });
    });
    // Who does not wait knows only what was done under the lock.
    races(|| {
        let (plain, ready, changed) = (Plain::new(), Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                plain.write(7);
                changed.notify_one();
            });
            drop(changed.wait_while(ready.lock().unwrap(), |ready| !*ready).unwrap());
            plain.read();
        });
    });
}

#[test]
fn an_initialisation_happens_before_what_finds_it_done() {
    clean(|| {
        let (plain, once) = (Plain::new(), Once::new());
        let user = || {
            once.call_once(|| plain.write(7));
            assert_eq!(plain.read(), 7);
        };
        thread::scope(|scope| {
            (0..2).for_each(|_| _ = scope.spawn(user));
            if once.is_completed() {
                plain.read();
            }
        });
    });
    clean(|| {
        let (plain, lock) = (Plain::new(), OnceLock::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                plain.write(7);
                lock.set(()).unwrap();
            });
            lock.wait();
            assert_eq!(plain.read(), 7);
        });
    });
    races(|| {
        let (plain, once) = (Plain::new(), Once::new());
        let user = || {
            once.call_once(|| ());
            plain.write(7);
        };
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(user)));
    });
}

#[test]
fn a_message_carries_what_its_sender_did_before_and_not_what_it_did_after() {
    let sent = |first: u32, second: u32| {
        let (plain, (sender, receiver)) = (Plain::new(), mpsc::channel());
        let plain = &plain;
        thread::scope(|scope| {
            scope.spawn(move || {
                for message in [first, second] {
                    if message == 1 {
                        plain.write(7);
                    }
                    sender.send(message).unwrap();
                }
            });
            receiver.recv().unwrap();
            plain.read();
        });
    };
    clean(|| sent(1, 0));
    races(|| sent(0, 1));
    races(|| {
        let (plain, done) = (Plain::new(), AtomicBool::new(false));
        let ((plain, done), (sender, receiver)) = ((&plain, &done), mpsc::channel());
        thread::scope(|scope| {
            scope.spawn(move || {
                sender.send(()).unwrap();
                plain.write(7);
                done.store(true, Relaxed);
            });
            receiver.recv().unwrap();
            spin_until(done, |done| done == 1);
            plain.read();
        });
    });
}

#[test]
fn the_end_of_the_last_sender_happens_before_who_hears_of_it() {
    clean(|| {
        let (plain, (sender, receiver)) = (Plain::new(), mpsc::channel::<()>());
        let plain = &plain;
        thread::scope(|scope| {
            scope.spawn(move || {
                plain.write(7);
                drop(sender);
            });
            receiver.recv().unwrap_err();
            plain.read();
        });
    });
}

#[test]
fn a_place_in_a_bounded_channel_is_made_before_it_is_taken() {
    for bound in [0, 1] {
        clean(|| {
            let (plain, (sender, receiver)) = (Plain::new(), mpsc::sync_channel(bound));
            let plain = &plain;
            thread::scope(|scope| {
                scope.spawn(move || {
                    plain.write(7);
                    (0..2).for_each(|_| receiver.recv().unwrap());
                });
                (0..2).for_each(|_| sender.send(()).unwrap());
                assert_eq!(plain.read(), 7);
            });
        });
    }
}

#[test]
fn an_unpark_happens_before_the_park_that_it_ends() {
    let parked = |unpark_first: bool| {
        let plain = Arc::new(Plain::new());
        let (main, theirs) = (thread::current(), plain.clone());
        let task = thread::spawn(move || {
            if unpark_first {
                main.unpark();
            }
            theirs.write(7);
            main.unpark();
        });
        thread::park();
        plain.read();
        task.join().unwrap();
    };
    clean(|| parked(false));
    races(|| parked(true));
}

#[test]
fn a_spawn_comes_before_the_task_and_a_join_after_it() {
    clean(|| {
        let plain = Arc::new(Plain::new());
        plain.write(1);
        let theirs = plain.clone();
        let task = thread::spawn(move || theirs.write(theirs.read() + 1));
        task.join().unwrap();
        assert_eq!(plain.read(), 2);
    });
    races(|| {
        let plain = Arc::new(Plain::new());
        let theirs = plain.clone();
        let task = thread::spawn(move || theirs.read());
        plain.write(1);
        task.join().unwrap();
    });
    // Not even a child that comes late knows what its parent did after the spawn.
    races(|| {
        let (plain, done) = (Plain::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                spin_until(&done, |done| done == 1);
                plain.read();
            });
            plain.write(7);
            done.store(true, Relaxed);
        });
    });
    // That a task has ended can be seen without waiting for it, which orders nothing.
    races(|| {
        let plain = Arc::new(Plain::new());
        let theirs = plain.clone();
        let task = thread::spawn(move || theirs.write(1));
        if task.is_finished() {
            plain.read();
        }
    });
}

#[test]
fn who_leaves_a_barrier_comes_after_all_who_reached_it() {
    let met = |writers_after: bool| {
        let (plain, barrier) = ([Plain::new(), Plain::new()], Barrier::new(2));
        let (plain, barrier) = (&plain, &barrier);
        thread::scope(|scope| {
            for me in 0..2 {
                scope.spawn(move || {
                    if !writers_after {
                        plain[me].write(7);
                    }
                    barrier.wait();
                    if writers_after {
                        plain[me].write(7);
                    }
                    plain[1 - me].read();
                });
            }
        });
    };
    clean(|| met(false));
    races(|| met(true));
}

#[test]
fn memory_that_one_task_gives_back_and_another_gets_is_new() {
    // A stack of nodes, whose memory the allocator hands from one task to the other.
    clean(|| {
        let top: AtomicPtr<Plain> = AtomicPtr::new(std::ptr::null_mut());
        let push_and_pop = || {
            for value in 0..2 {
                let node = Box::into_raw(Box::new(Plain::new()));
                // SAFETY: ours until it is published.
                unsafe { &*node }.write(value);
                let old = top.swap(node, AcqRel);
                if !old.is_null() {
                    // SAFETY: swapped out, so nobody else has it.
                    let old = unsafe { Box::from_raw(old) };
                    old.read();
                }
            }
        };
        thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(push_and_pop)));
        let last = top.load(Acquire);
        // SAFETY: the tasks have ended and left one node.
        unsafe { Box::from_raw(last) }.read();
    });
}

#[test]
fn the_last_owner_of_a_cell_has_it_for_himself() {
    struct Last(Plain);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.0.0.get_mut() += 1;
        }
    }
    clean(|| {
        let shared = Arc::new(Last(Plain::new()));
        let theirs = shared.clone();
        thread::spawn(move || theirs.0.write(1));
        drop(shared);
    });
}

/// Two tasks change bytes of a page, the second at `second`, in chunks of 8.
fn page(second: usize, locked: bool) {
    let (bytes, lock) = ([0_u64; 4], Mutex::new(()));
    let start = bytes.as_ptr().cast::<u8>();
    let page = AtomicPtr::new(start.cast_mut());
    thread::scope(|scope| {
        for at in [0, second] {
            let (page, lock) = (&page, &lock);
            scope.spawn(move || {
                let _locked = locked.then(|| lock.lock().unwrap());
                let page = page.load(Relaxed);
                memory::write(page.wrapping_add(8 * at), 16);
                memory::read(page.wrapping_add(8 * at), 16);
            });
        }
    });
}

#[test]
fn ranges_race_where_they_overlap() {
    clean(|| page(2, false));
    clean(|| page(1, true));
    let failure = races(|| page(1, false));
    assert!(failure.message.contains(" of plain memory"), "{failure}");
}

#[test]
fn fresh_ranges_have_no_past() {
    clean(|| {
        let bytes = [0_u64; 4];
        let page = AtomicPtr::new(bytes.as_ptr().cast::<u8>().cast_mut());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let page = page.load(Relaxed);
                    memory::fresh(page, 32);
                    memory::write(page, 32);
                });
            }
        });
    });
}

#[test]
fn a_program_that_catches_a_panic_is_not_judged_any_more() {
    // The destructor's unlock is no step of the execution, so it would be missed as an edge.
    clean(|| {
        let (plain, lock) = (Plain::new(), Mutex::new(()));
        thread::scope(|scope| {
            scope.spawn(|| {
                crate::caught(|| {
                    let _locked = lock.lock();
                    plain.write(1);
                    panic!("on purpose");
                });
            });
            let _locked = lock.lock();
            plain.read();
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

/// Most seeds touch no plain memory, the others race.
fn rarely() {
    let (plain, word) = (Plain::new(), AtomicU32::new(0));
    thread::scope(|scope| {
        for me in 1..=3 {
            let (plain, word) = (&plain, &word);
            scope.spawn(move || {
                if word.swap(me, Relaxed) == me + 1 {
                    plain.write(me);
                }
            });
        }
    });
}

#[test]
fn a_sweep_finds_the_same_whatever_was_run_before_and_on_how_many_threads() {
    for body in [rarely, || publication(Relaxed, Acquire), || publication(Release, Acquire)] {
        let sweep = |seeds: std::ops::Range<u64>, jobs| {
            let report = checker().seeds(seeds).jobs(jobs).run(&body);
            (report.executions, report.steps, report.failures, report.hash)
        };
        let all = sweep(0..1_000, 1);
        assert_eq!(all, sweep(0..1_000, 2));
        let alone = (0..1_000).map(|seed| sweep(seed..seed + 1, 1));
        let sum = alone.fold((0, 0, 0, 0_u64), |sum, one| {
            (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2, sum.3.wrapping_add(one.3))
        });
        assert_eq!(all, sum);
    }
    let report = checker().run(&rarely);
    assert!(0 < report.failures && report.failures < report.executions / 2, "{report:?}");
}

#[test]
fn the_check_changes_no_schedule_and_can_be_switched_off() {
    let sweep = |check: bool, body: fn()| {
        let report = checker().race_check(check).run(&body);
        (report.steps, report.failures, report.hash)
    };
    let right = || spinlock(Acquire, Relaxed, Release);
    assert_eq!(sweep(true, right), sweep(false, right));

    let wrong = || spinlock(Acquire, Relaxed, Relaxed);
    assert_eq!(sweep(false, wrong), sweep(false, right));
    assert!(sweep(true, wrong).1 > 0);
    assert!(checker().race_check(false).trace(0, &wrong).failure.is_none());
}

#[test]
fn outside_of_executions_nothing_is_checked() {
    let plain = Arc::new(Plain::new());
    let task = std::thread::spawn({
        let plain = plain.clone();
        move || plain.write(1)
    });
    task.join().unwrap();
    memory::write(std::ptr::null(), 8);
    memory::fresh(std::ptr::null(), 8);
    assert_eq!(plain.read(), 1);
}
