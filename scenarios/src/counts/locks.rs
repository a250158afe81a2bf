//! Three or four tasks take one lock once: 6 and 24 executions, in which order they got it.

use holdup::sync::{Arc, Mutex};

use super::{BASE, MUTANT, all, check_sum};
use crate::scenario::Scenario;

crate::register!(Scenario {
    name: "counts-3-tasks-1-lock",
    summary: "three tasks add to a number under one lock",
    body: || add_under_a_lock(3),
    ..BASE
});

crate::register!(Scenario {
    name: "counts-4-tasks-1-lock",
    summary: "four tasks add to a number under one lock",
    body: || add_under_a_lock(4),
    ..BASE
});

fn add_under_a_lock(n: usize) {
    // Given a number behind a lock,
    let number = Arc::new(Mutex::new(0_u32));
    // when each task locks it to add 1,
    let task = {
        let number = number.clone();
        move || {
            if holdup::mutant::is(MUTANT) {
                let found = *lock(&number);
                holdup::note!("reads {found}");
                *lock(&number) = found + 1;
                holdup::note!("writes {}", found + 1);
                return;
            }
            let mut guard = lock(&number);
            *guard += 1;
            holdup::note!("adds 1 to {}", *guard - 1);
        }
    };
    all(n, task);
    // then all of them count.
    check_sum(*lock(&number), n as u32);
}

fn lock(number: &Mutex<u32>) -> holdup::sync::MutexGuard<'_, u32> {
    number.lock().unwrap_or_else(holdup::sync::PoisonError::into_inner)
}
