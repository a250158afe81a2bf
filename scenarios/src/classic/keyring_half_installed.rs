//! A user's two keyrings are installed at first use; whoever finds the first must find the second.
//!
//! The bug installs the one that is looked at first.
//! Source: CVE-2013-1792, in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "cve-2013-1792",
    area: "classic",
    summary: "two calls install and use a user's keyrings",
    rules: &["I-NULL"],
    mutants: &[MutantCase {
        name: "classic.keyring_half_installed",
        budget: 1_000,
        note: "the keyring that says that both are there is installed first",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: keyring_half_installed,
    ..Scenario::BASE
});

/// A user's keyrings; 0 is none.
#[derive(Default)]
struct User {
    lock: Mutex<()>,
    user_keyring: AtomicU32,
    session_keyring: AtomicU32,
}

impl User {
    fn install(&self) {
        if self.user_keyring.load(SeqCst) != 0 {
            note!("finds the keyrings installed");
            return;
        }
        let _lock = lock(&self.lock);
        if self.user_keyring.load(SeqCst) != 0 {
            return;
        }
        let (first, second) = if mutant::is("classic.keyring_half_installed") {
            (&self.user_keyring, &self.session_keyring)
        } else {
            (&self.session_keyring, &self.user_keyring)
        };
        first.store(1, SeqCst);
        second.store(1, SeqCst);
        note!("installs the keyrings");
    }
}

fn keyring_half_installed() {
    // Given a user without keyrings,
    let user = Arc::new(User::default());
    // when two calls need them,
    let calls = [0, 1].map(|_| {
        let user = user.clone();
        actor("call", move || {
            user.install();
            // then each finds both.
            let keyring = user.session_keyring.load(SeqCst);
            assert!(keyring != 0, "I-NULL: a keyring that is used is there");
        })
    });
    calls.into_iter().for_each(finish);
}
