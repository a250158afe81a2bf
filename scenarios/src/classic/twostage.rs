//! Writers set one number under lock A and then another to one more under lock B; a reader that has
//! found the first must find the second.
//!
//! Right is to take lock B before lock A is given back. With the bug the reader has to come between
//! the first time anybody gives lock A back and the first time anybody gets lock B, of as many as
//! there are writers.
//! Source: `twostage`, `twostage_20`, `twostage_50` and `twostage_100` of SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI64, Ordering};
use crate::door::sync::{Arc, Mutex, MutexGuard};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

const SCRIPT: &str = "writer until \"sets the first number\"\n\
                      writer until \"gives lock A back\"\n\
                      reader to the end\n";

/// The twin with so many writers.
macro_rules! twostage {
    ($name:literal, $mutant:literal, $writers:literal, $budget:literal) => {
        register!(Scenario {
            name: $name,
            area: "classic",
            summary: concat!(
                $writers,
                " writers set two numbers in two stages while a reader reads both"
            ),
            rules: &["I-PAIR"],
            mutants: &[MutantCase {
                name: $mutant,
                budget: $budget,
                note: "lock A is given back before lock B is taken",
                preemptions: Some(1),
                ..MutantCase::BASE
            }],
            body: || twostage::<$writers>($mutant),
            script: Some(SCRIPT),
            script_mutant: Some($mutant),
            ..Scenario::BASE
        });
    };
}

twostage!("twostage", "classic.twostage", 1, 1_000);
twostage!("twostage-20", "classic.twostage_20", 19, 5_000);
twostage!("twostage-50", "classic.twostage_50", 49, 10_000);
twostage!("twostage-100", "demo.twostage_100", 99, 20_000);

/// Two numbers, each with its lock; the second is one more than the first, once that is set.
struct Stages {
    /// The bug that gives lock A back too early.
    bug: &'static str,
    lock_a: Mutex<()>,
    lock_b: Mutex<()>,
    first: AtomicI64,
    second: AtomicI64,
}

fn twostage<const WRITERS: usize>(bug: &'static str) {
    // Given two numbers that nobody has set,
    let stages = Arc::new(Stages {
        bug,
        lock_a: Mutex::new(()),
        lock_b: Mutex::new(()),
        first: AtomicI64::new(0),
        second: AtomicI64::new(0),
    });
    name!(&stages.first, "first number");
    name!(&stages.second, "second number");
    // when writers set them, the second after the first,
    let writers: [_; WRITERS] = std::array::from_fn(|_| {
        let stages = stages.clone();
        actor("writer", move || write(&stages))
    });
    // while a reader reads them in the same order,
    let reader = actor("reader", move || read(&stages));
    // then it finds both or none.
    finish(reader);
    writers.into_iter().for_each(finish);
}

/// Goes on from lock A to lock B.
fn second_stage<'a>(stages: &'a Stages, lock_a: MutexGuard<'a, ()>) -> MutexGuard<'a, ()> {
    if mutant::is(stages.bug) {
        drop(lock_a);
        note!("gives lock A back");
        return lock(&stages.lock_b);
    }
    let lock_b = lock(&stages.lock_b);
    drop(lock_a);
    lock_b
}

fn write(stages: &Stages) {
    let lock_a = lock(&stages.lock_a);
    stages.first.store(1, Ordering::Release);
    note!("sets the first number");
    let _lock_b = second_stage(stages, lock_a);
    stages.second.store(stages.first.load(Ordering::Acquire) + 1, Ordering::Release);
    note!("sets the second number");
}

fn read(stages: &Stages) {
    let lock_a = lock(&stages.lock_a);
    let first = stages.first.load(Ordering::Acquire);
    if first == 0 {
        return;
    }
    note!("finds {first} first");
    let _lock_b = second_stage(stages, lock_a);
    let second = stages.second.load(Ordering::Acquire);
    note!("finds {second} second");
    assert!(
        second == first + 1,
        "I-PAIR: the second number is one more than the first, but they are {second} and {first}"
    );
}
