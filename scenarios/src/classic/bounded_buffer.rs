//! Two producers and two consumers share a buffer of one place and one condition variable.
//!
//! Whoever changes the buffer has to wake everybody, since who waits may be of its own kind. The bug
//! wakes one, and where that is the wrong one, all wait for ever.
//! Source: `boundedBuffer` of Inspect, in SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const ITEMS: usize = 2;

register!(Scenario {
    name: "bounded-buffer",
    area: "classic",
    summary: "producers and consumers wait on one condition variable for room and for items",
    rules: &["deadlock"],
    mutants: &[MutantCase {
        name: "classic.bounded_buffer",
        budget: 5_000,
        note: "one waiter is woken, who may be of the wrong kind",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: bounded_buffer,
    ..Scenario::BASE
});

#[derive(Default)]
struct Buffer {
    is_full: Mutex<bool>,
    changed: Condvar,
}

impl Buffer {
    /// Waits until the place is as the caller needs it, and turns it over.
    fn change(&self, from: bool) {
        let mut is_full = lock(&self.is_full);
        while *is_full != from {
            is_full = self.changed.wait(is_full).unwrap_or_else(PoisonError::into_inner);
        }
        *is_full = !from;
        if mutant::is("classic.bounded_buffer") {
            self.changed.notify_one();
        } else {
            self.changed.notify_all();
        }
    }
}

fn bounded_buffer() {
    // Given an empty buffer,
    let buffer = Arc::new(Buffer::default());
    let part = |role, from| {
        let buffer = buffer.clone();
        actor(role, move || (0..ITEMS).for_each(|_| buffer.change(from)))
    };
    // when two producers fill it as often as two consumers empty it,
    let producers = [part("producer", false), part("producer", false)];
    let consumers = [part("consumer", true), part("consumer", true)];
    // then all come to an end.
    producers.into_iter().chain(consumers).for_each(finish);
}
