//! Units: a search of traces cut into parts that can be run at the same time, or later.
//!
//! A unit is a depth-first search below a decision. The decisions above it belong to all units
//! below them, so they are kept here as *shared* nodes, and a unit only asks for what should be
//! tried at them. Units are run in rounds: each gets a number of runs; then, in their order, what
//! they found is added up, what they asked for is wanted, and the tree is cut further until there
//! are enough units. Of the choices at a shared node one is given to a unit at a time, for the
//! next is to sleep on what the one before has touched.
//!
//! Keeps: which runs there are, and how they count, is a function of the program alone. Nothing
//! depends on the number of OS threads, nor on where a search was cut off and taken up again: runs
//! count by round, in a round by unit, and within a round no unit sees another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::decision::{Decision, Sleeper};
use super::event::{TaskSet, bit};
use super::path::{Node, Request};
use super::runner::Runner;
use super::search::Search;
use super::tally::Tally;

/// Runs of a unit in a round: long beside what a round costs, short beside a user's patience.
const BUDGET: u64 = 512;
/// Units beyond which the tree is not cut further: more than there are cores.
const ENOUGH: usize = 48;

/// A decision that several units are below.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Shared {
    /// The one before it, and the choice there that leads here.
    parent: Option<(u32, u32)>,
    decision: Decision,
    enabled: TaskSet,
    /// There is nothing to choose.
    forced: bool,
    /// Whose turn it was.
    current: u32,
    /// Units and shared nodes directly below.
    below: u32,
    /// What the latest choice touches is not known yet.
    busy: bool,
}

/// A search below shared nodes.
#[derive(Serialize, Deserialize)]
struct Unit {
    /// Made from `decisions` where it is missing.
    #[serde(skip)]
    search: Option<Box<Search>>,
    /// The path as it was when it was kept.
    decisions: Vec<Decision>,
    /// The shared nodes it is below, from the root.
    above: Vec<u32>,
    /// Runs that it has left in this round.
    left: u64,
    /// Of this round.
    tally: Tally,
    /// What it is the first to try is not known to the node above yet.
    fresh: bool,
    ended: bool,
    /// It was kept after it had run; then also what it asked for, and what its first choice did.
    begun: bool,
    asked: Vec<Request>,
    first: Option<Sleeper>,
}

/// The tree as far as it is not searched.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Units {
    shared: BTreeMap<u32, Shared>,
    units: Vec<Unit>,
    next: u32,
}

impl Units {
    pub(super) fn new() -> Self {
        Self { units: vec![Unit::new(Vec::new(), Vec::new())], ..Self::default() }
    }

    /// Nothing is left to run.
    pub(super) fn is_searched(&self) -> bool {
        self.units.is_empty()
    }

    /// Runs a round, or goes on with one, with at most `limit` runs. What has come of it is added
    /// to `tally` if it came to its end.
    pub(super) fn round(&mut self, runner: &Runner<'_>, limit: u64, tally: &mut Tally) {
        if self.units.iter().any(|unit| unit.begun) {
            runner.each(&mut self.units, |unit| unit.rebuild(runner));
        }
        if self.units.iter().map(|unit| unit.left).sum::<u64>() <= limit
            && !runner.checker.stop_at_first
        {
            runner.each(&mut self.units, |unit| unit.run(runner, unit.left));
        } else {
            let mut limit = limit;
            for unit in &mut self.units {
                let runs = unit.left.min(limit);
                limit -= unit.run_counted(runner, runs);
                if runner.ends(&unit.tally) {
                    break;
                }
            }
        }
        if self.units.iter().all(|unit| unit.left == 0 || unit.ended) {
            self.end_round(tally);
        }
    }

    /// What came of the units of a round that has not ended.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = &Tally> {
        self.units.iter().map(|unit| &unit.tally)
    }

    /// Ready to be kept, but for the traces that they have run.
    pub(super) fn keep(&mut self) -> impl Iterator<Item = &mut Vec<u64>> {
        for unit in &mut self.units {
            let Some(search) = &unit.search else { continue };
            unit.decisions = search.decisions();
            unit.begun = !search.path.nodes.is_empty();
            unit.asked = search.path.requests.clone();
            unit.first = unit.above.len().checked_sub(1).and_then(|at| unit.tried(at));
        }
        self.units.iter_mut().map(|unit| &mut unit.tally.traces)
    }

    /// Choices that are known to be left.
    pub(super) fn choices_left(&self) -> u64 {
        let shared = self.shared.values().map(|shared| u64::from(shared.left().count_ones()));
        let units = self.units.iter().filter(|unit| !unit.ended).map(|unit| {
            let nodes =
                unit.search.iter().flat_map(|search| &search.path.nodes[unit.above.len()..]);
            let left = nodes.map(|node| u64::from((node.left() & !bit(node.chosen)).count_ones()));
            // The choice at the end has not been run yet.
            left.sum::<u64>() + 1
        });
        shared.sum::<u64>() + units.sum::<u64>()
    }

    fn end_round(&mut self, tally: &mut Tally) {
        for at in 0..self.units.len() {
            tally.absorb(std::mem::take(&mut self.units[at].tally));
            let above = std::mem::take(&mut self.units[at].above);
            for request in self.units[at].requests() {
                if let Some(shared) = self.shared.get_mut(&above[request.at]) {
                    shared.want(request);
                }
            }
            if std::mem::take(&mut self.units[at].fresh)
                && let Some(shared) = above.last().and_then(|id| self.shared.get_mut(id))
            {
                shared.busy = false;
                let unit = &mut self.units[at];
                let first = unit.tried(above.len() - 1);
                shared.decision.sleep.extend(first.or_else(|| unit.first.take()));
            }
            self.units[at].above = above;
        }
        let ended: Vec<_> = self.units.extract_if(.., |unit| unit.ended).collect();
        for unit in ended {
            self.leave(unit.above.last().copied());
        }
        self.cut();
        self.units.iter_mut().for_each(|unit| unit.left = BUDGET);
    }

    /// Something directly below a shared node is searched.
    fn leave(&mut self, id: Option<u32>) {
        let Some((id, shared)) = id.and_then(|id| Some((id, self.shared.get_mut(&id)?))) else {
            return;
        };
        shared.below -= 1;
        if shared.below == 0 && shared.left() == 0 {
            let parent = shared.parent.map(|(parent, _)| parent);
            self.shared.remove(&id);
            self.leave(parent);
        }
    }

    /// Makes units until there are enough, or nothing is left to cut.
    fn cut(&mut self) {
        loop {
            // The newest first: they are deep, and soon done.
            let free = self.shared.iter().rev().filter(|(_, shared)| shared.left() != 0);
            let free: Vec<_> = free.map(|(&id, _)| id).collect();
            for &id in &free {
                if self.units.len() >= ENOUGH {
                    return;
                }
                self.hand_out(id);
            }
            let mut split = false;
            for at in 0..self.units.len() {
                split |= self.split(at);
            }
            if free.is_empty() && !split {
                return;
            }
        }
    }

    /// Gives the next choice at a shared node to a unit of its own.
    fn hand_out(&mut self, id: u32) {
        let Some(shared) = self.shared.get_mut(&id) else { return };
        shared.below += 1;
        if shared.decision.outcomes > 0 {
            shared.decision.chosen += 1;
        } else {
            let left = shared.left();
            let first = if left & bit(shared.current) != 0 {
                shared.current
            } else {
                left.trailing_zeros()
            };
            shared.decision.chosen = first;
            shared.decision.done |= bit(first);
            shared.busy = true;
        }
        let (mut above, mut decisions) = (vec![id], vec![shared.decision.clone()]);
        let mut parent = shared.parent;
        while let Some((id, via)) = parent {
            let Some(shared) = self.shared.get(&id) else { break };
            decisions.push(Decision { chosen: via, ..shared.decision.clone() });
            above.push(id);
            parent = shared.parent;
        }
        above.reverse();
        decisions.reverse();
        self.units.push(Unit { fresh: true, ..Unit::new(decisions, above) });
    }

    /// Shares the topmost decision of a unit at which something is left.
    fn split(&mut self, at: usize) -> bool {
        let unit = &mut self.units[at];
        let Some(search) = &mut unit.search else { return false };
        let floor = unit.above.len();
        let nodes = &search.path.nodes;
        let has_left = |&at: &usize| match &nodes[at] {
            node if node.is_step() => node.event.is_some() && node.left() & !bit(node.chosen) != 0,
            pick => pick.chosen + 1 < pick.outcomes,
        };
        let Some(k) = (floor..nodes.len().saturating_sub(1)).find(has_left) else { return false };
        for at in floor..=k {
            let via = at.checked_sub(1).map(|before| nodes[before].chosen);
            let parent = unit.above.last().copied().zip(via);
            unit.above.push(self.next);
            self.shared
                .insert(self.next, Shared::new(parent, &nodes[at], !nodes[at + 1].is_step()));
            self.next += 1;
        }
        search.path.floor = k + 1;
        true
    }
}

impl Shared {
    /// `node`, whose present choice is another's. Where it picked, it does not sleep.
    fn new(parent: Option<(u32, u32)>, node: &Node, picked: bool) -> Self {
        let mut decision = Decision::from(node);
        if node.is_step() {
            decision.done |= bit(node.chosen);
            decision.productive = true;
            let event = node.event.as_ref().filter(|_| !picked);
            let sleeper = event.map(|event| {
                let (task, accesses) = (event.task, event.accesses.clone());
                Sleeper { task, accesses, futile: false }
            });
            decision.sleep.extend(sleeper);
        }
        let (enabled, forced, current) = (node.enabled, node.forced, node.current);
        Self { parent, decision, enabled, forced, current, below: 1, busy: false }
    }

    /// The tasks, or some outcome, that can be given to a unit now.
    fn left(&self) -> TaskSet {
        let decision = &self.decision;
        if decision.outcomes > 0 {
            return TaskSet::from(decision.chosen + 1 < decision.outcomes);
        }
        if self.forced || self.busy {
            return 0;
        }
        let asleep = decision.sleep.iter().fold(0, |set, sleeper| set | bit(sleeper.task));
        decision.wanted & self.enabled & !decision.done & !asleep
    }

    fn want(&mut self, request: Request) {
        let asleep = self.decision.sleep.iter().fold(0, |set, sleeper| set | bit(sleeper.task));
        if request.initials & (self.decision.wanted | asleep) == 0 {
            self.decision.wanted |= bit(request.first);
        }
    }
}

impl Unit {
    fn new(decisions: Vec<Decision>, above: Vec<u32>) -> Self {
        let tally = Tally::default();
        Self {
            search: None,
            decisions,
            above,
            left: BUDGET,
            tally,
            fresh: false,
            ended: false,
            begun: false,
            asked: Vec::new(),
            first: None,
        }
    }

    fn search(&mut self, runner: &Runner<'_>) -> &mut Box<Search> {
        let (decisions, above) = (&mut self.decisions, &self.above);
        self.search.get_or_insert_with(|| {
            let script = std::mem::take(decisions);
            Box::new(Search::new(runner.reduction, runner.most_faults, script, above.len()))
        })
    }

    /// Makes the path that was kept, as it was.
    fn rebuild(&mut self, runner: &Runner<'_>) {
        if !std::mem::take(&mut self.begun) || self.search.is_some() || self.ended {
            return;
        }
        let asked = std::mem::take(&mut self.asked);
        let search = self.search(runner);
        runner.on_threads(|execution| {
            runner.rebuild(execution, search);
            false
        });
        search.path.requests = asked;
    }

    /// As [`Unit::run`]; returns how many runs there were.
    fn run_counted(&mut self, runner: &Runner<'_>, runs: u64) -> u64 {
        let before = self.left;
        self.run(runner, runs);
        before - self.left
    }

    /// So many runs, or fewer if the proof ends early or nothing is left.
    fn run(&mut self, runner: &Runner<'_>, runs: u64) {
        let until = self.left - runs;
        if self.ended || runs == 0 {
            return;
        }
        self.search(runner);
        let Self { search: Some(search), left, tally, ended, .. } = self else { return };
        runner.on_threads(|execution| {
            loop {
                if *left == until || runner.is_stopped() || runner.ends(tally) {
                    return false;
                }
                *left -= 1;
                let ran = runner.run(execution, search, tally);
                if tally.refused.is_some() {
                    return false;
                }
                *ended = !search.path.advance();
                if *ended || ran.retire {
                    return !*ended;
                }
            }
        });
    }

    fn requests(&mut self) -> Vec<Request> {
        let kept = std::mem::take(&mut self.asked);
        let path = self.search.as_mut().map(|search| &mut search.path);
        path.map_or(kept, |path| std::mem::take(&mut path.requests))
    }

    /// What the choice at the node just above touches, if it is one to sleep on.
    fn tried(&self, at: usize) -> Option<Sleeper> {
        let nodes = &self.search.as_ref()?.path.nodes;
        let node = nodes.get(at).filter(|node| node.is_step())?;
        if nodes.get(at + 1).is_some_and(|next| !next.is_step()) {
            return None;
        }
        match &node.event {
            Some(event) => {
                let (task, accesses) = (event.task, event.accesses.clone());
                Some(Sleeper { task, accesses, futile: false })
            }
            None => node.sleep.iter().rfind(|sleeper| sleeper.task == node.chosen).cloned(),
        }
    }
}
