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
use super::urw::{scaled, weighted};
use super::{NOBODY, Pilot, Turn};
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
    /// By task: operations on the target that are left, those of tasks yet to be spawned included;
    /// 0 once it has ended.
    left: SmallVec<[u64; 8]>,
    /// Their sum.
    all_left: u64,
    /// By task: which of its operations is to be the first on the target, and where.
    first: SmallVec<[Option<(u32, Place)>; 8]>,
    /// By task: whether its pending operation is on the target.
    arrived: SmallVec<[bool; 16]>,
    /// Room for the tasks that are not held back.
    free: SmallVec<[u32; 16]>,
    /// The intended task, or [`NOBODY`].
    intended: u32,
    /// The intended task was given the processor at the object.
    granted: bool,
    /// Steps for which somebody has been held back for the same task.
    waited: u64,
    patience: u64,
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
            left: SmallVec::new(),
            all_left: 0,
            first: SmallVec::new(),
            arrived: SmallVec::new(),
            free: SmallVec::new(),
            intended: NOBODY,
            granted: false,
            waited: 0,
            patience,
        }
    }

    #[inline]
    fn set_left(&mut self, task: u32, left: u64) {
        let known = &mut self.left[task as usize];
        self.all_left = self.all_left - *known + left;
        *known = left;
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
        self.left.push(left);
        self.all_left += left;
        self.first.push(first);
        self.arrived.push(false);
        self.free.push(0);
        if task == 0 {
            return;
        }
        let before = self.left[parent as usize];
        self.set_left(parent, before.saturating_sub(left));
        // Who was meant may have been the child.
        if self.intended == parent && left > 0 {
            let before = before.clamp(1, u64::from(u32::MAX)) as u32;
            if u64::from(draws.below(before)) < left {
                self.intended = task;
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
            && let Some((first, place)) = self.first[turn.current as usize]
            && nth.is_some_and(|nth| nth >= first)
            && place == pending.place
        {
            self.find(turn, pending.object);
        }
        self.arrived[turn.current as usize] = self.is_at_target(turn, turn.current);
        match self.unraced.at_point(turn) {
            Some(first) => first,
            None => self.choose(turn),
        }
    }

    pub(crate) fn at_block(&mut self, turn: &mut Turn<'_>) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let current = turn.current as usize;
        if turn.tasks[current].finished {
            self.end_grant();
            self.set_left(turn.current, 0);
        }
        let (object, looks) = self.counted.waits(turn);
        let waits_for = turn.tasks[current].wait.map_or(0, |wait| wait.object);
        if waits_for == 0 || waits_for != self.object {
            self.end_grant();
            self.arrived[current] = false;
        } else if self.granted {
            // It has not got what it was given the processor for, and is next when it can.
            self.granted = false;
        }
        if object != 0 && object == self.object {
            self.set_left(turn.current, self.left[current] + u64::from(looks));
        }
        match self.unraced.at_block(turn) {
            Some(first) => first,
            None => self.choose(turn),
        }
    }

    /// The address of the target is known from here on.
    #[cold]
    fn find(&mut self, turn: &Turn<'_>, object: usize) {
        self.object = object;
        for task in 0..self.arrived.len() as u32 {
            self.arrived[task as usize] = self.is_at_target(turn, task);
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
        if self.granted {
            let task = std::mem::replace(&mut self.intended, NOBODY);
            self.set_left(task, self.left[task as usize].saturating_sub(1));
            self.granted = false;
            self.waited = 0;
        }
    }

    #[inline]
    fn choose(&mut self, turn: &mut Turn<'_>) -> u32 {
        let runnable = turn.runnable;
        if let &[alone] = runnable {
            return self.run(alone);
        }
        // Without a branch: who is held back is all but random.
        let (arrived, free) = (&self.arrived[..], &mut self.free[..]);
        let mut n_free = 0;
        for &task in runnable {
            free[n_free] = task;
            n_free += usize::from(!arrived[task as usize]);
        }
        if n_free == runnable.len() {
            return turn.pick();
        }
        self.waited += 1;
        if self.waited > self.patience {
            self.intended = NOBODY;
            return self.let_one_go(turn);
        }
        if self.intended == NOBODY {
            self.intended = self.intend(turn);
        }
        let intended = self.intended;
        if self.arrived[intended as usize] && turn.tasks[intended as usize].is_runnable() {
            self.free[n_free] = intended;
            n_free += 1;
        }
        let next = match n_free {
            0 => return self.let_one_go(turn),
            1 => self.free[0],
            n => self.free[turn.draws.below(n as u32) as usize],
        };
        self.run(next)
    }

    /// Draws who is to have the next operation on the target.
    #[inline]
    fn intend(&self, turn: &mut Turn<'_>) -> u32 {
        if self.all_left == 0 {
            // The pilot saw no more of these operations: everybody may be next.
            let tasks = 0..self.left.len() as u32;
            let alive: SmallVec<[u32; 16]> =
                tasks.filter(|&task| !turn.tasks[task as usize].finished).collect();
            return weighted(&alive, turn.draws, |_| 1);
        }
        // Without a branch: each of the tasks whose operations all come before the drawn one counts.
        let at = scaled(turn.draws, self.all_left);
        let mut sum = 0;
        let before = self.left.iter().filter(|&&left| {
            sum += left;
            sum <= at
        });
        before.count() as u32
    }

    /// The intended task does not come: one of those that are held back goes on.
    fn let_one_go(&mut self, turn: &mut Turn<'_>) -> u32 {
        let held_back = |task: u32| self.arrived[task as usize];
        let left = |task: u32| self.left[task as usize].max(1);
        let weight = |task: u32| if held_back(task) { left(task) } else { 0 };
        let next = weighted(turn.runnable, turn.draws, weight);
        self.run(next)
    }

    #[inline]
    fn run(&mut self, task: u32) -> u32 {
        if self.arrived[task as usize] {
            self.intended = task;
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
