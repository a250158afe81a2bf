//! Selectively uniform random walk: the operations on one shared object come in every order with
//! the same probability; whatever lies between is scheduled at random.
//!
//! The object is drawn per execution among those that tasks race for, each as likely as the number
//! of tasks that come to it. One task is *intended* to have the next operation on it, drawn as in a
//! uniform random walk over these operations alone. A task that arrives at the object and is not
//! the intended one is held back; should all be held back, another one is intended. Thus two tasks
//! meet at the object however far apart in time their ways lie, and no depth has to be guessed.
//! Source: Zhao, Wolff, Mathur, Roychoudhury, ASPLOS 2025.
//!
//! Where we leave the paper: the owner of the object's lock is never held back, since nobody could
//! pass it, and objects that are touched under one lock only are stood for by the lock.

use smallvec::SmallVec;

use super::profile::{Counted, Profile, Roles, Target};
use super::unraced::Unraced;
use super::urw::weighted;
use super::{Pilot, Turn};
use crate::core::{Draws, Place};

/// Steps that the intended task may take beyond all that the program took in the pilot while
/// others are held back for it: it may be polling for one of them.
const PATIENCE: u64 = 64;

pub(crate) struct Surw {
    unraced: Unraced,
    counted: Counted,
    roles: Roles,
    /// Which of the profile's targets; `None` where there is none: a random walk.
    target: Option<usize>,
    /// Address of the target; 0 until a task arrives there. Only ever compared.
    object: usize,
    own: SmallVec<[Own; 8]>,
    intended: Option<u32>,
    /// The intended task was given the processor at the object.
    granted: bool,
    /// Steps for which somebody has been held back for the same task.
    waited: u64,
    patience: u64,
}

/// What is known of one task.
#[derive(Clone, Copy)]
struct Own {
    /// Operations on the target that are left, those of tasks yet to be spawned included.
    left: u64,
    /// Which of its operations is to be the first on the target, and where.
    first: Option<(u32, Place)>,
    /// Whether its pending operation is on the target.
    arrived: bool,
}

impl Surw {
    pub(crate) fn new(pilot: &Pilot, draws: &mut Draws) -> Self {
        let profile = pilot.profile(draws, |profile| profile.weight > 0);
        let target = draw_target(&profile, draws);
        let patience = profile.operations.first().copied().unwrap_or(0) + PATIENCE;
        Self {
            unraced: Unraced::default(),
            counted: Counted::default(),
            roles: Roles::new(profile),
            target,
            object: 0,
            own: SmallVec::new(),
            intended: None,
            granted: false,
            waited: 0,
            patience,
        }
    }

    fn target(&self) -> Option<&Target> {
        self.target.map(|target| &self.roles.profile.targets[target])
    }

    pub(crate) fn spawned(
        &mut self,
        task: u32,
        parent: u32,
        name: Option<&str>,
        draws: &mut Draws,
    ) {
        self.unraced.spawned(task);
        self.counted.spawned();
        let role = self.roles.spawned(parent, name);
        let known = self.target().zip(role);
        let (left, first) =
            known.map_or((0, None), |(target, role)| (target.operations[role], target.first[role]));
        self.own.push(Own { left, first, arrived: false });
        if task == 0 {
            return;
        }
        let parents = &mut self.own[parent as usize].left;
        let before = std::mem::replace(parents, parents.saturating_sub(left));
        // Who was meant may have been the child.
        if self.intended == Some(parent) && left > 0 {
            let before = before.clamp(1, u64::from(u32::MAX)) as u32;
            if u64::from(draws.below(before)) < left {
                self.intended = Some(task);
            }
        }
    }

    #[inline]
    pub(crate) fn at_point(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        self.end_grant();
        let task = &turn.tasks[turn.current as usize];
        let pending = task.pending;
        let nth = self.counted.arrives(turn.current, pending.kind, pending.object);
        if self.object == 0
            && pending.object != 0
            && let Some((first, place)) = self.own[turn.current as usize].first
            && nth.is_some_and(|nth| nth >= first)
            && place == pending.place
        {
            self.find(turn, pending.object);
        }
        self.own[turn.current as usize].arrived = self.is_at_target(turn, turn.current);
        match self.unraced.at_point(turn) {
            Some(first) => first,
            None => self.choose(turn),
        }
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let current = turn.current as usize;
        let (object, looks) = self.counted.waits(turn);
        let waits_for = turn.tasks[current].wait.map_or(0, |wait| wait.object);
        if waits_for == 0 || waits_for != self.object {
            self.end_grant();
            self.own[current].arrived = false;
        } else if self.granted {
            // It has not got what it was given the processor for, and is next when it can.
            self.granted = false;
        }
        if object != 0 && object == self.object {
            self.own[current].left += u64::from(looks);
        }
        match self.unraced.at_block() {
            Some(first) => first,
            None => self.choose(turn),
        }
    }

    /// The address of the target is known from here on.
    #[cold]
    fn find(&mut self, turn: &Turn<'_>, object: usize) {
        self.object = object;
        for task in 0..self.own.len() as u32 {
            self.own[task as usize].arrived = self.is_at_target(turn, task);
        }
    }

    /// Whether the pending operation of `task` is one on the target that must wait its turn.
    #[inline]
    fn is_at_target(&self, turn: &Turn<'_>, task: u32) -> bool {
        let task = &turn.tasks[task as usize];
        self.object != 0
            && task.pending.object == self.object
            && !task.holds.iter().any(|hold| hold.object == self.object)
    }

    /// The intended task has had its operation.
    #[inline]
    fn end_grant(&mut self) {
        if self.granted
            && let Some(task) = self.intended.take()
        {
            let left = &mut self.own[task as usize].left;
            *left = left.saturating_sub(1);
            self.granted = false;
            self.waited = 0;
        }
    }

    #[inline]
    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        let runnable = turn.runnable;
        if runnable.len() == 1 {
            return self.run(runnable[0]);
        }
        if !runnable.iter().any(|&task| self.own[task as usize].arrived) {
            return turn.pick();
        }
        self.waited += 1;
        if self.waited > self.patience {
            self.intended = None;
            return self.let_one_go(turn);
        }
        if self.intended.is_none() {
            self.intend(turn);
        }
        let n_free = runnable.iter().filter(|&&task| self.is_free(task)).count() as u32;
        if n_free == 0 {
            return self.let_one_go(turn);
        }
        let nth = turn.draws.below(n_free) as usize;
        let free = runnable.iter().filter(|&&task| self.is_free(task)).nth(nth);
        self.run(free.copied().unwrap_or(runnable[0]))
    }

    /// Whether `task` need not be held back.
    #[inline]
    fn is_free(&self, task: u32) -> bool {
        !self.own[task as usize].arrived || self.intended == Some(task)
    }

    /// Draws who is to have the next operation on the target.
    fn intend(&mut self, turn: &mut Turn<'_>) {
        let tasks = 0..self.own.len() as u32;
        let alive: SmallVec<[u32; 16]> =
            tasks.filter(|&task| !turn.tasks[task as usize].finished).collect();
        let left = |task: u32| self.own[task as usize].left;
        // Where the pilot saw none of these operations, everybody may be next.
        let least = u64::from(alive.iter().all(|&task| left(task) == 0));
        self.intended = Some(weighted(&alive, turn.draws, |task| left(task).max(least)));
    }

    /// The intended task does not come: one of those that are held back goes on.
    fn let_one_go(&mut self, turn: &mut Turn<'_>) -> u32 {
        let arrived = |&task: &u32| self.own[task as usize].arrived;
        let held_back: SmallVec<[u32; 16]> =
            turn.runnable.iter().copied().filter(arrived).collect();
        let left = |task: u32| self.own[task as usize].left.max(1);
        let next = weighted(&held_back, turn.draws, left);
        self.run(next)
    }

    #[inline]
    fn run(&mut self, task: u32) -> u32 {
        if self.own[task as usize].arrived {
            self.intended = Some(task);
            self.granted = true;
        }
        task
    }
}

fn draw_target(profile: &Profile, draws: &mut Draws) -> Option<usize> {
    let mut at = draws.below(profile.weight.max(1));
    profile.targets.iter().position(|target| match at.checked_sub(target.weight) {
        Some(beyond) => {
            at = beyond;
            false
        }
        None => true,
    })
}
