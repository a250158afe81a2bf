//! The recorder: everything that happens, written down in the second pass of a failing seed.
//!
//! The first pass of a seed records nothing. Operations, notes, holds and switches are formatted
//! only where a recorder is present (or a script listens for notes), so that a sweep pays a branch
//! for each.

use foldhash::fast::FixedState;

use super::execution::{Execution, current, mix, text_hash};
use super::holds::kind_noun;
use super::task::Place;
use crate::trace::{Event, ObjectInfo, OpKind, Site, TaskInfo, What};

pub(super) type ByAddress<T> = std::collections::HashMap<usize, T, FixedState>;

/// What was written down of one execution.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) events: Vec<Event>,
    pub(crate) objects: Vec<ObjectInfo>,
    pub(crate) tasks: Vec<TaskInfo>,
    ids: ByAddress<u32>,
    ordinals: std::collections::BTreeMap<&'static str, u32>,
    /// Address, then task and place, of the latest change of each word.
    changes: ByAddress<(u32, Place)>,
}

impl Recorder {
    fn id(&mut self, address: usize, noun: &'static str) -> u32 {
        if let Some(&id) = self.ids.get(&address) {
            return id;
        }
        let ordinal = self.ordinals.entry(noun).or_insert(0);
        *ordinal += 1;
        let name = format!("{noun} {ordinal}");
        self.add(address, ObjectInfo { name, named: false, show: None })
    }

    fn add(&mut self, address: usize, info: ObjectInfo) -> u32 {
        let id = self.objects.len() as u32;
        self.objects.push(info);
        self.ids.insert(address, id);
        id
    }

    /// A hash over everything recorded, for the comparison of two runs of one seed.
    pub(crate) fn hash(&self) -> u64 {
        self.events.iter().fold(0, |hash, event| {
            let place = event.site.map_or(0, |site| u64::from(site.line));
            let what = match &event.what {
                What::Operation { kind, object, before, after } => {
                    // Values may be addresses: only whether they changed counts.
                    let changed = u64::from(before != after);
                    mix(*kind as u64, object.map_or(0, u64::from) << 1 | changed)
                }
                What::Note(text) => text_hash(text),
                other => text_hash(&format!("{other:?}")),
            };
            mix(mix(mix(hash, what), event.step << 16 | u64::from(event.task)), place)
        })
    }
}

/// Whether a recorder is present in the current execution.
pub(crate) fn recording() -> bool {
    current().is_some_and(|execution| execution.recording.get())
}

/// Whether notes and names are wanted in the current execution.
#[inline]
pub(crate) fn listening() -> bool {
    current().is_some_and(|execution| execution.inner().listening)
}

/// The calling task says what it does.
pub(crate) fn note(text: String, place: Place) {
    let Some(execution) = current() else { return };
    if execution.is_unwinding() {
        return;
    }
    let id = execution.current.get();
    let inner = execution.inner();
    if inner.strategy.noted(id, &text) {
        inner.strategy_at = 0;
        execution.next_event.set(0);
    }
    execution.record(Some(place), What::Note(text));
}

/// An event of the `tracing` crate in the calling task.
pub(crate) fn log_event(level: &'static str, target: &str, message: std::fmt::Arguments<'_>) {
    if let Some(execution) = current() {
        let (target, message) = (target.to_owned(), message.to_string());
        execution.record(None, What::Log { level, target, message });
    }
}

/// Gives the object at `address` a name for as long as the execution lasts.
pub(crate) fn name_object(address: usize, name: String, show: Option<fn(u64) -> String>) {
    let Some(execution) = current() else { return };
    let address = execution.copy_of(address).unwrap_or(address);
    let recorder = execution.inner().recorder.get_or_insert_default();
    recorder.add(address, ObjectInfo { name, named: true, show });
}

impl Execution {
    pub(crate) fn record(&self, place: Option<Place>, what: What) {
        let (step, now_ns, task) = (self.step.get(), self.now_ns(), self.current.get());
        let recording = self.recording.get();
        if let Some(recorder) = &mut self.inner().recorder
            && recording
        {
            let site = place.map(Site::from);
            recorder.events.push(Event { step, now_ns, task, site, what });
        }
    }

    /// Writes down an operation that was just carried out, where anything is written down.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_operation(
        &self,
        kind: OpKind,
        address: usize,
        before: Option<u64>,
        after: Option<u64>,
        place: Place,
    ) {
        if !self.recording.get() {
            return;
        }
        let object = (address != 0).then(|| self.object_id(address, kind_noun(kind)));
        if before != after {
            let id = self.current.get();
            if let Some(recorder) = &mut self.inner().recorder {
                recorder.changes.insert(address, (id, place));
            }
        }
        self.record(Some(place), What::Operation { kind, object, before, after });
    }

    /// The static at `original` has a copy from here on, to which its name goes over.
    pub(super) fn name_copy(&self, original: usize, copy: usize) {
        if let Some(recorder) = &mut self.inner().recorder
            && let Some(&id) = recorder.ids.get(&original)
        {
            recorder.ids.insert(copy, id);
        }
    }

    pub(crate) fn object_id(&self, address: usize, noun: &'static str) -> u32 {
        self.inner().recorder.as_mut().map_or(0, |recorder| recorder.id(address, noun))
    }

    /// The object's name, as far as this pass knows it.
    pub(crate) fn object_name(&self, address: usize) -> String {
        self.known_name(address).unwrap_or_else(|| "an object".to_owned())
    }

    pub(super) fn known_name(&self, address: usize) -> Option<String> {
        let recorder = self.inner().recorder.as_ref()?;
        recorder.ids.get(&address).map(|&id| recorder.objects[id as usize].name.clone())
    }

    pub(super) fn last_change(&self, address: usize) -> Option<(u32, Place)> {
        self.inner().recorder.as_ref()?.changes.get(&address).copied()
    }

    pub(crate) fn role(&self, id: u32) -> String {
        let inner = self.inner();
        super::task_role(&inner.tasks[..inner.n_tasks], id)
    }

    /// Names of all tasks, for the record.
    pub(super) fn write_down_tasks(&self) {
        let names = (0..self.inner().n_tasks as u32).map(|id| TaskInfo { name: self.role(id) });
        let names: Vec<_> = names.collect();
        if let Some(recorder) = &mut self.inner().recorder {
            recorder.tasks = names;
        }
    }
}

impl From<Place> for Site {
    fn from(place: Place) -> Self {
        Self { file: place.file(), line: place.line(), column: place.column() }
    }
}
