//! Something is made at first use, by whoever comes first; nobody may see it half made.
//!
//! The bug says that it is made before it is, in a fast path without the lock. It takes a long way
//! to the first use, so that the tasks rarely come together.
//! Source: in the manner of `bug6` of RADBench (Jalbert et al., HotPar 2011).

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "once-by-hand",
    area: "classic",
    summary: "three tasks use something that the first of them makes",
    rules: &["I-MADE"],
    mutants: &[MutantCase {
        name: "classic.once_by_hand",
        budget: 2_000,
        note: "it is said to be made before it is",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: once_by_hand,
    script: Some(
        "user until \"says that it is made\"\n\
         user 2 to the end\n",
    ),
    script_mutant: Some("classic.once_by_hand"),
    ..Scenario::BASE
});

#[derive(Default)]
struct Once {
    lock: Mutex<()>,
    is_made: AtomicBool,
    value: AtomicU32,
    traffic: AtomicU32,
}

impl Once {
    fn say_so(&self) {
        self.is_made.store(true, SeqCst);
        note!("says that it is made");
    }

    fn make(&self) {
        let _lock = lock(&self.lock);
        if self.is_made.load(SeqCst) {
            return;
        }
        if mutant::is("classic.once_by_hand") {
            self.say_so();
            self.value.store(7, SeqCst);
        } else {
            self.value.store(7, SeqCst);
            self.say_so();
        }
    }
}

fn once_by_hand() {
    // Given something not yet made,
    let once = Arc::new(Once::default());
    // when tasks come from here and there
    let users = [2, 12, 22].map(|way| {
        let once = once.clone();
        actor("user", move || {
            (0..way).for_each(|_| _ = once.traffic.fetch_add(1, SeqCst));
            if !once.is_made.load(SeqCst) {
                once.make();
            }
            // then each finds it made.
            let value = once.value.load(SeqCst);
            note!("finds {value}");
            assert!(value == 7, "I-MADE: it is 7 once made, but it is {value}");
        })
    });
    users.into_iter().for_each(finish);
}
