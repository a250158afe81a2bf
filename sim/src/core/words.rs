//! Tasks that watch atomic words: lock bits, predicates, spin loops.
//!
//! A watching task is disabled while what it watches is not as it wants, and enabled and disabled
//! again as the word changes, by whoever changes it. Three kinds: a word whose bits must be clear,
//! a word on which a predicate must hold, and a spin loop of the program's own, of which we only
//! know that it gave a spin hint.
//!
//! A test-and-set that finds the lock taken blocks at the hint that follows, until the word has
//! another value. A loop that looks at one word blocks at its second hint with the same value seen.
//! A loop with more in it blocks after two laps of equal length and a third in which its objects
//! are written down and none of them changes; a loop that gives no hint at all, when it has run for
//! long alone and changed nothing. Should all other tasks end up waiting as well, every spinner
//! gets one more lap, in case it looked at something else; a lap that changes nothing proves that
//! nobody will ever go on.

use super::execution::{Execution, current};
use super::task::{Hint, Pending, Place, Spin, Wait, Watch};
use crate::scheduler::Told;
use crate::trace::{OpKind, SwitchReason};

/// Steps of a lap beyond which it counts as no loop.
const LONGEST_LAP: u64 = 64;

/// Class of waits on the bits of a word, a predicate, or a spin loop.
const WATCH: u8 = 1 << 7;

/// Stands in a [`Watcher`] for all the objects of the task's lap.
const MANY: usize = usize::MAX;

/// A task that watches, and what.
pub(super) struct Watcher {
    pub(super) task: u32,
    pub(super) object: usize,
    pub(super) watch: Watch,
}

/// Blocks the calling task until the bits `mask` of the word at `object` are clear. Returns false
/// if the caller must spin by itself: it is in no execution, or in spin-budget mode.
pub(crate) fn block_on_bits(object: usize, mask: u64, place: Place) -> bool {
    match current() {
        Some(execution) if !execution.inner().setup.spin_budget => {
            execution.watch(object, Watch::BitsClear(mask), place);
            true
        }
        _ => false,
    }
}

/// The calling task tried to take a lock and failed; it will try again.
pub(crate) fn attempt_failed() {
    if let Some(execution) = current() {
        execution.tell(Told::FailedAttempt);
    }
}

/// Whether a test-and-set of the calling task fails for no reason.
#[inline(always)]
pub(crate) fn fails_spuriously(place: Place) -> bool {
    current().is_some_and(|execution| execution.fails_spuriously(place))
}

/// Whether the calling task is being unwound: locks are then granted to it whoever has them.
#[inline]
pub(crate) fn unwinding() -> bool {
    current().is_some_and(Execution::is_unwinding)
}

impl Execution {
    /// A word got another value.
    #[inline(always)]
    pub(crate) fn changed(&self, object: usize, old: u64, new: u64) {
        self.changes.set(self.changes.get() + 1);
        if self.watching.get() != 0 {
            self.changed_slow(object, old, new);
        }
    }

    #[inline(never)]
    fn changed_slow(&self, object: usize, old: u64, new: u64) {
        let mut at = 0;
        while let Some(watcher) = self.inner().watchers.get_mut(at) {
            at += 1;
            let id = watcher.task;
            if watcher.object == object {
                if update(&mut watcher.watch, old, new) {
                    self.make_runnable(id);
                } else {
                    self.make_unrunnable(id);
                }
            } else if watcher.object == MANY && id != self.current.get() {
                self.changed_for_many(id, object, old, new);
            }
        }
        if let Spin::Lap { .. } = self.me().spin {
            // It makes progress itself.
            self.end_lap();
        }
    }

    #[cold]
    fn changed_for_many(&self, id: u32, object: usize, old: u64, new: u64) {
        let task = &mut self.inner().tasks[id as usize];
        let Some((_, watch)) = task.watches.iter_mut().find(|(watched, _)| *watched == object)
        else {
            return;
        };
        update(watch, old, new);
        if task.wait.is_none() {
            touch(&mut task.spin);
        } else if task.watches.iter().any(|(_, watch)| watch.differs()) {
            self.make_runnable(id);
        } else {
            self.make_unrunnable(id);
        }
    }

    /// Something about `object` changed that is not the value of a word: a lock was released.
    #[inline]
    pub(crate) fn touched(&self, object: usize) {
        if self.watching.get() != 0 {
            self.touched_slow(object);
        }
    }

    #[cold]
    fn touched_slow(&self, object: usize) {
        let current = self.current.get();
        let mut at = 0;
        while let Some(watcher) = self.inner().watchers.get(at) {
            at += 1;
            let (id, watched) = (watcher.task, watcher.object);
            let task = &mut self.inner().tasks[id as usize];
            let many = || task.watches.iter().any(|&(watched, _)| watched == object);
            // A lap of the running task's own loop may take and release the lock.
            if id != current && (watched == object || watched == MANY && many()) {
                touch(&mut task.spin);
                if task.spin == Spin::Waiting {
                    self.wake_out_of_spin(id);
                    at -= 1;
                }
            }
        }
    }

    /// Blocks the running task until `done` holds of the word at `object`.
    pub(crate) fn watch_until(&self, object: usize, done: &dyn Fn(u64) -> bool, place: Place) {
        let done: *const (dyn Fn(u64) -> bool + '_) = done;
        self.watch(object, Watch::Holds(super::panics::erased(done)), place);
    }

    /// Blocks the running task on one watch.
    pub(crate) fn watch(&self, object: usize, watch: Watch, place: Place) {
        if self.is_unwinding() {
            return;
        }
        if let Spin::Lap { .. } = self.me().spin {
            // It waits for something of its own now; a task is in the list once.
            self.end_lap();
        }
        self.me().pending = Pending { kind: OpKind::Spin, object, place };
        self.start_watching(object, watch);
        self.block_watching(object);
        self.stop_watching(self.current.get());
    }

    fn block_watching(&self, object: usize) {
        self.me().wait = Some(Wait { object, class: WATCH, timed: false, joins: None });
        self.block(SwitchReason::Blocked { object: None, owner: None });
        self.me().wait = None;
    }

    fn start_watching(&self, object: usize, watch: Watch) {
        let task = self.current.get();
        let watchers = &mut self.inner().watchers;
        debug_assert!(watchers.iter().all(|watcher| watcher.task != task), "a task watches once");
        watchers.push(Watcher { task, object, watch });
        self.watching.set(watchers.len() as u32);
    }

    #[inline]
    pub(super) fn stop_watching(&self, id: u32) {
        let watchers = &mut self.inner().watchers;
        if let Some(at) = watchers.iter().position(|watcher| watcher.task == id) {
            watchers.swap_remove(at);
            self.watching.set(watchers.len() as u32);
        }
        self.inner().tasks[id as usize].spin = Spin::No;
    }

    /// The running task said that it spins, or offered the processor.
    pub(crate) fn spin_hint(&self, yields: bool, place: Place) {
        let kind = if yields { OpKind::Yield } else { OpKind::Spin };
        if self.inner().setup.spin_budget && !yields {
            // It spins in virtual time, however often.
            self.point(kind, 0, place);
            return;
        }
        let me = self.me();
        let (object, seen) = (me.last_object, me.last_seen);
        let lock_taken = me.changed_nothing_at == self.step.get();
        if yields {
            let inner = self.inner();
            inner.strategy.yielded(self.current.get());
            inner.strategy_at = 0;
            self.next_event.set(0);
            self.point(kind, 0, place);
        }
        if self.is_unwinding() {
            return;
        }
        self.tell(Told::Hint);
        let at = self.own_steps();
        let me = self.me();
        let before = me.hint;
        let lap = at - before.at;
        if lap == u64::from(yields) {
            // A row of hints is one hint.
            me.hint.at = at;
            return;
        }
        me.hint = Hint { at, lap, object, seen };
        match me.spin {
            Spin::Lap { touched: false, .. } => self.spin_block(MANY, kind, place),
            Spin::Lap { .. } => self.begin_lap(true),
            _ if lock_taken || lap == 1 + u64::from(yields) => {
                let same = lock_taken || (object, seen) == (before.object, before.seen);
                if same && object != 0 {
                    let watch = Watch::Differs { seen: Some(seen), differs: false };
                    self.start_watching(object, watch);
                    self.spin_block(object, kind, place);
                }
            }
            _ if lap == before.lap && lap <= LONGEST_LAP => self.begin_lap(true),
            _ => {}
        }
    }

    /// From here on the objects of the running task's steps are written down.
    pub(super) fn begin_lap(&self, hinted: bool) {
        let at = self.own_steps();
        let me = self.me();
        if !matches!(me.spin, Spin::Lap { .. }) {
            self.inner().laps += 1;
            self.start_watching(MANY, Watch::Differs { seen: None, differs: false });
        }
        me.watches.clear();
        me.spin = Spin::Lap { hinted, touched: false };
        me.hint.at = at;
        self.next_event.set(0);
    }

    pub(super) fn end_lap(&self) {
        self.inner().laps -= 1;
        self.me().spin = Spin::No;
        self.stop_watching(self.current.get());
    }

    /// A step of a lap.
    #[cold]
    pub(super) fn write_down_lap(&self, object: usize, place: Place) {
        let steps = self.own_steps() - self.me().hint.at;
        let me = self.me();
        if steps > LONGEST_LAP {
            match me.spin {
                // Never inside a hold: whoever waits for the lock waits for this task.
                Spin::Lap { hinted: false, touched: false } if me.holds.is_empty() => {
                    self.spin_block(MANY, OpKind::Spin, place);
                }
                Spin::Lap { hinted: false, touched: false } if steps < 4 * LONGEST_LAP => {}
                _ => self.end_lap(),
            }
        } else if object != 0 && !me.watches.iter().any(|&(watched, _)| watched == object) {
            me.watches.push((object, Watch::Differs { seen: None, differs: false }));
        }
    }

    /// Blocks the running task until one of the words it watches has another value.
    fn spin_block(&self, object: usize, kind: OpKind, place: Place) {
        let me = self.me();
        let object = if object == MANY {
            self.inner().laps -= 1;
            me.watches.last().map_or(0, |&(object, _)| object)
        } else {
            object
        };
        me.pending = Pending { kind, object, place };
        me.spin = Spin::Waiting;
        self.block_watching(object);
        self.stop_watching(self.current.get());
        // The lap that follows counts from here.
        let at = self.own_steps();
        self.me().hint.at = at;
    }

    /// Nobody can run: every spinner that has not just proved that nothing changes gets one lap.
    pub(super) fn wake_spinners(&self) -> bool {
        let changes = self.changes.get();
        let mut woken = false;
        for id in 0..self.inner().n_tasks as u32 {
            let task = &mut self.inner().tasks[id as usize];
            if task.spin == Spin::Waiting && task.spin_confirmed != changes {
                task.spin_confirmed = changes;
                self.wake_out_of_spin(id);
                woken = true;
            }
        }
        woken
    }
}

/// The word went from `old` to `new`. Returns whether that is what the watch waits for.
#[inline]
fn update(watch: &mut Watch, old: u64, new: u64) -> bool {
    match watch {
        Watch::Differs { seen, differs } => {
            *differs = *seen.get_or_insert(old) != new;
            *differs
        }
        Watch::BitsClear(mask) => new & *mask == 0,
        Watch::Holds(predicate) => super::panics::pure(*predicate, new),
    }
}

/// Something that a lap looked at has changed.
fn touch(spin: &mut Spin) {
    if let Spin::Lap { touched, .. } = spin {
        *touched = true;
    }
}
