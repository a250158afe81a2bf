//! A sender puts numbers into a ring of a few places, a receiver takes them out and expects them in
//! order.
//!
//! The bug sees room for one number more than there is: the sender may overtake the receiver, which
//! then finds a number out of order.
//! Source: `circular_buffer_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const PLACES: usize = 2;
const NUMBERS: u64 = 4;

register!(Scenario {
    name: "circular-buffer",
    area: "classic",
    summary: "a sender must not overtake the receiver in a ring of two places",
    rules: &["I-ORDER"],
    mutants: &[MutantCase {
        name: "classic.circular_buffer",
        budget: 1_000,
        note: "room for one number too many is seen",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: circular_buffer,
    ..Scenario::BASE
});

#[derive(Default)]
struct Ring {
    places: [u64; PLACES],
    sent: u64,
    received: u64,
}

fn circular_buffer() {
    // Given an empty ring,
    let ring = Arc::new(Mutex::new(Ring::default()));
    // when a sender puts numbers in where there is room
    let sender = {
        let ring = ring.clone();
        actor("sender", move || {
            for _ in 0..NUMBERS {
                let mut ring = lock(&ring);
                let room = PLACES as u64 + u64::from(mutant::is("classic.circular_buffer"));
                if ring.sent - ring.received < room {
                    let place = ring.sent as usize % PLACES;
                    ring.places[place] = ring.sent;
                    ring.sent += 1;
                }
            }
        })
    };
    // and a receiver takes out what there is,
    let receiver = actor("receiver", move || {
        for _ in 0..NUMBERS {
            let mut ring = lock(&ring);
            if ring.received < ring.sent {
                // then they come in order.
                let (number, expected) =
                    (ring.places[ring.received as usize % PLACES], ring.received);
                assert!(number == expected, "I-ORDER: {expected} is next, but {number} came");
                ring.received += 1;
            }
        }
    });
    finish(sender);
    finish(receiver);
}
