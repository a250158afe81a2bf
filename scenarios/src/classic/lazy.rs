//! Three tasks: one adds 1, one adds 2, and one checks that what it finds is possible.
//!
//! The bug takes a sum of 3, which all orders but two avoid, for an impossible one.
//! Source: `lazy01_bad` of SCTBench.

use crate::classic::lock;
use crate::door::sync::{Arc, Mutex};
use crate::door::{MutantCase, Scenario, actor, finish, mutant, register};

register!(Scenario {
    name: "lazy01",
    area: "classic",
    summary: "two tasks add 1 and 2 while a third checks the sum",
    rules: &["I-SUM"],
    mutants: &[MutantCase {
        name: "classic.lazy01",
        budget: 100,
        note: "the third task counts on coming before one of the others",
        preemptions: Some(0),
        ..MutantCase::BASE
    }],
    body: lazy01,
    ..Scenario::BASE
});

fn lazy01() {
    // Given a sum of 0,
    let sum = Arc::new(Mutex::new(0));
    // when one task adds 1 and another 2,
    let add = |role, n| {
        let sum = sum.clone();
        actor(role, move || *lock(&sum) += n)
    };
    let adders = [add("adds 1", 1), add("adds 2", 2)];
    // then a third finds at most 3.
    let most = if mutant::is("classic.lazy01") { 2 } else { 3 };
    let checker = actor("checker", move || {
        let sum = *lock(&sum);
        assert!(sum <= most, "I-SUM: at most {most}, but it is {sum}");
    });
    adders.into_iter().for_each(finish);
    finish(checker);
}
