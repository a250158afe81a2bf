//! Delta debugging over turns: leave some out, keep what still breaks the same rule.
//!
//! Parts of the list are left out, halves first, single turns last; a turn that was cut short runs
//! on instead. What an execution under the shorter list really did is the next list. When nothing
//! can be left out, executions with fewer preemptions are searched from below, as far as a budget
//! goes: delta debugging only finds what is near.
//!
//! Source: Zeller's ddmin, applied to preemptions; the search is that of iterative context bounding
//! (Musuvathi and Qadeer).

use std::collections::BTreeSet;

use crate::explore::rerun::{Reruns, Run};
use crate::scheduler::Stretch;

/// Executions that delta debugging may take.
const MOST_RERUNS: u64 = 20_000;
/// With no more preemptions than this, shifted turns are not tried.
const EASY: usize = 2;
/// By how much later turns of a task are moved when one is left out.
const SHIFTS: [i64; 8] = [-1, -2, -3, -4, 1, 2, 3, 4];
/// Depths of PCT that are tried, executions of each, and failures of each that are reduced.
const MOST_DEPTH: u32 = 4;
const SAMPLES: u64 = 3_000;
const MOST_HITS: usize = 3;
/// Executions that the search from below may take for each number of preemptions.
const MOST_SEARCHED: usize = 30_000;

/// Leaves out of `best` what is not needed to break `rule`.
pub(super) fn reduce(reruns: &mut Reruns<'_, '_>, rule: &str, mut best: Run) -> Run {
    let limit = reruns.count + MOST_RERUNS;
    let full = |reruns: &Reruns<'_, '_>| reruns.count >= limit || reruns.is_enough();
    loop {
        let before = best.cost();
        let mut size = best.taken.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < best.taken.len() && !full(reruns) {
                let mut plan = best.taken.clone();
                plan.drain(at..(at + size).min(plan.len()));
                match better(reruns, rule, &best, plan) {
                    Some(run) => best = run,
                    None => at += size,
                }
            }
            size /= 2;
        }
        for at in (0..best.taken.len()).rev() {
            let mut plan = best.taken.clone();
            if plan.get(at).is_some_and(|stretch| stretch.cut.is_some()) {
                plan[at].cut = None;
                best = better(reruns, rule, &best, plan).unwrap_or(best);
            }
        }
        for at in (0..best.taken.len()).rev() {
            // Its next stretch follows at once.
            let Some(stretch) = best.taken.get(at).copied() else { continue };
            let rest = best.taken.iter().skip(at + 1);
            let next = rest.zip(at + 1..).find(|(next, _)| next.task == stretch.task);
            if let Some((next, later)) = next.map(|(next, later)| (*next, later)) {
                let mut plan = best.taken.clone();
                plan[at].cut = next.cut;
                plan.remove(later);
                best = better(reruns, rule, &best, plan).unwrap_or(best);
            }
        }
        if best.cost() == before && best.preemptions() > EASY {
            best = reduce_shifted(reruns, rule, best, limit);
        }
        if best.cost() == before || full(reruns) {
            return best;
        }
    }
}

/// Leaves single turns out where that alone would move the rest: a task that is disturbed less
/// retries less, so its later steps come earlier.
fn reduce_shifted(reruns: &mut Reruns<'_, '_>, rule: &str, mut best: Run, limit: u64) -> Run {
    let mut at = 0;
    while at < best.taken.len() && reruns.count < limit && !reruns.is_enough() {
        let mut plan = best.taken.clone();
        plan.remove(at);
        let mut tasks: Vec<u32> = plan[at..].iter().map(|stretch| stretch.task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        let shifts = tasks.iter().flat_map(|&task| SHIFTS.map(|shift| (task, shift)));
        let shorter = shifts.into_iter().find_map(|(task, shift)| {
            let mut plan = plan.clone();
            for stretch in plan[at..].iter_mut().filter(|stretch| stretch.task == task) {
                stretch.cut = stretch.cut.map(|cut| cut.saturating_add_signed(shift));
            }
            better(reruns, rule, &best, plan)
        });
        match shorter {
            Some(run) => best = run,
            None => at += 1,
        }
    }
    best
}

/// The execution under `plan`, if it breaks the rule and is simpler than `best`.
fn better(reruns: &mut Reruns<'_, '_>, rule: &str, best: &Run, plan: Vec<Stretch>) -> Option<Run> {
    let run = reruns.turns(plan);
    (run.rule.as_deref() == Some(rule) && run.cost() < best.cost()).then_some(run)
}

/// Looks with PCT, which preempts as often as its depth says, for executions simpler than `best`.
pub(super) fn sample(reruns: &mut Reruns<'_, '_>, rule: &str, mut best: Run) -> Run {
    let mut depth = 1;
    while depth <= MOST_DEPTH.min(best.preemptions() as u32) && !reruns.is_enough() {
        let hits = (0..SAMPLES).filter_map(|draws| reruns.pct(depth, draws, rule));
        let found: Vec<_> = hits.take(MOST_HITS).collect();
        depth += 1;
        for plan in found {
            let run = reruns.turns(plan);
            if run.rule.as_deref() == Some(rule) {
                let run = reduce(reruns, rule, run);
                if run.cost() < best.cost() {
                    best = run;
                }
            }
        }
    }
    best
}

/// An execution that breaks `rule` with fewer preemptions than `than`, found by trying all that
/// have none, then all that have one, and so on. The second value says whether all were tried.
pub(super) fn search(reruns: &mut Reruns<'_, '_>, rule: &str, than: usize) -> (Option<Run>, bool) {
    let mut all = true;
    for bound in 0..than {
        let (found, complete) = search_with(reruns, rule, bound);
        if found.is_some() {
            return (found, all);
        }
        all &= complete;
        if !complete {
            break;
        }
    }
    (None, all)
}

/// Tries the executions with `bound` preemptions, depth first.
fn search_with(reruns: &mut Reruns<'_, '_>, rule: &str, bound: usize) -> (Option<Run>, bool) {
    let mut seen: BTreeSet<Vec<(u32, Option<u64>)>> = BTreeSet::new();
    let mut todo: Vec<Vec<Stretch>> = vec![Vec::new()];
    let mut tried = 0;
    while let Some(prefix) = todo.pop() {
        if tried >= MOST_SEARCHED || reruns.is_enough() {
            return (None, false);
        }
        tried += 1;
        let run = reruns.turns(prefix.clone());
        if run.rule.as_deref() == Some(rule) && run.preemptions() <= bound {
            return (Some(run), true);
        }
        if !run.taken.starts_with(&prefix[..prefix.len().saturating_sub(1)]) {
            // The task that was to go on could not.
            continue;
        }
        let mut push = |plan: Vec<Stretch>| {
            if seen.insert(plan.iter().map(|stretch| (stretch.task, stretch.cut)).collect()) {
                todo.push(plan);
            }
        };
        let from = prefix.len().saturating_sub(1);
        for choice in run.choices.iter().filter(|choice| choice.at > from) {
            for &task in &choice.among {
                let mut plan = run.taken[..choice.at].to_vec();
                plan.push(Stretch { task, cut: None });
                push(plan);
            }
        }
        if run.preemptions() >= bound {
            continue;
        }
        let mut passed = std::collections::BTreeMap::new();
        for (at, (stretch, &end)) in run.taken.iter().zip(&run.ends).enumerate() {
            let began = passed.insert(stretch.task, end).unwrap_or(0);
            for cut in began + 1..=end {
                for other in (0..n_tasks(&run)).filter(|&other| other != stretch.task) {
                    if at >= from {
                        let mut plan = run.taken[..at].to_vec();
                        plan.push(Stretch { cut: Some(cut), ..*stretch });
                        plan.push(Stretch { task: other, cut: None });
                        push(plan);
                    }
                }
            }
        }
    }
    (None, true)
}

fn n_tasks(run: &Run) -> u32 {
    run.taken.iter().map(|stretch| stretch.task + 1).max().unwrap_or(0)
}
