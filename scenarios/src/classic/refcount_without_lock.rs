//! An instance is made for its first user and freed with its last; users come and go.
//!
//! Counting and making, and counting and freeing, belong together under one lock. The bugs count
//! outside of it: in `cve-2016-1972` the one who goes, in `cve-2016-1973` the one who comes.
//! Source: CVE-2016-1972 and CVE-2016-1973 (WebRTC of Firefox), in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "cve-2016-1972",
    area: "classic",
    summary: "the last user of an instance goes just as another comes",
    rules: &["I-FREED"],
    mutants: &[MutantCase {
        name: "classic.refcount_released_without_lock",
        budget: 1_000,
        note: "who goes counts itself out before it takes the lock to free",
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    body: || users_come_and_go("classic.refcount_released_without_lock", ""),
    ..Scenario::BASE
});

register!(Scenario {
    name: "cve-2016-1973",
    area: "classic",
    summary: "a user of an instance comes just as the last one goes",
    rules: &["I-FREED"],
    mutants: &[MutantCase {
        name: "classic.refcount_taken_without_lock",
        budget: 1_000,
        note: "who comes counts itself in before it takes the lock to make",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: || users_come_and_go("", "classic.refcount_taken_without_lock"),
    ..Scenario::BASE
});

#[derive(Default)]
struct Instance {
    lock: Mutex<()>,
    users: AtomicU32,
    is_made: AtomicBool,
}

impl Instance {
    fn come(&self, bug: &str) {
        let early = mutant::is(bug).then(|| self.users.fetch_add(1, SeqCst));
        let _lock = lock(&self.lock);
        if early.unwrap_or_else(|| self.users.fetch_add(1, SeqCst)) == 0 {
            self.is_made.store(true, SeqCst);
            note!("makes the instance");
        }
    }

    fn use_it(&self) {
        let is_made = self.is_made.load(SeqCst);
        assert!(is_made, "I-FREED: nobody uses an instance that was freed");
    }

    fn go(&self, bug: &str) {
        let early = mutant::is(bug).then(|| self.users.fetch_sub(1, SeqCst));
        let _lock = lock(&self.lock);
        if early.unwrap_or_else(|| self.users.fetch_sub(1, SeqCst)) == 1 {
            self.is_made.store(false, SeqCst);
            note!("frees the instance");
        }
    }
}

fn users_come_and_go(bug_of_going: &'static str, bug_of_coming: &'static str) {
    // Given no instance,
    let instance = Arc::new(Instance::default());
    // when users come, use it and go,
    let users = [0, 1].map(|_| {
        let instance = instance.clone();
        actor("user", move || {
            for _ in 0..2 {
                instance.come(bug_of_coming);
                // then it is there while they do.
                instance.use_it();
                instance.go(bug_of_going);
            }
        })
    });
    users.into_iter().for_each(finish);
}
