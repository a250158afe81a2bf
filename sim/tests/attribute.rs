//! `#[holdup::test]`: what it runs, what it prints, and what the environment changes.
//!
//! Tests that are meant to fail pass at once, unless the variable [`CHILD`] is set. The others start
//! this very program again with it, and read what comes out.

use std::process::Command;

use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::thread;

const CHILD: &str = "ATTRIBUTE_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn lost_update() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(count.load(SeqCst), 2, "both updates count");
}

#[holdup::test]
fn a_right_program_passes() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| count.fetch_add(1, SeqCst));
        scope.spawn(|| count.fetch_add(1, SeqCst));
    });
    assert_eq!(count.load(SeqCst), 2);
}

#[holdup::test(seeds = 500, scheduler = "pct3", max_steps = 10_000, jobs = 2)]
#[should_panic(expected = "both updates count")]
fn options_are_taken_and_attributes_stay() {
    lost_update();
}

#[holdup::test(mutant = "attribute.bug")]
#[should_panic(expected = "the bug is on")]
fn a_mutant_is_switched_on() {
    assert!(!holdup::mutant::is("attribute.bug"), "the bug is on");
}

/// Two tasks that change plain memory with nothing between them.
fn race() {
    let word = 0_u64;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| holdup::memory::write((&raw const word).cast(), size_of_val(&word)));
        }
    });
}

#[holdup::test]
#[should_panic(expected = "data-race")]
fn races_are_looked_for() {
    race();
}

#[holdup::test(race_check = true)]
#[should_panic(expected = "data-race")]
fn races_are_looked_for_where_that_is_asked() {
    race();
}

#[holdup::test(race_check = false)]
fn races_can_be_let_pass() {
    race();
}

#[holdup::test(max_steps = 100)]
#[should_panic(expected = "step-limit")]
fn an_endless_execution_fails() {
    let word = AtomicU32::new(0);
    loop {
        word.fetch_add(1, SeqCst);
    }
}

#[holdup::test(scheduler = "fair")]
#[should_panic(expected = "no scheduler is called \"fair\"")]
fn an_unknown_scheduler_is_named() {}

#[cfg(any())]
#[holdup::test]
fn a_test_that_is_left_out() {
    compile_error!("this test is left out");
}

mod inner {
    #[holdup::test(seeds = 2_000)]
    fn fails_in_a_child() {
        if super::is_child() {
            super::lost_update();
        }
    }
}

#[holdup::test]
fn always_fails_in_a_child() {
    assert!(!is_child(), "always");
}

/// Runs the test `name` in a child that fails; returns all it prints.
fn child(name: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("HOLDUP_") {
            command.env_remove(variable);
        }
    }
    command.args([name, "--exact"]).env(CHILD, "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("running 1 test\n"), "{name} names one test:\n{text}");
    assert_eq!(output.status.code(), Some(101), "{text}");
    text.into_owned()
}

/// The one line of `text` that replays the failure.
fn replay_line(text: &str) -> &str {
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("replay")).collect();
    let &[line] = &*lines else { panic!("one line begins with `replay`:\n{text}") };
    line["replay".len()..].trim()
}

/// The headline of the report, with name, seed and scheduler.
fn headline(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("failed  ")).unwrap()
}

#[test]
fn the_replay_line_replays() {
    let first = child("inner::fails_in_a_child", &[]);

    let line = replay_line(&first);
    let (seed, command) = line.strip_prefix("HOLDUP_SEED=").unwrap().split_once(' ').unwrap();
    let name = command.strip_prefix("cargo test -p holdup ").unwrap();
    let name = name.strip_suffix(" -- --exact").unwrap();
    let again = child(name, &[("HOLDUP_SEED", seed)]);

    assert_eq!(headline(&again), headline(&first));
    assert_eq!(replay_line(&again), line);
    assert!(again.contains("failed on execution 1 of 1\n"), "{again}");
}

#[test]
fn the_environment_overrides_the_options() {
    let test = "always_fails_in_a_child";
    assert!(replay_line(&child(test, &[])).starts_with("HOLDUP_SEED=0 cargo test"));

    let text = child(test, &[("HOLDUP_SEEDS", "0x28..50")]);
    assert!(replay_line(&text).starts_with("HOLDUP_SEED=40 cargo test"), "{text}");

    let text = child(test, &[("HOLDUP_SHARD", "2/5"), ("HOLDUP_JOBS", "2")]);
    assert!(replay_line(&text).starts_with("HOLDUP_SEED=2 cargo test"), "{text}");

    let text = child(test, &[("HOLDUP_SCHEDULER", "pct2")]);
    let expected = "HOLDUP_SEED=0 HOLDUP_SCHEDULER=pct2 cargo test";
    assert!(replay_line(&text).starts_with(expected), "{text}");
}

#[test]
fn a_malformed_variable_is_an_error() {
    let text = child("a_right_program_passes", &[("HOLDUP_SEED", "seven")]);

    assert!(text.contains("HOLDUP_SEED=\"seven\" cannot be used"), "{text}");
}
