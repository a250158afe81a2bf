//! The engine's replacement, step by step against what two PostgreSQL servers did.
//!
//! `pg15/` and `pg18/` are recordings: short sequences of accesses, and the whole pool after each.
//! The engine begins with the same pool, makes the same accesses, and must agree after every step:
//! which buffer has which page, usage counts, pins, dirty flags, the clock hand, its laps, the free
//! list. Both profiles are held against them, with the free list that those versions have. See
//! `README.md` beside this file.

mod data;
mod replay;
mod warm;

use data::{Recording, recordings};
use holdup_engine::Profile;
use replay::replay;

/// Version 18 reads ahead in a sequential scan, which these do not: they show what a scan does one
/// page at a time.
const READ_AHEAD: [&str; 5] =
    ["seqscan_16", "seqscan_64", "seqscan_128", "seqscan_256", "seqscan_dirty"];

#[test]
fn version_15_is_matched_step_by_step() {
    let recordings = recordings("pg15");
    for profile in [Profile::Classic, Profile::Modern] {
        let steps: usize = recordings.iter().map(|recording| replay(recording, profile)).sum();
        assert_eq!((recordings.len(), steps), (14, 1564));
    }
}

#[test]
fn version_18_is_matched_but_where_it_reads_ahead() {
    let mut recordings = recordings("pg18");
    recordings.retain(|recording| !READ_AHEAD.contains(&recording.name.as_str()));
    for profile in [Profile::Classic, Profile::Modern] {
        let steps: usize = recordings.iter().map(|recording| replay(recording, profile)).sum();
        assert_eq!((recordings.len(), steps), (9, 1125));
    }
}

fn one(name: &str) -> Recording {
    let mut recordings = recordings("pg15");
    recordings.retain(|recording| recording.name == name);
    recordings.remove(0)
}

#[test]
#[should_panic(expected = "seqscan_128 step")]
fn a_scan_without_a_ring_is_noticed() {
    let mut recording = one("seqscan_128");
    recording.steps.iter_mut().for_each(|step| step.note.clear());

    replay(&recording, Profile::Classic);
}

#[test]
#[should_panic(expected = "hot_cold step 3")]
fn a_read_too_many_is_noticed() {
    let mut recording = one("hot_cold");
    let accesses = &mut recording.steps[3].accesses;
    accesses.push(accesses[0]);

    replay(&recording, Profile::Classic);
}
