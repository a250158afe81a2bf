//! What locks, channels, threads and the like put in order, and what they do not.

use super::*;

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
