//! Two kinds of tasks, two of each, count themselves in and out under two locks.
//!
//! The bug has the second kind take them in the other order, so that one of each may wait for the
//! other.
//! Source: `carter01_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI64, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "carter",
    area: "classic",
    summary: "two kinds of tasks take two locks, one of them in the other's order",
    rules: &["deadlock"],
    mutants: &[MutantCase {
        name: "classic.carter",
        budget: 1_000,
        note: "the second kind takes the locks in the other order",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: carter,
    ..Scenario::BASE
});

#[derive(Default)]
struct Shared {
    lock_m: Mutex<()>,
    lock_l: Mutex<()>,
    a: AtomicI64,
    b: AtomicI64,
}

fn carter() {
    // Given two counts and two locks,
    let shared = Arc::new(Shared::default());
    let part = |role, is_second_kind: bool| {
        let shared = shared.clone();
        actor(role, move || {
            let turned = is_second_kind && mutant::is("classic.carter");
            let count = if is_second_kind { &shared.b } else { &shared.a };
            // when each counts itself in and out under both locks,
            let (outer, inner) = if turned {
                (&shared.lock_l, &shared.lock_m)
            } else {
                (&shared.lock_m, &shared.lock_l)
            };
            let outer = lock(outer);
            count.fetch_add(1, SeqCst);
            let inner = lock(inner);
            drop(inner);
            count.fetch_sub(1, SeqCst);
            drop(outer);
        })
    };
    // then all come to an end.
    let tasks = [part("a1", false), part("a2", false), part("b1", true), part("b2", true)];
    tasks.into_iter().for_each(finish);
}
