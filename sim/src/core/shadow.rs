//! Data races: accesses to plain memory of which one is a write, and which nothing orders.
//!
//! Shadows remember, for each cell and each 8 bytes of a range, the latest write and the reads
//! since then that are not ordered among themselves. An access that does not happen after all of
//! those it conflicts with is a race, and ends the execution. It is found from the edges, so the
//! two need not come close to each other in the schedule.
//!
//! Touches: shadows, by address. Keeps: they are looked up, never walked, so that no address
//! reaches an outcome. Memory that is freed and given out again must be forgotten in between.
//! Source: Flanagan and Freund, "FastTrack: Efficient and Precise Dynamic Race Detection", 2009.

use smallvec::SmallVec;

use super::clocks::{Clock, KeepClocks};
use super::execution::{Execution, Mode};
use super::recorder::ByAddress;
use super::task::Place;
use crate::explore::Failure;
use crate::trace::What;

/// Bytes of a range that share a shadow.
const GRANULE: usize = 8;

/// One access to plain memory.
#[derive(Clone, Copy)]
struct Touch {
    task: u32,
    /// The task's own time: it happens before whoever knows as much of the task.
    time: u32,
    place: Place,
    /// Events written down by then.
    n_events: usize,
    writes: bool,
}

impl Touch {
    fn happens_before(&self, now: &Clock) -> bool {
        self.time <= now.of(self.task)
    }
}

#[derive(Default)]
struct History {
    write: Option<Touch>,
    reads: SmallVec<[Touch; 1]>,
}

impl History {
    /// Enters an access; returns an earlier one that it races with.
    fn enter(&mut self, touch: Touch, now: &Clock) -> Option<Touch> {
        let unordered = |earlier: &&Touch| !earlier.happens_before(now);
        if let Some(write) = self.write.as_ref().filter(unordered) {
            return Some(*write);
        }
        if touch.writes {
            if let Some(read) = self.reads.iter().find(unordered) {
                return Some(*read);
            }
            self.write = Some(touch);
            self.reads.clear();
        } else {
            // A later access that races with one of these races with this one as well.
            self.reads.retain(|read| !read.happens_before(now));
            self.reads.push(touch);
        }
        None
    }
}

/// The shadows of one execution.
#[derive(Default)]
pub(super) struct Shadow {
    /// By address.
    cells: ByAddress<History>,
    /// By address over [`GRANULE`].
    granules: ByAddress<History>,
}

impl Shadow {
    pub(super) fn clear(&mut self) {
        self.cells.clear();
        self.granules.clear();
    }
}

impl Execution {
    /// Whether the access that is about to happen can be judged.
    #[inline]
    fn judges(&self) -> bool {
        let inner = self.inner();
        if !self.clocked.get() {
            inner.needed_clocks |= inner.setup.clocks == KeepClocks::Unneeded;
        }
        self.clocked.get() && inner.mode == Mode::Running
    }

    /// The running task reads or writes the cell at `address`.
    #[cold]
    pub(crate) fn touch_cell(&self, address: usize, writes: bool, place: Place) {
        if !self.judges() {
            return;
        }
        let n_events = self.n_events();
        let Some((clocks, task)) = self.clocks() else { return };
        let now = &clocks.tasks[task as usize].now;
        let touch = Touch { task, time: now.of(task), place, n_events, writes };
        let history = clocks.shadow.cells.entry(address).or_default();
        if let Some(other) = history.enter(touch, now) {
            let name = self.known_name(address).unwrap_or_else(|| "a cell".to_owned());
            self.race(&name, &other, &touch);
        }
    }

    /// The running task reads or writes the `len_bytes` bytes from `address` on.
    #[cold]
    pub(crate) fn touch_range(&self, address: usize, len_bytes: usize, writes: bool, place: Place) {
        if len_bytes == 0 || !self.judges() {
            return;
        }
        let n_events = self.n_events();
        let Some((clocks, task)) = self.clocks() else { return };
        let now = &clocks.tasks[task as usize].now;
        let touch = Touch { task, time: now.of(task), place, n_events, writes };
        for granule in address / GRANULE..=(address + len_bytes - 1) / GRANULE {
            let history = clocks.shadow.granules.entry(granule).or_default();
            if let Some(other) = history.enter(touch, now) {
                let from = (granule * GRANULE).saturating_sub(address);
                let to = (granule * GRANULE + GRANULE - 1 - address).min(len_bytes - 1);
                let name = self.known_name(address).unwrap_or_else(|| "plain memory".to_owned());
                self.race(&format!("bytes {from} to {to} of {name}"), &other, &touch);
            }
        }
    }

    /// The memory is new, or somebody has it for himself: no earlier access to it is remembered.
    #[cold]
    pub(crate) fn forget_range(&self, address: usize, len_bytes: usize) {
        let Some((clocks, _)) = self.clocks() else { return };
        let shadow = &mut clocks.shadow;
        shadow.cells.retain(|&cell, _| !(address..address + len_bytes).contains(&cell));
        if len_bytes > 0 {
            for granule in address / GRANULE..=(address + len_bytes - 1) / GRANULE {
                shadow.granules.remove(&granule);
            }
        }
    }

    /// As [`Execution::forget_range`], for one cell.
    #[cold]
    pub(crate) fn forget_cell(&self, address: usize) {
        if let Some((clocks, _)) = self.clocks() {
            clocks.shadow.cells.remove(&address);
        }
    }

    fn n_events(&self) -> usize {
        self.inner().recorder.as_ref().map_or(0, |recorder| recorder.events.len())
    }

    #[cold]
    fn race(&self, name: &str, other: &Touch, mine: &Touch) -> ! {
        let (me, them) = (self.role(mine.task), self.role(other.task));
        let verb = |touch: &Touch| if touch.writes { "writes" } else { "reads" };
        let message = format!(
            "{me} {} {name}, which {them} {}, and nothing orders the two",
            verb(mine),
            verb(other)
        );
        let mut failure = Failure::new("data-race", message).at(mine.place);
        failure.detail = [(&them, other), (&me, mine)]
            .map(|(role, touch)| {
                let said =
                    self.said_before(touch).map(|note| format!(", after it said \"{note}\""));
                format!("{role} {} at {}{}", verb(touch), touch.place, said.unwrap_or_default())
            })
            .into();
        self.fail_here(failure)
    }

    /// The latest note of the task before its access.
    fn said_before(&self, touch: &Touch) -> Option<String> {
        let events = &self.inner().recorder.as_ref()?.events;
        let earlier = events[..touch.n_events].iter().rev();
        earlier.filter(|event| event.task == touch.task).find_map(|event| match &event.what {
            What::Note(text) => Some(text.clone()),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    fn touch(task: u32, writes: bool) -> Touch {
        Touch { task, time: 1, place: Location::caller(), n_events: 0, writes }
    }

    #[test]
    fn reads_that_nothing_orders_do_not_race_and_a_write_races_with_each() {
        let (nothing, mut history) = (Clock::default(), History::default());
        assert!(history.enter(touch(0, false), &nothing).is_none());
        assert!(history.enter(touch(1, false), &nothing).is_none());

        let other = history.enter(touch(2, true), &nothing);

        assert_eq!(other.map(|other| other.task), Some(0));
        assert_eq!(history.reads.len(), 2);
    }

    #[test]
    fn an_access_races_with_a_write_that_it_does_not_know_of() {
        for writes in [false, true] {
            let (nothing, mut history) = (Clock::default(), History::default());
            assert!(history.enter(touch(0, true), &nothing).is_none());
            assert!(history.enter(touch(1, writes), &nothing).is_some());
        }
    }
}
