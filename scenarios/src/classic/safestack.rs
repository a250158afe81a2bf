//! A lock-free stack of three slots, of which three tasks each take one, use it and put it back.
//!
//! A pop makes the top slot its own by swapping its link for a mark, and takes it off if it is still
//! on top; otherwise it swaps the link back. Meanwhile the slot may have been taken, put back and
//! linked to another, so that an old link comes back, and two tasks end up with one slot. It takes
//! all three tasks and five preemptions. Right is one lock around each operation.
//! Source: Vyukov's SafeStack; `safestack` of SCTBench. Here without the count of slots, and a pop
//! tries twice rather than until it succeeds: with them, a million executions often show nothing.

use crate::classic::lock;
use crate::door::sync::atomic::{AtomicI32, Ordering::SeqCst};
use crate::door::sync::{Arc, Mutex, MutexGuard};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

const SLOTS: usize = 3;
const TASKS: usize = 3;
const ROUNDS: usize = 4;
const TRIES: usize = 2;

register!(Scenario {
    name: "safestack",
    area: "classic",
    summary: "three tasks pop, use and push slots of a lock-free stack",
    rules: &["I-ALONE"],
    mutants: &[MutantCase {
        name: "classic.safestack",
        budget: 500_000,
        note: "no lock around pop and push: an old link may come back",
        ..MutantCase::BASE
    }],
    body: safestack,
    ..Scenario::BASE
});

#[derive(Default)]
struct Slot {
    owners: AtomicI32,
    /// The slot below, -1 for none or while somebody has this one.
    next: AtomicI32,
}

struct SafeStack {
    lock: Mutex<()>,
    head: AtomicI32,
    slots: [Slot; SLOTS],
}

impl SafeStack {
    fn lock(&self) -> Option<MutexGuard<'_, ()>> {
        (!mutant::is("classic.safestack")).then(|| lock(&self.lock))
    }

    fn pop(&self) -> Option<usize> {
        let _lock = self.lock();
        for _ in 0..TRIES {
            let head = self.head.load(SeqCst);
            let slot = usize::try_from(head).ok()?;
            let next = self.slots[slot].next.swap(-1, SeqCst);
            if next >= 0 {
                if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                    note!("pops slot {slot}");
                    return Some(slot);
                }
                self.slots[slot].next.swap(next, SeqCst);
            }
        }
        None
    }

    fn push(&self, slot: usize) {
        let _lock = self.lock();
        loop {
            let head = self.head.load(SeqCst);
            self.slots[slot].next.store(head, SeqCst);
            if self.head.compare_exchange(head, slot as i32, SeqCst, SeqCst).is_ok() {
                note!("pushes slot {slot}");
                return;
            }
        }
    }
}

fn safestack() {
    // Given a stack of three slots,
    let stack = Arc::new(SafeStack {
        lock: Mutex::new(()),
        head: AtomicI32::new(0),
        slots: std::array::from_fn(|slot| Slot {
            owners: AtomicI32::new(0),
            next: AtomicI32::new(if slot + 1 < SLOTS { slot as i32 + 1 } else { -1 }),
        }),
    });
    // when tasks take slots,
    let tasks: [_; TASKS] = std::array::from_fn(|_| {
        let stack = stack.clone();
        actor("task", move || {
            for _ in 0..ROUNDS {
                let Some(slot) = stack.pop() else { continue };
                let owners = &stack.slots[slot].owners;
                let others = owners.fetch_add(1, SeqCst);
                // then nobody else has the same one.
                assert!(others == 0, "I-ALONE: slot {slot} belongs to one task, but two have it");
                owners.fetch_sub(1, SeqCst);
                stack.push(slot);
            }
        })
    });
    tasks.into_iter().for_each(finish);
}
