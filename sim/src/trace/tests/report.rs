use super::build::{Build, assert_lines, assert_picture};
use crate::trace::{OpKind, Trace, What};

const REPLAY: &str =
    "HOLDUP_SEED=20937 cargo test -p scenarios --test pins -- --exact pin_vs_evict";

/// Two tasks, two locks, the wrong way round.
fn deadlock() -> Trace {
    let mut trace = Build::new(&["main", "a", "b"], &["header 0", "header 1"])
        .loads(0)
        .joins(1)
        .locks("spinlock", 0)
        .note("locks header 0")
        .preempted(2)
        .locks("spinlock", 1)
        .note("locks header 1")
        .waits(0, 1, 1)
        .waits(1, 2, 1)
        .fails(
            "deadlock",
            "2 tasks wait for each other",
            &[
                "a holds header 0 since engine/src/buffer/pin.rs:31, waits for header 1",
                "b holds header 1 since engine/src/buffer/pin.rs:47, waits for header 0",
            ],
        )
        .trace;
    trace.mutant = Some("pin.lock_order".to_owned());
    trace
}

#[test]
fn a_deadlock_is_told_in_under_30_lines() {
    let report = deadlock().failure_report(REPLAY);

    assert!(report.lines().count() < 30);
    assert_picture(
        &report,
        "
failed  pin_vs_evict   seed 20937   scheduler portfolio (pct3)   mutant pin.lock_order   1 preemption
verdict deadlock in a: 2 tasks wait for each other
        a holds header 0 since engine/src/buffer/pin.rs:31, waits for header 1
        b holds header 1 since engine/src/buffer/pin.rs:47, waits for header 0
shape   main  #b.....
        a     ..#P..b
        b     ....#b.
        # runs  = runs, holding a lock  P preempted  b blocked  . does not run

step |  a                                       |  b
   1 |= locks header 0                          |
   2 |= -- preempted in spinlock of header 0 -- |
   3 |=                                         |= locks header 1
   4 |=                                         |= -- waits for header 0, held by a --
   5 |= -- waits for header 1, held by b --     |=

at      engine/src/buffer/pin.rs:218 (failure), engine/src/buffer/pin.rs:6 (a preempted)
replay  HOLDUP_SEED=20937 cargo test -p scenarios --test pins -- --exact pin_vs_evict
",
    );
}

/// A reader loops, notes a lot and breaks a rule.
fn long_failure() -> Trace {
    let message = "I-ID2: nobody pins a nameless frame, but buffer 0 had 2 pins, one of which the \
                   reader took after it had looked up page 1 and before it had locked the header";
    (0..40)
        .fold(Build::new(&["main", "reader"], &["buffer 0 state"]).joins(1), |build, i| {
            let build = build.locks("header lock", 0).note(&format!("reads page {i}"));
            build.repeat(20, |build| build.op(OpKind::Load, 0, 0, 0)).unlocks("header lock", 0)
        })
        .panics("I-ID2", message)
        .trace
}

#[test]
fn of_a_long_timeline_a_report_shows_the_end() {
    let trace = long_failure();
    let report = trace.failure_report(REPLAY);

    assert!(report.lines().count() < 30);
    assert_picture(
        &report,
        "
failed  pin_vs_evict   seed 20937   scheduler portfolio (pct3)   0 preemptions
verdict I-ID2 in reader: nobody pins a nameless frame, but buffer 0 had 2 pins, one of which the reader took after it
        had looked up page 1 and before it had locked the header
shape   main    #b..........................................................
        reader  ..=#=#=#=#=#=#=#=#=#=#=#=#=#=#=#=#=#=#======================
        # runs  = runs, holding a lock  P preempted  b blocked  . does not run

step |  reader
(… 29 earlier rows: HOLDUP_TRACE=1)
  30 |= reads page 29
  31 |= reads page 30
  32 |= reads page 31
  33 |= reads page 32
  34 |= reads page 33
  35 |= reads page 34
  36 |= reads page 35
  37 |= reads page 36
  38 |= reads page 37
  39 |= reads page 38
  40 |= reads page 39
  41 |  -- breaks I-ID2 --

at      engine/src/buffer/pin.rs:218 (failure)
replay  HOLDUP_SEED=20937 cargo test -p scenarios --test pins -- --exact pin_vs_evict
",
    );
}

#[test]
fn a_full_report_shows_every_row_and_detail() {
    let mut trace = long_failure();
    let failure = trace.failure.as_mut().unwrap();
    failure.detail = (0..50).map(|i| format!("detail {i}: {}", "long ".repeat(40))).collect();

    let full = trace.failure_report_with(REPLAY, true);
    let short = trace.failure_report(REPLAY);

    assert_lines(&full);
    assert_lines(&short);
    assert!(full.contains("reads page 0") && full.contains("detail 49"));
    assert!(!short.contains("reads page 0") && !short.contains("detail 49"));
    assert!(short.contains("(… 47 more lines: HOLDUP_TRACE=1)"));
    assert!(short.lines().count() < 30, "{short}");
    assert!(full.ends_with(&format!("replay  {REPLAY}")));
    assert!(short.ends_with(&format!("replay  {REPLAY}")));
}

#[test]
fn many_tasks_with_long_names_stay_within_the_limits() {
    let names: Vec<String> = (0..30).map(|i| format!("backend process number {i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let trace = (0..300)
        .fold(Build::new(&names, &["a"]), |build, i| {
            build.loads(0).note(&"does something long ".repeat(i % 9)).preempted(i as u32 % 30)
        })
        .panics("panic", &"what a long message ".repeat(100))
        .trace;

    let report = trace.failure_report(REPLAY);
    assert_lines(&report);
    assert_lines(&trace.timeline());
    assert_lines(&trace.shape());
    assert!(report.lines().count() < 45, "{report}");
}

#[test]
fn an_execution_that_passed_has_a_report_too() {
    let trace = Build::new(&["main"], &[]).note("does nothing wrong").trace;

    assert_picture(
        &trace.failure_report(REPLAY),
        "
passed  pin_vs_evict   seed 20937   scheduler portfolio (pct3)   0 preemptions
verdict no rule was broken
shape   main  #
        # runs  = runs, holding a lock  P preempted  b blocked  . does not run

step | main
   1 | does nothing wrong

replay  HOLDUP_SEED=20937 cargo test -p scenarios --test pins -- --exact pin_vs_evict
",
    );
}

#[test]
fn a_shape_is_drawn_step_by_step_while_it_fits() {
    let begin = What::HoldBegin { kind: "spinlock", object: 0 };
    let trace = Build::new(&["main", "reader", "evictor", "never runs"], &["a"])
        .repeat(3, |build| build.loads(0))
        .joins(1)
        .repeat(2, |build| build.loads(0))
        .what(begin)
        .repeat(4, |build| build.loads(0))
        .preempted(2)
        .loads(0)
        .waits(0, 1, 1)
        .loads(0)
        .what(What::HoldEnd { kind: "spinlock", object: 0 })
        .loads(0)
        .ends(2)
        .repeat(2, |build| build.loads(0))
        .trace;

    assert_picture(
        &trace.shape(),
        "
main     ###b.............
reader   ....##====P..=#..
evictor  ...........#b..##
",
    );
}

#[test]
fn a_long_shape_shrinks_but_keeps_every_mark() {
    let trace = (0..12)
        .fold(Build::new(&["main", "a"], &["lock"]), |build, i| {
            let build = build.repeat(50 * (i + 1), |build| build.loads(0)).preempted(1);
            build.loads(0).waits(0, 0, 0)
        })
        .trace;

    let shape = trace.shape();
    let marks = |mark| shape.chars().filter(|c| *c == mark).count();
    assert_eq!((marks('P'), marks('b')), (12, 12));
    assert_picture(
        &shape,
        "
main  #P..#P..#P..#P..#P..#P..##P..##P..##P..##P..##P..##P..
a     ..#b..#b..#b..#b..#b..#b...#b...#b...#b...#b...#b...#b
",
    );
}

#[test]
fn of_a_shape_of_too_many_marks_the_end_is_shown() {
    let trace = Build::new(&["main", "a"], &["lock"])
        .repeat(100, |build| build.loads(0).preempted(1).loads(0).preempted(0))
        .loads(0)
        .trace;

    assert_picture(
        &trace.shape(),
        "
main  ….P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.
a     …P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P.P
",
    );
}
