//! Profiles: what one pilot execution showed of a program, task by task and object by object.
//!
//! Tasks are known by *role*: who spawned them, their name, and which of that name they are among
//! those that the same task spawned. Who comes first elsewhere does not change it. Objects have no
//! names that outlive an execution, so an object is known by when a role first comes to it: "the
//! reader's third operation". Whichever role gets there first tells its address for this execution.
//!
//! Counted are operations that may race. An attempt that ends in a wait, and the looks before it,
//! are not: waiting is blocking, and the operation counts once, when it is carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::Turn;
use super::delay::same_place;
use super::unraced::{races, reads};
use crate::core::Place;
use crate::trace::OpKind;

/// The looks before a wait that do not count: an attempt to lock, and the loop's own look.
const LOOKS: u32 = 2;

/// A pilot execution. Numbers of operations are by role.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    siblings: Vec<Siblings>,
    /// By role, which of the siblings it spawned.
    children: Vec<Vec<usize>>,
    /// Operations of each role and of all that it spawned.
    pub(crate) operations: Vec<u64>,
    /// Objects that tasks race for.
    pub(crate) targets: Vec<Target>,
    /// Sum of the targets' weights, once these are settled.
    pub(crate) weight: u32,
    /// Where tasks came to such objects.
    pub(crate) places: Vec<Visits>,
}

/// How one task came to an object at one place.
#[derive(Clone, Debug)]
pub(crate) struct Visits {
    task: u32,
    /// The task's name, once the pilot is over.
    pub(crate) name: Option<Arc<str>>,
    pub(crate) place: Place,
    /// How often.
    pub(crate) arrivals: u32,
    /// It was the first operation of the task that counts.
    pub(crate) is_beginning: bool,
}

/// Tasks of one name that one task spawned.
#[derive(Clone, Debug)]
struct Siblings {
    parent: u32,
    name: Option<Arc<str>>,
    /// Their roles, in order of age.
    roles: Vec<u32>,
}

/// An object that at least two tasks race for.
#[derive(Debug, Default)]
pub(crate) struct Target {
    /// How many tasks came to it.
    pub(crate) weight: u32,
    /// By role, how many operations on it that role and all that it spawned carried out.
    pub(crate) operations: Vec<u64>,
    /// By role, which of its operations was the first on the object, and where.
    pub(crate) first: Vec<Option<(u32, Place)>>,
    /// A task came while another that had come before was still there. Without that, what looks
    /// like one object may be two, the second where the first has been.
    shared: bool,
}

/// The profiles of several pilots of one program. Where tasks ran one after the other, an object
/// counts as shared if tasks came to it at a place where, in some pilot, they met.
pub(crate) fn settle(mut profiles: Vec<Profile>) -> Arc<[Arc<Profile>]> {
    let shared =
        profiles.iter().flat_map(|profile| &profile.targets).filter(|target| target.shared);
    let meetings: BTreeSet<Place> = shared.flat_map(Target::places).collect();
    for profile in &mut profiles {
        let meets = |target: &Target| target.places().any(|place| meetings.contains(&place));
        profile.targets.retain(|target| target.shared || meets(target));
        profile.weight = profile.targets.iter().map(|target| target.weight).sum();
    }
    profiles.into_iter().map(Arc::new).collect()
}

impl Target {
    fn places(&self) -> impl Iterator<Item = Place> {
        self.first.iter().flatten().map(|&(_, place)| place)
    }
}

/// Counts the operations of each task, in a pilot as in any other execution.
#[derive(Default)]
pub(crate) struct Counted(SmallVec<[Own; 8]>);

#[derive(Clone, Copy, Default)]
struct Own {
    operations: u32,
    /// The object of the latest of them, and how many there were on it in a row.
    object: usize,
    row: u32,
}

impl Counted {
    pub(crate) fn spawned(&mut self) {
        self.0.push(Own::default());
    }

    /// A task is about to carry out an operation; which of its operations it is, from 1, if it
    /// counts.
    #[inline]
    pub(crate) fn arrives(&mut self, task: u32, kind: OpKind, object: usize) -> Option<u32> {
        if !races(kind) {
            return None;
        }
        let own = &mut self.0[task as usize];
        own.row = if own.object == object { own.row + 1 } else { 1 };
        own.object = object;
        own.operations += 1;
        Some(own.operations)
    }

    /// A task waits; the object, and how many of its latest operations there do not count after
    /// all.
    #[inline]
    pub(crate) fn waits(&mut self, turn: &Turn<'_>) -> (usize, u32) {
        let task = &turn.tasks[turn.current as usize];
        let own = &mut self.0[turn.current as usize];
        let spins = task.pending.kind == OpKind::Spin && task.wait.is_some();
        if !spins || own.object == 0 || own.object != task.pending.object {
            return (0, 0);
        }
        let looks = own.row.min(LOOKS);
        own.row = 0;
        own.operations -= looks;
        (own.object, looks)
    }
}

/// Finds the roles of tasks as they are spawned.
pub(crate) struct Roles {
    pub(crate) profile: Arc<Profile>,
    /// The roles of the tasks so far; `None` where the pilot had no such task.
    of: SmallVec<[Option<u32>; 8]>,
    /// How many of the siblings have been spawned so far.
    seen: SmallVec<[u32; 4]>,
}

impl Roles {
    pub(crate) fn new(profile: Arc<Profile>) -> Self {
        let seen = smallvec::smallvec![0; profile.siblings.len()];
        Self { profile, of: SmallVec::new(), seen }
    }

    /// The role of the task that is spawned now, if the pilot had such a task.
    pub(crate) fn spawned(&mut self, parent: u32, name: Option<&str>) -> Option<usize> {
        let role = match self.of.get(parent as usize) {
            None => (!self.profile.children.is_empty()).then_some(0),
            Some(&parent) => parent.and_then(|parent| self.child(parent, name)),
        };
        self.of.push(role);
        role.map(|role| role as usize)
    }

    fn child(&mut self, parent: u32, name: Option<&str>) -> Option<u32> {
        let siblings = &self.profile.siblings;
        let named = |&&at: &&usize| siblings[at].name.as_deref() == name;
        let at = *self.profile.children[parent as usize].iter().find(named)?;
        let nth = self.seen[at];
        self.seen[at] += 1;
        siblings[at].roles.get(nth as usize).copied()
    }
}

/// Writes down a profile while a pilot runs.
#[derive(Default)]
pub(crate) struct Observer {
    counted: Counted,
    siblings: Vec<Siblings>,
    parents: Vec<u32>,
    /// By task: which of the names.
    named: Vec<usize>,
    names: Vec<Option<Arc<str>>>,
    objects: Vec<Object>,
    by_address: BTreeMap<usize, usize>,
}

/// What is known of an object so far.
#[derive(Default)]
struct Object {
    /// By task: its first operation, and how many.
    tasks: BTreeMap<u32, (u32, Place, u64)>,
    /// Where tasks came to it, and how often.
    places: Vec<Visits>,
    shared: bool,
    written: bool,
    /// Locks that were held at every operation so far; `None` before the first.
    guards: Option<Vec<usize>>,
}

impl Observer {
    pub(crate) fn spawned(&mut self, task: u32, parent: u32, name: Option<&str>) {
        self.counted.spawned();
        self.parents.push(parent);
        let known = self.names.iter().position(|known| known.as_deref() == name);
        self.named.push(known.unwrap_or(self.names.len()));
        if known.is_none() {
            self.names.push(name.map(Into::into));
        }
        if task == 0 {
            return;
        }
        let mut known = self.siblings.iter_mut();
        match known.find(|known| known.parent == parent && known.name.as_deref() == name) {
            Some(siblings) => siblings.roles.push(task),
            None => {
                let (name, roles) = (name.map(Into::into), vec![task]);
                self.siblings.push(Siblings { parent, name, roles });
            }
        }
    }

    pub(crate) fn at_point(&mut self, turn: &Turn<'_>) {
        let task = &turn.tasks[turn.current as usize];
        let pending = task.pending;
        let Some(nth) = self.counted.arrives(turn.current, pending.kind, pending.object) else {
            return;
        };
        if pending.object == 0 || task.holds.iter().any(|hold| hold.object == pending.object) {
            return;
        }
        let at = *self.by_address.entry(pending.object).or_insert_with(|| {
            self.objects.push(Object::default());
            self.objects.len() - 1
        });
        let object = &mut self.objects[at];
        object.tasks.entry(turn.current).or_insert((nth, pending.place, 0)).2 += 1;
        let mut others = turn.tasks.iter().enumerate().filter(|(_, task)| !task.finished);
        if others.clone().count() < 2 {
            return;
        }
        object.shared |= others.any(|(task, _)| {
            task != turn.current as usize && object.tasks.contains_key(&(task as u32))
        });
        object.written |= !reads(pending.kind);
        let same = |visits: &&mut Visits| {
            visits.task == turn.current && same_place(visits.place, pending.place)
        };
        match object.places.iter_mut().find(same) {
            Some(visits) => visits.arrivals += 1,
            None => object.places.push(Visits {
                task: turn.current,
                name: None,
                place: pending.place,
                arrivals: 1,
                is_beginning: nth == 1,
            }),
        }
        let held = || task.holds.iter().map(|hold| hold.object);
        match &mut object.guards {
            None => object.guards = Some(held().collect()),
            Some(guards) => guards.retain(|&guard| held().any(|object| object == guard)),
        }
    }

    pub(crate) fn at_block(&mut self, turn: &Turn<'_>) {
        let (object, looks) = self.counted.waits(turn);
        if let Some(&at) = self.by_address.get(&object)
            && let Some((_, _, n)) = self.objects[at].tasks.get_mut(&turn.current)
        {
            *n = n.saturating_sub(u64::from(looks));
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        let own = self.counted.0.iter().map(|own| u64::from(own.operations)).collect();
        let raced_for = self.objects.iter().filter(|object| object.is_raced_for());
        let targets = raced_for.clone().map(|object| self.target(object)).collect();
        let named = |visits: &Visits| Visits {
            name: self.names[self.named[visits.task as usize]].clone(),
            ..visits.clone()
        };
        let places = raced_for.flat_map(|object| &object.places).map(named).collect();
        let children = |parent| {
            let all = self.siblings.iter().enumerate();
            all.filter(|(_, siblings)| siblings.parent == parent).map(|(at, _)| at).collect()
        };
        Profile {
            siblings: self.siblings.clone(),
            children: (0..self.parents.len() as u32).map(children).collect(),
            operations: self.with_children(own),
            weight: 0,
            targets,
            places,
        }
    }

    fn target(&self, object: &Object) -> Target {
        let n = self.parents.len();
        let (mut operations, mut first) = (vec![0; n], vec![None; n]);
        for (&task, &(nth, place, times)) in &object.tasks {
            operations[task as usize] = times;
            first[task as usize] = Some((nth, place));
        }
        let operations = self.with_children(operations);
        let (weight, shared) = (object.tasks.len() as u32, object.shared);
        Target { weight, operations, first, shared }
    }

    /// Adds to each task what the tasks that it spawned have.
    fn with_children(&self, mut of: Vec<u64>) -> Vec<u64> {
        for task in (1..of.len()).rev() {
            of[self.parents[task] as usize] += of[task];
        }
        of
    }
}

impl Object {
    /// Two tasks come to it, one of them changes it, and no lock makes its order that of the lock.
    fn is_raced_for(&self) -> bool {
        self.tasks.len() > 1 && self.written && self.guards.as_ref().is_none_or(Vec::is_empty)
    }
}
