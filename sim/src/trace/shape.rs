//! The shape: who ran when, a line a task, a character or less a step.

use super::event::{SwitchReason, Trace, What};
use super::text::{cut, pad, width};
use super::words::task_name;

/// The most characters of a shape, task names not counted.
const MAX_CELLS: usize = 60;

/// The most characters of a task's name.
const MAX_NAME: usize = 20;

/// What the characters mean.
pub(super) const LEGEND: &str =
    "# runs  = runs, holding a lock  P preempted  b blocked  . does not run";

impl Trace {
    /// Who ran when, as one line a task: `#` runs, `=` runs while it holds a lock, `P` was
    /// preempted, `b` was blocked, `.` does not run.
    ///
    /// At most 60 characters after the name: long runs shrink in proportion, but every `P` and `b`
    /// stays. Where even those are too many, the end is shown, after an ellipsis. Tasks that never
    /// ran are left out. No line feed at the end.
    #[must_use]
    pub fn shape(&self) -> String {
        shape_lines(self).join("\n")
    }
}

/// A stretch that one task ran, or a mark.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    task: u32,
    mark: char,
    /// Steps; `0` for the marks `P` and `b`, which always take one character.
    steps: u64,
    /// Characters given to it.
    cells: usize,
}

/// The lines of the shape.
pub(super) fn shape_lines(trace: &Trace) -> Vec<String> {
    let mut stretches = stretches(trace);
    let cut_off = give_cells(&mut stretches);
    let mut tasks: Vec<u32> = stretches.iter().map(|stretch| stretch.task).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let names: Vec<String> =
        tasks.iter().map(|&task| cut(&task_name(trace, task), MAX_NAME)).collect();
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let line = |(&task, name): (&u32, &String)| {
        let mut line = pad(name, name_width + 2);
        line.push_str(if cut_off { "…" } else { "" });
        for stretch in &stretches {
            let mark = if stretch.task == task { stretch.mark } else { '.' };
            line.extend(std::iter::repeat_n(mark, stretch.cells));
        }
        line
    };
    tasks.iter().zip(&names).map(line).collect()
}

/// What ran, in order: neighbours of the same task and mark are one stretch.
fn stretches(trace: &Trace) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut holds: Vec<i64> = Vec::new();
    let mut step = 0;
    for event in &trace.events {
        let task = event.task;
        if holds.len() <= task as usize {
            holds.resize(task as usize + 1, 0);
        }
        let mark = if holds[task as usize] > 0 { '=' } else { '#' };
        let steps = event.step.saturating_sub(step);
        step = step.max(event.step);
        match stretches.last_mut() {
            Some(last) if last.task == task && last.mark == mark => last.steps += steps,
            _ if steps > 0 => stretches.push(Stretch { task, mark, steps, cells: 0 }),
            _ => {}
        }
        let mark = match event.what {
            What::HoldBegin { .. } => {
                holds[task as usize] += 1;
                continue;
            }
            What::HoldEnd { .. } => {
                holds[task as usize] -= 1;
                continue;
            }
            What::Switch { reason: SwitchReason::Preempted, .. } => 'P',
            What::Switch { reason: SwitchReason::Blocked { .. }, .. } => 'b',
            _ => continue,
        };
        stretches.push(Stretch { task, mark, steps: 0, cells: 1 });
    }
    stretches
}

/// Shares out the characters. Says whether the beginning had to be cut off.
fn give_cells(stretches: &mut Vec<Stretch>) -> bool {
    let n_marks = stretches.iter().filter(|stretch| stretch.steps == 0).count();
    let total: u64 = stretches.iter().map(|stretch| stretch.steps).sum();
    let room = MAX_CELLS.saturating_sub(n_marks);
    let mut runs: Vec<usize> = (0..stretches.len()).filter(|&i| stretches[i].steps > 0).collect();
    if total <= room as u64 {
        runs.iter().for_each(|&i| stretches[i].cells = stretches[i].steps as usize);
        return false;
    }
    // The longest runs get a character each, then all share the rest in proportion.
    runs.sort_by_key(|&i| (std::cmp::Reverse(stretches[i].steps), i));
    runs.truncate(room);
    let spare = (room - runs.len()) as u64;
    for &i in &runs {
        stretches[i].cells = 1 + (spare * (stretches[i].steps - 1) / total) as usize;
    }
    let cut_off = n_marks > MAX_CELLS;
    if cut_off {
        stretches.retain(|stretch| stretch.cells > 0);
        stretches.drain(..stretches.len() + 1 - MAX_CELLS);
    }
    cut_off
}
