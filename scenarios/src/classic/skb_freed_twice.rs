//! A dump over a socket has a buffer, freed at its end; a second dump may begin as the first ends.
//!
//! The first must remember its buffer before it gives the lock back. The bug reads it from the socket
//! afterwards and frees the buffer of the second dump, which that will free once more.
//! Source: CVE-2016-9806 (netlink of Linux), in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

register!(Scenario {
    name: "cve-2016-9806",
    area: "classic",
    summary: "a dump begins on a socket just as another ends",
    rules: &["I-FREED"],
    mutants: &[MutantCase {
        name: "classic.skb_freed_twice",
        budget: 1_000,
        note: "which buffer to free is read after the lock has been given back",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: skb_freed_twice,
    ..Scenario::BASE
});

#[derive(Default)]
struct Socket {
    is_dumping: Mutex<bool>,
    /// The buffer of the dump under way, or of the last one.
    buffer: AtomicUsize,
    /// How often each buffer was freed.
    freed: [AtomicU32; 2],
}

impl Socket {
    /// Dumps into `buffer`, unless a dump is under way.
    fn dump(&self, buffer: usize) {
        {
            let mut is_dumping = lock(&self.is_dumping);
            if *is_dumping {
                return;
            }
            *is_dumping = true;
            self.buffer.store(buffer, SeqCst);
            note!("begins a dump into buffer {buffer}");
        }
        let mut is_dumping = lock(&self.is_dumping);
        let remembered = self.buffer.load(SeqCst);
        *is_dumping = false;
        drop(is_dumping);
        let bug = mutant::is("classic.skb_freed_twice");
        let buffer = if bug { self.buffer.load(SeqCst) } else { remembered };
        note!("frees buffer {buffer}");
        let before = self.freed[buffer].fetch_add(1, SeqCst);
        assert!(before == 0, "I-FREED: a buffer is freed once, but buffer {buffer} was");
    }
}

fn skb_freed_twice() {
    // Given a socket without a dump,
    let socket = Arc::new(Socket::default());
    // when two tasks dump over it,
    let tasks = [0, 1].map(|buffer| {
        let socket = socket.clone();
        actor("dumper", move || socket.dump(buffer))
    });
    // then each buffer is freed once.
    tasks.into_iter().for_each(finish);
}
