//! What a store keeps, refuses and leaves alone.

use super::*;
use crate::meetings::Meetings;
use crate::numbers::Shard;
use crate::registry;
use holdup::Scheduler;

fn plan(seeds: Range<u64>) -> Plan {
    Plan {
        scenario: registry::find("lossy-unpin").unwrap(),
        scheduler: Scheduler::Random,
        mutant: Some("demo.lossy_unpin"),
        seeds,
        shard: Shard::WHOLE,
        jobs: 1,
        coverage: true,
    }
}

fn tally(seed: u64) -> Tally {
    let failed = FailedSeed { seed, rule: "I-ID1".into(), message: "lost".into() };
    Tally {
        executions: 10,
        steps: 100,
        failures: 2,
        rules: [("I-ID1".into(), 2)].into(),
        arms: [("random".into(), ArmCount { executions: 10, failures: 2 })].into(),
        examples: [("I-ID1".into(), failed)].into(),
        faults: [("torn-write", 3)].into_iter().collect(),
        hash: u64::MAX - seed,
        meetings: Meetings { executions: 1, ..Meetings::default() },
    }
}

#[test]
fn what_is_recorded_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::open(&path, "a".into()).unwrap();
    store.record(&plan(0..20), &(10..20), &tally(12), Duration::ZERO).unwrap();
    store.record(&plan(0..20), &(0..10), &tally(3), Duration::ZERO).unwrap();
    drop(store);

    let store = Store::open(&path, "a".into()).unwrap();
    let (done, found) = store.finished(&plan(0..20)).unwrap();

    let mut expected = tally(3);
    expected.absorb(tally(12));
    assert_eq!((done, found), (vec![0..10, 10..20], expected));
}

#[test]
fn other_revisions_schedulers_and_ranges_are_not_mixed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::open(&path, "a".into()).unwrap();
    store.record(&plan(0..20), &(0..10), &tally(3), Duration::ZERO).unwrap();

    let other = Plan { scheduler: Scheduler::Lens, ..plan(0..20) };
    assert_eq!(store.finished(&other).unwrap(), (vec![], Tally::default()));
    assert_eq!(store.finished(&plan(0..9)).unwrap(), (vec![], Tally::default()));
    drop(store);
    let store = Store::open(&path, "b".into()).unwrap();
    assert_eq!(store.finished(&plan(0..20)).unwrap(), (vec![], Tally::default()));
}

#[test]
fn the_same_chunk_again_changes_nothing_and_another_hash_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("s.db"), "a".into()).unwrap();
    store.record(&plan(0..20), &(0..10), &tally(3), Duration::ZERO).unwrap();
    store.record(&plan(0..20), &(0..10), &tally(3), Duration::ZERO).unwrap();

    let error = store.record(&plan(0..20), &(0..10), &tally(4), Duration::ZERO).unwrap_err();

    assert!(matches!(error, StoreError::Differs { .. }), "{error}");
    assert_eq!(store.finished(&plan(0..20)).unwrap().1, tally(3));
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "these are notes and no database, and longer than a header").unwrap();
    let other = folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("create table t (x)").unwrap();
    let newer = folder.path().join("newer.db");
    drop(Store::open(&newer, "a".into()).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 9).unwrap();

    for (path, says) in
        [(text, "not a SQLite file"), (other, "something else"), (newer, "version 9")]
    {
        let before = std::fs::read(&path).unwrap();
        let error = Store::open(&path, "a".into()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Store::open(Path::new("nowhere/at/all.db"), "a".into()).unwrap_err();

    assert!(error.to_string().starts_with("cannot use store nowhere/at/all.db: "), "{error}");
}
