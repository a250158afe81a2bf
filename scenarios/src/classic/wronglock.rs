//! Tasks add to a number under a lock; some of them take another lock than the rest.
//!
//! The one under the data's lock looks, adds and looks again: nobody may have come in between.
//! Source: `wronglock`, `wronglock_1` and `wronglock_3` of SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI64, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, register};

/// The twin with so many tasks that take the other lock.
macro_rules! wronglock {
    ($name:literal, $mutant:literal, $strangers:literal) => {
        register!(Scenario {
            name: $name,
            area: "classic",
            summary: concat!(
                "one task adds to a number under its lock while ",
                $strangers,
                " more add"
            ),
            rules: &["I-ADD"],
            mutants: &[MutantCase {
                name: $mutant,
                budget: 1_000,
                note: "all but one take a lock that is not the number's",
                preemptions: Some(1),
                ..MutantCase::BASE
            }],
            body: || wronglock::<$strangers>($mutant),
            ..Scenario::BASE
        });
    };
}

wronglock!("wronglock-1", "classic.wronglock_1", 1);
wronglock!("wronglock-3", "classic.wronglock_3", 3);
wronglock!("wronglock", "classic.wronglock", 7);

#[derive(Default)]
struct Number {
    lock: Mutex<()>,
    other_lock: Mutex<()>,
    value: AtomicI64,
}

fn wronglock<const STRANGERS: usize>(bug: &'static str) {
    // Given a number with its lock, and another lock,
    let number = Arc::new(Number::default());
    name!(&number.value, "value");
    // when one task adds to it
    let owner = {
        let number = number.clone();
        actor("owner", move || {
            let _lock = lock(&number.lock);
            let before = number.value.load(SeqCst);
            number.value.store(number.value.load(SeqCst) + 1, SeqCst);
            let after = number.value.load(SeqCst);
            // then nobody else has, while it had the lock.
            assert!(after == before + 1, "I-ADD: {before} and 1 is not {after}");
        })
    };
    // while others do, too,
    let strangers: [_; STRANGERS] = std::array::from_fn(|_| {
        let number = number.clone();
        actor("stranger", move || {
            let is_wrong = mutant::is(bug);
            let _lock = lock(if is_wrong { &number.other_lock } else { &number.lock });
            number.value.store(number.value.load(SeqCst) + 1, SeqCst);
        })
    });
    finish(owner);
    strangers.into_iter().for_each(finish);
}
