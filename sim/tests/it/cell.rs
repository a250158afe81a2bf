#![expect(unsafe_code, reason = "reads and writes through cells")]

use std::sync::Arc;

use holdup::cell::UnsafeCell;
use holdup::sync::SpinLock;
use holdup::thread;

use crate::{fails, passes};

struct Shared(UnsafeCell<u32>);
// SAFETY: the tasks of an execution share one OS thread.
unsafe impl Sync for Shared {}

fn increment(cell: &UnsafeCell<u32>) {
    // SAFETY: nobody holds a reference to the value.
    let old = cell.with(|value| unsafe { *value });
    // SAFETY: as above.
    cell.with_mut(|value| unsafe { *value = old + 1 });
}

#[test]
fn increments_of_a_cell_under_a_lock_are_not_lost() {
    passes(|| {
        let (count, lock) = (Shared(UnsafeCell::new(0)), SpinLock::new(()));
        let count = &count;
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _lock = lock.lock();
                    increment(&count.0);
                });
            }
        });
        // SAFETY: the tasks have ended.
        assert_eq!(count.0.with(|value| unsafe { *value }), 2);
    });
}

#[test]
fn an_increment_of_a_cell_without_a_lock_is_lost() {
    let failure = fails(|| {
        let count = Arc::new(Shared(UnsafeCell::new(0)));
        let tasks =
            [count.clone(), count.clone()].map(|count| thread::spawn(move || increment(&count.0)));
        tasks.into_iter().for_each(|task| task.join().unwrap());
        // SAFETY: the tasks have ended.
        assert_eq!(count.0.with(|value| unsafe { *value }), 2);
    });
    assert_eq!(failure.rule, "data-race");
}

#[test]
fn a_static_cell_starts_afresh_in_every_execution() {
    static COUNT: Shared = Shared(UnsafeCell::new(0));
    passes(|| {
        increment(&COUNT.0);
        // SAFETY: nobody else runs.
        assert_eq!(COUNT.0.with(|value| unsafe { *value }), 1);
    });
}

#[test]
fn outside_of_executions_it_is_a_cell() {
    let mut cell = UnsafeCell::new(1);
    increment(&cell);
    *cell.get_mut() += 1;
    assert_eq!(size_of_val(&cell), 4);
    assert_eq!(cell.into_inner(), 3);
}
