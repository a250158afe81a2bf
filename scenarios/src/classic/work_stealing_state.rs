//! A work-stealing queue in which each piece of work carries a word that says whether it is taken.
//!
//! Owner and thieves find a piece by the ends of the queue and then make it theirs by a
//! compare-and-swap of its word. The bug looks at the word and then writes it.
//! Source: `StateWSQ` of CHESS, in SCTBench.

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

const WORK: usize = 4;
const THIEVES: usize = 2;

register!(Scenario {
    name: "work-stealing-queue-state",
    area: "classic",
    summary: "an owner and two thieves take pieces of work that each say whether they are taken",
    rules: &["I-ONCE"],
    mutants: &[MutantCase {
        name: "classic.work_stealing_state",
        budget: 2_000,
        note: "a piece is looked at and then taken, in two steps",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: work_stealing_state,
    ..Scenario::BASE
});

#[derive(Default)]
struct Piece {
    is_taken: AtomicBool,
    /// How often it was done.
    done: AtomicU32,
}

#[derive(Default)]
struct Queue {
    head: AtomicUsize,
    pieces: [Piece; WORK],
}

impl Queue {
    fn take(&self, place: usize) {
        let piece = &self.pieces[place];
        let is_ours = if mutant::is("classic.work_stealing_state") {
            let is_free = !piece.is_taken.load(SeqCst);
            if is_free {
                piece.is_taken.store(true, SeqCst);
            }
            is_free
        } else {
            piece.is_taken.compare_exchange(false, true, SeqCst, SeqCst).is_ok()
        };
        if is_ours {
            note!("does piece {place}");
            let before = piece.done.fetch_add(1, SeqCst);
            assert!(
                before == 0,
                "I-ONCE: a piece of work is done once, but piece {place} was done"
            );
        }
    }
}

fn work_stealing_state() {
    // Given a queue of work,
    let queue = Arc::new(Queue::default());
    // when thieves come from the head
    let thieves: [_; THIEVES] = std::array::from_fn(|_| {
        let queue = queue.clone();
        actor("thief", move || {
            for _ in 0..WORK / 2 {
                let first = queue.head.fetch_add(1, SeqCst);
                queue.take(first);
            }
        })
    });
    // and the owner from the tail,
    let owner = actor("owner", move || {
        for place in (0..WORK).rev() {
            queue.take(place);
        }
    });
    // then no piece is done twice.
    finish(owner);
    thieves.into_iter().for_each(finish);
}
