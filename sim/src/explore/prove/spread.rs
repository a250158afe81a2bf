//! Every schedule within a bound on preemptions, spread evenly.
//!
//! Each execution has a parent: the same up to its last deviation, where the parent went the
//! default way, which is that the running task goes on. So executions are a tree, whose root never
//! deviates, and the children of an execution are its deviations one later. Depth-first, a search
//! that is cut off would have seen every preemption at the end of the program and none at its
//! beginning. Here the next execution is drawn: from the root down, a child with probability
//! proportional to the unexplored fraction of its subtree, 1 where it has not been run.
//!
//! Executions are drawn in batches, for as many jobs as there are. Keeps: which are run, and in
//! which order they count, is a function of the program and the bound.
//! Source: Lincheck's choice of the next interleaving (Koval et al. 2023).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::decision::Decision;
use super::runner::Runner;
use super::search::{Search, Verdict};
use super::tally::Tally;
use crate::core::{Domain, Draws, Execution};

/// The decisions of an execution, and the switches that it made.
type Found = (Vec<Decision>, Vec<(u32, u32)>);

/// Executions drawn at once.
const BATCH: usize = 512;
/// Executions that a job takes at once.
const SHEAF: usize = 32;

/// An execution that was run, and has children that were not.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Node {
    parent: Option<u32>,
    decisions: Vec<Decision>,
    /// The deviations that are to be run: the node, and what is chosen there.
    left: Vec<(u32, u32)>,
    /// All children there ever were, and the nodes of those that have something left.
    children: usize,
    open: Vec<u32>,
    /// Children that were drawn and not run yet.
    pending: u32,
    /// The part of the subtree that was not run, as far as one can tell.
    unexplored: f64,
}

/// A deviation that was drawn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Drawn {
    parent: Option<u32>,
    deviation: (u32, u32),
}

/// What came of a deviation.
struct Leaf {
    script: Vec<Decision>,
    search: Option<Box<Search>>,
    tally: Tally,
    /// The decisions of the execution and its deviations, if it has any.
    found: Option<Found>,
    ended: bool,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Spread {
    bound: u32,
    nodes: BTreeMap<u32, Node>,
    next: u32,
    /// Drawn, and not run yet.
    queue: VecDeque<Drawn>,
    /// How many were drawn so far: the seed of the next.
    drawn: u64,
}

impl Spread {
    pub(super) fn new(bound: u32) -> Self {
        let root = Drawn { parent: None, deviation: (0, 0) };
        Self { bound, queue: [root].into(), ..Self::default() }
    }

    /// Nothing is left to run.
    pub(super) fn is_searched(&self) -> bool {
        self.queue.is_empty() && self.nodes.is_empty()
    }

    /// Deviations that are known to be left.
    pub(super) fn choices_left(&self) -> u64 {
        let left = self.nodes.values().map(|node| node.left.len() as u64);
        left.sum::<u64>() + self.queue.len() as u64
    }

    /// Runs a batch, or goes on with one, with at most `limit` runs. Returns whether there was
    /// room for any.
    pub(super) fn round(&mut self, runner: &Runner<'_>, limit: u64, tally: &mut Tally) -> bool {
        if self.queue.is_empty() {
            self.draw();
        }
        let batch = self.queue.len().min(usize::try_from(limit).unwrap_or(usize::MAX));
        let batch = if runner.checker.stop_at_first { batch.min(1) } else { batch };
        let mut leaves: Vec<_> =
            self.queue.iter().take(batch).map(|&drawn| self.leaf(drawn)).collect();
        let mut sheaves: Vec<_> = leaves.chunks_mut(SHEAF).collect();
        runner.each(&mut sheaves, |sheaf| run_all(runner, self.bound, sheaf));
        let mut left = limit;
        for leaf in leaves {
            if !leaf.ended || leaf.tally.runs() > left {
                // What it came to is not counted, so it is run again.
                return left < limit;
            }
            left -= leaf.tally.runs();
            let Some(drawn) = self.queue.pop_front() else { break };
            tally.absorb(leaf.tally);
            self.grow(drawn.parent, leaf.found);
            if runner.ends(tally) {
                break;
            }
        }
        true
    }

    fn leaf(&self, drawn: Drawn) -> Leaf {
        let (at, chosen) = drawn.deviation;
        let parent = drawn.parent.and_then(|parent| self.nodes.get(&parent));
        let script = parent.map(|parent| {
            let before = parent.decisions[..=at as usize].iter().cloned();
            let mut script: Vec<_> = before.collect();
            script[at as usize].chosen = chosen;
            script
        });
        let (script, tally) = (script.unwrap_or_default(), Tally::default());
        Leaf { script, search: None, tally, found: None, ended: false }
    }

    /// Draws the next batch, without running any twice.
    fn draw(&mut self) {
        let mut draws = Draws::new(Domain::Proof);
        // The root's children are all there is at first: its subtree is to be drawn from, and what
        // is drawn of one batch does not know of the rest of it.
        while self.queue.len() < BATCH {
            let Some(root) = self.root() else { return };
            draws.start(self.drawn);
            self.drawn += 1;
            let mut id = root;
            loop {
                let node = &self.nodes[&id];
                let open: f64 = node.open.iter().map(|open| self.nodes[open].unexplored).sum();
                let total = node.left.len() as f64 + open;
                let mut at = draws.next_u64() as f64 / 2f64.powi(64) * total;
                if !node.left.is_empty() && (at < node.left.len() as f64 || node.open.is_empty()) {
                    let nth = (at as usize).min(node.left.len() - 1);
                    self.take(id, nth);
                    break;
                }
                at -= node.left.len() as f64;
                let mut next = None;
                for &open in node.open.iter().filter(|open| self.nodes[open].unexplored > 0.0) {
                    next = Some(open);
                    at -= self.nodes[&open].unexplored;
                    if at < 0.0 {
                        break;
                    }
                }
                let Some(next) = next else { return };
                id = next;
            }
        }
    }

    fn root(&self) -> Option<u32> {
        self.nodes.iter().next().filter(|(_, node)| node.unexplored > 0.0).map(|(&id, _)| id)
    }

    fn take(&mut self, id: u32, nth: usize) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let deviation = node.left.swap_remove(nth);
        node.pending += 1;
        self.queue.push_back(Drawn { parent: Some(id), deviation });
        self.update(Some(id));
    }

    /// A child of `parent` was run.
    fn grow(&mut self, parent: Option<u32>, found: Option<Found>) {
        if let Some((decisions, left)) = found.filter(|(_, left)| !left.is_empty()) {
            let id = self.next;
            self.next += 1;
            if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
                parent.open.push(id);
            }
            let (children, open, pending, unexplored) = (left.len(), Vec::new(), 0, 1.0);
            let node = Node { parent, decisions, left, children, open, pending, unexplored };
            self.nodes.insert(id, node);
        }
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            parent.pending -= 1;
        }
        self.update(parent);
    }

    /// The unexplored fractions from `id` up. A node of which nothing is left is forgotten.
    fn update(&mut self, mut id: Option<u32>) {
        while let Some(here) = id {
            let Some(node) = self.nodes.get(&here) else { return };
            let open: f64 = node.open.iter().map(|open| self.nodes[open].unexplored).sum();
            let unexplored = (node.left.len() as f64 + open) / node.children as f64;
            let parent = node.parent;
            if node.left.is_empty() && node.open.is_empty() && node.pending == 0 {
                self.nodes.remove(&here);
                if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
                    parent.open.retain(|&open| open != here);
                }
            } else if let Some(node) = self.nodes.get_mut(&here) {
                node.unexplored = unexplored;
            }
            id = parent;
        }
    }
}

/// Runs each execution to its end.
fn run_all(runner: &Runner<'_>, bound: u32, leaves: &mut [Leaf]) {
    let mut leaves = leaves.iter_mut();
    let mut next = leaves.next();
    runner.on_threads(|execution| {
        while let Some(leaf) = &mut next {
            if runner.is_stopped() {
                return false;
            }
            let retire = leaf.run(runner, bound, execution);
            if leaf.tally.refused.is_some() {
                return false;
            }
            if leaf.ended {
                next = leaves.next();
            }
            if retire {
                return next.is_some();
            }
        }
        false
    });
}

impl Leaf {
    /// Runs the default way from the end of the script, around whatever would have waited. Returns
    /// whether the OS thread is spoilt.
    fn run(&mut self, runner: &Runner<'_>, bound: u32, execution: &Execution) -> bool {
        let search = self.search.get_or_insert_with(|| {
            let script = std::mem::take(&mut self.script);
            let floor = script.len();
            Box::new(Search::new(runner.reduction, runner.most_faults, script, floor))
        });
        loop {
            let ran = runner.run(execution, search, &mut self.tally);
            let again = ran.verdict == Verdict::Futile && search.path.detour(bound);
            if !again {
                let left = search.path.alternatives(bound);
                self.found = Some((search.path.decisions(), left));
                self.ended = true;
                self.search = None;
                return ran.retire;
            }
            if ran.retire {
                return true;
            }
        }
    }
}
