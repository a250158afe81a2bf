//! A lock-free stack whose nodes come back: the top may be the same node again with another below.
//!
//! A pop reads the top and what is below it, and puts that in the top's place if it still is the top.
//! With a count beside the top this is right. The bug leaves the count out: while one pop is under
//! way, others take both nodes and push the first again, and the pop puts on top what somebody has.
//! Source: Treiber 1986; the ABA problem, IBM System/370 Principles of Operation.

use crate::door::sync::Arc;
use crate::door::sync::atomic::{AtomicU64, Ordering::SeqCst};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, note, register};

const NODES: usize = 2;
/// No node.
const NONE: u64 = NODES as u64;

register!(Scenario {
    name: "treiber-stack",
    area: "classic",
    summary: "a pop is overtaken by two pops and a push of the same node",
    rules: &["I-ALONE"],
    mutants: &[MutantCase {
        name: "classic.treiber_stack",
        budget: 5_000,
        note: "the top has no count of its changes, so that the same node passes for no change",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: treiber_stack,
    script: Some(
        "popper until \"finds node 1 below node 0\"\n\
         shuffler until \"pushes node 0\"\n\
         popper to the end\n",
    ),
    script_mutant: Some("classic.treiber_stack"),
    ..Scenario::BASE
});

struct Stack {
    /// The top node, and above bit 32 how often it changed.
    top: AtomicU64,
    below: [AtomicU64; NODES],
    /// How many have each node.
    owners: [AtomicU64; NODES],
}

/// The node of a top.
fn node(top: u64) -> u64 {
    top & 0xffff_ffff
}

impl Stack {
    fn replace(&self, top: u64, node: u64) -> bool {
        let change = if mutant::is("classic.treiber_stack") { 0 } else { (top >> 32) + 1 };
        self.top.compare_exchange(top, change << 32 | node, SeqCst, SeqCst).is_ok()
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let top = self.top.load(SeqCst);
            let taken = node(top);
            if taken == NONE {
                return None;
            }
            let below = self.below[taken as usize].load(SeqCst);
            note!("finds node {below} below node {taken}");
            if self.replace(top, below) {
                note!("pops node {taken}");
                let others = self.owners[taken as usize].fetch_add(1, SeqCst);
                assert!(others == 0, "I-ALONE: a node that was popped belongs to one task");
                return Some(taken as usize);
            }
        }
    }

    fn push(&self, pushed: usize) {
        self.owners[pushed].fetch_sub(1, SeqCst);
        loop {
            let top = self.top.load(SeqCst);
            self.below[pushed].store(node(top), SeqCst);
            if self.replace(top, pushed as u64) {
                note!("pushes node {pushed}");
                return;
            }
        }
    }
}

fn treiber_stack() {
    // Given node 0 on top of node 1,
    let stack = Arc::new(Stack {
        top: AtomicU64::new(0),
        below: [AtomicU64::new(1), AtomicU64::new(NONE)],
        owners: [AtomicU64::new(0), AtomicU64::new(0)],
    });
    // when one task pops twice
    let popper = {
        let stack = stack.clone();
        actor("popper", move || {
            let _first = stack.pop();
            let _second = stack.pop();
        })
    };
    // while another pops both and pushes the first again,
    let shuffler = actor("shuffler", move || {
        let first = stack.pop();
        let _second = stack.pop();
        if let Some(first) = first {
            stack.push(first);
        }
    });
    // then no node has two owners.
    finish(popper);
    finish(shuffler);
}
