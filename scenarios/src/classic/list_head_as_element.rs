//! A scanner walks a ring of processes; one that ends takes itself off the ring.
//!
//! Under the lock the scanner reads which element is next. Where the last one has gone, that is the
//! ring's own head, which is no element. The bug looks whether the ring is empty before it takes the
//! lock.
//! Source: CVE-2011-2183 (the page merger of Linux), in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

/// The ring's head.
const HEAD: usize = 0;

register!(Scenario {
    name: "cve-2011-2183",
    area: "classic",
    summary: "a scanner comes to the last process just as that ends",
    rules: &["I-ELEMENT"],
    mutants: &[MutantCase {
        name: "classic.list_head_as_element",
        budget: 1_000,
        note: "whether the ring is empty is looked at without the lock",
        critical_pair: Some([("scanner", "first of the ring"), ("process", "first of the ring")]),
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: list_head_as_element,
    ..Scenario::BASE
});

struct Ring {
    lock: Mutex<()>,
    /// The element after the head.
    first: AtomicUsize,
}

fn list_head_as_element() {
    // Given a ring of one process,
    let ring = Arc::new(Ring { lock: Mutex::new(()), first: AtomicUsize::new(1) });
    name!(&ring.first, "first of the ring");
    // when a scanner goes round it, twice,
    let scanner = {
        let ring = ring.clone();
        actor("scanner", move || {
            for _ in 0..2 {
                let bug = mutant::is("classic.list_head_as_element");
                if bug && ring.first.load(SeqCst) == HEAD {
                    return;
                }
                let _lock = lock(&ring.lock);
                let element = ring.first.load(SeqCst);
                if !bug && element == HEAD {
                    return;
                }
                note!("scans element {element}");
                // then what it scans is a process.
                assert!(element != HEAD, "I-ELEMENT: the head of a ring is no element of it");
            }
        })
    };
    // while that process ends.
    let process = actor("process", move || {
        let _lock = lock(&ring.lock);
        ring.first.store(HEAD, SeqCst);
        note!("leaves the ring");
    });
    finish(scanner);
    finish(process);
}
