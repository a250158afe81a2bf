//! 99 setters each write two words, a and then b; a checker must never see the one without the
//! other.
//!
//! With the lock left out, the checker has to come after the first write of a and before the first
//! write of b, of 99 each: somebody has to hold all setters back at the same place. A random walk
//! has written b long before the checker is there.
//! Source: `reorder_100` of SCTBench (Thomson, Donaldson, Betts, PPoPP 2014).

use crate::actor::{actor, finish};
use crate::scenario::{MutantCase, Scenario};
use holdup::sync::atomic::{AtomicI64, Ordering};
use holdup::sync::{Arc, Mutex, MutexGuard};

crate::register!(Scenario {
    name: "reorder-100",
    area: "counts",
    summary: "99 setters write two words in order while a checker reads both",
    rules: &["I-PAIR"],
    mutants: &[MutantCase {
        name: "demo.reorder_100",
        budget: 20_000,
        note: "nobody takes the lock, so that a pair half written can be seen",
        ..MutantCase::BASE
    }],
    body: reorder_100,
    script: Some(
        "setter until \"writes a\"\n\
         checker to the end\n",
    ),
    script_mutant: Some("demo.reorder_100"),
    ..Scenario::BASE
});

/// Two words that are to be seen together: (0, 0) at first, (1, -1) once anybody has set them.
struct Pair {
    lock: Mutex<()>,
    a: AtomicI64,
    b: AtomicI64,
}

fn reorder_100() {
    // Given a pair that nobody has set,
    let pair = Pair { lock: Mutex::new(()), a: AtomicI64::new(0), b: AtomicI64::new(0) };
    let pair = Arc::new(pair);
    holdup::name!(&pair.a, "a");
    holdup::name!(&pair.b, "b");
    // when 99 setters set it
    let setters: [_; 99] = std::array::from_fn(|_| {
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
fn lock(pair: &Pair) -> Option<MutexGuard<'_, ()>> {
    if holdup::mutant::is("demo.reorder_100") {
        return None;
    }
    Some(pair.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn set(pair: &Pair) {
    let _lock = lock(pair);
    pair.a.store(1, Ordering::Release);
    holdup::note!("writes a");
    pair.b.store(-1, Ordering::Release);
    holdup::note!("writes b");
}

fn check(pair: &Pair) {
    let _lock = lock(pair);
    let (a, b) = (&pair.a, &pair.b);
    let look = |word: &AtomicI64, value| word.load(Ordering::Acquire) == value;
    let is_whole = look(a, 0) && look(b, 0) || look(a, 1) && look(b, -1);
    holdup::note!("finds {}", if is_whole { "a whole pair" } else { "half a pair" });
    assert!(is_whole, "I-PAIR: a pair is seen whole, but a is set and b is not");
}
