//! Lens: a scheduler aimed at one held word per execution.
//!
//! The target is drawn among the words and locks that tasks held in the pilot. Candidates for a
//! switch are the scheduling points before every operation on that word (the attempt to lock it,
//! the compare-and-swap that pins past its lock bit, the release) and those inside its holds. Per
//! execution one of four:
//!
//! - PCT whose change points are drawn from the candidates instead of from all steps;
//! - priorities drawn anew for the running task at candidates, one in two;
//! - plain PCT over all steps;
//! - a plain random walk.
//!
//! The last two keep a lower bound for bugs that no hold sees (a lost wake-up, a check before the
//! lock): aimed at holds alone, their probability would be zero.
//! Why not draw from all steps inside holds: for data that is only touched under its lock, all
//! places inside one hold are the same place.

use super::pct::{Contended, MAX_DEPTH, Priorities, patience};
use super::{Depth, Pct, Pilot, Random, Turn};
use crate::core::Draws;

pub(crate) struct Lens {
    way: Way,
}

enum Way {
    Aimed(Aimed),
    Pct(Pct),
    Random(Random),
}

struct Aimed {
    priorities: Priorities,
    /// Which of the held objects, by order of first hold, is the target.
    target_rank: u32,
    /// Objects seen held so far; short.
    seen: Vec<usize>,
    /// Address of the target; 0 until it is first held. Only ever compared.
    target: usize,
    candidates: u64,
    /// Candidates at which change points lie, with their ranks. Empty in the redrawing way.
    changes: [(u64, u32); MAX_DEPTH],
    n_changes: usize,
    next_change: usize,
    redraws: bool,
    contended: Contended,
    patience: u64,
}

impl Lens {
    pub(crate) fn new(pilot: &Pilot, draws: &mut Draws) -> Self {
        let way = match draws.below(10) {
            0..4 if pilot.held_objects > 0 => Way::Aimed(Aimed::new(pilot, draws, false)),
            4..8 if pilot.held_objects > 0 => Way::Aimed(Aimed::new(pilot, draws, true)),
            0..9 => Way::Pct(Pct::new(Depth::Drawn, pilot, draws)),
            _ => Way::Random(Random),
        };
        Self { way }
    }

    pub(crate) fn spawned(&mut self, task: u32, draws: &mut Draws) {
        match &mut self.way {
            Way::Aimed(aimed) => aimed.priorities.spawned(task, draws),
            Way::Pct(pct) => pct.spawned(task, draws),
            Way::Random(_) => {}
        }
    }

    pub(crate) fn yielded(&mut self, task: u32) {
        match &mut self.way {
            Way::Aimed(aimed) => aimed.priorities.yielded(task),
            Way::Pct(pct) => pct.yielded(task),
            Way::Random(_) => {}
        }
    }

    pub(crate) fn held(&mut self, _task: u32, object: usize) -> bool {
        if let Way::Aimed(aimed) = &mut self.way
            && aimed.target == 0
            && !aimed.seen.contains(&object)
        {
            if aimed.seen.len() as u32 == aimed.target_rank {
                aimed.target = object;
            }
            aimed.seen.push(object);
            return true;
        }
        false
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        match &mut self.way {
            Way::Aimed(aimed) => aimed.at_point(turn),
            Way::Pct(pct) => pct.at_point(turn),
            Way::Random(random) => random.at_point(turn),
        }
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        match &mut self.way {
            Way::Aimed(aimed) => {
                aimed.contended.update(turn);
                aimed.choose(turn)
            }
            Way::Pct(pct) => pct.at_block(turn),
            Way::Random(random) => random.at_block(turn),
        }
    }
}

impl Aimed {
    fn new(pilot: &Pilot, draws: &mut Draws, redraws: bool) -> Self {
        let target_rank = draws.below(pilot.held_objects);
        let candidates = pilot.candidates.clamp(1, u64::from(u32::MAX)) as u32;
        let mut changes = [(0, 0); MAX_DEPTH];
        let n_changes = if redraws { 0 } else { [1, 1, 1, 2, 2, 2, 3, 3][draws.below(8) as usize] };
        for (i, change) in changes[..n_changes].iter_mut().enumerate() {
            let rank = (n_changes - i) as u32;
            *change = (u64::from(draws.below(candidates)) + 1, rank);
        }
        changes[..n_changes].sort_unstable();
        Self {
            priorities: Priorities::default(),
            target_rank,
            seen: Vec::new(),
            target: 0,
            candidates: 0,
            changes,
            n_changes,
            next_change: 0,
            redraws,
            contended: Contended::default(),
            patience: patience(pilot.contended_steps),
        }
    }

    fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        if self.target != 0 && turn.runnable.len() > 1 {
            let task = &turn.tasks[turn.current as usize];
            let inside = task.holds.iter().any(|hold| hold.object == self.target);
            if inside || task.pending.object == self.target {
                self.candidate(turn);
            }
        }
        self.choose(turn)
    }

    fn candidate(&mut self, turn: &mut Turn<'_>) {
        self.candidates += 1;
        if self.redraws && turn.draws.below(2) == 0 {
            self.priorities.redraw(turn.current, turn.draws);
        }
        while let Some(&(at, rank)) = self.changes[..self.n_changes].get(self.next_change)
            && at <= self.candidates
        {
            self.priorities.set(turn.current, u64::from(rank));
            self.next_change += 1;
        }
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        if turn.runnable.len() == 1 {
            turn.next_event = Turn::NEVER;
            return turn.runnable[0];
        }
        turn.next_event = Turn::ALWAYS;
        if self.contended.steps >= self.patience {
            return turn.pick();
        }
        self.priorities.highest(turn.runnable)
    }
}
