//! A barrier made of a count and a flag of generations, used several times in a row.
//!
//! The last to come turns the generation over and starts the count anew. The bug waits for the count
//! to start anew instead: who is woken late finds it counting the next round, and is caught in it.
//! Source: the barrier of `streamcluster` of PARSEC, in SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const TASKS: usize = 3;
const ROUNDS: u32 = 2;

register!(Scenario {
    name: "turnstile-barrier",
    area: "classic",
    summary: "three tasks meet at a barrier of their own make, round after round",
    rules: &["I-ROUND", "deadlock"],
    mutants: &[MutantCase {
        name: "classic.turnstile_barrier",
        budget: 2_000,
        note: "a waiter goes by the count, not by the generation",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: turnstile_barrier,
    ..Scenario::BASE
});

#[derive(Default)]
struct Arrivals {
    count: usize,
    generation: u32,
}

#[derive(Default)]
struct Barrier {
    arrivals: Mutex<Arrivals>,
    turned: Condvar,
}

impl Barrier {
    fn wait(&self) {
        let mut arrivals = lock(&self.arrivals);
        let generation = arrivals.generation;
        arrivals.count += 1;
        if arrivals.count == TASKS {
            arrivals.count = 0;
            arrivals.generation += 1;
            self.turned.notify_all();
            return;
        }
        let by_count = mutant::is("classic.turnstile_barrier");
        while if by_count { arrivals.count != 0 } else { arrivals.generation == generation } {
            arrivals = self.turned.wait(arrivals).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn turnstile_barrier() {
    // Given a barrier for three, and a count of those who have done each round,
    let shared = Arc::new((Barrier::default(), AtomicU32::new(0)));
    // when three tasks go through it round after round,
    let tasks: [_; TASKS] = std::array::from_fn(|_| {
        let shared = shared.clone();
        actor("task", move || {
            let (barrier, done) = &*shared;
            for round in 1..=ROUNDS {
                done.fetch_add(1, SeqCst);
                barrier.wait();
                // then nobody is let through before all have done the round.
                let (done, all) = (done.load(SeqCst), TASKS as u32 * round);
                assert!(done >= all, "I-ROUND: {done} of {all} are done when the barrier opens");
            }
        })
    });
    tasks.into_iter().for_each(finish);
}
