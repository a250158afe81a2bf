//! Anchors: what a task says or does at a scheduling point, by which a script can name the point.
//!
//! Where a task is preempted is a number, which moves with the code. Right behind one of its notes
//! it can be named by the note, which stays; failing that, where it begins a hold. So preemptions
//! are moved to such places where the same rule still breaks.

use super::slices::own_steps;
use crate::explore::rerun::{Reruns, Run};
use crate::script::Until;
use crate::trace::{Trace, What};

/// How many places are tried to each preemption.
const MOST_PLACES: usize = 24;

/// A place that a script can name.
pub(super) struct Anchor {
    pub(super) task: u32,
    /// The own step in whose wake it is; the next scheduling point is one further.
    pub(super) own: u64,
    /// The turn that ends there.
    pub(super) until: Until,
}

impl Anchor {
    /// Whether the turn `until` ends here.
    pub(super) fn ends(&self, until: &Until) -> bool {
        match (until, &self.until) {
            (Until::Note(text), Until::Note(note)) => note.contains(text.as_str()),
            (until, here) => until == here,
        }
    }

    fn is_note(&self) -> bool {
        matches!(self.until, Until::Note(_))
    }
}

/// All anchors of `trace`, in order.
pub(super) fn anchors(trace: &Trace) -> Vec<Anchor> {
    let events = trace.events.iter().zip(own_steps(trace));
    let anchors = events.filter_map(|(event, own)| {
        let until = match &event.what {
            What::Note(text) if !text.is_empty() => Until::Note(text.clone()),
            What::HoldBegin { kind, object } => {
                let object = trace.objects.get(*object as usize)?;
                let object = object.named.then(|| object.name.clone());
                Until::Holding { kind: (*kind).to_owned(), object }
            }
            _ => return None,
        };
        Some(Anchor { task: event.task, own, until })
    });
    anchors.collect()
}

/// Moves the preemptions of `best` behind notes, or else to where holds begin, where it can.
pub(super) fn move_to_anchors(reruns: &mut Reruns<'_, '_>, rule: &str, mut best: Run) -> Run {
    for at in 0..best.taken.len() {
        let anchors = anchors(&reruns.record_turns(best.taken.clone()));
        let Some(&stretch) = best.taken.get(at) else { break };
        let Some(cut) = stretch.cut else { continue };
        for notes in [true, false] {
            let there = |anchor: &&Anchor| anchor.task == stretch.task && anchor.is_note() == notes;
            let mut places: Vec<u64> =
                anchors.iter().filter(there).map(|anchor| anchor.own + 1).collect();
            places.sort_by_key(|place| (place.abs_diff(cut), *place));
            places.dedup();
            places.truncate(MOST_PLACES);
            if places.contains(&cut) {
                break;
            }
            let moved = places.into_iter().find_map(|place| {
                let mut plan = best.taken.clone();
                plan[at].cut = Some(place);
                let run = reruns.turns(plan);
                let same = run.rule.as_deref() == Some(rule) && run.cost() <= best.cost();
                let there = run.taken.get(at).is_some_and(|now| now.cut == Some(place));
                (same && there).then_some(run)
            });
            if let Some(run) = moved {
                best = run;
                break;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::rerun;
    use crate::scheduler::Stretch;
    use crate::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use crate::{Checker, note, thread};

    #[test]
    fn a_preemption_moves_behind_the_note_that_is_next_to_it() {
        let body = || {
            let (count, idle) = (AtomicU32::new(0), AtomicU32::new(0));
            let add_one = || {
                let old = count.load(SeqCst);
                (0..3).for_each(|_| _ = idle.load(SeqCst));
                note!("is about to store");
                count.store(old + 1, SeqCst);
            };
            thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(add_one)));
            assert!(count.into_inner() == 2, "C-1: both count");
        };
        let stretch = |task, cut| Stretch { task, cut };
        // Taken off before the second of three idle loads, which are its own steps 2 to 4.
        let plan = vec![stretch(0, None), stretch(1, Some(3)), stretch(2, None)];

        let moved = rerun::with(&Checker::new("lost"), 0, 100, "C-1", &body, |reruns| {
            let start = reruns.turns(plan);
            assert_eq!((start.rule.as_deref(), start.preemptions()), (Some("C-1"), 1));
            move_to_anchors(reruns, "C-1", start)
        });

        assert_eq!((moved.rule.as_deref(), moved.taken[1].cut), (Some("C-1"), Some(5)));
    }
}
