//! A recorded execution as slices: what a task did between two of its scheduling points.
//!
//! A slice is named by its task and the task's own step, and says which objects it touched. Two
//! slices of different tasks that touch no common object, or only read it, could as well have come
//! in the other order. What the recorder does not see, plain memory above all, is not known here;
//! so whoever reorders runs the result once.

use std::ops::Range;

use crate::scheduler::Stretch;
use crate::trace::{OpKind, SwitchReason, Trace, What};

/// What one task did between two of its scheduling points, or between such a point and a wait.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) task: u32,
    /// The own step to which its operation belongs; 0 for what comes before the first.
    pub(crate) own: u64,
    /// Its events.
    pub(crate) events: Range<usize>,
    touches: Vec<(Touched, bool)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touched {
    Object(u32),
    /// The life of a task: it is spawned, it ends, its end is waited for.
    Task(u32),
}

impl Slice {
    /// Whether the order of the two matters.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.task == other.task
            || self.touches.iter().any(|(touched, writes)| {
                other.touches.iter().any(|(theirs, they)| touched == theirs && (*writes || *they))
            })
    }
}

/// The own step of the running task at each event of `trace`.
pub(crate) fn own_steps(trace: &Trace) -> Vec<u64> {
    let mut own: Vec<u64> = Vec::new();
    let (mut since, mut steps) = (0, Vec::with_capacity(trace.events.len()));
    for event in &trace.events {
        let task = event.task as usize;
        own.resize(own.len().max(task + 1), 0);
        own[task] += event.step - since;
        since = event.step;
        steps.push(own[task]);
    }
    steps
}

/// The turns that give the execution of `trace` again.
pub(crate) fn stretches(trace: &Trace) -> Vec<Stretch> {
    let own = own_steps(trace);
    let mut stretches = Vec::new();
    let mut running = 0;
    for (event, &own) in trace.events.iter().zip(&own) {
        if let What::Switch { to, reason } = event.what
            && to != event.task
        {
            let cut = (reason == SwitchReason::Preempted).then_some(own);
            stretches.push(Stretch { task: event.task, cut });
            running = to;
        }
    }
    stretches.push(Stretch { task: running, cut: None });
    stretches
}

/// The slices of `trace`, in order.
pub(crate) fn slices(trace: &Trace) -> Vec<Slice> {
    let own = own_steps(trace);
    let mut slices: Vec<Slice> = Vec::new();
    let mut begins = true;
    for (i, (event, &own)) in trace.events.iter().zip(&own).enumerate() {
        if let What::Switch { reason: SwitchReason::Preempted, .. } = event.what {
            begins = true;
            continue;
        }
        match slices.last_mut() {
            Some(last) if !begins && (last.task, last.own) == (event.task, own) => {
                last.events.end = i + 1;
            }
            _ => {
                let touches = vec![(Touched::Task(event.task), false)];
                slices.push(Slice { task: event.task, own, events: i..i + 1, touches });
            }
        }
        begins = matches!(event.what, What::Switch { .. });
        if let (Some(slice), Some(touched)) = (slices.last_mut(), touched(event.task, &event.what))
        {
            slice.touches.push(touched);
        }
    }
    slices
}

fn touched(task: u32, what: &What) -> Option<(Touched, bool)> {
    Some(match what {
        What::Operation { kind, object, before, after } => {
            let reads = match kind {
                OpKind::Load | OpKind::CellRead | OpKind::FileRead => true,
                OpKind::Store | OpKind::ReadModifyWrite | OpKind::CompareExchange => {
                    before.is_some() && before == after
                }
                _ => false,
            };
            (Touched::Object((*object)?), !reads)
        }
        What::Switch { reason: SwitchReason::Blocked { object, owner }, .. } => match object {
            Some(object) => (Touched::Object(*object), true),
            None => (Touched::Task((*owner)?), true),
        },
        What::Spawned { child } => (Touched::Task(*child), true),
        What::Finished => (Touched::Task(task), true),
        What::HoldBegin { object, .. } | What::HoldEnd { object, .. } => {
            (Touched::Object(*object), true)
        }
        _ => return None,
    })
}

/// The turns that carry out `order`, a list of task and own step.
pub(crate) fn plan(order: impl IntoIterator<Item = (u32, u64)>) -> Vec<Stretch> {
    let mut plan: Vec<Stretch> = Vec::new();
    for (task, own) in order {
        // It makes way before its next operation, or where it cannot go on.
        let cut = Some(own + 1);
        match plan.last_mut() {
            Some(last) if last.task == task => last.cut = last.cut.max(cut),
            _ => plan.push(Stretch { task, cut }),
        }
    }
    plan
}
