//! The path: the execution under way as a stack of decisions, and which others must be tried.
//!
//! Depth-first search over decisions: a node is the state before a step, and remembers who was
//! chosen there, who was tried before, and who must be tried yet. Source-DPOR finds the latter:
//! when two dependent steps of different tasks turn out to have been next to each other in time,
//! a *race*, the node before the earlier one gets a task that begins the other order, unless one
//! that does is there already. *Sleep sets* keep what was tried from being tried again: a task
//! sleeps until a step runs that is dependent with the one it would take.
//!
//! A path may begin with decisions that belong to others, below its *floor*: it does not go back
//! beyond them, and what should be tried there it only asks for.
//!
//! A step may also *pick*: which of several waiting tasks a wake-up reaches, whether a fault
//! strikes. Each pick is a node of its own after that of the step, and all its outcomes are tried.
//! A step that picked does not sleep afterwards: what it touches depends on the outcome.
//!
//! Keeps: no two complete executions are the same trace, unless steps pick.
//! Source: Abdulla, Aronsson, Jonsson, Sagonas, "Source sets: a foundation for optimal dynamic
//! partial order reduction" (2017), algorithm 1. Locks that wait are a step that is disabled while
//! the lock is taken: what races with it is the earlier acquisition, not the release.

use smallvec::SmallVec;

use super::decision::{Decision, Sleeper};
use super::event::{Access, Accesses, Clock, Event, Label, TaskSet, bit, dependent, tasks_of};
use crate::core::mix;
use crate::trace::OpKind;

/// A decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Of a pick, how many outcomes it has; 0 where a task is chosen.
    pub(super) outcomes: u32,
    /// The tasks that could be chosen.
    pub(super) enabled: TaskSet,
    /// The task, or the outcome of a pick.
    pub(super) chosen: u32,
    /// Those that are or were to be chosen.
    pub(super) wanted: TaskSet,
    pub(super) done: TaskSet,
    pub(super) sleep: Vec<Sleeper>,
    /// The step of the chosen task, once it was carried out.
    pub(super) event: Option<Event>,
    /// Some choice led on.
    pub(super) productive: bool,
    /// There is nothing to choose: the first step of a new task.
    pub(super) forced: bool,
    /// All would wait: the machine is left to say so.
    pub(super) stuck: bool,
    /// Whose turn it was, and the preemptions spent so far.
    pub(super) current: u32,
    pub(super) preemptions: u32,
}

impl Node {
    /// Whether it chooses a task.
    pub(super) fn is_step(&self) -> bool {
        self.outcomes == 0
    }

    /// The tasks that are to be tried yet.
    pub(super) fn left(&self) -> TaskSet {
        if self.forced || self.stuck {
            return 0;
        }
        self.wanted & self.enabled & !self.done & !self.asleep()
    }

    pub(super) fn asleep(&self) -> TaskSet {
        self.sleep.iter().fold(0, |set, sleeper| set | bit(sleeper.task))
    }

    pub(super) fn futile(&self) -> TaskSet {
        let futile = self.sleep.iter().filter(|sleeper| sleeper.futile);
        futile.fold(0, |set, sleeper| set | bit(sleeper.task))
    }

    /// What it costs to choose `task`: 1 for taking the processor from a task that can go on.
    pub(super) fn cost(&self, task: u32) -> u32 {
        let can_go_on = self.enabled & !self.futile() & bit(self.current) != 0;
        u32::from(task != self.current && can_go_on && !self.forced)
    }

    /// Among `tasks` the one to take first: who had the turn, or else the lowest.
    pub(super) fn first_of(&self, tasks: TaskSet) -> Option<u32> {
        if tasks & bit(self.current) != 0 { Some(self.current) } else { tasks_of(tasks).next() }
    }

    /// Chooses `next`; or, where all that could go on would wait, lets the machine say so.
    fn go_to(&mut self, next: Option<u32>) -> bool {
        if let Some(next) = next {
            self.chosen = next;
            self.wanted |= bit(next);
            return true;
        }
        let all_would_wait = self.enabled & !self.futile() == 0;
        let says_so = !self.productive && !self.stuck && all_would_wait;
        self.stuck |= says_so;
        says_so
    }

    /// The tasks that `bound` preemptions allow.
    pub(super) fn affordable(&self, bound: u32) -> TaskSet {
        let left = bound.saturating_sub(self.preemptions);
        let allowed = tasks_of(self.enabled).filter(|&task| self.cost(task) <= left);
        allowed.fold(0, |set, task| set | bit(task))
    }
}

/// How much of the tree is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Reduction {
    /// One execution a trace.
    Traces,
    /// Every schedule with at most so many preemptions.
    Preemptions(u32),
}

/// A task that should be tried at a node below the floor: one of `initials`, best `first`, unless
/// one of them is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Request {
    pub(super) at: usize,
    pub(super) initials: TaskSet,
    pub(super) first: u32,
}

#[derive(Debug)]
pub(super) struct Path {
    pub(super) nodes: Vec<Node>,
    pub(super) reduction: Reduction,
    /// The first node that is ours.
    pub(super) floor: usize,
    pub(super) requests: Vec<Request>,
    /// The node whose step created each task. Of this run, as is what follows.
    births: Vec<Option<usize>>,
    /// The node of each task's latest step.
    latest: Vec<Option<usize>>,
}

impl Path {
    pub(super) fn new(reduction: Reduction, floor: usize) -> Self {
        Self {
            nodes: Vec::new(),
            reduction,
            floor,
            requests: Vec::new(),
            births: Vec::new(),
            latest: Vec::new(),
        }
    }

    /// The latest decision about a task.
    pub(super) fn last_step(&self) -> Option<&Node> {
        self.nodes.iter().rev().find(|node| node.is_step())
    }

    /// All decisions, to be kept.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        self.nodes.iter().map(Decision::from).collect()
    }

    /// Forgets what belongs to one run.
    pub(super) fn rewind(&mut self) {
        self.births.clear();
        self.latest.clear();
    }

    /// Tasks up to `n_tasks` exist; the new ones were created by the step at node `at`.
    pub(super) fn born(&mut self, n_tasks: usize, at: Option<usize>) {
        while self.births.len() < n_tasks {
            self.births.push(at);
            self.latest.push(None);
        }
    }

    fn event(&self, at: usize) -> Option<&Event> {
        self.nodes.get(at)?.event.as_ref()
    }

    /// The events of `task` before node `end`, the latest first, with their nodes.
    pub(super) fn backwards(
        &self,
        task: u32,
        end: usize,
    ) -> impl Iterator<Item = (usize, &Event)> + '_ {
        let events = (0..end).rev().filter_map(|at| Some((at, self.event(at)?)));
        events.filter(move |(_, event)| event.task == task)
    }

    /// The step at node `at` was carried out: orders it, and wants the reverse of its races. False
    /// if it was another step in an earlier run.
    pub(super) fn carried_out(
        &mut self,
        at: usize,
        task: u32,
        label: Label,
        accesses: Accesses,
        (awaited, picked): (Option<u64>, u64),
    ) -> bool {
        let known = self.nodes[at].event.as_ref();
        let same = known.is_none_or(|known| known.label == label && known.accesses == accesses);
        if self.nodes[at].event.is_none() {
            let (ordinal, mut clock, races) = self.relate(at, task, &label, &accesses);
            self.reverse_all(&races, at, task, &clock);
            clock.set(task, ordinal);
            let event = Event { task, ordinal, label, accesses, clock, awaited, picked };
            self.nodes[at].event = Some(event);
        } else if let Some(event) = &mut self.nodes[at].event {
            // Values may be addresses, which differ from run to run.
            event.awaited = awaited;
        }
        self.latest[task as usize] = Some(at);
        same
    }

    /// The step at node `at` leads nowhere: wants the reverse of its races, and the task sleeps
    /// there until something that it touched changes. `futile` says that it would have waited.
    pub(super) fn led_nowhere(
        &mut self,
        at: usize,
        task: u32,
        label: Label,
        accesses: Accesses,
        futile: bool,
    ) {
        if self.nodes[at].event.is_none() {
            let (_, clock, races) = self.relate(at, task, &label, &accesses);
            self.reverse_all(&races, at, task, &clock);
        }
        self.sleep(at, task, accesses, futile);
    }

    /// The task that was chosen at `at` sleeps there, as if it had not been.
    pub(super) fn sleep(&mut self, at: usize, task: u32, accesses: Accesses, futile: bool) {
        let node = &mut self.nodes[at];
        node.event = None;
        node.done |= bit(task);
        node.sleep.push(Sleeper { task, accesses, futile });
        self.nodes.truncate(at + 1);
    }

    /// Whether the step at node `at` finds the value that its task's wait for the word has ended
    /// with, though it has changed in between: the wait could have ended just now as well.
    pub(super) fn waited_too_early(&self, at: usize, task: u32, label: &Label, seen: u64) -> bool {
        let Some((from, wait)) = self.backwards(task, at).next() else { return false };
        let writes = |event: &Event| {
            event.accesses.iter().any(|access| access.writes && Some(access.object) == label.object)
        };
        self.reduction == Reduction::Traces
            && matches!(label.kind, Some(OpKind::ReadModifyWrite | OpKind::CompareExchange))
            && wait.awaited == Some(seen)
            && wait.label.object == label.object
            && (from + 1..at).filter_map(|between| self.event(between)).any(writes)
    }

    /// What happened before a step, and with which steps it races.
    fn relate(
        &self,
        at: usize,
        task: u32,
        label: &Label,
        accesses: &[Access],
    ) -> (u32, Clock, SmallVec<[usize; 4]>) {
        let before = self.latest[task as usize].or(self.births[task as usize]);
        let before = before.and_then(|at| self.event(at));
        let mut clock = before.map(|event| event.clock.clone()).unwrap_or_default();
        let ordinal = clock.get(task) + 1;
        let mut races = SmallVec::new();
        let mut releases: SmallVec<[usize; 4]> = SmallVec::new();
        let mut open: Accesses = accesses.into();
        // Going back in time, we are inside of a hold of the lock that is taken.
        let mut held = false;
        for k in (0..at).rev() {
            if open.is_empty() {
                break;
            }
            let Some(event) = self.event(k) else { continue };
            let (mut orders, mut waited) = (false, true);
            for theirs in &event.accesses {
                open.retain(|mine| {
                    if mine.object != theirs.object || !(mine.writes || theirs.writes) {
                        return true;
                    }
                    orders = true;
                    // A lock that waits could not have come before the release.
                    let release = label.locks() && (theirs.frees || held && !theirs.writes);
                    held |= label.locks() && theirs.frees && theirs.writes;
                    waited &= release;
                    // What is earlier than a write happened before it.
                    !theirs.writes || release
                });
            }
            if !orders || event.task == task || event.is_before(&clock) {
                continue;
            }
            if waited || label.follows() {
                releases.push(k);
            } else {
                races.push(k);
                clock.join(&event.clock);
            }
        }
        for event in releases.iter().filter_map(|&k| self.event(k)) {
            clock.join(&event.clock);
        }
        (ordinal, clock, races)
    }

    fn reverse_all(&mut self, races: &[usize], at: usize, task: u32, clock: &Clock) {
        if self.reduction == Reduction::Traces {
            for &race in races {
                self.reverse(race, at, task, clock);
            }
        }
    }

    /// Wants, at the node of the earlier step of a race, a task that begins the other order.
    fn reverse(&mut self, race: usize, at: usize, task: u32, clock: &Clock) {
        let Some(earlier) = self.event(race) else { return };
        // What does not depend on the earlier step can come before it, and so can the later one:
        // who may begin with that?
        let mut firsts = Clock::default();
        let mut initials: TaskSet = 0;
        let begins = |firsts: &Clock, task: u32, clock: &Clock| {
            firsts.get(task) == 0
                && (0..self.births.len() as u32).all(|other| {
                    let first = firsts.get(other);
                    first == 0 || clock.get(other) < first
                })
        };
        for between in (race + 1..at).filter_map(|at| self.event(at)) {
            if earlier.is_before(&between.clock) {
                continue;
            }
            if begins(&firsts, between.task, &between.clock) {
                initials |= bit(between.task);
            }
            if firsts.get(between.task) == 0 {
                firsts.set(between.task, between.ordinal);
            }
        }
        if begins(&firsts, task, clock) {
            initials |= bit(task);
        }
        initials &= self.nodes[race].enabled;
        let first = if initials & bit(task) != 0 { Some(task) } else { tasks_of(initials).next() };
        if let Some(first) = first {
            self.want(race, initials, first);
        }
    }

    /// Wants one of `initials` tried at node `at`.
    fn want(&mut self, at: usize, initials: TaskSet, first: u32) {
        let node = &mut self.nodes[at];
        if initials & (node.wanted | node.asleep()) != 0 {
            return;
        }
        node.wanted |= bit(first);
        if at < self.floor {
            self.requests.push(Request { at, initials, first });
        }
    }

    /// The tasks that sleep before the step of a new node.
    pub(super) fn inherited_sleep(&self) -> Vec<Sleeper> {
        let Some(Node { sleep, event: Some(event), .. }) = self.last_step() else {
            return Vec::new();
        };
        let stays = |sleeper: &&Sleeper| {
            sleeper.task != event.task && !dependent(&sleeper.accesses, &event.accesses)
        };
        sleep.iter().filter(stays).cloned().collect()
    }

    /// An execution failed at its last step: nobody else could go on, though all might have.
    pub(super) fn failed(&mut self) {
        if let Some(at) = self.nodes.iter().rposition(Node::is_step) {
            for task in tasks_of(self.nodes[at].enabled) {
                self.want(at, bit(task), task);
            }
        }
    }

    /// Goes to the next decision that is left, the deepest first. False if there is none.
    pub(super) fn advance(&mut self) -> bool {
        while self.nodes.len() > self.floor {
            let at = self.nodes.len() - 1;
            if self.nodes[at].is_step() {
                if self.advance_step() {
                    return true;
                }
            } else if self.advance_pick(at) {
                return true;
            }
            self.nodes.pop();
        }
        false
    }

    /// The next outcome of the pick at the end of the path.
    fn advance_pick(&mut self, at: usize) -> bool {
        let node = &mut self.nodes[at];
        node.chosen += 1;
        let left = node.chosen < node.outcomes;
        // What the step did depended on it; it was no step to sleep on.
        if let Some(step) = self.nodes[..at].iter_mut().rfind(|node| node.is_step()) {
            step.event = None;
            step.productive = true;
        }
        left
    }

    fn advance_step(&mut self) -> bool {
        let Some(node) = self.nodes.last_mut() else { return false };
        node.done |= bit(node.chosen);
        if let Some(event) = node.event.take() {
            node.productive = true;
            let (task, accesses) = (event.task, event.accesses);
            node.sleep.push(Sleeper { task, accesses, futile: false });
        }
        let others = node.enabled & !node.done & !node.asleep();
        let next = match node.left() {
            _ if node.forced || node.stuck => None,
            0 if node.productive => None,
            0 => node.first_of(others),
            wanted => node.first_of(wanted),
        };
        node.go_to(next)
    }

    /// The last step would have waited: goes to what would be done instead, were it known. False
    /// if there is nothing.
    pub(super) fn detour(&mut self, bound: u32) -> bool {
        if self.nodes.len() <= self.floor {
            return false;
        }
        let Some(node) = self.nodes.last_mut().filter(|node| node.is_step()) else { return false };
        let others = node.enabled & !node.done & !node.asleep();
        let next = if node.forced { None } else { node.first_of(others & node.affordable(bound)) };
        node.go_to(next)
    }

    /// The tasks that another schedule would choose instead, with the nodes at which it would.
    pub(super) fn alternatives(&self, bound: u32) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for (at, node) in self.nodes.iter().enumerate().skip(self.floor) {
            let others = if !node.is_step() {
                ((node.chosen + 1)..node.outcomes).fold(0, |set, outcome| set | bit(outcome))
            } else if node.forced || node.stuck {
                0
            } else {
                let others = node.enabled & !node.done & !node.asleep() & !bit(node.chosen);
                others & node.affordable(bound)
            };
            all.extend(tasks_of(others).map(|other| (at as u32, other)));
        }
        all
    }

    /// A hash of the trace: the same for all executions that differ only in the order of
    /// independent steps.
    pub(super) fn trace_hash(&self) -> u64 {
        let events = self.nodes.iter().filter_map(|node| node.event.as_ref());
        mix(events.fold(0, |hash, event| hash.wrapping_add(event.hash())), 1)
    }
}
