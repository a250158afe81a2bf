//! How columns share the width.

use super::build::{Build, assert_lines, assert_picture};
use crate::trace::{OpKind, SwitchReason, Trace, What};

#[test]
fn long_notes_wrap_inside_their_cell() {
    let long = "finds that the page is not where the mapping said, since the evictor took the \
                buffer in between, and starts all over";
    let trace = Build::new(&["main", "reader", "evictor"], &["buffer 0 state", "mapping"])
        .note("starts")
        .joins(1)
        .note(long)
        .preempted(2)
        .what(What::HoldBegin { kind: "partition lock", object: 1 })
        .note(long)
        .note("a_word_that_is_so_long_that_no_column_can_ever_take_it_whole_and_that_has_no_gap")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
= holds a lock
step | main   | reader                                             |  evictor
   1 | starts |                                                    |
   2 |        | finds that the page is not where the mapping said, |
     |        |   since the evictor took the buffer in between,    |
     |        |   and starts all over                              |
   3 |        | -- preempted --                                    |
   4 |        |                                                    |= finds that the page is not where the mapping said,
     |        |                                                    |=   since the evictor took the buffer in between,
     |        |                                                    |=   and starts all over
   5 |        |                                                    |= a_word_that_is_so_long_that_no_column_can_ever_tak
     |        |                                                    |=   e_it_whole_and_that_has_no_gap
",
    );
}

#[test]
fn the_quietest_of_many_tasks_share_a_column() {
    let names = ["main", "a", "b", "c", "d", "e", "f", "g"];
    let trace = (1..names.len() as u32).fold(Build::new(&names, &["lock"]), |build, task| {
        let build = build.switch(task, SwitchReason::Yielded).note("starts");
        if task % 3 == 0 { build } else { build.note("works").note("ends") }
    });
    let trace = trace
        .switch(3, SwitchReason::Yielded)
        .what(What::HoldBegin { kind: "spinlock", object: 0 })
        .note("has the lock")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
= holds a lock
step | a      | b      | d      | e      | g      |  others
   1 | starts |        |        |        |        |
   2 | works  |        |        |        |        |
   3 | ends   |        |        |        |        |
   4 |        | starts |        |        |        |
   5 |        | works  |        |        |        |
   6 |        | ends   |        |        |        |
   7 |        |        |        |        |        |  c: starts
   8 |        |        | starts |        |        |
   9 |        |        | works  |        |        |
  10 |        |        | ends   |        |        |
  11 |        |        |        | starts |        |
  12 |        |        |        | works  |        |
  13 |        |        |        | ends   |        |
  14 |        |        |        |        |        |  f: starts
  15 |        |        |        |        | starts |
  16 |        |        |        |        | works  |
  17 |        |        |        |        | ends   |
  18 |        |        |        |        |        |= c: has the lock
",
    );
}

#[test]
fn columns_that_would_be_too_narrow_are_shared_too() {
    let names = ["main", "reader one", "reader two", "reader three", "reader four", "reader five"];
    let long = "notes something that is rather long to say";
    let trace = (0..names.len() as u32).fold(Build::new(&names, &["word"]), |build, task| {
        let build = build.switch(task, SwitchReason::Yielded).op(OpKind::Store, 0, 9, task.into());
        build.note(long)
    });
    let trace = trace.show(0, |word| format!("the word is now {word}, which is a lot")).trace;

    assert_picture(
        &trace.timeline(),
        "
step | main             | reader one       | reader two       | reader three      | others            | shared word:
     |                  |                  |                  |                   |                   |   word
   1 | notes something  |                  |                  |                   |                   | the word is now
     |   that is rather |                  |                  |                   |                   |   0, which is a
     |   long to say    |                  |                  |                   |                   |   lot
   2 |                  | notes something  |                  |                   |                   | the word is now
     |                  |   that is rather |                  |                   |                   |   1, which is a
     |                  |   long to say    |                  |                   |                   |   lot
   3 |                  |                  | notes something  |                   |                   | the word is now
     |                  |                  |   that is rather |                   |                   |   2, which is a
     |                  |                  |   long to say    |                   |                   |   lot
   4 |                  |                  |                  | notes something   |                   | the word is now
     |                  |                  |                  |   that is rather  |                   |   3, which is a
     |                  |                  |                  |   long to say     |                   |   lot
   5 |                  |                  |                  |                   | reader four:      | the word is now
     |                  |                  |                  |                   |   notes something |   4, which is a
     |                  |                  |                  |                   |   that is rather  |   lot
     |                  |                  |                  |                   |   long to say     |
   6 |                  |                  |                  |                   | reader five:      | the word is now
     |                  |                  |                  |                   |   notes something |   5, which is a
     |                  |                  |                  |                   |   that is rather  |   lot
     |                  |                  |                  |                   |   long to say     |
",
    );
}

/// A trace of nothing but accidents, from a linear congruential generator.
fn random(seed: u64) -> Trace {
    let mut state = seed;
    let mut below = move |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let names: Vec<String> = (0..1 + below(9)).map(|i| format!("task number {i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let n_tasks = names.len() as u64;
    let mut build = Build::new(&names, &["word", "buffer 0 state", "lock"]);
    if below(4) > 0 {
        build = build.show(0, |word| format!("{word} pins")).show(1, |word| format!("at {word}"));
    }
    let talks = below(5);
    for _ in 0..below(400) {
        let (object, to) = (below(3) as u32, below(n_tasks) as u32);
        let kind = ["header lock", "spinlock"][below(2) as usize];
        build = match below(11) {
            0..=2 if talks == 0 => build.loads(object),
            0 => build.note(&"says something that may be long ".repeat(below(6) as usize)),
            1..=2 => build.note(["a", "b", "c"][below(3) as usize]),
            3..=4 => build.op(OpKind::CompareExchange, object, below(4), below(4)),
            5 => build.preempted(to),
            6 => build.waits(object, below(n_tasks) as u32, to),
            7 => build.what(What::HoldBegin { kind, object }),
            8 => build.what(What::HoldEnd { kind, object }),
            9 => build.switch(to, SwitchReason::Sleeping),
            _ => build.ends(to),
        };
    }
    if below(2) == 0 { build.trace } else { build.panics("panic", "it went wrong").trace }
}

#[test]
fn whatever_happened_no_line_is_too_wide() {
    for trace in (0..500).map(random) {
        assert_lines(&trace.timeline());
        assert_lines(&trace.shape());
        assert_lines(&trace.failure_report("again"));
        assert_lines(&trace.failure_report_with("again", true));
        assert!(trace.to_html().ends_with("</html>\n"));
        assert!(trace.to_json()["events"].is_array());
        assert!(trace.to_perfetto()["traceEvents"].is_array());
        let widest = trace.shape().lines().map(|line| line.chars().count()).max();
        assert!(widest.unwrap_or(0) <= "task number 0  ".len() + 60, "{}", trace.shape());
    }
}
