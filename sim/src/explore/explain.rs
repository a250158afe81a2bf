//! Explaining: the two adjacent operations whose order decides between failure and success.
//!
//! The failure is shrunk, and the nearest execution that passes is found by taking one of its
//! preemptions away. Both are orders of the same slices. The order halfway between them, in swaps
//! of neighbours, is run; whichever end it is like, it takes that end's place. So after a few
//! executions the two differ in one swap of neighbours: the critical pair.
//!
//! Keeps: both ends were run as they are told.
//! Source: `hermit analyze` (Meta), which bisects schedules of processes in the same way.

use super::rerun::{self, Reruns};
use super::shrink::slices::{plan, slices, stretches};
use super::{Checker, Shrunk};
use crate::trace::{Event, Site, Trace, What};

/// Orders longer than this are not bisected: all pairs of them are compared.
const MOST_SLICES: usize = 4_000;

/// A failure, small, with the reason why it fails.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The failure with few preemptions.
    pub shrunk: Shrunk,
    /// The two operations whose order matters; `None` where the failure does not depend on it, as
    /// far as was tried.
    pub pair: Option<CriticalPair>,
}

/// Two adjacent operations of different tasks: swapped, the execution passes.
#[derive(Clone, Debug)]
pub struct CriticalPair {
    /// The operation that comes first where the execution fails.
    pub first: Moment,
    /// The one that comes right after it, and where the execution passes, right before it.
    pub second: Moment,
    /// The execution that fails.
    pub failing: Trace,
    /// The execution that passes.
    pub passing: Trace,
}

/// An operation of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The task that carries it out.
    pub task: String,
    /// What it does, in words.
    pub what: String,
    /// Where, if known.
    pub site: Option<Site>,
    /// The task's latest note before it.
    pub note_before: Option<String>,
    /// The task's next note.
    pub note_after: Option<String>,
}

/// A slice, by task, own step, and how many of that name came before.
type Name = (u32, u64, usize);

impl Checker {
    /// Shrinks the failure of `seed` and finds its critical pair. `None` if the seed passes.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn explain(&self, seed: u64, body: &(dyn Fn() + Sync)) -> Option<Explanation> {
        self.explain_trace(&self.trace(seed, body), body)
    }

    /// As [`Checker::explain`], of an execution that was recorded by this checker under whatever
    /// scheduler.
    ///
    /// # Panics
    ///
    /// Panics if the system has no thread left.
    pub fn explain_trace(&self, failing: &Trace, body: &(dyn Fn() + Sync)) -> Option<Explanation> {
        let shrunk = self.shrink_trace(failing, body)?;
        let rule = &shrunk.failure.rule;
        let pair = rerun::with(self, failing.seed, failing.steps, rule, body, |reruns| {
            critical_pair(reruns, rule, &shrunk.trace)
        });
        Some(Explanation { shrunk, pair })
    }
}

fn critical_pair(reruns: &mut Reruns<'_, '_>, rule: &str, failing: &Trace) -> Option<CriticalPair> {
    let fails = names(failing);
    let mut passing: Vec<Vec<Name>> = Vec::new();
    for plan in nearby(failing) {
        if reruns.turns(plan.clone()).rule.is_none() {
            passing.push(names(&reruns.record_turns(plan)));
        }
    }
    let mut pairs: Vec<_> = passing.iter().map(|passes| aligned(&fails, passes)).collect();
    pairs.sort_by_key(|(fails, passes)| distance(fails, passes));
    pairs.into_iter().find_map(|(fails, passes)| bisect(reruns, rule, fails, passes))
}

/// The turns of `failing` with one preemption less.
fn nearby(failing: &Trace) -> Vec<Vec<crate::scheduler::Stretch>> {
    let taken = stretches(failing);
    let mut near = Vec::new();
    for at in (0..taken.len()).filter(|&at| taken[at].cut.is_some()) {
        let mut on = taken.clone();
        on[at].cut = None;
        near.push(on);
        for gone in [at, at + 1] {
            let mut without = taken.clone();
            without.remove(gone);
            near.push(without);
        }
    }
    near
}

/// The slices of `trace` by name, in order.
fn names(trace: &Trace) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    let mut seen = std::collections::BTreeMap::new();
    for slice in slices(trace) {
        let before = seen.entry((slice.task, slice.own)).or_insert(0);
        names.push((slice.task, slice.own, *before));
        *before += 1;
    }
    names
}

/// Both orders over the slices of both: what only the other has comes last.
fn aligned(fails: &[Name], passes: &[Name]) -> (Vec<Name>, Vec<Name>) {
    let with = |these: &[Name], others: &[Name]| {
        let known: std::collections::BTreeSet<_> = these.iter().collect();
        let others = others.iter().filter(|name| !known.contains(name));
        these.iter().chain(others).copied().collect()
    };
    (with(fails, passes), with(passes, fails))
}

/// By element of `order`, its place in `other`.
fn ranks(order: &[Name], other: &[Name]) -> Vec<usize> {
    let places: std::collections::BTreeMap<_, _> =
        other.iter().enumerate().map(|(place, name)| (*name, place)).collect();
    order.iter().map(|name| places[name]).collect()
}

/// Swaps of neighbours that lead from one order to the other.
fn distance(order: &[Name], other: &[Name]) -> usize {
    let ranks = ranks(order, other);
    let later = |i: usize| ranks[i + 1..].iter().filter(|&&rank| rank < ranks[i]).count();
    (0..ranks.len()).map(later).sum()
}

/// The order after `swaps` swaps of neighbours on the way from `order` to `other`.
fn on_the_way(order: &[Name], other: &[Name], swaps: usize) -> Vec<Name> {
    let mut sorted: Vec<_> = ranks(order, other).into_iter().zip(order.iter().copied()).collect();
    let mut left = swaps;
    'bubble: for end in (1..sorted.len()).rev() {
        for i in 0..end {
            if left == 0 {
                break 'bubble;
            }
            if sorted[i].0 > sorted[i + 1].0 {
                sorted.swap(i, i + 1);
                left -= 1;
            }
        }
    }
    sorted.into_iter().map(|(_, name)| name).collect()
}

fn turns_of(order: &[Name]) -> Vec<crate::scheduler::Stretch> {
    plan(order.iter().map(|&(task, own, _)| (task, own)))
}

fn bisect(
    reruns: &mut Reruns<'_, '_>,
    rule: &str,
    mut fails: Vec<Name>,
    mut passes: Vec<Name>,
) -> Option<CriticalPair> {
    if fails.len() > MOST_SLICES {
        return None;
    }
    let breaks = |reruns: &mut Reruns<'_, '_>, order: &[Name]| {
        reruns.turns(turns_of(order)).rule.as_deref() == Some(rule)
    };
    if !breaks(reruns, &fails) || breaks(reruns, &passes) {
        return None;
    }
    loop {
        let swaps = distance(&fails, &passes);
        if swaps < 2 {
            break;
        }
        let middle = on_the_way(&fails, &passes, swaps / 2);
        let end = if breaks(reruns, &middle) { &mut fails } else { &mut passes };
        *end = middle;
    }
    let at = fails.iter().zip(&passes).position(|(a, b)| a != b)?;
    let failing = reruns.record_turns(turns_of(&fails));
    let passing = reruns.record_turns(turns_of(&passes));
    if failing.failure.as_ref().is_none_or(|failure| failure.rule != rule)
        || passing.failure.is_some()
    {
        return None;
    }
    let [first, second] = [at, at + 1].map(|at| moment(&failing, fails[at]));
    Some(CriticalPair { first: first?, second: second?, failing, passing })
}

/// What the slice called `name` of `trace` does.
fn moment(trace: &Trace, name: Name) -> Option<Moment> {
    let of_name = |slice: &_| {
        let slice: &super::shrink::slices::Slice = slice;
        (slice.task, slice.own) == (name.0, name.1)
    };
    let slice = slices(trace).into_iter().filter(of_name).nth(name.2)?;
    let events = &trace.events[slice.events.clone()];
    let operates = |event: &&Event| matches!(event.what, What::Operation { .. });
    let event = events.iter().find(operates).or(events.first())?;
    let note = |event: &Event| match &event.what {
        What::Note(text) if event.task == slice.task => Some(text.clone()),
        _ => None,
    };
    Some(Moment {
        task: trace.tasks.get(slice.task as usize)?.name.clone(),
        what: trace.describe(event).unwrap_or_else(|| "waits".into()),
        site: event.site.or_else(|| events.iter().find_map(|event| event.site)),
        note_before: trace.events[..slice.events.start].iter().rev().find_map(note),
        note_after: trace.events[slice.events.start..].iter().find_map(note),
    })
}
