//! Survey: what the pilot executions run, a random walk or one priority order, and count.
//!
//! PCT needs the number of steps at which there is a choice, the lens the number of held words and
//! of operations on them, and uniform walks who does how much of what. All are measured on a few
//! executions with fixed seeds, so they depend on the program alone. A priority order under which a
//! task only polls for another would never end, so it is given up where PCT would give it up, had
//! the random walk been its pilot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pct::{Contended, Priorities, patience};
use super::profile::Observer;
use super::{Pilot, Profile, Turn};
use crate::core::Draws;

pub(crate) struct Survey {
    contended: Contended,
    /// Without priorities it is a random walk.
    priorities: Option<Priorities>,
    /// Contended steps after which the priorities are given up.
    patience: u64,
    /// Operations by object. Only counts leave, so that the order of addresses does not matter.
    operations: BTreeMap<usize, u64>,
    held: Vec<usize>,
    observer: Observer,
}

impl Survey {
    /// A random walk.
    pub(crate) fn random() -> Self {
        Self {
            contended: Contended::default(),
            priorities: None,
            patience: 0,
            operations: BTreeMap::new(),
            held: Vec::new(),
            observer: Observer::default(),
        }
    }

    /// One order of priorities, for a program that takes `expected` contended steps in a walk.
    pub(crate) fn in_order(expected: u64) -> Self {
        Self {
            priorities: Some(Priorities::default()),
            patience: patience(expected),
            ..Self::random()
        }
    }

    pub(crate) fn spawned(
        &mut self,
        task: u32,
        parent: u32,
        name: Option<&str>,
        draws: &mut Draws,
    ) {
        self.observer.spawned(task, parent, name);
        if let Some(priorities) = &mut self.priorities {
            priorities.spawned(task, draws);
        }
    }

    pub(crate) fn yielded(&mut self, task: u32) {
        if let Some(priorities) = &mut self.priorities {
            priorities.yielded(task);
        }
    }

    pub(crate) fn held(&mut self, object: usize) -> bool {
        if !self.held.contains(&object) {
            self.held.push(object);
        }
        false
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        if turn.runnable.len() > 1 {
            let object = turn.tasks[turn.current as usize].pending.object;
            *self.operations.entry(object).or_default() += 1;
        }
        self.observer.at_point(turn);
        self.choose(turn)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.observer.at_block(turn);
        self.choose(turn)
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        turn.next_event = Turn::ALWAYS;
        match &self.priorities {
            Some(priorities) if self.contended.steps < self.patience => {
                priorities.highest(turn.runnable)
            }
            _ => turn.pick(),
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        self.observer.profile()
    }

    pub(crate) fn result(&self) -> Pilot {
        let operations: u64 =
            self.held.iter().map(|object| self.operations.get(object).copied().unwrap_or(0)).sum();
        Pilot {
            contended_steps: self.contended.steps,
            held_objects: self.held.len() as u32,
            candidates: operations / (self.held.len() as u64).max(1),
            profiles: Arc::default(),
            places: Arc::default(),
        }
    }
}
