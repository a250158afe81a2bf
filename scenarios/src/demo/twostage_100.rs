//! 99 writers set one number under lock A and then another to one more under lock B; a reader that
//! has found the first must find the second.
//!
//! Right is to take lock B before lock A is given back. With the bug the reader has to come between
//! the first time anybody gives lock A back and the first time anybody gets lock B, of 99 each.
//! Source: `twostage_100` of SCTBench (Thomson, Donaldson, Betts, PPoPP 2014).

use crate::actor::{actor, finish};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::atomic::{AtomicI64, Ordering};
use holdup::sync::{Arc, Mutex, MutexGuard};

crate::register!(Scenario {
    name: "twostage-100",
    area: "counts",
    summary: "99 writers set two numbers in two stages while a reader reads both",
    rules: &["I-PAIR"],
    mutants: &[MutantCase {
        name: "demo.twostage_100",
        budget: 20_000,
        note: "lock A is given back before lock B is taken",
        ..MutantCase::BASE
    }],
    body: twostage_100,
    script: Some(
        "writer until \"sets the first number\"\n\
         writer until \"gives lock A back\"\n\
         reader to the end\n",
    ),
    script_mutant: Some("demo.twostage_100"),
    ..Scenario::BASE
});

/// Two numbers, each with its lock; the second is one more than the first, once that is set.
struct Stages {
    lock_a: Mutex<()>,
    lock_b: Mutex<()>,
    first: AtomicI64,
    second: AtomicI64,
}

fn twostage_100() {
    // Given two numbers that nobody has set,
    let stages = Arc::new(Stages {
        lock_a: Mutex::new(()),
        lock_b: Mutex::new(()),
        first: AtomicI64::new(0),
        second: AtomicI64::new(0),
    });
    holdup::name!(&stages.first, "first number");
    holdup::name!(&stages.second, "second number");
    // when 99 writers set them, the second after the first,
    let writers: [_; 99] = std::array::from_fn(|_| {
        let stages = stages.clone();
        actor("writer", move || write(&stages))
    });
    // while a reader reads them in the same order,
    let reader = actor("reader", move || read(&stages));
    // then it finds both or none.
    finish(reader);
    writers.into_iter().for_each(finish);
}

fn lock(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Goes on from lock A to lock B.
fn second_stage<'a>(stages: &'a Stages, lock_a: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
    if holdup::mutant::is("demo.twostage_100") {
        drop(lock_a);
        holdup::note!("gives lock A back");
        return lock(&stages.lock_b);
    }
    let lock_b = lock(&stages.lock_b);
    drop(lock_a);
    lock_b
}

fn write(stages: &Stages) {
    let lock_a = lock(&stages.lock_a);
    stages.first.store(1, Ordering::Release);
    holdup::note!("sets the first number");
    let _lock_b = second_stage(stages, lock_a);
    stages.second.store(stages.first.load(Ordering::Acquire) + 1, Ordering::Release);
    holdup::note!("sets the second number");
}

fn read(stages: &Stages) {
    let lock_a = lock(&stages.lock_a);
    let first = stages.first.load(Ordering::Acquire);
    if first == 0 {
        return;
    }
    holdup::note!("finds {first} first");
    let _lock_b = second_stage(stages, lock_a);
    let second = stages.second.load(Ordering::Acquire);
    holdup::note!("finds {second} second");
    assert!(
        second == first + 1,
        "I-PAIR: the second number is one more than the first, but they are {second} and {first}"
    );
}
