//! A producer and a consumer hand numbers over through two condition variables.
//!
//! `sync01` looks before it waits, as it should; its bug waits without looking, so that a signal
//! that came before is lost. `sync02` hands two numbers over one place; its bug waits once where it
//! has to look again.
//! Source: `sync01_bad` and `sync02_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Condvar, Mutex, PoisonError};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "sync01",
    area: "classic",
    summary: "a consumer waits for a number that a producer may have put there before",
    rules: &["deadlock"],
    mutants: &[MutantCase {
        name: "classic.sync01",
        budget: 100,
        note: "the consumer waits without looking first",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: sync01,
    script: Some(
        "producer until \"signals\"\n\
         consumer to the end\n",
    ),
    script_mutant: Some("classic.sync01"),
    ..Scenario::BASE
});

register!(Scenario {
    name: "sync02",
    area: "classic",
    summary: "two producers and a consumer hand numbers over one place",
    rules: &["I-LOST", "deadlock"],
    mutants: &[MutantCase {
        name: "classic.sync02",
        budget: 1_000,
        note: "a producer that was woken does not look again whether there is room",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: sync02,
    ..Scenario::BASE
});

/// Room for one number.
#[derive(Default)]
struct Place {
    number: Mutex<Option<u32>>,
    filled: Condvar,
    emptied: Condvar,
}

impl Place {
    fn put(&self, item: u32) {
        let mut number = lock(&self.number);
        while number.is_some() {
            number = self.emptied.wait(number).unwrap_or_else(PoisonError::into_inner);
            if mutant::is("classic.sync02") {
                break;
            }
        }
        assert!(number.is_none(), "I-LOST: a number is taken before the next is put there");
        *number = Some(item);
        drop(number);
        self.filled.notify_one();
    }

    fn take(&self) {
        let mut number = lock(&self.number);
        while number.is_none() {
            number = self.filled.wait(number).unwrap_or_else(PoisonError::into_inner);
        }
        *number = None;
        drop(number);
        self.emptied.notify_one();
    }
}

fn sync01() {
    // Given an empty place,
    let place = Arc::new(Place::default());
    // when a producer puts a number there
    let producer = {
        let place = place.clone();
        actor("producer", move || {
            *lock(&place.number) = Some(1);
            place.filled.notify_one();
            note!("signals");
        })
    };
    // and a consumer waits for it,
    let consumer = actor("consumer", move || {
        let mut number = lock(&place.number);
        if mutant::is("classic.sync01") {
            note!("waits");
            number = place.filled.wait(number).unwrap_or_else(PoisonError::into_inner);
        }
        while number.is_none() {
            note!("waits");
            number = place.filled.wait(number).unwrap_or_else(PoisonError::into_inner);
        }
        note!("takes the number");
    });
    // then it gets it.
    finish(producer);
    finish(consumer);
}

fn sync02() {
    // Given an empty place,
    let place = Arc::new(Place::default());
    // when two producers put two numbers there each,
    let producers = [1, 2].map(|item| {
        let place = place.clone();
        actor("producer", move || (0..2).for_each(|_| place.put(item)))
    });
    // and a consumer takes four,
    let consumer = actor("consumer", move || {
        for _ in 0..4 {
            place.take();
        }
    });
    // then it gets them all.
    producers.into_iter().for_each(finish);
    finish(consumer);
}
