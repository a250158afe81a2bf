//! One task pushes, another pops once there is something.
//!
//! The bug remembers that there once was something instead of counting what there is, so that a pop
//! may come too early.
//! Source: `stack_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

const ITEMS: usize = 5;

register!(Scenario {
    name: "stack",
    area: "classic",
    summary: "one task pushes while another pops what it believes to be there",
    rules: &["I-UNDERFLOW"],
    mutants: &[MutantCase {
        name: "classic.stack",
        budget: 1_000,
        note: "that something was there once counts as something there",
        preemptions: Some(1),
        ..MutantCase::BASE
    }],
    body: stack,
    ..Scenario::BASE
});

#[derive(Default)]
struct Stack {
    items: Vec<usize>,
    was_filled: bool,
}

fn stack() {
    // Given an empty stack,
    let stack = Arc::new(Mutex::new(Stack::default()));
    // when one task pushes
    let pusher = {
        let stack = stack.clone();
        actor("pusher", move || {
            for item in 0..ITEMS {
                let mut stack = lock(&stack);
                stack.items.push(item);
                stack.was_filled = true;
            }
        })
    };
    // and another pops,
    let popper = actor("popper", move || {
        for _ in 0..ITEMS {
            let mut stack = lock(&stack);
            let believes = if mutant::is("classic.stack") {
                stack.was_filled
            } else {
                !stack.items.is_empty()
            };
            if believes {
                // then there is something to pop.
                assert!(stack.items.pop().is_some(), "I-UNDERFLOW: an empty stack is not popped");
            }
        }
    });
    finish(pusher);
    finish(popper);
}
