//! The script of an execution: its turns in the words of the program.
//!
//! A turn that ends right behind a note ends there by name. One that ends further on gets a second
//! turn of some steps, as few as can be. Then turns are left out as long as the same rule breaks
//! without them and nobody is preempted more often.

use super::anchors::{Anchor, anchors};
use super::slices::{own_steps, stretches};
use crate::explore::rerun::Reruns;
use crate::scheduler::Stretch;
use crate::script::{Script, Turn, Until};
use crate::trace::{SwitchReason, Trace, What};

/// Times that a turn may name the same note in a row.
const MOST_REPEATS: usize = 3;

/// A script under which the program breaks `rule` as in `trace`, and its execution.
pub(super) fn script(
    reruns: &mut Reruns<'_, '_>,
    rule: &str,
    trace: &Trace,
) -> Option<(Script, Trace)> {
    let most = trace.preemptions();
    let mut keeps = |script: &Script| {
        let again = reruns.record_script(script.clone());
        let same = again.failure.as_ref().is_some_and(|failure| failure.rule == rule);
        (same && again.divergence.is_none() && again.preemptions() <= most).then_some(again)
    };
    let named = in_words(trace, &anchors(trace));
    let counted = in_words(trace, &[]);
    let (mut script, mut again) = [named, counted]
        .into_iter()
        .find_map(|script| keeps(&script).map(|again| (script, again)))?;
    let mut at = script.turns.len();
    while at > 0 {
        at -= 1;
        let mut shorter = script.clone();
        shorter.turns.remove(at);
        if let Some(trace) = keeps(&shorter) {
            (script, again) = (shorter, trace);
        }
    }
    Some((script, again))
}

/// The turns of `trace`, named by `anchors`.
fn in_words(trace: &Trace, anchors: &[Anchor]) -> Script {
    let ends = ends(trace);
    let mut began = vec![0; trace.tasks.len().max(1)];
    let mut turns = Vec::new();
    for (stretch, (end, until)) in stretches(trace).into_iter().zip(ends) {
        let from = std::mem::replace(&mut began[stretch.task as usize], end);
        let role = match trace.tasks.get(stretch.task as usize) {
            Some(task) => task.name.clone(),
            None => continue,
        };
        let untils = match until {
            Some(until) => vec![until],
            None => cut(stretch, from, end, anchors),
        };
        turns.extend(untils.into_iter().map(|until| Turn { role: role.clone(), until }));
    }
    Script { turns, seed: 0 }
}

/// By stretch, the own step at which it ended, and how, unless it was cut.
fn ends(trace: &Trace) -> Vec<(u64, Option<Until>)> {
    let own = own_steps(trace);
    let mut ends: Vec<_> = trace
        .events
        .iter()
        .zip(&own)
        .filter_map(|(event, &own)| match event.what {
            What::Switch { to, reason } if to != event.task => Some((
                own,
                match reason {
                    SwitchReason::Preempted => None,
                    SwitchReason::Finished => Some(Until::End),
                    _ => Some(Until::Blocked),
                },
            )),
            _ => None,
        })
        .collect();
    ends.push((own.last().copied().unwrap_or(0), Some(Until::End)));
    ends
}

/// The turns of a stretch from own step `from` that is taken off before its own step `end`.
fn cut(stretch: Stretch, from: u64, end: u64, anchors: &[Anchor]) -> Vec<Until> {
    // What comes in the wake of the step at which it was taken off belongs to this stretch.
    let within =
        |anchor: &&Anchor| anchor.task == stretch.task && (from..end).contains(&anchor.own);
    let within: Vec<&Anchor> = anchors.iter().filter(within).collect();
    let best = within.iter().enumerate().rev().find_map(|(i, anchor)| {
        // A shorter text may stand in an earlier, longer one.
        let times = within[..=i].iter().filter(|earlier| earlier.ends(&anchor.until)).count();
        (times <= MOST_REPEATS).then(|| (vec![anchor.until.clone(); times], end - anchor.own - 1))
    });
    let (mut untils, steps) = best.unwrap_or((Vec::new(), end - from));
    if steps > 0 {
        untils.push(Until::Steps(steps));
    }
    untils
}
