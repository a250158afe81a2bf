//! The search as a scheduler: follows the path to its end, and goes on from there.
//!
//! It is asked at every scheduling point, so a run is a sequence of *steps*: what a task does from
//! one of its scheduling points to the next. A step is known by its operation before it runs; what
//! it touched is known afterwards, from the operation, from the locks that its task holds then, and
//! from what the machine tells.
//!
//! A step that finds it must wait is *futile*: nothing has changed, and the same step later gives
//! the same or better. Such a run is given up at once, and the task sleeps at that node until what
//! it looked at changes. So is a lap of a waiting loop that changed nothing, where it is one step;
//! where it is several, the task is *parked* for the rest of the run, which shows the search what
//! the lap's steps race with and counts as a blocked run.
//!
//! Touches: nothing of the machine. Objects are numbered in the order in which the execution meets
//! them; no address reaches a decision.

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::decision::Decision;
use super::event::{Access, Accesses, Label, MAX_TASKS, TaskSet, bit, tasks_of};
use super::path::{Node, Path, Reduction};
use super::tasks::{end_of, free_choice, only_looks, waits};
use crate::core::{Task, current, mix};
use crate::scheduler::{NOBODY, Switch, Told, Turn};
use crate::trace::OpKind;

/// Objects whose numbers do not depend on when they are met, since a run may first meet them in a
/// step that sleeps in the next: the table of tasks, the disk, each task's end and its token.
const TASKS: u32 = 0;
const DISK: u32 = 1;
const ENDS: u32 = 2;
const TOKENS: u32 = ENDS + MAX_TASKS as u32;
const OTHERS: u32 = TOKENS + MAX_TASKS as u32;

/// Decisions of a run beyond which the program counts as endless. What a decision costs to keep is
/// kept for the path alone, so this bounds patience rather than memory.
const LONGEST_RUN: usize = 20_000;

/// Outcomes of a pick beyond which there is no searching them all.
const MOST_OUTCOMES: u32 = 16;

/// How a run ended, apart from how the program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The program came to its end.
    Ran,
    /// A step that would have waited: a longer way to another execution.
    Futile,
    /// All that could go on was tried before, or waits for a lap that an execution without it has.
    Redundant,
    /// The program cannot be searched.
    Refused(String),
}

/// A step under way.
struct Step {
    /// Its node.
    at: usize,
    task: u32,
    label: Label,
    holds: SmallVec<[usize; 4]>,
    changes: u64,
    n_tasks: usize,
    /// Objects that the machine says it wrote.
    also: SmallVec<[usize; 2]>,
    /// The machine says that it was an attempt, and failed.
    failed: bool,
    /// It looks whether a wait for a word can end.
    awaits: bool,
    /// A hash of the outcomes it picked, or 0.
    picked: u64,
}

/// A parked task, and the node of the first step of its futile lap.
struct Parked {
    task: u32,
    from: usize,
}

pub(crate) struct Search {
    pub(super) path: Path,
    pub(super) verdict: Verdict,
    /// Of this run, for a replay.
    pub(super) switches: Vec<Switch>,
    pub(super) picks: Vec<u32>,
    /// How the path begins: decisions of others.
    script: Vec<Decision>,
    rebuilds: bool,
    /// Faults that a run may meet, and those that this one has met.
    most_faults: u32,
    faults: u32,
    /// Nobody can go on: the machine runs them as it likes, to say why.
    pub(super) stuck: bool,
    depth: usize,
    step: Option<Step>,
    /// Numbers of objects by address.
    ids: std::collections::HashMap<usize, u32, FixedState>,
    /// Tasks whose ends have numbers.
    known: u32,
    begun: TaskSet,
    /// Tasks whose next step may be a lap of a waiting loop, as a hint told.
    hinted: TaskSet,
    /// Tasks that begin to wait for a word.
    awaiting: TaskSet,
    /// Tasks that waited for a word and have changed nothing since.
    waited: TaskSet,
    parked: Vec<Parked>,
    /// Locks that are held shared.
    shared: Vec<(u32, u32)>,
}

impl Search {
    /// A search of what follows after `script`, of whose decisions the first `floor` are not ours.
    pub(super) fn new(
        reduction: Reduction,
        most_faults: u32,
        script: Vec<Decision>,
        floor: usize,
    ) -> Self {
        Self {
            path: Path::new(reduction, floor),
            verdict: Verdict::Ran,
            switches: Vec::new(),
            picks: Vec::new(),
            script,
            rebuilds: false,
            most_faults,
            faults: 0,
            stuck: false,
            depth: 0,
            step: None,
            ids: std::collections::HashMap::default(),
            known: 0,
            begun: 0,
            hinted: 0,
            awaiting: 0,
            waited: 0,
            parked: Vec::new(),
            shared: Vec::new(),
        }
    }

    /// Stands in for one that is away.
    pub(super) fn nothing() -> Self {
        Self::new(Reduction::Traces, 0, Vec::new(), 0)
    }

    /// The next run ends where the script does, so as to have its path.
    pub(super) fn rebuild(&mut self) {
        self.rebuilds = true;
    }

    /// All decisions of the path, to be kept.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        if self.path.nodes.is_empty() { self.script.clone() } else { self.path.decisions() }
    }

    /// Gets ready to run the path.
    pub(super) fn rewind(&mut self) {
        self.path.rewind();
        self.path.born(1, None);
        self.verdict = Verdict::Ran;
        self.switches.clear();
        self.picks.clear();
        self.faults = 0;
        self.stuck = false;
        self.depth = 0;
        self.step = None;
        self.ids.clear();
        self.known = 0;
        self.begun = bit(0);
        (self.hinted, self.awaiting, self.waited) = (0, 0, 0);
        self.parked.clear();
        self.shared.clear();
    }

    /// Who goes on: the answer to the machine.
    pub(crate) fn decide(&mut self, turn: &mut Turn<'_>, at_point: bool) -> u32 {
        turn.next_event = Turn::ALWAYS;
        let Some(next) = self.next(turn, at_point) else { return NOBODY };
        if next != turn.current {
            self.switches.push(Switch { step: turn.step, task: next, preempts: at_point });
        }
        next
    }

    /// The machine tells something of the step under way.
    pub(crate) fn told(&mut self, task: u32, told: Told) {
        let refused = match told {
            Told::Hint => return self.hinted |= bit(task),
            Told::WaitsForWord => {
                self.awaiting |= bit(task);
                return self.waited |= bit(task);
            }
            Told::FailedAttempt => return self.step.iter_mut().for_each(|step| step.failed = true),
            Told::Writes(object) => {
                return self.step.iter_mut().for_each(|step| step.also.push(object));
            }
            Told::ReadsClock => "it reads the clock, which passes with the steps",
            Told::Draws => "it draws from the seed: only schedules are searched",
        };
        self.refuse(refused);
    }

    /// The running task picks one of `n` outcomes; `None` if that is left to the machine.
    pub(crate) fn pick(&mut self, n: u32) -> Option<u32> {
        if n > MOST_OUTCOMES {
            self.refuse(&format!("a choice has {n} outcomes, more than {MOST_OUTCOMES}"));
        }
        if self.verdict != Verdict::Ran || self.stuck || n < 2 {
            return Some(0);
        }
        let at = self.depth;
        if at == self.path.nodes.len() {
            let node = match self.script.get(at) {
                Some(decision) => Node { outcomes: n, chosen: decision.chosen, ..Node::default() },
                None => Node { outcomes: n, ..Node::default() },
            };
            self.path.nodes.push(node);
        }
        if self.is_rebuilt(at) {
            return Some(0);
        }
        let Node { outcomes, chosen, .. } = self.path.nodes[at];
        if outcomes != n {
            self.refuse("it is not deterministic: a schedule run again had other outcomes");
            return Some(0);
        }
        self.depth += 1;
        self.picks.push(chosen);
        if let Some(step) = &mut self.step {
            step.picked = mix(step.picked, u64::from(chosen) + 1);
        }
        Some(chosen)
    }

    /// Whether node `at` is the last of a path that is to be had again: then the run ends here.
    fn is_rebuilt(&mut self, at: usize) -> bool {
        let rebuilt = self.rebuilds && at + 1 == self.script.len();
        if rebuilt {
            self.rebuilds = false;
            self.step = None;
            self.verdict = Verdict::Redundant;
        }
        rebuilt
    }

    /// Whether a fault strikes here.
    pub(crate) fn strikes(&mut self) -> bool {
        if self.faults >= self.most_faults {
            // A replay asks all the same.
            self.picks.push(0);
            return false;
        }
        let strikes = self.pick(2) == Some(1);
        self.faults += u32::from(strikes);
        strikes
    }

    fn refuse(&mut self, why: &str) {
        if !matches!(self.verdict, Verdict::Refused(_)) {
            self.verdict = Verdict::Refused(why.to_owned());
        }
    }

    fn next(&mut self, turn: &Turn<'_>, at_point: bool) -> Option<u32> {
        if turn.tasks.len() > MAX_TASKS {
            self.refuse(&format!("it has more than {MAX_TASKS} tasks"));
        }
        if !at_point && turn.tasks[turn.current as usize].wait.is_some_and(|wait| wait.timed) {
            self.refuse("it waits for a time, which passes with the steps");
        }
        if self.verdict != Verdict::Ran {
            return None;
        }
        for task in self.known..turn.tasks.len() as u32 {
            self.ids.insert(end_of(turn, task), ENDS + task);
            self.ids.insert(end_of(turn, task) + 1, TOKENS + task);
        }
        self.known = turn.tasks.len() as u32;
        if self.stuck {
            return free_choice(turn);
        }
        if let Some(step) = self.step.take()
            && !self.close(step, turn, at_point)
        {
            return None;
        }
        if at_point && !self.arrive(turn) {
            return None;
        }
        self.choose(turn)
    }

    /// The step under way has ended. False if the run is to be given up.
    fn close(&mut self, step: Step, turn: &Turn<'_>, at_point: bool) -> bool {
        let at = step.at;
        let task = &turn.tasks[step.task as usize];
        let changed = current().is_some_and(|execution| execution.changes() != step.changes);
        let (gained, lost) = self.holds_since(&step, task);
        let waits = !at_point
            && !task.finished
            && matches!(
                task.pending.kind,
                OpKind::Lock | OpKind::LockShared | OpKind::Park | OpKind::Spin | OpKind::Yield
            );
        let changed_nothing = !changed && gained.is_empty() && lost.is_empty();
        // What picked may go another way from the same place.
        let waited = (waits || step.failed) && step.picked == 0;
        if waited && changed_nothing && only_looks(&step.label) {
            let mut accesses: Accesses = step.label.object.map(Access::reads).into_iter().collect();
            if let Some(wait) = task.wait.filter(|_| waits) {
                accesses.push(Access::reads(self.id(wait.object)));
            }
            self.path.led_nowhere(at, step.task, step.label, accesses, true);
            self.verdict = Verdict::Futile;
            return false;
        }
        if step.picked == 0
            && self.path.waited_too_early(at, step.task, &step.label, task.last_seen)
        {
            let accesses = self.operation(&step, changed, &gained);
            self.path.led_nowhere(at, step.task, step.label, accesses, false);
            self.verdict = Verdict::Redundant;
            return false;
        }
        let awaited = step.awaits.then_some(task.last_seen);
        let finished = task.finished;
        self.carried_out(&step, changed, gained, lost, (finished, turn.tasks.len()), awaited)
    }

    /// The last step of an execution, which ended in it.
    pub(super) fn close_last(&mut self, failed: bool, changes: u64) {
        if let Some(step) = self.step.take() {
            let n_tasks = step.n_tasks;
            let (gained, lost) = (Accesses::new(), Accesses::new());
            let changed = changes != step.changes;
            self.carried_out(&step, changed, gained, lost, (!failed, n_tasks), None);
        }
    }

    fn carried_out(
        &mut self,
        step: &Step,
        changed: bool,
        gained: Accesses,
        lost: Accesses,
        (finished, n_tasks): (bool, usize),
        awaited: Option<u64>,
    ) -> bool {
        let at = step.at;
        let mut accesses = self.operation(step, changed, &gained);
        for more in gained.into_iter().chain(lost) {
            if !accesses.iter().any(|access| access.object == more.object) {
                accesses.push(more);
            }
        }
        for &object in &step.also {
            accesses.push(Access::writes(self.id(object)));
        }
        if finished {
            accesses.push(Access::writes(ENDS + step.task));
        }
        if accesses.iter().any(|access| access.writes) {
            self.waited &= !bit(step.task);
        }
        let told = (awaited, step.picked);
        let same = self.path.carried_out(at, step.task, step.label, accesses, told);
        if !same {
            self.refuse("it is not deterministic: a schedule run again took another step");
        }
        self.path.born(n_tasks, Some(at));
        same
    }

    /// What the operation of a step did.
    fn operation(&mut self, step: &Step, changed: bool, gained: &[Access]) -> Accesses {
        let (Some(kind), object) = (step.label.kind, step.label.object) else {
            return Accesses::new();
        };
        let writes = match kind {
            OpKind::Load | OpKind::CellRead | OpKind::Join => false,
            OpKind::ReadModifyWrite | OpKind::CompareExchange => changed,
            OpKind::TryLock => gained.iter().any(|access| Some(access.object) == object),
            OpKind::Spawn => return [Access::writes(TASKS)].into_iter().collect(),
            OpKind::FileRead | OpKind::FileWrite | OpKind::FileSync | OpKind::FileOther => {
                return [Access::writes(DISK)].into_iter().collect();
            }
            OpKind::LockShared => {
                self.shared.extend(object.map(|object| (step.task, object)));
                false
            }
            OpKind::Unlock => {
                let holds = |held: &(u32, u32)| *held == (step.task, object.unwrap_or(u32::MAX));
                let shared = self.shared.iter().position(holds);
                shared.map(|at| self.shared.swap_remove(at)).is_none()
            }
            _ => true,
        };
        let frees = kind == OpKind::Unlock;
        object.map(|object| Access { object, writes, frees }).into_iter().collect()
    }

    /// The locks that the task has taken and given back during the step.
    fn holds_since(&mut self, step: &Step, task: &Task) -> (Accesses, Accesses) {
        let gained = task.holds.iter().map(|hold| hold.object);
        let gained = gained.filter(|object| !step.holds.contains(object));
        let gained: Accesses = gained.map(|object| Access::writes(self.id(object))).collect();
        let kept = |object: &usize| task.holds.iter().any(|hold| hold.object == *object);
        let lost = step.holds.iter().filter(|object| !kept(object));
        let frees = |object| Access { object, writes: true, frees: true };
        let lost: Accesses = lost.map(|&object| frees(self.id(object))).collect();
        (gained, lost)
    }

    /// The running task is at its next scheduling point. False if the run is to be given up,
    /// because a lap of a waiting loop has ended that changed nothing.
    fn arrive(&mut self, turn: &Turn<'_>) -> bool {
        let task = turn.current;
        let label = self.label(turn, task);
        let hinted = self.hinted & bit(task) != 0;
        self.hinted &= !bit(task);
        if !hinted && self.waited & bit(task) == 0 {
            return true;
        }
        let (mut looked, mut failed) = (0, false);
        let mut lap = None;
        for (at, event) in self.path.backwards(task, self.depth) {
            if event.changes_something() {
                return true;
            }
            looked += usize::from(!event.accesses.is_empty());
            failed |= matches!(
                event.label.kind,
                Some(OpKind::ReadModifyWrite | OpKind::CompareExchange | OpKind::TryLock)
            );
            if event.label == label {
                lap = Some((at, event.accesses.clone()));
                break;
            }
        }
        // A wait that ended is no lap, but a wait and an attempt that failed is.
        let Some((from, accesses)) = lap.filter(|_| hinted || failed) else { return true };
        let nodes = &self.path.nodes[from..self.depth];
        if nodes.iter().any(|node| !node.is_step()) {
            // An outcome that led nowhere: the lap might as well not have been.
            self.verdict = Verdict::Redundant;
            return false;
        }
        let alone = nodes.iter().all(|node| node.chosen == task);
        if alone && looked == 1 && from + 1 >= self.path.floor {
            self.path.sleep(from, task, accesses, true);
            self.verdict = Verdict::Futile;
            return false;
        }
        self.parked.push(Parked { task, from });
        true
    }

    /// Follows the path, or makes it longer.
    fn choose(&mut self, turn: &Turn<'_>) -> Option<u32> {
        let runnable = turn.runnable.iter().fold(0, |set, &task| set | bit(task));
        let parked = self.parked.iter().fold(0, |set, parked| set | bit(parked.task));
        let begun = self.begun;
        let can_go_on = |task: &u32| begun & bit(*task) == 0 || !waits(turn, *task);
        let free = tasks_of(runnable & !parked).filter(can_go_on);
        let enabled = free.fold(0, |set, task| set | bit(task));
        let at = self.depth;
        if at == LONGEST_RUN {
            self.refuse(
                "a task can go on for ever, beyond 20,000 steps, while others could end its loop; \
                 give a hint where it waits",
            );
            return None;
        }
        if at == self.path.nodes.len() && !self.lengthen(turn, enabled) {
            return if self.stuck { free_choice(turn) } else { None };
        }
        if self.is_rebuilt(at) {
            return None;
        }
        let node = &self.path.nodes[at];
        if node.stuck {
            return self.give_up().then(|| free_choice(turn)).flatten();
        }
        if node.enabled != enabled {
            self.refuse("it is not deterministic: a schedule run again had other tasks to choose");
            return None;
        }
        let chosen = node.chosen;
        self.depth += 1;
        let label = if self.begun & bit(chosen) == 0 {
            self.begun |= bit(chosen);
            Label::BEGINS
        } else {
            self.label(turn, chosen)
        };
        let awaits = label.kind == Some(OpKind::Load) && self.awaiting & bit(chosen) != 0;
        self.awaiting &= !bit(chosen);
        self.step = Some(Step {
            at,
            task: chosen,
            label,
            holds: turn.tasks[chosen as usize].holds.iter().map(|hold| hold.object).collect(),
            changes: current().map_or(0, |execution| execution.changes()),
            n_tasks: turn.tasks.len(),
            also: SmallVec::new(),
            failed: false,
            awaits,
            picked: 0,
        });
        Some(chosen)
    }

    /// Adds a node. False if there is nothing to choose from: then the run is given up, or nobody
    /// can go on.
    fn lengthen(&mut self, turn: &Turn<'_>, enabled: TaskSet) -> bool {
        let at = self.path.nodes.len();
        let kept = self.script.get(at);
        let sleep = kept.map_or_else(|| self.path.inherited_sleep(), |kept| kept.sleep.clone());
        let (current, preemptions) = match self.path.last_step() {
            Some(last) if last.forced => (last.current, last.preemptions),
            Some(last) => (last.chosen, last.preemptions + last.cost(last.chosen)),
            None => (turn.current, 0),
        };
        let unbegun = enabled & !self.begun;
        let forced = unbegun != 0;
        let mut node = Node { enabled, sleep, forced, current, preemptions, ..Node::default() };
        if let Some(kept) = kept {
            (node.chosen, node.wanted, node.done) = (kept.chosen, kept.wanted, kept.done);
            (node.productive, node.stuck) = (kept.productive, kept.stuck);
            self.path.nodes.push(node);
            return true;
        }
        let awake = enabled & !node.asleep();
        let allowed = match self.path.reduction {
            _ if forced => unbegun,
            Reduction::Traces => awake,
            Reduction::Preemptions(bound) => awake & node.affordable(bound),
        };
        let Some(chosen) = node.first_of(allowed) else {
            if enabled & !node.futile() == 0 {
                self.give_up();
            } else {
                self.verdict = Verdict::Redundant;
            }
            return false;
        };
        node.chosen = chosen;
        node.wanted = bit(chosen);
        self.path.nodes.push(node);
        true
    }

    /// Nobody can go on. Where a parked task could, had its lap come later, another execution has
    /// that, and this one is blocked; if not, the program is stuck.
    fn give_up(&mut self) -> bool {
        let missed = self.parked.iter().any(|parked| self.has_missed(parked));
        if missed {
            self.verdict = Verdict::Redundant;
        }
        self.stuck = !missed;
        self.stuck
    }

    /// Whether something that the lap looked at has changed since.
    fn has_missed(&self, parked: &Parked) -> bool {
        let laps = self.path.backwards(parked.task, self.depth);
        laps.take_while(|(at, _)| *at >= parked.from).any(|(at, event)| {
            let later = self.path.nodes[at + 1..].iter().filter_map(|node| node.event.as_ref());
            let mut written = later.flat_map(|event| &event.accesses).filter(|other| other.writes);
            written.any(|other| event.accesses.iter().any(|mine| mine.object == other.object))
        })
    }

    fn label(&mut self, turn: &Turn<'_>, task: u32) -> Label {
        let pending = turn.tasks[task as usize].pending;
        let object = (pending.object != 0).then(|| self.id(pending.object));
        Label { kind: Some(pending.kind), object, place: pending.place }
    }

    fn id(&mut self, address: usize) -> u32 {
        let next = OTHERS + self.ids.len() as u32;
        *self.ids.entry(address).or_insert(next)
    }
}
