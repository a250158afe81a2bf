//! Directories: what is called how, now and durably.
//!
//! A change of names is one or two entries of directories at once. It lasts once a directory that
//! has one of the entries is synced. When the power fails before, it lasts or not, as is drawn,
//! whatever becomes of others; but of the changes of one entry the first ones last.
//!
//! Keeps: a directory is known by a number, so that its entries stay what they are where it is
//! renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use super::disk::error;
use super::image::Keep;
use super::inode::Inode;

pub(super) const ROOT: u32 = 0;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Node {
    Directory(u32),
    File(Arc<Inode>),
}

/// By directory, what is in it.
type Entries = BTreeMap<u32, BTreeMap<OsString, Node>>;
type Entry = (u32, OsString);

/// A change that is not durable.
struct Change {
    /// What it is, for people.
    what: String,
    /// Entries, and what they become.
    entries: Vec<(Entry, Option<Node>)>,
}

/// All names of a disk.
pub(super) struct Names {
    now: Entries,
    durable: Entries,
    changes: Vec<Change>,
    next: u32,
}

/// Where a path leads: the directory and the name in it; the root has none.
pub(super) struct Spot {
    pub(super) directory: u32,
    pub(super) name: Option<OsString>,
}

impl Names {
    /// A disk with the directory `/tmp`.
    pub(super) fn new() -> Self {
        let tmp = Node::Directory(1);
        let root = BTreeMap::from([(OsString::from("tmp"), tmp)]);
        let entries = Entries::from([(ROOT, root), (1, BTreeMap::new())]);
        Self { now: entries.clone(), durable: entries, changes: Vec::new(), next: 2 }
    }

    /// The directory in which `path` is or would be.
    pub(super) fn spot(&self, path: &Path) -> io::Result<Spot> {
        let (mut directories, mut last) = (vec![ROOT], None);
        if path.as_os_str().is_empty() {
            return Err(error(libc::ENOENT));
        }
        for component in path.components() {
            match component {
                Component::Normal(name) => {
                    if let Some(name) = last.replace(name) {
                        directories.push(self.directory(&directories, name)?);
                    }
                }
                Component::ParentDir => {
                    if last.take().is_none() && directories.len() > 1 {
                        directories.pop();
                    }
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        let directory = directories.last().copied().unwrap_or(ROOT);
        if last.is_none() && directories.len() > 1 {
            // `a/b/..`: the directory under its own name is found by its parent.
            let parent = directories[directories.len() - 2];
            return Ok(Spot { directory: parent, name: self.name_of(parent, directory) });
        }
        Ok(Spot { directory, name: last.map(OsStr::to_owned) })
    }

    fn directory(&self, within: &[u32], name: &OsStr) -> io::Result<u32> {
        let within = within.last().copied().unwrap_or(ROOT);
        match self.get(within, name) {
            Some(Node::Directory(id)) => Ok(*id),
            Some(Node::File(_)) => Err(error(libc::ENOTDIR)),
            None => Err(error(libc::ENOENT)),
        }
    }

    fn name_of(&self, parent: u32, directory: u32) -> Option<OsString> {
        let mut entries = self.now.get(&parent)?.iter();
        let is_it = |node: &Node| matches!(node, Node::Directory(id) if *id == directory);
        entries.find(|(_, node)| is_it(node)).map(|(name, _)| name.clone())
    }

    pub(super) fn get(&self, directory: u32, name: &OsStr) -> Option<&Node> {
        self.now.get(&directory)?.get(name)
    }

    /// What is at a spot.
    pub(super) fn at(&self, spot: &Spot) -> Option<Node> {
        match &spot.name {
            Some(name) => self.get(spot.directory, name).cloned(),
            None => Some(Node::Directory(spot.directory)),
        }
    }

    /// What is in a directory, in order of the names.
    pub(super) fn list(&self, directory: u32) -> Vec<(OsString, Node)> {
        let entries = self.now.get(&directory).into_iter().flatten();
        entries.map(|(name, node)| (name.clone(), node.clone())).collect()
    }

    pub(super) fn is_empty(&self, directory: u32) -> bool {
        self.now.get(&directory).is_none_or(BTreeMap::is_empty)
    }

    /// Whether directory `id` is `ancestor` or lies below it.
    pub(super) fn is_within(&self, id: u32, ancestor: u32) -> bool {
        let below = |directory: u32| self.list(directory);
        let mut todo = vec![ancestor];
        while let Some(directory) = todo.pop() {
            if directory == id {
                return true;
            }
            todo.extend(below(directory).into_iter().filter_map(|(_, node)| match node {
                Node::Directory(id) => Some(id),
                Node::File(_) => None,
            }));
        }
        false
    }

    /// A directory that has no name yet.
    pub(super) fn new_directory(&mut self) -> Node {
        let id = self.next;
        self.next += 1;
        self.now.insert(id, BTreeMap::new());
        self.durable.insert(id, BTreeMap::new());
        Node::Directory(id)
    }

    /// Changes entries, all at once.
    pub(super) fn change(&mut self, what: String, entries: Vec<(Entry, Option<Node>)>) {
        apply(&mut self.now, &entries);
        self.changes.push(Change { what, entries });
    }

    /// Makes the entries of a directory durable, and what the changes of them rest on.
    pub(super) fn sync(&mut self, directory: u32) {
        let mut needed: BTreeSet<Entry> = BTreeSet::new();
        let mut left = Vec::new();
        let mut done = Vec::new();
        for change in self.changes.drain(..).rev() {
            let touches = |(entry, _): &(Entry, _)| entry.0 == directory || needed.contains(entry);
            if change.entries.iter().any(touches) {
                needed.extend(change.entries.iter().map(|(entry, _)| entry.clone()));
                done.push(change);
            } else {
                left.push(change);
            }
        }
        for change in done.into_iter().rev() {
            apply(&mut self.durable, &change.entries);
        }
        left.reverse();
        self.changes = left;
    }

    /// Whether a sync of the directory has anything to do.
    pub(super) fn is_dirty(&self, directory: u32) -> bool {
        let touches = |(entry, _): &(Entry, Option<Node>)| entry.0 == directory;
        self.changes.iter().any(|change| change.entries.iter().any(touches))
    }

    /// The names when the power is back, and what was lost; files are still the old ones.
    pub(super) fn after_power_failure(
        &self,
        keep: Keep,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> (Self, Vec<String>) {
        let mut entries = self.durable.clone();
        let mut broken: BTreeSet<&Entry> = BTreeSet::new();
        let mut lost = Vec::new();
        for change in &self.changes {
            let possible = !change.entries.iter().any(|(entry, _)| broken.contains(entry));
            let lasts = match keep {
                Keep::Nothing => false,
                Keep::All => true,
                Keep::Some => draw(2) == 0,
            };
            if lasts && possible {
                apply(&mut entries, &change.entries);
            } else {
                broken.extend(change.entries.iter().map(|(entry, _)| entry));
                lost.push(change.what.clone());
            }
        }
        retain_reachable(&mut entries);
        let now = entries.clone();
        (Self { now, durable: entries, changes: Vec::new(), next: self.next }, lost)
    }

    /// Puts another file in the place of each that has a name, in order of the paths' directories.
    pub(super) fn replace_files(&mut self, mut other: impl FnMut(&Inode) -> Arc<Inode>) {
        for node in self.now.values_mut().flat_map(BTreeMap::values_mut) {
            if let Node::File(inode) = node {
                *inode = other(inode);
            }
        }
        self.durable = self.now.clone();
    }
}

/// Forgets directories without a name.
fn retain_reachable(entries: &mut Entries) {
    let (mut todo, mut reachable) = (vec![ROOT], BTreeSet::new());
    while let Some(directory) = todo.pop() {
        reachable.insert(directory);
        let nodes = entries.get(&directory).into_iter().flat_map(BTreeMap::values);
        todo.extend(nodes.filter_map(|node| match node {
            Node::Directory(id) => Some(*id),
            Node::File(_) => None,
        }));
    }
    entries.retain(|directory, _| reachable.contains(directory));
}

fn apply(entries: &mut Entries, changes: &[(Entry, Option<Node>)]) {
    for ((directory, name), node) in changes {
        let directory = entries.entry(*directory).or_default();
        match node {
            Some(node) => directory.insert(name.clone(), node.clone()),
            None => directory.remove(name),
        };
    }
}
