//! All base orders and all change points of a five-step program, against the paper.
//!
//! Tasks A (a1, a2), B (b1, b2), C (c1) are to run as a1, b1, c1, b2, a2: A is held back first and
//! must go on last, so the earlier of two demotions has to be the lower one.

use super::*;
use crate::core::Task;

/// Operations of A, B and C.
const LENGTHS: [usize; 3] = [2, 2, 1];
/// The order that is looked for, as tasks.
const NESTED: [u32; 5] = [0, 1, 2, 1, 0];
const ORDERS: [[u64; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Runs the program as the machine would: who goes on is asked before each operation, where the
/// scheduler wants it, and at each end. All tasks have started, and each stands before its first
/// operation.
fn run(pct: &mut Pct) -> Vec<u32> {
    let tasks: Vec<_> = LENGTHS.iter().map(|_| Box::new(Task::new())).collect();
    let (mut draws, mut done, mut order) = (Draws::of_schedules(), [0; 3], Vec::new());
    let (mut step, mut current, mut next_event) = (0, 0, 0);
    let (mut runnable, mut before_operation) = (vec![0, 1, 2], [true; 3]);
    let mut ask = |at_point, step, current, runnable: &[u32], next_event: &mut u64| {
        let draws = &mut draws;
        let mut turn = Turn { step, current, runnable, tasks: &tasks, draws, next_event: 0 };
        let next = if at_point { pct.at_point(&mut turn) } else { pct.at_block(&mut turn) };
        *next_event = turn.next_event;
        next
    };
    current = ask(false, step, current, &runnable, &mut next_event);
    while !runnable.is_empty() {
        if !std::mem::replace(&mut before_operation[current as usize], false) {
            step += 1;
            if step >= next_event {
                let next = ask(true, step, current, &runnable, &mut next_event);
                if next != current {
                    before_operation[current as usize] = true;
                    current = next;
                    continue;
                }
            }
        }
        order.push(current);
        done[current as usize] += 1;
        if done[current as usize] == LENGTHS[current as usize] {
            runnable.retain(|&task| task != current);
            if !runnable.is_empty() {
                current = ask(false, step, current, &runnable, &mut next_event);
            }
        }
    }
    order
}

/// How many of all cases of this depth give the nested order; `rerank` may change the rule.
fn nested(depth: u32, rerank: impl Fn(&mut [(u64, u32)])) -> (u32, u32) {
    let (mut hits, mut cases) = (0, 0);
    for order in ORDERS {
        for case in 0..5_u64.pow(depth - 1) {
            let mut points = case;
            let mut pct = Pct::with(depth, 5, || {
                let point = points % 5 + 1;
                points /= 5;
                point
            });
            rerank(&mut pct.changes[..pct.n_changes]);
            for (task, rank) in (0..).zip(order) {
                pct.spawned(task, &mut Draws::of_schedules());
                pct.priorities.of[task as usize] = BASE + rank;
            }
            hits += u32::from(run(&mut pct) == NESTED);
            cases += 1;
        }
    }
    (hits, cases)
}

#[test]
fn the_papers_ranks_find_a_nest_in_as_many_cases_as_the_paper_says() {
    assert_eq!(nested(3, |_| ()), (1, 150));
    assert_eq!(nested(4, |_| ()), (12, 750));
}

#[test]
fn the_bound_holds_at_the_depth_of_the_bug() {
    let (hits, cases) = nested(4, |_| ());

    // Three tasks, five steps, three change points.
    assert!(f64::from(hits) / f64::from(cases) >= 1.0 / (3.0 * 5.0_f64.powi(3)));
    assert_eq!(nested(2, |_| ()).0, 0, "no single change point makes a nest");
}

#[test]
fn demotions_to_the_lowest_rank_so_far_never_find_a_nest() {
    let always_lowest = |changes: &mut [(u64, u32)]| {
        let n = changes.len() as u32;
        for (i, change) in (0..).zip(changes) {
            change.1 = n - i;
        }
    };

    assert_eq!(nested(3, always_lowest), (0, 150));
    assert_eq!(nested(4, always_lowest), (0, 750));
}
