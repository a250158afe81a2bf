//! Keyed priorities: each event draws its priority once, under a name that survives other changes.
//!
//! The pending event of highest priority runs. An event is named by its task, by the object it is
//! about (in the order in which the execution first touched them) and by how many times the task
//! came to that object before. A search keeps the priorities of an execution that showed something
//! new and draws some of them again: what it does not draw again stays with the same events, and
//! names that did not exist before are drawn from the seed.
//!
//! Long after the expected end the walk becomes random, as in PCT.
//! Source: priorities of events as in POS (Yuan, Yang, Gu, CAV 2018), without its second draws;
//! keys as proposed for greybox fuzzing of schedules (Wolff et al., ASPLOS 2024).

use std::collections::BTreeMap;

use foldhash::fast::FixedState;

use super::pct::{Contended, patience};
use super::{Pilot, Turn};
use crate::core::Draws;

type ByAddress = std::collections::HashMap<usize, u32, FixedState>;

/// The name of an event: task, object, how many events of the two came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) task: u32,
    pub(crate) object: u32,
    access: u32,
}

/// Priorities by event.
pub(crate) type Keys = BTreeMap<Key, u32>;

/// The object of a task's beginning.
const BEGINNING: u32 = u32::MAX;

#[derive(Default)]
struct State {
    priority: u32,
    /// Events so far, by object.
    accesses: Vec<u32>,
}

pub(crate) struct Keyed {
    given: Keys,
    used: Keys,
    objects: ByAddress,
    tasks: Vec<State>,
    contended: Contended,
    patience: u64,
}

impl Keyed {
    /// Priorities as `given`, the others from the seed.
    pub(crate) fn new(given: Keys, pilot: &Pilot) -> Self {
        Self {
            given,
            used: Keys::new(),
            objects: ByAddress::default(),
            tasks: Vec::new(),
            contended: Contended::default(),
            patience: patience(pilot.contended_steps),
        }
    }

    /// The priorities of all events that there were.
    pub(crate) fn into_used(self) -> Keys {
        self.used
    }

    fn draw(&mut self, key: Key, draws: &mut Draws) {
        let priority = self.given.get(&key).copied().unwrap_or_else(|| draws.next_u32());
        self.used.insert(key, priority);
        self.tasks[key.task as usize].priority = priority;
    }

    pub(crate) fn spawned(&mut self, task: u32, draws: &mut Draws) {
        debug_assert_eq!(self.tasks.len(), task as usize);
        self.tasks.push(State::default());
        self.draw(Key { task, object: BEGINNING, access: 0 }, draws);
    }

    /// Who offers the processor comes after everybody else, until its next event.
    pub(crate) fn yielded(&mut self, task: u32) {
        self.tasks[task as usize].priority = 0;
    }

    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        let task = turn.current;
        let n_objects = self.objects.len() as u32;
        let address = turn.tasks[task as usize].pending.object;
        let object = *self.objects.entry(address).or_insert(n_objects);
        let accesses = &mut self.tasks[task as usize].accesses;
        accesses.resize(accesses.len().max(object as usize + 1), 0);
        let access = accesses[object as usize];
        accesses[object as usize] += 1;
        self.draw(Key { task, object, access }, turn.draws);
        self.choose(turn)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        self.choose(turn)
    }

    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        // Asked even where there is no choice: names count what came before.
        turn.next_event = Turn::ALWAYS;
        if self.contended.steps >= self.patience {
            return turn.pick();
        }
        let order = |task: u32| (self.tasks[task as usize].priority, std::cmp::Reverse(task));
        turn.runnable.iter().copied().max_by_key(|&task| order(task)).unwrap_or(turn.current)
    }
}
