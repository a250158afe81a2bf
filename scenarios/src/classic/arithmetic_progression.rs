//! A producer hands one item after another to a consumer, which adds up their positions.
//!
//! The bug adds the last position twice and fails under every schedule: it shows what a tool needs
//! for one execution, and that it ends.
//! Source: `arithmetic_prog_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const ITEMS: u64 = 3;

register!(Scenario {
    name: "arithmetic-progression",
    area: "classic",
    summary: "a consumer adds up the positions of the items that a producer hands over",
    rules: &["I-SUM"],
    mutants: &[MutantCase {
        name: "classic.arithmetic_progression",
        budget: 10,
        note: "the last position is added twice",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: arithmetic_progression,
    ..Scenario::BASE
});

/// Room for one item.
#[derive(Default)]
struct Counter {
    is_full: Mutex<bool>,
    emptied: Condvar,
    filled: Condvar,
}

fn arithmetic_progression() {
    // Given an empty counter,
    let counter = Arc::new(Counter::default());
    // when a producer puts items on it one by one
    let producer = {
        let counter = counter.clone();
        actor("producer", move || {
            for _ in 0..ITEMS {
                let mut is_full = lock(&counter.is_full);
                while *is_full {
                    is_full = counter.emptied.wait(is_full).unwrap_or_else(PoisonError::into_inner);
                }
                *is_full = true;
                drop(is_full);
                counter.filled.notify_one();
            }
        })
    };
    // and a consumer takes them away,
    let consumer = actor("consumer", move || {
        let mut total = 0;
        for item in 1..=ITEMS {
            let mut is_full = lock(&counter.is_full);
            while !*is_full {
                is_full = counter.filled.wait(is_full).unwrap_or_else(PoisonError::into_inner);
            }
            *is_full = false;
            total += item;
            drop(is_full);
            counter.emptied.notify_one();
        }
        total + if mutant::is("classic.arithmetic_progression") { ITEMS } else { 0 }
    });
    // then the positions add up.
    finish(producer);
    let total = finish(consumer);
    let right = ITEMS * (ITEMS + 1) / 2;
    assert!(total == right, "I-SUM: 1 to {ITEMS} add up to {right}, not {total}");
}
