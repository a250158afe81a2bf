//! A lock with its owner's name on it: who is inside must find its own name there.
//!
//! An owner that gives the lock back wipes its name while it still has it. The bug gives it back
//! first, so that the name it wipes may be that of the next owner, who would wait for itself if it
//! entered again.
//! Source: the re-entrant monitors of Netscape's runtime; in the manner of `bug4` of RADBench
//! (Jalbert et al., HotPar 2011).

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, hint, mutant, register};

const TASKS: u32 = 3;

register!(Scenario {
    name: "monitor-ownership",
    area: "classic",
    summary: "three tasks enter and leave a re-entrant monitor",
    rules: &["I-OWNER"],
    mutants: &[MutantCase {
        name: "classic.monitor_ownership",
        budget: 2_000,
        note: "the owner's name is wiped after the lock has been given back",
        preemptions: Some(2),
        ..MutantCase::BASE
    }],
    body: monitor_ownership,
    ..Scenario::BASE
});

#[derive(Default)]
struct Monitor {
    is_locked: AtomicBool,
    /// Who has it, or 0.
    owner: AtomicU32,
}

impl Monitor {
    fn enter(&self, me: u32) {
        while self.is_locked.swap(true, SeqCst) {
            hint::spin_until(&self.is_locked, |is_locked| is_locked == 0);
        }
        self.owner.store(me, SeqCst);
    }

    fn leave(&self) {
        if mutant::is("classic.monitor_ownership") {
            self.is_locked.store(false, SeqCst);
            self.owner.store(0, SeqCst);
        } else {
            self.owner.store(0, SeqCst);
            self.is_locked.store(false, SeqCst);
        }
    }
}

fn monitor_ownership() {
    // Given a monitor that nobody is in,
    let monitor = Arc::new(Monitor::default());
    let tasks: [_; TASKS as usize] = std::array::from_fn(|task| {
        let monitor = monitor.clone();
        let me = task as u32 + 1;
        actor("task", move || {
            // when tasks enter it,
            monitor.enter(me);
            // then whoever is in it finds its name there.
            let owner = monitor.owner.load(SeqCst);
            assert!(owner == me, "I-OWNER: {me} is inside, but the monitor says {owner}");
            monitor.leave();
        })
    });
    tasks.into_iter().for_each(finish);
}
