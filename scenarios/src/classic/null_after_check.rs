//! Three times the same mistake: something is found there, and gone when it is used.
//!
//! `cve-2009-3547`: a pipe is opened while its last user closes it. `cve-2015-7550`: a key is read
//! while it is revoked. `cve-2016-7911`: the priority of a task is read while that task ends. Each
//! has its check and its use under one lock; the bugs check outside of it, or take none.
//! Source: these vulnerabilities, in ConVul.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicU32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, name, note, register};

/// The twin called so.
macro_rules! null_after_check {
    ($name:literal, $mutant:literal, $summary:literal, $note:literal, $body:ident) => {
        register!(Scenario {
            name: $name,
            area: "classic",
            summary: $summary,
            rules: &["I-NULL"],
            mutants: &[MutantCase {
                name: $mutant,
                budget: 1_000,
                note: $note,
                preemptions: Some(1),
                ..MutantCase::BASE
            }],
            body: $body,
            ..Scenario::BASE
        });
    };
}

null_after_check!(
    "cve-2009-3547",
    "classic.pipe_opened_while_closed",
    "a pipe is opened while its last user closes it",
    "the pipe is looked for before the lock is taken",
    pipe
);
null_after_check!(
    "cve-2015-7550",
    "classic.key_read_while_revoked",
    "a key is read while it is revoked",
    "the key is found valid before the lock is taken",
    key
);
null_after_check!(
    "cve-2016-7911",
    "classic.context_read_without_lock",
    "the context of a task is read while the task ends",
    "the reader takes no lock",
    context
);

/// Something that may be gone, which is 0, and its lock.
struct Thing {
    lock: Mutex<()>,
    value: AtomicU32,
}

fn thing(value: u32) -> Arc<Thing> {
    let thing = Arc::new(Thing { lock: Mutex::new(()), value: AtomicU32::new(value) });
    name!(&thing.value, "value");
    thing
}

impl Thing {
    fn is_there(&self) -> bool {
        self.value.load(SeqCst) != 0
    }

    fn use_it(&self) {
        let value = self.value.load(SeqCst);
        note!("uses {value}");
        assert!(value != 0, "I-NULL: what is used is there");
    }

    /// Checks and uses it under one lock, or with `early` checks first.
    fn check_and_use(&self, early: bool) {
        if early && !self.is_there() {
            return;
        }
        let _lock = lock(&self.lock);
        if early || self.is_there() {
            self.use_it();
        }
    }

    fn take_away(&self) {
        let _lock = lock(&self.lock);
        self.value.store(0, SeqCst);
        note!("takes it away");
    }
}

fn pipe() {
    // Given a pipe with one user,
    let pipe = thing(1);
    // when that one closes it
    let closer = {
        let pipe = pipe.clone();
        actor("closer", move || pipe.take_away())
    };
    // while two open it,
    let openers = [0, 1].map(|_| {
        let pipe = pipe.clone();
        actor("opener", move || {
            pipe.check_and_use(mutant::is("classic.pipe_opened_while_closed"));
        })
    });
    // then they find a pipe, or none.
    finish(closer);
    openers.into_iter().for_each(finish);
}

fn key() {
    // Given a valid key,
    let key = thing(1);
    // when it is read, several times,
    let reader = {
        let key = key.clone();
        actor("reader", move || {
            let early = mutant::is("classic.key_read_while_revoked");
            (0..3).for_each(|_| key.check_and_use(early));
        })
    };
    // while it is revoked,
    let revoker = actor("revoker", move || key.take_away());
    // then a key that is read is valid.
    finish(reader);
    finish(revoker);
}

fn context() {
    // Given a task with a context,
    let context = thing(1);
    // when its priority is asked for
    let asker = {
        let context = context.clone();
        actor("asker", move || {
            if mutant::is("classic.context_read_without_lock") {
                if context.is_there() {
                    context.use_it();
                }
            } else {
                context.check_and_use(false);
            }
        })
    };
    // while the task ends,
    let ending = actor("ending task", move || context.take_away());
    // then what is read is there.
    finish(asker);
    finish(ending);
}
