//! Four tasks in a ring each take the number of the one before; at the end all have the same.
//!
//! Each waits until the one before has its number; the bug is that nobody does. All orders but one
//! show it.
//! Source: `token_ring_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "token-ring",
    area: "classic",
    summary: "four tasks hand a number round a ring",
    rules: &["I-RING"],
    mutants: &[MutantCase {
        name: "classic.token_ring",
        budget: 100,
        note: "a task does not wait until the one before it has its number",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: token_ring,
    ..Scenario::BASE
});

const TASKS: usize = 4;

#[derive(Default)]
struct Ring {
    numbers: Mutex<[Option<u32>; TASKS]>,
    moved: Condvar,
}

fn token_ring() {
    // Given a ring of tasks without numbers,
    let ring = Arc::new(Ring::default());
    // when the first starts with 1 and each of the others takes that of the one before,
    let tasks: [_; TASKS] = std::array::from_fn(|place| {
        let ring = ring.clone();
        actor("task", move || {
            let mut numbers = lock(&ring.numbers);
            let Some(before) = place.checked_sub(1) else {
                numbers[place] = Some(1);
                ring.moved.notify_all();
                return;
            };
            while numbers[before].is_none() && !mutant::is("classic.token_ring") {
                numbers = ring.moved.wait(numbers).unwrap_or_else(PoisonError::into_inner);
            }
            numbers[place] = Some(numbers[before].unwrap_or(0));
            ring.moved.notify_all();
        })
    });
    tasks.into_iter().for_each(finish);
    // then all have it.
    let numbers = *lock(&ring.numbers);
    assert!(numbers == [Some(1); TASKS], "I-RING: everybody has 1, but they have {numbers:?}");
}
