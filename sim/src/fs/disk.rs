//! The disk of an execution: names, files, and what every operation on them does first.
//!
//! Touches: the names, under a real mutex that is never held across a scheduling point.
//! Keeps: an operation of the program happens at once, after its scheduling point and the time that
//! it takes; a task that is unwound after a crash changes nothing; handles from before a power
//! failure are good for nothing.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::image::Keep;
use super::inode::{Inode, Room, changed, is_dead, told, wanted};
use super::names::{Names, Node, Spot};
use crate::core::{Execution, Place, Request, current, listening, name_object};
use crate::explore::{CrashKind, FaultKind};
use crate::trace::OpKind;

/// The disk of an execution.
#[derive(Clone)]
pub(super) struct Disk(Arc<State>);

struct State {
    names: Mutex<Names>,
    room: Mutex<Arc<Room>>,
    /// Times the power failed.
    power_failures: AtomicU64,
    /// Files there have been.
    files: AtomicUsize,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mode {
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) append: bool,
    pub(super) truncate: bool,
    pub(super) create: bool,
    pub(super) create_new: bool,
}

/// The error that the system call would give.
pub(super) fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happens before every operation on `object`: a scheduling point, the rules of holds, the time
/// that it takes, crashes. A task that dies in the middle of the operation has done it `partly`.
pub(super) fn operate(kind: OpKind, object: usize, place: Place, partly: impl FnOnce(&Execution)) {
    let Some(execution) = current() else { return };
    execution.may_sleep(kind, place);
    if execution.enter(kind, object, noun(kind), place) {
        execution.record_operation(kind, object, None, None, place);
    }
    if execution.faults().latency_ns > 0 {
        take_time(execution, kind, object, place);
    }
    if execution.wants_fault(|faults| faults.kill) && execution.current.get() != 0 {
        partly(execution);
        execution.kill(execution.current.get(), place);
    } else if execution.wants_fault(|faults| faults.process_crash) && execution.in_life() {
        partly(execution);
        execution.crash_here(CrashKind::Process);
    } else if execution.wants_fault(|faults| faults.power_failure) && execution.in_life() {
        partly(execution);
        execution.crash_here(CrashKind::Power);
    }
}

fn take_time(execution: &Execution, kind: OpKind, object: usize, place: Place) {
    if execution.is_unwinding() {
        return;
    }
    let ns = execution.fault_draw(execution.faults().latency_ns.saturating_add(1));
    let deadline_ns = execution.deadline(Duration::from_nanos(ns.into()));
    if ns == 0 || deadline_ns.is_none() {
        return;
    }
    execution.struck(FaultKind::Delay, 1, place, || format!("the disk takes {ns} ns"));
    // Nobody enables this class: it ends with the time.
    execution.wait(Request { kind, object, class: 0, deadline_ns, sleeps: false }, place);
}

/// Fails with `EIO` where the seed wants it.
pub(super) fn may_fail(
    kind: FaultKind,
    rate: fn(&crate::Faults) -> u32,
    what: &str,
    place: Place,
) -> io::Result<()> {
    let Some(execution) = wanted(rate) else { return Ok(()) };
    execution.struck(kind, 1, place, || what.to_owned());
    Err(error(libc::EIO))
}

fn noun(kind: OpKind) -> &'static str {
    if kind == OpKind::FileOther { "disk" } else { "file" }
}

/// The name that a spot has, which the root does not.
fn named(spot: Spot, otherwise: i32) -> io::Result<(u32, std::ffi::OsString)> {
    match spot.name {
        Some(name) => Ok((spot.directory, name)),
        None => Err(error(otherwise)),
    }
}

impl Disk {
    /// The disk of the execution.
    pub(super) fn of(execution: &Execution) -> Self {
        execution.extension(|| {
            execution.on_power_failure(|execution| Self::of(execution).power_fails(execution));
            Self(Arc::new(State {
                names: Mutex::new(Names::new()),
                room: Mutex::new(Arc::new(Room::of(execution))),
                power_failures: AtomicU64::new(0),
                files: AtomicUsize::new(0),
            }))
        })
    }

    fn object(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// What another file is called by the machine: a number at the upper end of the addresses, where
    /// nothing lies, and no two files have the same.
    fn file_object(&self) -> usize {
        usize::MAX - 1 - self.0.files.fetch_add(1, Relaxed)
    }

    /// Which disk a handle belongs to: there is another after each power failure.
    pub(super) fn power_failures(&self) -> u64 {
        self.0.power_failures.load(Relaxed)
    }

    /// The names, after the scheduling point of an operation on them.
    fn operate(&self, place: Place) -> MutexGuard<'_, Names> {
        operate(OpKind::FileOther, self.object(), place, |_| ());
        lock(&self.0.names)
    }

    /// Changes names and says so, unless the task is dead.
    fn change(
        &self,
        names: &mut Names,
        what: String,
        entries: Vec<((u32, std::ffi::OsString), Option<Node>)>,
    ) {
        if !is_dead() {
            names.change(what, entries);
            changed(self.object());
        }
    }

    pub(super) fn open(&self, path: &Path, mode: Mode, place: Place) -> io::Result<Node> {
        let mut names = self.operate(place);
        let spot = names.spot(path)?;
        let writes = mode.write || mode.append;
        match names.at(&spot) {
            Some(_) if mode.create_new => Err(error(libc::EEXIST)),
            Some(Node::Directory(_)) if writes => Err(error(libc::EISDIR)),
            Some(node @ Node::Directory(_)) => Ok(node),
            Some(node @ Node::File(_)) => {
                if mode.truncate
                    && let Node::File(inode) = &node
                {
                    inode.set_len(0, place)?;
                }
                Ok(node)
            }
            None if mode.create || mode.create_new => {
                let name = path.display().to_string();
                let inode = Arc::new(Inode::new(
                    name.clone(),
                    self.file_object(),
                    lock(&self.0.room).clone(),
                ));
                if listening() {
                    name_object(inode.object(), name.clone(), None);
                }
                let node = Node::File(inode);
                let entry = named(spot, libc::EEXIST)?;
                let what = format!("the creation of {name}");
                self.change(&mut names, what, vec![(entry, Some(node.clone()))]);
                Ok(node)
            }
            None => Err(error(libc::ENOENT)),
        }
    }

    pub(super) fn node(&self, path: &Path, place: Place) -> io::Result<Node> {
        let names = self.operate(place);
        names.at(&names.spot(path)?).ok_or_else(|| error(libc::ENOENT))
    }

    pub(super) fn create_dir(&self, path: &Path, place: Place) -> io::Result<()> {
        let mut names = self.operate(place);
        let spot = names.spot(path)?;
        if names.at(&spot).is_some() {
            return Err(error(libc::EEXIST));
        }
        self.make_directory(&mut names, spot, path)
    }

    fn make_directory(&self, names: &mut Names, spot: Spot, path: &Path) -> io::Result<()> {
        let entry = named(spot, libc::EEXIST)?;
        let directory = names.new_directory();
        let what = format!("the creation of {}", path.display());
        self.change(names, what, vec![(entry, Some(directory))]);
        Ok(())
    }

    pub(super) fn create_dir_all(&self, path: &Path, place: Place) -> io::Result<()> {
        let mut names = self.operate(place);
        let mut paths: Vec<&Path> = path.ancestors().collect();
        paths.reverse();
        for above in paths.into_iter().filter(|above| !above.as_os_str().is_empty()) {
            let spot = names.spot(above)?;
            match names.at(&spot) {
                Some(Node::Directory(_)) => {}
                Some(Node::File(_)) if above == path => return Err(error(libc::EEXIST)),
                Some(Node::File(_)) => return Err(error(libc::ENOTDIR)),
                None if is_dead() => return Ok(()),
                None => self.make_directory(&mut names, spot, above)?,
            }
        }
        Ok(())
    }

    pub(super) fn remove_file(&self, path: &Path, place: Place) -> io::Result<()> {
        let mut names = self.operate(place);
        let spot = names.spot(path)?;
        match names.at(&spot) {
            None => return Err(error(libc::ENOENT)),
            Some(Node::Directory(_)) => return Err(error(libc::EISDIR)),
            Some(Node::File(_)) => {}
        }
        let entry = named(spot, libc::EISDIR)?;
        self.change(&mut names, format!("the removal of {}", path.display()), vec![(entry, None)]);
        Ok(())
    }

    /// Removes a directory, which must be empty unless `all` goes that is in it.
    pub(super) fn remove_dir(&self, path: &Path, all: bool, place: Place) -> io::Result<()> {
        let mut names = self.operate(place);
        let spot = names.spot(path)?;
        let id = match names.at(&spot) {
            None => return Err(error(libc::ENOENT)),
            Some(Node::File(_)) => return Err(error(libc::ENOTDIR)),
            Some(Node::Directory(id)) => id,
        };
        let entry = named(spot, libc::EBUSY)?;
        if !all && !names.is_empty(id) {
            return Err(error(libc::ENOTEMPTY));
        }
        self.empty(&mut names, id, path);
        self.change(&mut names, format!("the removal of {}", path.display()), vec![(entry, None)]);
        Ok(())
    }

    /// Removes all that is in a directory, name by name, so that a crash may leave some.
    fn empty(&self, names: &mut Names, directory: u32, path: &Path) {
        for (name, node) in names.list(directory) {
            let path = path.join(&name);
            if let Node::Directory(id) = node {
                self.empty(names, id, &path);
            }
            let what = format!("the removal of {}", path.display());
            self.change(names, what, vec![((directory, name), None)]);
        }
    }

    pub(super) fn rename(&self, from: &Path, to: &Path, place: Place) -> io::Result<()> {
        let mut names = self.operate(place);
        let (old, new) = (names.spot(from)?, names.spot(to)?);
        let moved = names.at(&old).ok_or_else(|| error(libc::ENOENT))?;
        let target = names.at(&new);
        match (&moved, &target) {
            (Node::Directory(from), Some(Node::Directory(to))) if from == to => return Ok(()),
            (Node::File(from), Some(Node::File(to))) if Arc::ptr_eq(from, to) => return Ok(()),
            (Node::Directory(id), _) if names.is_within(new.directory, *id) => {
                return Err(error(libc::EINVAL));
            }
            (Node::Directory(_), Some(Node::File(_))) => return Err(error(libc::ENOTDIR)),
            (Node::File(_), Some(Node::Directory(_))) => return Err(error(libc::EISDIR)),
            (Node::Directory(_), Some(Node::Directory(to))) if !names.is_empty(*to) => {
                return Err(error(libc::ENOTEMPTY));
            }
            _ => {}
        }
        let (old, new) = (named(old, libc::EBUSY)?, named(new, libc::EBUSY)?);
        let what = format!("the renaming of {} to {}", from.display(), to.display());
        self.change(&mut names, what, vec![(old, None), (new, Some(moved))]);
        Ok(())
    }

    /// What is in a directory, in order of the names.
    pub(super) fn list(
        &self,
        path: &Path,
        place: Place,
    ) -> io::Result<Vec<(std::ffi::OsString, Node)>> {
        let names = self.operate(place);
        match names.at(&names.spot(path)?) {
            None => Err(error(libc::ENOENT)),
            Some(Node::File(_)) => Err(error(libc::ENOTDIR)),
            Some(Node::Directory(id)) => Ok(names.list(id)),
        }
    }

    /// Makes the names in a directory durable; after the scheduling point.
    pub(super) fn sync_names(&self, directory: u32, place: Place) -> io::Result<()> {
        let rate = |faults: &crate::Faults| faults.sync_error;
        may_fail(FaultKind::SyncError, rate, "the sync fails", place)?;
        let mut names = lock(&self.0.names);
        if !is_dead() && names.is_dirty(directory) {
            names.sync(directory);
        }
        Ok(())
    }

    /// The power fails: what is left becomes another disk.
    fn power_fails(&self, execution: &Execution) {
        let place = std::panic::Location::caller();
        let keep = match execution.crash_draw(4) {
            0 => Keep::Nothing,
            1 => Keep::All,
            _ => Keep::Some,
        };
        let draw = &mut |n| execution.crash_draw(n);
        let room = Arc::new(Room::of(execution));
        let mut names = lock(&self.0.names);
        let (mut after, lost) = names.after_power_failure(keep, draw);
        for what in lost {
            execution.struck(FaultKind::NameLost, 1, place, || format!("{what} is lost"));
        }
        after.replace_files(|inode| {
            let (new, loss) =
                inode.after_power_failure(self.file_object(), room.clone(), keep, draw);
            let name = inode.name();
            if loss.lost + loss.kept > 0 {
                execution.struck(FaultKind::UnsyncedLost, loss.lost, place, || {
                    let (lost, all) = (loss.lost, loss.lost + loss.kept);
                    format!("{lost} of {all} unsynced sectors of {name} are lost")
                });
                execution.count_struck(FaultKind::UnsyncedKept, loss.kept);
            }
            for (sectors, older) in &loss.torn {
                execution.struck(FaultKind::TornWrite, 1, place, || {
                    format!("the write of {} of {name} is torn at sector {older}", told(sectors))
                });
            }
            if let Some(before) = loss.len_before {
                execution.struck(FaultKind::SizeLost, 1, place, || {
                    format!("{name} is {} bytes long, not {before}", new.len_bytes())
                });
            }
            let new = Arc::new(new);
            if listening() {
                name_object(new.object(), name.to_owned(), None);
            }
            new
        });
        *names = after;
        *lock(&self.0.room) = room;
        self.0.power_failures.fetch_add(1, Relaxed);
        drop(names);
        changed(self.object());
    }
}
