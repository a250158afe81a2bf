//! One task fills a queue, another empties it; what comes out is what went in, in order.
//!
//! A flag under the lock says whether there is something. The bug leaves it up once it was raised, so
//! that the second task may take from an empty queue.
//! Source: `queue_bad` of SCTBench.

use std::collections::VecDeque;

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const ITEMS: u32 = 10;

register!(Scenario {
    name: "queue",
    area: "classic",
    summary: "one task fills a queue while another, let in by a flag, empties it",
    rules: &["I-ORDER"],
    mutants: &[MutantCase {
        name: "classic.queue",
        budget: 1_000,
        note: "the flag stays up once the first item is in",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: queue,
    ..Scenario::BASE
});

#[derive(Default)]
struct Queue {
    items: VecDeque<u32>,
    may_take: bool,
}

fn queue() {
    // Given an empty queue,
    let queue = Arc::new(Mutex::new(Queue::default()));
    // when one task puts items in,
    let filler = {
        let queue = queue.clone();
        actor("filler", move || {
            for item in 0..ITEMS {
                let mut queue = lock(&queue);
                queue.items.push_back(item);
                queue.may_take = true;
            }
        })
    };
    // and another takes one whenever it may,
    let taker = actor("taker", move || {
        let mut next = 0;
        for _ in 0..ITEMS {
            let mut queue = lock(&queue);
            if !queue.may_take {
                continue;
            }
            // then there is one, and it is the next.
            let item = queue.items.pop_front();
            assert!(item == Some(next), "I-ORDER: item {next} is next, but {item:?} came");
            next += 1;
            queue.may_take = mutant::is("classic.queue") || !queue.items.is_empty();
        }
    });
    finish(filler);
    finish(taker);
}
