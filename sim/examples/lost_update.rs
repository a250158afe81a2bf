//! Two tasks add one to a counter, each with a load and a store. One of the additions can get lost.
//!
//! `cargo run -p holdup --example lost_update`

use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::{Checker, name_word, note, thread};

fn lost_update() {
    let count = AtomicU32::new(0);
    name_word!(&count, |value| value.to_string(), "count");
    let add_one = || {
        let old = count.load(SeqCst);
        note!("finds {old}");
        count.store(old + 1, SeqCst); // should have been fetch_add
        note!("stores {}", old + 1);
    };
    thread::scope(|scope| {
        scope.spawn(add_one);
        scope.spawn(add_one);
    });
    assert_eq!(count.load(SeqCst), 2, "both additions count");
}

fn main() {
    let checker = Checker::new("lost update");
    let report = checker.run(&lost_update);
    let found = report.first_failure.expect("an update gets lost");
    println!("{} of {} executions lose an update\n", report.failures, report.executions);

    let again = checker.trace(found.seed, &lost_update);
    assert_eq!(again.failure, Some(found.failure), "a seed is an execution");
    println!("{}", again.failure_report("cargo run -p holdup --example lost_update"));
}

#[test]
fn an_update_gets_lost() {
    main();
}
