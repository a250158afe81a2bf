//! Private reference counts: how often this session has pinned what.
//!
//! A session changes a buffer's shared count for its first pin and its last unpin only. Eight slots
//! are searched, those that are taken; more pins overflow into a hash table. The slot used last is
//! looked at first, since it is the one most often given back, and a session without pins looks at
//! no other. Room for an entry is reserved before anything that may hold a header lock, since
//! nothing may be allocated under one (B23).
//!
//! Touches: nothing shared; so its fields are cells and no borrow is counted. Keeps: one entry per
//! pinned buffer, none with a count of 0.
//! Source: `PrivateRefCountArray` in PostgreSQL's `bufmgr.c`, and the entry it used last, of 19;
//! entries are not moved back from the table, which costs sessions with more than eight pins a hash
//! per pin.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::content_lock::LockMode;
use super::desc::NOBODY;
use crate::sync::fault;

const SLOTS: usize = 8;
/// A bit per slot, all of them free.
const ALL_FREE: u8 = u8::MAX;
/// No slot.
const NONE: usize = SLOTS;

#[derive(Clone, Copy, Debug)]
struct Entry {
    count: u32,
    /// The content lock this session has on the buffer: at most one.
    lock: Option<LockMode>,
}

const FREE: Entry = Entry { count: 0, lock: None };

#[derive(Debug)]
pub(super) struct PrivateRefs {
    /// The buffer of each slot; [`NOBODY`] where it is free.
    buf_ids: [Cell<u32>; SLOTS],
    entries: [Cell<Entry>; SLOTS],
    /// A bit for every slot that is free.
    free: Cell<u8>,
    /// A slot kept free for the next pin, or [`NONE`].
    reserved: Cell<usize>,
    /// The slot used last.
    last: Cell<usize>,
    /// The slot to move out next when all are taken.
    clock: Cell<usize>,
    overflow: RefCell<HashMap<u32, Entry, FixedState>>,
    /// Entries in `overflow`.
    overflowed: Cell<usize>,
}

impl PrivateRefs {
    pub(super) fn new() -> Self {
        Self {
            buf_ids: [const { Cell::new(NOBODY) }; SLOTS],
            entries: [const { Cell::new(FREE) }; SLOTS],
            free: Cell::new(ALL_FREE),
            reserved: Cell::new(NONE),
            last: Cell::new(0),
            clock: Cell::new(0),
            overflow: RefCell::new(HashMap::with_hasher(FixedState::default())),
            overflowed: Cell::new(0),
        }
    }

    /// Makes room for one more pin, which may take memory. False if there is none.
    #[inline(always)]
    #[must_use]
    pub(super) fn reserve(&self) -> bool {
        if self.reserved.get() == NONE {
            let free = self.free.get();
            if free == 0 {
                return self.move_out();
            }
            self.reserved.set(free.trailing_zeros() as usize);
        }
        true
    }

    /// Reserves a slot that is taken: its entry goes to the hash table. False if that has no room.
    #[cold]
    fn move_out(&self) -> bool {
        let no_memory =
            fault::allocation_fails() || self.overflow.borrow_mut().try_reserve(1).is_err();
        if no_memory {
            return false;
        }
        let slot = self.clock.get();
        self.clock.set((slot + 1) % SLOTS);
        let (buf_id, entry) = (self.buf_ids[slot].get(), self.entries[slot].get());
        let mut overflow = self.overflow.borrow_mut();
        overflow.insert(buf_id, entry);
        self.overflowed.set(overflow.len());
        self.clear(slot);
        self.reserved.set(slot);
        true
    }

    #[inline(always)]
    fn clear(&self, slot: usize) {
        self.buf_ids[slot].set(NOBODY);
        self.free.set(self.free.get() | 1 << slot);
    }

    /// The slot of a buffer: the one used last most often, or one of the few that are taken.
    #[inline(always)]
    fn slot_of(&self, buf_id: u32) -> Option<usize> {
        let last = self.last.get();
        if self.buf_ids[last % SLOTS].get() == buf_id {
            return Some(last % SLOTS);
        }
        let mut taken = !self.free.get();
        while taken != 0 {
            let slot = taken.trailing_zeros() as usize % SLOTS;
            if self.buf_ids[slot].get() == buf_id {
                return Some(slot);
            }
            taken &= taken - 1;
        }
        None
    }

    #[inline(always)]
    fn get(&self, buf_id: u32) -> Option<Entry> {
        match self.slot_of(buf_id) {
            Some(slot) => Some(self.entries[slot].get()),
            None if self.overflowed.get() == 0 => None,
            None => self.get_overflowed(buf_id),
        }
    }

    #[cold]
    fn get_overflowed(&self, buf_id: u32) -> Option<Entry> {
        self.overflow.borrow().get(&buf_id).copied()
    }

    /// Replaces the entry of a buffer that has one.
    #[inline]
    fn set(&self, buf_id: u32, entry: Entry) {
        match self.slot_of(buf_id) {
            Some(slot) => self.entries[slot].set(entry),
            None => self.set_overflowed(buf_id, entry),
        }
    }

    #[cold]
    fn set_overflowed(&self, buf_id: u32, entry: Entry) {
        self.overflow.borrow_mut().insert(buf_id, entry);
    }

    /// How often this session has the buffer pinned.
    #[inline(always)]
    pub(super) fn count(&self, buf_id: u32) -> u32 {
        self.get(buf_id).map_or(0, |entry| entry.count)
    }

    /// How many buffers this session has pinned.
    pub(super) fn len(&self) -> u32 {
        (!self.free.get()).count_ones() + self.overflowed.get() as u32
    }

    /// The content lock this session has on the buffer.
    #[inline]
    pub(super) fn lock(&self, buf_id: u32) -> Option<LockMode> {
        self.get(buf_id).and_then(|entry| entry.lock)
    }

    /// Enters the content lock this session got, or gave back.
    ///
    /// # Panics
    ///
    /// If the buffer is not pinned by this session.
    #[inline]
    pub(super) fn set_lock(&self, buf_id: u32, lock: Option<LockMode>) {
        let entry = self.get(buf_id).expect("I-LK2: who locks content has the buffer pinned");
        self.set(buf_id, Entry { lock, ..entry });
    }

    /// The first pin of `buf_id`, in the slot reserved before.
    ///
    /// # Panics
    ///
    /// If none was reserved.
    #[inline(always)]
    pub(super) fn insert(&self, buf_id: u32) {
        let slot = self.reserved.replace(NONE);
        assert!(slot < SLOTS, "room for a pin is reserved before it is taken");
        self.buf_ids[slot].set(buf_id);
        self.entries[slot].set(Entry { count: 1, lock: None });
        self.free.set(self.free.get() & !(1 << slot));
        self.last.set(slot);
    }

    /// One more pin of a buffer that is pinned.
    ///
    /// # Panics
    ///
    /// If it is not.
    #[inline]
    pub(super) fn add_one(&self, buf_id: u32) {
        let entry = self.get(buf_id).expect("I-REF1: who pins again has a pin");
        self.set(buf_id, Entry { count: entry.count + 1, ..entry });
    }

    /// Takes the only pin of an unlocked buffer away, if it is in the slot used last; what most
    /// unpins are.
    #[inline(always)]
    pub(super) fn remove_latest(&self, buf_id: u32) -> bool {
        let slot = self.last.get() % SLOTS;
        let entry = self.entries[slot].get();
        let is_that = self.buf_ids[slot].get() == buf_id;
        if !is_that || entry.count != 1 || entry.lock.is_some() {
            return false;
        }
        self.clear(slot);
        true
    }

    /// Takes one pin away and returns how many are left.
    ///
    /// # Panics
    ///
    /// If there is none, or if it is the last one and the content is still locked.
    pub(super) fn remove_one(&self, buf_id: u32) -> u32 {
        let Some(slot) = self.slot_of(buf_id) else {
            return self.remove_overflowed(buf_id);
        };
        let entry = self.entries[slot].get();
        let left = entry.count - 1;
        if left > 0 {
            self.entries[slot].set(Entry { count: left, ..entry });
            return left;
        }
        check_unlocked(buf_id, entry);
        self.clear(slot);
        0
    }

    #[cold]
    fn remove_overflowed(&self, buf_id: u32) -> u32 {
        let mut overflow = self.overflow.borrow_mut();
        let Some(entry) = overflow.get_mut(&buf_id) else {
            panic!("I-REF2: only what is pinned is unpinned, but buffer {buf_id} was not");
        };
        entry.count -= 1;
        let left = entry.count;
        if left == 0 {
            check_unlocked(buf_id, *entry);
            overflow.remove(&buf_id);
            self.overflowed.set(overflow.len());
        }
        left
    }

    /// The buffers whose content this session has locked.
    pub(super) fn locked(&self) -> Vec<u32> {
        let slots = self.buf_ids.iter().map(Cell::get).filter(|&buf_id| buf_id != NOBODY);
        let mut pinned: Vec<u32> = slots.chain(self.overflow.borrow().keys().copied()).collect();
        pinned.sort_unstable();
        pinned.retain(|&buf_id| self.lock(buf_id).is_some());
        pinned
    }

    /// Some buffer pinned by this session.
    pub(super) fn any_pinned(&self) -> Option<u32> {
        let in_slot = self.buf_ids.iter().map(Cell::get).find(|&buf_id| buf_id != NOBODY);
        in_slot.or_else(|| self.overflow.borrow().keys().copied().min())
    }
}

fn check_unlocked(buf_id: u32, entry: Entry) {
    assert!(entry.lock.is_none(), "I-LK2: who locks buffer {buf_id} has it pinned");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_agree_with_a_map(steps in prop::collection::vec((0_u32..24, any::<bool>()), 0..400)) {
            let refs = PrivateRefs::new();
            let mut model = BTreeMap::<u32, u32>::new();
            for (buf_id, pin) in steps {
                if pin {
                    prop_assert!(refs.reserve());
                    match refs.count(buf_id) {
                        0 => refs.insert(buf_id),
                        _ => refs.add_one(buf_id),
                    }
                    *model.entry(buf_id).or_default() += 1;
                    refs.set_lock(buf_id, Some(LockMode::Share));
                    prop_assert_eq!(refs.lock(buf_id), Some(LockMode::Share));
                    refs.set_lock(buf_id, None);
                } else if let Some(count) = model.get_mut(&buf_id) {
                    *count -= 1;
                    let is_latest = refs.remove_latest(buf_id);
                    prop_assert!(!is_latest || *count == 0);
                    if !is_latest {
                        prop_assert_eq!(refs.remove_one(buf_id), *count);
                    }
                    if *count == 0 {
                        model.remove(&buf_id);
                    }
                }
                for buf_id in 0..24 {
                    let expected = model.get(&buf_id).copied().unwrap_or(0);
                    prop_assert_eq!(refs.count(buf_id), expected);
                }
                prop_assert_eq!(refs.any_pinned().is_some(), !model.is_empty());
            }
        }
    }
}
