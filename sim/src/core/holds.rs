//! Who owns which lock: holds, their rules, and the wait-for graph.

use std::fmt::Write as _;

use super::execution::{Execution, current};
use super::task::{Hold, Place, Spin, Wait};
use crate::explore::Failure;
use crate::hold::HoldKind;
use crate::trace::{OpKind, SwitchReason, What};

/// The calling task owns the lock at `object` from here on.
#[inline]
pub(crate) fn hold_begin(kind: &'static HoldKind, object: usize, place: Place) {
    if let Some(execution) = current() {
        execution.hold_begin(kind, object, place);
    }
}

/// The calling task gives back the lock at `object`.
#[inline]
pub(crate) fn hold_end(object: usize) {
    if let Some(execution) = current() {
        execution.hold_end(object);
    }
}

impl Execution {
    pub(crate) fn hold_begin(&self, kind: &'static HoldKind, object: usize, place: Place) {
        if self.is_unwinding() {
            return;
        }
        let began = self.own_steps();
        let me = self.me();
        if let Some(outer) = me.holds.iter().find(|hold| hold.kind.rules.no_other_lock) {
            let failure = Failure::new(
                "hold-no-lock",
                format!(
                    "the holder of a {} must take no other lock, but took a {}",
                    outer.kind.name, kind.name
                ),
            );
            self.fail_here(failure.at(place));
        }
        me.holds.push(Hold { kind, object, place, began });
        self.inner().n_holds += 1;
        if self.recording.get() {
            let object = self.object_id(object, kind.name);
            self.record(Some(place), What::HoldBegin { kind: kind.name, object });
        }
        let id = self.current.get();
        let inner = self.inner();
        if inner.strategy.held(id, kind.name, object, &|| self.object_name(object)) {
            inner.strategy_at = 0;
            self.next_event.set(0);
        }
        if self.observed.get() && kind.rules.no_sleep {
            self.may_be_descheduled(object, place);
        }
    }

    pub(crate) fn hold_end(&self, object: usize) {
        let steps = self.own_steps();
        let me = self.me();
        let Some(at) = me.holds.iter().rposition(|hold| hold.object == object) else {
            if self.is_unwinding() {
                return;
            }
            let name = self.object_name(object);
            self.fail_here(Failure::new(
                "I-SP1",
                format!("{name} was released by a task that does not hold it"),
            ));
        };
        let hold = me.holds.remove(at);
        self.inner().n_holds -= 1;
        if self.recording.get() {
            let object = self.object_id(object, hold.kind.name);
            self.record(None, What::HoldEnd { kind: hold.kind.name, object });
        }
        let limit = u64::from(hold.kind.rules.max_steps);
        let took = steps - hold.began;
        if limit != 0 && took > limit && !self.is_unwinding() {
            let message = format!(
                "a {} may be held for {limit} steps, but was held for {took}",
                hold.kind.name
            );
            self.fail_here(Failure::new("hold-max-steps", message).at(hold.place));
        }
    }

    pub(super) fn check_may_sleep(&self, kind: OpKind, place: Place) {
        if let Some(hold) = self.me().holds.iter().find(|hold| hold.kind.rules.no_sleep) {
            let message =
                format!("the holder of a {} must not sleep, but it {}", hold.kind.name, verb(kind));
            self.fail_here(Failure::new("hold-no-sleep", message).at(place));
        }
    }

    /// The running task is about to allocate.
    pub(crate) fn may_allocate(&self, place: Place) {
        if self.inner().n_holds == 0 || self.is_unwinding() {
            return;
        }
        if let Some(hold) = self.me().holds.iter().find(|hold| hold.kind.rules.no_allocation) {
            let message = format!("the holder of a {} must not allocate", hold.kind.name);
            self.fail_here(Failure::new("hold-no-allocation", message).at(place));
        }
    }

    /// The task that task `id` waits for because of `wait`, where one is known: the holder of the
    /// lock, or the task that is joined.
    fn owner(&self, wait: Wait) -> Option<u32> {
        if wait.joins.is_some() || self.inner().n_holds == 0 {
            return wait.joins.filter(|&id| !self.inner().tasks[id as usize].finished);
        }
        let tasks = &self.inner().tasks[..self.inner().n_tasks];
        let owner = (0..).zip(tasks).find(|(_, task)| {
            !task.finished && task.holds.iter().any(|hold| hold.object == wait.object)
        });
        owner.map(|(id, _)| id)
    }

    /// The deadlock that task `id` closed by blocking, if it did.
    pub(super) fn deadlock_closed_by(&self, id: u32) -> Option<Failure> {
        let blocker = |task: u32| {
            let task = &self.inner().tasks[task as usize];
            self.owner(task.wait.filter(|wait| !wait.timed && !task.is_runnable())?)
        };
        // Another cycle than one through `id` would have been reported when it closed; so the walk
        // comes back to `id` within as many steps as there are tasks, or to an end.
        let mut at = blocker(id)?;
        for _ in 0..self.inner().n_tasks {
            if at == id {
                return Some(self.deadlock(id, blocker));
            }
            at = blocker(at)?;
        }
        None
    }

    #[cold]
    fn deadlock(&self, id: u32, blocker: impl Fn(u32) -> Option<u32>) -> Failure {
        let next = |&at: &u32| blocker(at).filter(|&next| next != id);
        let cycle: Vec<u32> = std::iter::successors(Some(id), next).collect();
        let names: Vec<_> = cycle.iter().map(|&task| self.role(task)).collect();
        let message = match &names[..] {
            [one] => format!("{one} waits for itself"),
            names => format!("{} wait for each other", names.join(" and ")),
        };
        let mut failure = Failure::new("deadlock", message);
        failure.site = Some(self.inner().pending(id).place.into());
        failure.detail = cycle.iter().map(|&task| self.waits_for(task)).collect();
        failure
    }

    /// Nobody can run and no timer will change that.
    pub(super) fn nobody_can_run(&self) -> Failure {
        let blocked: Vec<u32> = (0..self.inner().n_tasks as u32)
            .filter(|&id| !self.inner().tasks[id as usize].finished)
            .collect();
        let spinners =
            blocked.iter().filter(|&&id| self.inner().tasks[id as usize].spin == Spin::Waiting);
        let spinners: Vec<u32> = spinners.copied().collect();
        let mut failure = if let [spinner] = spinners[..] {
            let message = format!("{} spins, and nobody is left to end it", self.role(spinner));
            let mut failure = Failure::new("livelock", message);
            failure.task = self.role(spinner);
            failure.site = Some(self.inner().pending(spinner).place.into());
            failure
        } else {
            let names: Vec<_> = blocked.iter().map(|&id| self.role(id)).collect();
            let message = match &names[..] {
                [one] => format!("{one} waits for ever"),
                names => format!("{} wait for ever", names.join(", ")),
            };
            let mut failure = Failure::new("deadlock", message);
            let last = blocked.last().copied().unwrap_or(0);
            failure.task = self.role(last);
            failure.site = Some(self.inner().pending(last).place.into());
            failure
        };
        failure.detail = blocked.iter().map(|&id| self.waits_for(id)).collect();
        failure
    }

    /// One line on what task `id` waits for.
    fn waits_for(&self, id: u32) -> String {
        let task = &self.inner().tasks[id as usize];
        let pending = task.pending;
        let mut line = format!("{} {}", self.role(id), verb(pending.kind));
        if let Some(owner) = task.wait.and_then(|wait| self.owner(wait))
            && pending.kind == OpKind::Join
        {
            let _ = write!(line, " {}", self.role(owner));
        } else if pending.object != 0 && !matches!(pending.kind, OpKind::Park | OpKind::Sleep) {
            let _ = write!(line, " {}", self.object_name(pending.object));
        }
        let _ = write!(line, " at {}", pending.place);
        for (holder, other) in (0..).zip(&self.inner().tasks[..self.inner().n_tasks]) {
            let holds = other.holds.iter().filter(|hold| {
                (!other.finished || other.killed)
                    && task.wait.is_some_and(|wait| wait.object == hold.object)
            });
            for hold in holds {
                let _ = write!(line, ", held by {} since {}", self.role(holder), hold.place);
                line.push_str(if other.killed { ", which was killed" } else { "" });
            }
        }
        if task.spin == Spin::Waiting
            && let Some((changer, place)) = self.last_change(pending.object)
        {
            let _ = write!(line, ", last changed by {} at {place}", self.role(changer));
        }
        line
    }

    /// Why the blocked task `id` makes way, for the record.
    pub(super) fn blocked_reason(&self, id: u32) -> SwitchReason {
        let task = &self.inner().tasks[id as usize];
        match (task.wait, task.pending.kind) {
            (Some(_), OpKind::Sleep | OpKind::Park) => SwitchReason::Sleeping,
            (Some(wait), OpKind::Join) => {
                SwitchReason::Blocked { object: None, owner: self.owner(wait) }
            }
            (Some(wait), kind) => SwitchReason::Blocked {
                object: (wait.object != 0).then(|| self.object_id(wait.object, kind_noun(kind))),
                owner: self.owner(wait),
            },
            (None, _) => SwitchReason::Yielded,
        }
    }
}

fn verb(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Lock | OpKind::LockShared => "waits for",
        OpKind::Join => "waits for the end of",
        OpKind::Park => "is parked",
        OpKind::Sleep => "sleeps",
        OpKind::Spin | OpKind::Yield => "spins on",
        OpKind::Receive => "waits for a message from",
        OpKind::FileRead | OpKind::FileWrite | OpKind::FileSync | OpKind::FileOther => {
            "waits for the disk"
        }
        _ => "waits on",
    }
}

/// What an object that an operation of this kind met first is, if nobody named it.
pub(super) fn kind_noun(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Load | OpKind::Store | OpKind::ReadModifyWrite | OpKind::CompareExchange => {
            "atomic"
        }
        OpKind::Spin | OpKind::Yield => "atomic",
        OpKind::CellRead | OpKind::CellWrite => "cell",
        OpKind::Lock | OpKind::LockShared | OpKind::TryLock | OpKind::Unlock => "lock",
        OpKind::Wait | OpKind::Notify => "condition",
        OpKind::Send | OpKind::Receive => "channel",
        OpKind::FileRead | OpKind::FileWrite | OpKind::FileSync | OpKind::FileOther => "file",
        _ => "object",
    }
}
