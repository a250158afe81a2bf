//! What executions show of each other's doings, and how much is still unseen.

use holdup::coverage::{Coverage, HandOff, Richness};
use holdup::sync::SpinLock;
use holdup::sync::atomic::{AtomicU32, Ordering::SeqCst};
use holdup::trace::OpKind;
use holdup::{Checker, thread};

fn lost_update() {
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| count.store(count.load(SeqCst) + 1, SeqCst));
        }
    });
}

fn kinds(coverage: &Coverage) -> Vec<(OpKind, OpKind)> {
    let mut kinds: Vec<_> =
        coverage.hand_offs.keys().map(|HandOff { from, to }| (from.kind, to.kind)).collect();
    kinds.sort();
    kinds
}

#[test]
fn both_ways_to_meet_a_store_are_found_and_no_others() {
    let checker = Checker::new("lost update").seeds(0..200);

    let coverage = checker.coverage(&lost_update);

    assert_eq!(coverage.executions, 200);
    // One task's store is met by the other's load, or by its store where it had loaded before.
    assert_eq!(kinds(&coverage), [(OpKind::Store, OpKind::Load), (OpKind::Store, OpKind::Store)]);
    let executions: u64 = coverage.hand_offs.values().sum();
    // After a load that met the store, the same task's own store meets it too.
    assert!((200..=400).contains(&executions), "{executions}");
}

#[test]
fn one_execution_does_not_show_everything() {
    let first = Checker::new("lost update").seeds(0..1).coverage(&lost_update);
    let all = Checker::new("lost update").seeds(0..200).coverage(&lost_update);

    assert!(first.hand_offs.values().all(|&executions| executions == 1));
    assert!(first.hand_offs.keys().all(|hand_off| all.hand_offs.contains_key(hand_off)));
    assert!(all.hand_off_richness().new_per_1000 < first.hand_off_richness().new_per_1000);
}

#[test]
fn a_coverage_is_the_same_for_any_number_of_jobs_and_in_pieces() {
    let checker = Checker::new("lost update").seeds(0..300);

    let alone = checker.coverage(&lost_update);
    let together = checker.clone().jobs(3).coverage(&lost_update);
    let mut pieces = checker.clone().seeds(100..300).coverage(&lost_update);
    pieces.merge(&checker.seeds(0..100).coverage(&lost_update));

    assert_eq!(alone, together);
    assert_eq!(alone, pieces);
}

#[test]
fn what_happens_while_somebody_holds_a_lock_is_told_apart_by_what_it_is_done_to() {
    let body = || {
        let (lock, word) = (SpinLock::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock() += word.load(SeqCst));
            scope.spawn(|| {
                word.fetch_add(1, SeqCst);
                let _ = lock.try_lock();
            });
        });
    };

    let coverage = Checker::new("holds").seeds(0..200).coverage(&body);

    let met: Vec<_> = coverage.holds.keys().map(|met| (met.same_object, met.by.kind)).collect();
    assert!(coverage.holds.keys().all(|met| met.hold == "spinlock"));
    assert!(met.contains(&(false, OpKind::ReadModifyWrite)), "{met:?}");
    assert!(met.iter().any(|&(same, kind)| same && kind != OpKind::ReadModifyWrite), "{met:?}");
}

#[test]
fn a_program_of_one_task_meets_nobody() {
    let body = || _ = AtomicU32::new(0).fetch_add(1, SeqCst);

    let coverage = Checker::new("alone").seeds(0..10).coverage(&body);

    assert!(coverage.hand_offs.is_empty() && coverage.holds.is_empty());
    assert_eq!(coverage.hand_off_richness(), Richness::default());
}

#[test]
fn what_is_unseen_follows_from_what_was_seen_once_and_twice() {
    let mut coverage = Checker::new("lost update").seeds(0..200).coverage(&lost_update);
    let known: Vec<_> = coverage.hand_offs.keys().copied().collect();
    let swapped = HandOff { from: known[1].to, to: known[1].from };
    coverage.executions = 10;
    coverage.hand_offs = [(known[0], 1), (known[1], 1), (swapped, 2)].into();

    let richness = coverage.hand_off_richness();

    let expected = Richness { seen: 3, seen_once: 2, new_per_1000: 200.0, unseen: 0.9 * 2.0 };
    assert_eq!(richness, expected);
}
