//! Three tasks take one spinlock once: 6 executions. Attempts that find it taken are not counted:
//! nothing comes of them.

use holdup::sync::{Arc, SpinLock};

use super::{BASE, MUTANT, all, check_sum};
use crate::scenario::Scenario;

crate::register!(Scenario {
    name: "counts-3-tasks-1-spinlock",
    summary: "three tasks add to a number under one spinlock",
    body: add_under_a_spinlock,
    ..BASE
});

fn add_under_a_spinlock() {
    // Given a number behind a spinlock,
    let number = Arc::new(SpinLock::new(0_u32));
    // when each task takes it to add 1,
    let task = {
        let number = number.clone();
        move || {
            if holdup::mutant::is(MUTANT) {
                let found = *number.lock();
                holdup::note!("reads {found}");
                *number.lock() = found + 1;
                holdup::note!("writes {}", found + 1);
                return;
            }
            let mut guard = number.lock();
            let found = *guard;
            *guard = found + 1;
            drop(guard);
            holdup::note!("adds 1 to {found}");
        }
    };
    all(3, task);
    // then all of them count.
    check_sum(*number.lock(), 3);
}
