use std::sync::atomic::{AtomicU32, Ordering};

use holdup::sync::Barrier;
use holdup::thread;

use crate::{fails, passes};

#[test]
fn nobody_passes_before_all_have_arrived_and_one_leads() {
    passes(|| {
        let barrier = Barrier::new(3);
        let (arrived, leaders) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..=3 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        if barrier.wait().is_leader() {
                            leaders.fetch_add(1, Ordering::SeqCst);
                        }
                        assert!(arrived.load(Ordering::SeqCst) >= 3 * round);
                    }
                });
            }
        });
        assert_eq!(leaders.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_barrier_for_one_too_many_is_a_deadlock() {
    let failure = fails(|| {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| barrier.wait());
            }
        });
    });
    assert_eq!(failure.rule, "deadlock");
}

#[test]
fn a_barrier_for_nobody_lets_everybody_pass() {
    passes(|| assert!(Barrier::new(0).wait().is_leader()));
}

#[test]
fn outside_of_executions_it_is_the_real_barrier() {
    let barrier = Barrier::new(2);
    let leaders: u32 = std::thread::scope(|scope| {
        let wait = || scope.spawn(|| u32::from(barrier.wait().is_leader()));
        let (one, two) = (wait(), wait());
        one.join().unwrap() + two.join().unwrap()
    });
    assert_eq!(leaders, 1);
}
