//! Delay: tasks that come to a drawn place wait there until others have passed.
//!
//! The places are those at which, in the pilots, tasks of some name came to an object that tasks
//! race for. There are few of them, however many tasks there are and however long they run: that is
//! what this strategy has over change points drawn among steps. It finds at once what wants all
//! tasks of a kind held back at one and the same line, and what wants one task to wait between two
//! operations for as long as others take. What wants two such places at a time is seldom drawn, so
//! it replaces no other strategy.
//!
//! Drawn per execution are
//!
//! - a place: each of them once, in an order drawn anew, before any of them comes again. The number
//!   of the execution picks it, not a toss;
//! - whether every arrival there is held back or, of each task, only one;
//! - for how long: until nobody else can go on, or until others have had 1, 2, 4 or 8 operations on
//!   the object in question;
//! - whether the tasks in question go first, one after the other, so that they wait at the place
//!   before anybody else has begun;
//! - who goes on among the others: as in a uniform random walk, or in one random order.
//!
//! Source: the postponed tasks of RaceFuzzer (Sen, PLDI 2008), with places in the stead of pairs of
//! statements, and the delays of TSVD (Li et al., SOSP 2019).

use std::sync::Arc;

use smallvec::SmallVec;

use super::pct::{Contended, Priorities, patience};
use super::{Pilot, Turn, Urw, Visits};
use crate::core::{Draws, Place, mix};

/// Steps that others may take while somebody is held back, beyond twice those of a pilot.
const MORE_STEPS: u64 = 64;

/// Where tasks can be held back: what all pilots of a program showed.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Names of tasks.
    names: Vec<Option<Arc<str>>>,
    /// Where tasks have their first operation that counts, and no other. To be held back there is
    /// to begin late, as tasks do under any scheduler.
    beginnings: Vec<Candidate>,
    others: Vec<Candidate>,
}

/// A place at which tasks of one name come to an object that tasks race for.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Which of the names.
    name: usize,
    place: Place,
    /// How often one task came there, at most, in one pilot.
    arrivals: u32,
}

impl Places {
    /// Adds what one pilot showed.
    pub(crate) fn add(&mut self, visits: &Visits) {
        let name = self.name(visits.name.as_ref());
        let mut all = self.beginnings.iter_mut().chain(&mut self.others);
        let known = all.find(|known| known.name == name && same_place(known.place, visits.place));
        if let Some(candidate) = known {
            candidate.arrivals = candidate.arrivals.max(visits.arrivals);
            return;
        }
        let candidate = Candidate { name, place: visits.place, arrivals: visits.arrivals };
        let only_begins = visits.is_beginning && visits.arrivals == 1;
        if only_begins { &mut self.beginnings } else { &mut self.others }.push(candidate);
    }

    fn name(&mut self, name: Option<&Arc<str>>) -> usize {
        let known = self.names.iter().position(|known| known.as_ref() == name);
        known.unwrap_or_else(|| {
            self.names.push(name.cloned());
            self.names.len() - 1
        })
    }

    /// The candidate of the `nth` execution. In three rounds each comes once in each, except for
    /// beginnings, which come in the third only.
    fn nth(&self, nth: u64) -> Option<Candidate> {
        let (beginnings, others) = (self.beginnings.len() as u64, self.others.len() as u64);
        let (rounds, at) =
            (nth.checked_div(beginnings + 3 * others)?, nth % (beginnings + 3 * others));
        let (round, at, n) = match at.checked_sub(2 * others) {
            Some(at) => (2, at, beginnings + others),
            None => (at / others, at % others, others),
        };
        let at = shuffled(at, n, rounds * 3 + round) as usize;
        self.others.get(at).or_else(|| self.beginnings.get(at - self.others.len())).copied()
    }

    /// Any one.
    fn any(&self, draws: &mut Draws) -> Option<Candidate> {
        let n = (self.beginnings.len() + self.others.len()) as u32;
        self.others.iter().chain(&self.beginnings).nth(draws.below(n) as usize).copied()
    }
}

/// Where `at` of `n` comes in the order numbered `round`.
fn shuffled(at: u64, n: u64, round: u64) -> u64 {
    let word = mix(round, n);
    let mut factor = word % n;
    while gcd(factor, n) != 1 {
        factor += 1;
    }
    ((u128::from(at) * u128::from(factor) + u128::from(word >> 32)) % u128::from(n)) as u64
}

/// Whether two places are one: what the compiler knows of a place it may write down twice.
#[inline]
pub(super) fn same_place(a: Place, b: Place) -> bool {
    std::ptr::eq(a, b) || (a.line(), a.column()) == (b.line(), b.column()) && a.file() == b.file()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What of the arrivals at a place is held back.
struct Target {
    candidate: Candidate,
    /// Of each task only this arrival, from 1; every one if 0.
    arrival: u32,
    /// Arrivals so far, by task.
    seen: SmallVec<[u32; 8]>,
}

/// What there is to know of a task.
struct Known {
    /// Which of the names it has.
    name: Option<usize>,
    is_held: bool,
    /// The object of the operation before which it is held back, and how many others may have there
    /// until it goes on.
    object: usize,
    meetings: u32,
}

pub(crate) struct Delay {
    walk: Urw,
    /// How those that are not held back are scheduled, where not as in the walk.
    priorities: Option<Priorities>,
    places: Arc<Places>,
    targets: SmallVec<[Target; 2]>,
    tasks: SmallVec<[Known; 8]>,
    n_held: usize,
    /// The targets' tasks go first, until each of them is held back or cannot go on.
    leads: bool,
    /// Operations that others may have on the object; 0 for any number.
    meetings: u32,
    /// Steps that others may take: one of them may be polling for who is held back.
    most_steps: u64,
    /// The step at which all that are held back go on.
    until: u64,
    /// The object of the operation that was chosen last; 0 for none.
    chosen: usize,
    contended: Contended,
    patience: u64,
    /// Room for the tasks that may be chosen.
    free: SmallVec<[u32; 16]>,
}

impl Delay {
    /// The `nth` execution of a sweep, or of this strategy's share of it.
    pub(crate) fn new(pilot: &Pilot, nth: u64, draws: &mut Draws) -> Self {
        let places = pilot.places.clone();
        let mut targets = SmallVec::new();
        if let Some(candidate) = places.nth(nth) {
            targets.push(Target::new(candidate, draws));
            if draws.below(16) == 0
                && let Some(other) = places.any(draws)
            {
                targets.push(Target::new(other, draws));
            }
        }
        let meetings = if draws.below(4) > 0 { 1 << draws.below(4) } else { 0 };
        Self {
            walk: Urw::new(pilot, draws),
            priorities: (draws.below(4) == 0).then(Priorities::default),
            places,
            targets,
            tasks: SmallVec::new(),
            n_held: 0,
            leads: draws.below(8) > 0,
            meetings,
            most_steps: pilot.contended_steps * 2 + MORE_STEPS,
            until: u64::MAX,
            chosen: 0,
            contended: Contended::default(),
            patience: patience(pilot.contended_steps),
            free: SmallVec::new(),
        }
    }

    pub(crate) fn spawned(
        &mut self,
        task: u32,
        parent: u32,
        name: Option<&str>,
        draws: &mut Draws,
    ) {
        self.walk.spawned(task, parent, name);
        let name = self.places.names.iter().position(|known| known.as_deref() == name);
        self.tasks.push(Known { name, is_held: false, object: 0, meetings: 0 });
        if let Some(priorities) = &mut self.priorities {
            priorities.spawned(task, draws);
        }
    }

    pub(crate) fn yielded(&mut self, task: u32) {
        if let Some(priorities) = &mut self.priorities {
            priorities.yielded(task);
        }
    }

    #[inline]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        let met = self.end_meeting();
        self.arrive(turn);
        let first =
            self.walk.arrives(turn).or(met.filter(|&met| turn.tasks[met as usize].is_runnable()));
        self.go_on(turn, first)
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        self.contended.update(turn);
        let first = self.walk.waits(turn);
        self.go_on(turn, first)
    }

    #[inline]
    fn go_on(&mut self, turn: &mut Turn<'_>, first: Option<u32>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let next = first.unwrap_or_else(|| self.choose(turn));
        self.chosen = turn.tasks[next as usize].pending.object;
        next
    }

    /// An operation has run. Who was held back for so many of them at its object goes on.
    #[inline]
    fn end_meeting(&mut self) -> Option<u32> {
        if self.n_held == 0 || self.meetings == 0 || self.chosen == 0 {
            return None;
        }
        for (at, task) in self.tasks.iter_mut().enumerate() {
            if task.is_held && task.object == self.chosen {
                task.meetings -= 1;
                if task.meetings == 0 {
                    task.is_held = false;
                    self.n_held -= 1;
                    return Some(at as u32);
                }
            }
        }
        None
    }

    /// The running task has come to an operation; it may be one before which it is held back.
    #[inline]
    fn arrive(&mut self, turn: &Turn<'_>) {
        let pending = turn.tasks[turn.current as usize].pending;
        let task = &mut self.tasks[turn.current as usize];
        let is_here = |target: &&mut Target| {
            task.name == Some(target.candidate.name)
                && same_place(target.candidate.place, pending.place)
        };
        let Some(target) = self.targets.iter_mut().find(is_here) else { return };
        if target.holds_back(turn.current as usize) {
            if self.n_held == 0 {
                self.until = turn.step.saturating_add(self.most_steps);
            }
            self.n_held += usize::from(!task.is_held);
            task.is_held = true;
            (task.object, task.meetings) = (pending.object, self.meetings);
        }
    }

    #[inline]
    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        if self.contended.steps >= self.patience {
            return turn.pick();
        }
        if self.leads {
            if let Some(leader) = self.leader(turn) {
                return leader;
            }
            // Where none of them could begin yet, they may still lead later.
            self.leads = self.n_held == 0;
        }
        if self.n_held > 0 && turn.step >= self.until {
            self.tasks.iter_mut().for_each(|task| task.is_held = false);
            self.n_held = 0;
        }
        if self.n_held == 0 {
            return self.among(turn.runnable, turn.draws);
        }
        let tasks = &self.tasks;
        let free = turn.runnable.iter().filter(|&&task| !tasks[task as usize].is_held);
        self.free.clear();
        self.free.extend(free.copied());
        if !self.free.is_empty() {
            return self.among(&self.free, turn.draws);
        }
        let next = turn.pick();
        self.tasks[next as usize].is_held = false;
        self.n_held -= 1;
        self.until = turn.step.saturating_add(self.most_steps);
        next
    }

    /// A task of a target that is not held back, the running one if it is such.
    fn leader(&mut self, turn: &mut Turn<'_>) -> Option<u32> {
        let (tasks, targets) = (&self.tasks, &self.targets);
        let leads = |task: &u32| {
            let task = &tasks[*task as usize];
            let mut targets = targets.iter();
            !task.is_held && targets.any(|target| task.name == Some(target.candidate.name))
        };
        let leaders = turn.runnable.iter().filter(|task| leads(task));
        self.free.clear();
        self.free.extend(leaders.copied());
        if self.free.contains(&turn.current) {
            return Some(turn.current);
        }
        (!self.free.is_empty()).then(|| self.among(&self.free, turn.draws))
    }

    #[inline]
    fn among(&self, tasks: &[u32], draws: &mut Draws) -> u32 {
        match (&self.priorities, tasks) {
            (_, &[alone]) => alone,
            (Some(priorities), tasks) => priorities.highest(tasks),
            (None, tasks) => self.walk.among(tasks, draws),
        }
    }
}

impl Target {
    fn new(candidate: Candidate, draws: &mut Draws) -> Self {
        let all = candidate.arrivals <= 1 || draws.below(2) == 0;
        let arrival = if all { 0 } else { 1 + draws.below(candidate.arrivals) };
        Self { candidate, arrival, seen: SmallVec::new() }
    }

    /// A task has arrived: whether it is to be held back.
    #[inline]
    fn holds_back(&mut self, task: usize) -> bool {
        if self.arrival == 0 {
            return true;
        }
        if self.seen.len() <= task {
            self.seen.resize(task + 1, 0);
        }
        self.seen[task] += 1;
        self.seen[task] == self.arrival
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    fn places(beginnings: u32, others: u32) -> Places {
        let candidate = |arrivals| Candidate { name: 0, place: Location::caller(), arrivals };
        let of = |from, n| (from..from + n).map(candidate).collect();
        Places { names: vec![None], beginnings: of(0, beginnings), others: of(100, others) }
    }

    /// The numbers of places, as `arrivals` tells them, of executions in a row.
    fn numbers(places: &Places, nth: std::ops::Range<u64>) -> Vec<u32> {
        let number = |nth| places.nth(nth).unwrap().arrivals;
        let mut numbers: Vec<_> = nth.map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    #[test]
    fn each_place_comes_once_a_round_and_beginnings_in_every_third() {
        let places = places(2, 3);

        for of_three in (0..1_100).step_by(11) {
            let round = |from: u64, to: u64| numbers(&places, of_three + from..of_three + to);
            assert_eq!(round(0, 3), [100, 101, 102]);
            assert_eq!(round(3, 6), [100, 101, 102]);
            assert_eq!(round(6, 11), [0, 1, 100, 101, 102]);
        }
    }

    #[test]
    fn rounds_differ_in_their_order() {
        let places = places(0, 5);
        let order = |round: u64| {
            let number = |at| places.nth(round * 5 + at).unwrap().arrivals;
            (0..5).map(number).collect::<Vec<_>>()
        };

        assert!((1..50).any(|round| order(round) != order(0)));
    }

    #[test]
    fn beginnings_alone_come_all() {
        assert_eq!(numbers(&places(3, 0), 0..3), [0, 1, 2]);
        assert!(places(0, 0).nth(7).is_none());
    }
}
