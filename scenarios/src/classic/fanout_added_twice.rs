//! Two calls put a socket into a group; who finds it in one already must leave it alone.
//!
//! The bug looks whether the socket is in a group before it takes the lock, so that both put it
//! there, and it is freed once for each.
//! Source: CVE-2017-6346, in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "cve-2017-6346",
    area: "classic",
    summary: "two calls put the same socket into a group",
    rules: &["I-ONCE"],
    mutants: &[MutantCase {
        name: "classic.fanout_added_twice",
        budget: 1_000,
        note: "whether the socket is in a group is looked at without the lock",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: fanout_added_twice,
    ..Scenario::BASE
});

#[derive(Default)]
struct Socket {
    lock: Mutex<()>,
    is_in_group: AtomicBool,
    references: AtomicU32,
}

fn fanout_added_twice() {
    // Given a socket in no group,
    let socket = Arc::new(Socket::default());
    // when two calls put it into one,
    let calls = [0, 1].map(|_| {
        let socket = socket.clone();
        actor("call", move || {
            let early =
                mutant::is("classic.fanout_added_twice").then(|| socket.is_in_group.load(SeqCst));
            let _lock = lock(&socket.lock);
            if early.unwrap_or_else(|| socket.is_in_group.load(SeqCst)) {
                return;
            }
            socket.is_in_group.store(true, SeqCst);
            socket.references.fetch_add(1, SeqCst);
        })
    });
    calls.into_iter().for_each(finish);
    // then it is there once, and will be freed once.
    let references = socket.references.load(SeqCst);
    assert!(references == 1, "I-ONCE: a socket is in a group once, but it has {references}");
}
