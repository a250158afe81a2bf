use super::build::{Build, assert_picture};
use crate::trace::{OpKind, SwitchReason, Trace, What};

const MAIN: u32 = 0;
const READER: u32 = 1;
const EVICTOR: u32 = 2;

/// A buffer's state: a lock bit and a number of pins.
fn state(word: u64) -> String {
    format!("refs {}{}", word & 0xff, if word & 0x100 == 0 { "" } else { ", locked" })
}

fn three() -> Build {
    Build::new(&["main", "reader", "evictor"], &["buffer 0 state", "mapping"])
}

#[test]
fn a_scenario_reads_like_a_story() {
    let trace = three()
        .note("takes buffer 0")
        .note("loads page 1 into buffer 0")
        .loads(0)
        .note("unpins buffer 0")
        .joins(READER)
        .loads(0)
        .note("finds page 1 in buffer 0")
        .switch(EVICTOR, SwitchReason::Yielded)
        .note("takes buffer 0")
        .note("loads page 2 into buffer 0")
        .note("unpins buffer 0")
        .ends(READER)
        .note("pins buffer 0")
        .note("finds another page there, unpins buffer 0")
        .ends(MAIN)
        .trace;

    assert_picture(
        &trace.timeline(),
        "
step | main                       | reader                                    | evictor
   1 | takes buffer 0             |                                           |
   2 | loads page 1 into buffer 0 |                                           |
   3 | unpins buffer 0            |                                           |
   4 |                            | finds page 1 in buffer 0                  |
   5 |                            |                                           | takes buffer 0
   6 |                            |                                           | loads page 2 into buffer 0
   7 |                            |                                           | unpins buffer 0
   8 |                            | pins buffer 0                             |
   9 |                            | finds another page there, unpins buffer 0 |
",
    );
}

/// The reader looks before it locks; the evictor is taken off the processor inside its hold.
fn hold_race() -> Build {
    let (lock, unlock) = (OpKind::CompareExchange, OpKind::Store);
    let begin = |kind| What::HoldBegin { kind, object: 0 };
    let end = |kind| What::HoldEnd { kind, object: 0 };
    three()
        .show(0, state)
        .op(unlock, 0, 1, 0)
        .joins(READER)
        .note("finds page 1 in buffer 0")
        .preempted(EVICTOR)
        .op(lock, 0, 0, 0x100)
        .what(begin("header lock"))
        .note("takes buffer 0")
        .preempted(READER)
        .op(lock, 0, 0x100, 0x100)
        .waits(0, EVICTOR, EVICTOR)
        .op(unlock, 0, 0x100, 1)
        .what(end("header lock"))
        .note("loads page 2 into buffer 0")
        .op(OpKind::ReadModifyWrite, 0, 1, 0)
        .ends(READER)
        .op(lock, 0, 0, 0x100)
        .what(begin("header lock"))
        .op(unlock, 0, 0x100, 1)
        .what(end("header lock"))
        .note("pins buffer 0")
}

#[test]
fn holds_preemptions_waits_and_the_shared_word_are_shown() {
    assert_picture(
        &hold_race().ends(MAIN).trace.timeline(),
        "
= holds a lock
step | reader                                        |  evictor                                       | shared word:
     |                                               |                                                |   buffer 0 state
   1 | finds page 1 in buffer 0                      |                                                |
   2 | -- preempted --                               |                                                |
   3 |                                               |= takes buffer 0                                | refs 0, locked
   4 |                                               |= -- preempted in header lock of buffer 0       |
     |                                               |=   state --                                    |
   5 | -- waits for buffer 0 state, held by          |=                                               |
     |   evictor --                                  |=                                               |
   6 |                                               |  loads page 2 into buffer 0                    | refs 1 -> refs 0
   7 | pins buffer 0                                 |                                                | refs 1
",
    );
}

#[test]
fn an_inserted_operation_changes_no_picture() {
    let with_loads = |build: Build, n| {
        let trace = three().repeat(n, |build| build.loads(1)).trace;
        let mut events = trace.events;
        let late = build.trace.events.into_iter().map(|mut event| {
            event.step += n as u64;
            event.now_ns += 1000 * n as u64;
            event
        });
        events.extend(late);
        Trace { events, ..build.trace }
    };

    assert_eq!(hold_race().trace.timeline(), with_loads(hold_race(), 5).timeline());
}

#[test]
fn several_shared_words_are_told_apart() {
    let trace = Build::new(&["main", "a", "b"], &["first", "second"])
        .show(0, |word| format!("{word} pins"))
        .show(1, |word| format!("at {word}"))
        .op(OpKind::Store, 0, 0, 1)
        .note("starts")
        .joins(1)
        .op(OpKind::Store, 1, 0, 7)
        .op(OpKind::Store, 0, 1, 2)
        .note("moves both")
        .ends(2)
        .op(OpKind::Store, 0, 2, 3)
        .preempted(0)
        .op(OpKind::Store, 1, 7, 8)
        .op(OpKind::Store, 1, 8, 7)
        .note("sees no change")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
step | main           | a          | b             | shared words
   1 | starts         |            |               | first: 1 pins
   2 |                | moves both |               | second: at 7
     |                |            |               | first: 2 pins
   3 |                |            | changes first | first: 3 pins
   4 | sees no change |            |               |
",
    );
}

#[test]
fn loops_are_folded() {
    let trace = three()
        .repeat(3, |build| build.note("counts").loads(1))
        .joins(READER)
        .note("starts")
        .repeat(12, |build| build.note("looks").loads(0).note("is too late").note("tries again"))
        .note("gives up")
        .note("rests")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
step | main       | reader
   1 | counts x 3 |
   2 |            | starts
   3 |            | looks
   4 |            | is too late
   5 |            | tries again (3 rows x 12)
   6 |            | gives up
   7 |            | rests
",
    );
}

#[test]
fn a_spinning_waiter_makes_one_row() {
    let trace = three()
        .joins(EVICTOR)
        .what(What::HoldBegin { kind: "header lock", object: 0 })
        .note("locks buffer 0")
        .preempted(READER)
        .waits(0, EVICTOR, EVICTOR)
        .loads(0)
        .preempted(READER)
        .repeat(5, |build| build.loads(0).waits(0, EVICTOR, EVICTOR).loads(1).preempted(READER))
        .waits(0, EVICTOR, EVICTOR)
        .what(What::HoldEnd { kind: "header lock", object: 0 })
        .note("unlocks buffer 0")
        .ends(READER)
        .note("has buffer 0")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
= holds a lock
step | reader                                          |  evictor
   1 |                                                 |= locks buffer 0
   2 |                                                 |= -- preempted in header lock of buffer 0 state --
   3 | -- waits for buffer 0 state, held by evictor -- |=
   4 |                                                 |  unlocks buffer 0
   5 | has buffer 0                                    |
",
    );
}

#[test]
fn switches_that_explain_nothing_are_left_out() {
    let trace = three()
        .note("starts")
        .preempted(READER)
        .preempted(EVICTOR)
        .loads(1)
        .preempted(MAIN)
        .note("goes on")
        .switch(READER, SwitchReason::Yielded)
        .note("reads")
        .switch(MAIN, SwitchReason::Sleeping)
        .note("stops")
        .ends(READER)
        .note("wakes")
        .ends(EVICTOR)
        .ends(MAIN)
        .trace;

    assert_picture(
        &trace.timeline(),
        "
step | main    | reader
   1 | starts  |
   2 | goes on |
   3 |         | reads
   4 |         | -- sleeps --
   5 | stops   |
   6 |         | wakes
",
    );
}

#[test]
fn log_events_panics_and_forgotten_locks_make_rows() {
    let log = |level, message: &str| What::Log {
        level,
        target: "engine::buffer".to_owned(),
        message: message.to_owned(),
    };
    let trace = three()
        .joins(READER)
        .what(log("INFO", "flushes page=3"))
        .what(What::HoldBegin { kind: "header lock", object: 0 })
        .ends(EVICTOR)
        .what(log("WARN", "no victim"))
        .what(What::Panicked { message: "assertion failed:\n  left: 1\n right: 2".to_owned() })
        .ends(MAIN)
        .panics("I-ID2", "I-ID2: nobody pins a nameless frame, but buffer 0 had 2 pins")
        .trace;

    assert_picture(
        &trace.timeline(),
        "
= holds a lock
step | main               |  reader                                       | evictor
   1 |                    |  info: flushes page=3                         |
   2 |                    |= -- ends, still in header lock of buffer 0    |
     |                    |=   state --                                   |
   3 |                    |=                                              | warn: no victim
   4 |                    |=                                              | -- panics: assertion failed: left: 1 right:
     |                    |=                                              |   2 --
   5 | -- breaks I-ID2 -- |=                                              |
",
    );
}

#[test]
fn without_notes_the_operations_make_the_picture() {
    let mut build = Build::new(&["main", "task 1", "task 2"], &["atomic 1", "atomic 2", "cell 1"]);
    build.trace.objects.iter_mut().for_each(|object| object.named = false);
    let pointer = 0x7f12_3456_7890;
    let trace = build
        .op(OpKind::Store, 1, 0, 5)
        .joins(1)
        .loads(0)
        .preempted(2)
        .loads(0)
        .op(OpKind::CompareExchange, 0, 0, 1)
        .op(OpKind::Store, 2, 0, pointer)
        .ends(1)
        .repeat(4, |build| build.op(OpKind::CompareExchange, 0, 1, 1))
        .op(OpKind::ReadModifyWrite, 0, 1, 0x1_0000)
        .op(OpKind::Load, 2, pointer, pointer)
        .ends(0)
        .op(OpKind::Store, 0, 0x1_0000, u64::MAX)
        .trace;

    assert_picture(
        &trace.timeline(),
        "
step | main                           | task 1                           | task 2
   1 |                                | reads atomic 1: 0                |
   2 |                                | -- preempted --                  |
   3 |                                |                                  | reads atomic 1: 0
   4 |                                |                                  | swaps atomic 1: 0 -> 1
   5 |                                |                                  | writes cell 1
   6 |                                | fails to swap atomic 1: is 1 x 4 |
   7 |                                | updates atomic 1: 1 -> 0x10000   |
   8 |                                | reads cell 1                     |
   9 | writes atomic 1: 0x10000 -> -1 |                                  |
",
    );
}

#[test]
fn an_execution_of_nothing_says_so() {
    assert_picture(
        &three().trace.timeline(),
        "(nothing to show: no notes, no named object, none that two tasks touched)",
    );
}
