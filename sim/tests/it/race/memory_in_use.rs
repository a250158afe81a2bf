//! Memory that changes hands, ranges of bytes, and when nothing is checked.

use super::*;

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
