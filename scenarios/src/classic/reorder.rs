//! Setters each write two words, a and then b; a checker must never see the one without the other.
//!
//! With the lock left out, the checker has to come after the first write of a and before the first
//! write of b, of as many as there are setters: somebody has to hold all of them back at the same
//! place. The more there are, the sooner a random walk has written b.
//! Source: `reorder_3` to `reorder_100` of SCTBench.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI64, Ordering};
use crate::door::sync::{Arc, Mutex, MutexGuard};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

const SCRIPT: &str = "setter until \"writes a\"\n\
                      checker to the end\n";

/// The twin with so many tasks, of which all but one are setters.
macro_rules! reorder {
    ($name:literal, $mutant:literal, $setters:literal, $budget:literal) => {
        register!(Scenario {
            name: $name,
            area: "classic",
            summary: concat!(
                $setters,
                " setters write two words in order while a checker reads both"
            ),
            rules: &["I-PAIR"],
            mutants: &[MutantCase {
                name: $mutant,
                budget: $budget,
                note: "nobody takes the lock, so that a pair half written can be seen",
                preemptions: Some(1),
                ..MutantCase::BASE
            }],
            body: || reorder::<$setters>($mutant),
            script: Some(SCRIPT),
            script_mutant: Some($mutant),
            ..Scenario::BASE
        });
    };
}

reorder!("reorder-3", "classic.reorder_3", 2, 1_000);
reorder!("reorder-4", "classic.reorder_4", 3, 1_000);
reorder!("reorder-5", "classic.reorder_5", 4, 1_000);
reorder!("reorder-10", "classic.reorder_10", 9, 2_000);
reorder!("reorder-20", "classic.reorder_20", 19, 5_000);
reorder!("reorder-50", "classic.reorder_50", 49, 10_000);
reorder!("reorder-100", "demo.reorder_100", 99, 20_000);

/// Two words that are to be seen together: (0, 0) at first, (1, -1) once anybody has set them.
struct Pair {
    /// The bug that leaves the lock out.
    bug: &'static str,
    lock: Mutex<()>,
    a: AtomicI64,
    b: AtomicI64,
}

fn reorder<const SETTERS: usize>(bug: &'static str) {
    // Given a pair that nobody has set,
    let pair = Pair { bug, lock: Mutex::new(()), a: AtomicI64::new(0), b: AtomicI64::new(0) };
    let pair = Arc::new(pair);
    name!(&pair.a, "a");
    name!(&pair.b, "b");
    // when setters set it
    let setters: [_; SETTERS] = std::array::from_fn(|_| {
        let pair = pair.clone();
        actor("setter", move || set(&pair))
    });
    // while a checker looks,
    let checker = actor("checker", move || check(&pair));
    // then it finds it set or not set.
    finish(checker);
    setters.into_iter().for_each(finish);
}

/// The lock, but for the bug.
fn lock_pair(pair: &Pair) -> Option<MutexGuard<'_, ()>> {
    (!mutant::is(pair.bug)).then(|| lock(&pair.lock))
}

fn set(pair: &Pair) {
    let _lock = lock_pair(pair);
    pair.a.store(1, Ordering::Release);
    note!("writes a");
    pair.b.store(-1, Ordering::Release);
    note!("writes b");
}

fn check(pair: &Pair) {
    let _lock = lock_pair(pair);
    let (a, b) = (&pair.a, &pair.b);
    let look = |word: &AtomicI64, value| word.load(Ordering::Acquire) == value;
    let is_whole = look(a, 0) && look(b, 0) || look(a, 1) && look(b, -1);
    note!("finds {}", if is_whole { "a whole pair" } else { "half a pair" });
    assert!(is_whole, "I-PAIR: a pair is seen whole, but a is set and b is not");
}
