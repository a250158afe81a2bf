//! Two or three tasks add twice to one word: 4! / (2! 2!) = 6 and 6! / (2! 2! 2!) = 90 executions.

use holdup::sync::Arc;
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::{BASE, MUTANT, all, check_sum};
use crate::scenario::Scenario;

crate::register!(Scenario {
    name: "counts-2-tasks-2-additions",
    summary: "two tasks add to a word twice each",
    body: || add_twice(2),
    ..BASE
});

crate::register!(Scenario {
    name: "counts-3-tasks-2-additions",
    summary: "three tasks add to a word twice each",
    body: || add_twice(3),
    ..BASE
});

fn add_twice(n: usize) {
    // Given a word,
    let word = Arc::new(AtomicU32::new(0));
    // when each task adds 1 to it, and again,
    let task = {
        let word = word.clone();
        move || {
            add(&word);
            add(&word);
        }
    };
    all(n, task);
    // then all additions count.
    check_sum(word.load(SeqCst), 2 * n as u32);
}

fn add(word: &AtomicU32) {
    if holdup::mutant::is(MUTANT) {
        let found = word.load(SeqCst);
        holdup::note!("reads {found}");
        word.store(found + 1, SeqCst);
        holdup::note!("writes {}", found + 1);
        return;
    }
    let found = word.fetch_add(1, SeqCst);
    holdup::note!("adds 1 to {found}");
}
