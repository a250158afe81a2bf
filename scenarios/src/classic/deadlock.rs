//! Two tasks take two locks; with the bug, each begins with another.
//!
//! Source: `deadlock01_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "deadlock01",
    area: "classic",
    summary: "two tasks take two locks in one order, or each in another",
    rules: &["deadlock"],
    mutants: &[MutantCase {
        name: "classic.deadlock01",
        budget: 1_000,
        note: "the second task takes lock B first",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: deadlock01,
    script: Some(
        "first until \"has lock A\"\n\
         second until \"has lock B\"\n",
    ),
    script_mutant: Some("classic.deadlock01"),
    ..Scenario::BASE
});

#[derive(Default)]
struct Locks {
    a: Mutex<()>,
    b: Mutex<()>,
}

fn deadlock01() {
    // Given two locks,
    let locks = Arc::new(Locks::default());
    // when one task takes A and then B
    let first = {
        let locks = locks.clone();
        actor("first", move || {
            let _a = lock(&locks.a);
            note!("has lock A");
            let _b = lock(&locks.b);
            note!("has both locks");
        })
    };
    // and another does, too,
    let second = actor("second", move || {
        if mutant::is("classic.deadlock01") {
            let _b = lock(&locks.b);
            note!("has lock B");
            let _a = lock(&locks.a);
        } else {
            let _a = lock(&locks.a);
            note!("has lock A");
            let _b = lock(&locks.b);
        }
        note!("has both locks");
    });
    // then both come to an end.
    finish(first);
    finish(second);
}
