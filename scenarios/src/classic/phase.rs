//! Two tasks go through two phases, each under its lock, three times.
//!
//! The bug keeps the lock of the first phase while it takes that of the second, in opposite orders
//! for the two tasks.
//! Source: `phase01_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "phase01",
    area: "classic",
    summary: "two tasks go through two phases in opposite orders, three times",
    rules: &["deadlock"],
    mutants: &[MutantCase {
        name: "classic.phase01",
        budget: 1_000,
        note: "the lock of the one phase is kept until that of the other is held",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: phase01,
    ..Scenario::BASE
});

fn phase01() {
    // Given two phases, each with a lock,
    let phases: Arc<[Mutex<()>; 2]> = Arc::new(std::array::from_fn(|_| Mutex::new(())));
    // when two tasks go through them, one beginning with the first, the other with the second,
    let tasks = [0, 1].map(|first| {
        let phases = phases.clone();
        actor("task", move || {
            for _ in 0..3 {
                let lock_of_one = lock(&phases[first]);
                if mutant::is("classic.phase01") {
                    let _lock_of_other = lock(&phases[1 - first]);
                } else {
                    drop(lock_of_one);
                    let _lock_of_other = lock(&phases[1 - first]);
                }
            }
        })
    });
    // then both come to an end.
    tasks.into_iter().for_each(finish);
}
