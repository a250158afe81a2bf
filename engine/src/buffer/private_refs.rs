//! Private reference counts: how often this session has pinned what.
//!
//! A session changes a buffer's shared count for its first pin and its last unpin only. Eight
//! entries are searched in order; more pins overflow into a hash table. Room for an entry is
//! reserved before anything that may hold a header lock, since nothing may be allocated under one
//! (B23).
//!
//! Touches: nothing shared. Keeps: one entry per pinned buffer, none with a count of 0.
//! Source: `PrivateRefCountArray` in PostgreSQL's `bufmgr.c`; entries are not moved back from the
//! table, which costs sessions with more than eight pins a hash per pin.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::content_lock::LockMode;
use super::desc::NOBODY;

const SLOTS: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    buf_id: u32,
    pub(super) count: u32,
    /// The content lock this session has on the buffer: at most one.
    pub(super) lock: Option<LockMode>,
}

const FREE: Entry = Entry { buf_id: NOBODY, count: 0, lock: None };

#[derive(Debug)]
pub(super) struct PrivateRefs {
    slots: [Entry; SLOTS],
    overflow: HashMap<u32, Entry, FixedState>,
    /// A slot kept free for the next pin.
    reserved: Option<usize>,
    /// The slot to move out next when all are taken.
    clock: usize,
}

impl PrivateRefs {
    pub(super) fn new() -> Self {
        let overflow = HashMap::with_hasher(FixedState::default());
        Self { slots: [FREE; SLOTS], overflow, reserved: None, clock: 0 }
    }

    /// Makes room for one more pin. May allocate.
    #[inline]
    pub(super) fn reserve(&mut self) {
        if self.reserved.is_none() {
            self.reserved = Some(self.free_slot());
        }
    }

    fn free_slot(&mut self) -> usize {
        if let Some(free) = self.slots.iter().position(|slot| slot.buf_id == NOBODY) {
            return free;
        }
        let victim = self.clock;
        self.clock = (victim + 1) % SLOTS;
        let moved = std::mem::replace(&mut self.slots[victim], FREE);
        self.overflow.insert(moved.buf_id, moved);
        victim
    }

    #[inline]
    pub(super) fn get(&mut self, buf_id: u32) -> Option<&mut Entry> {
        match self.slots.iter().position(|slot| slot.buf_id == buf_id) {
            Some(i) => Some(&mut self.slots[i]),
            None if self.overflow.is_empty() => None,
            None => self.overflow.get_mut(&buf_id),
        }
    }

    /// How often this session has the buffer pinned.
    #[inline]
    pub(super) fn count(&mut self, buf_id: u32) -> u32 {
        self.get(buf_id).map_or(0, |entry| entry.count)
    }

    /// The first pin of `buf_id`, in the slot reserved before.
    #[inline]
    pub(super) fn insert(&mut self, buf_id: u32) {
        let slot = self.reserved.take().expect("room for a pin is reserved before it is taken");
        self.slots[slot] = Entry { buf_id, count: 1, lock: None };
    }

    /// Takes one pin away and returns how many are left.
    ///
    /// # Panics
    ///
    /// If there is none, or if it is the last one and the content is still locked.
    #[inline]
    pub(super) fn remove_one(&mut self, buf_id: u32) -> u32 {
        let Some(entry) = self.get(buf_id) else {
            panic!("I-REF2: only what is pinned is unpinned, but buffer {buf_id} was not");
        };
        entry.count -= 1;
        if entry.count > 0 {
            return entry.count;
        }
        assert!(entry.lock.is_none(), "I-LK2: who locks buffer {buf_id} has it pinned");
        match self.slots.iter().position(|slot| slot.buf_id == buf_id) {
            Some(i) => self.slots[i] = FREE,
            None => drop(self.overflow.remove(&buf_id)),
        }
        0
    }

    /// Buffers pinned by this session, in no order.
    pub(super) fn pinned(&self) -> impl Iterator<Item = u32> {
        let taken = self.slots.iter().filter(|slot| slot.buf_id != NOBODY);
        taken.chain(self.overflow.values()).map(|entry| entry.buf_id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_agree_with_a_map(steps in prop::collection::vec((0_u32..24, any::<bool>()), 0..400)) {
            let mut refs = PrivateRefs::new();
            let mut model = BTreeMap::<u32, u32>::new();
            for (buf_id, pin) in steps {
                if pin {
                    refs.reserve();
                    match refs.get(buf_id) {
                        Some(entry) => entry.count += 1,
                        None => refs.insert(buf_id),
                    }
                    *model.entry(buf_id).or_default() += 1;
                } else if let Some(count) = model.get_mut(&buf_id) {
                    *count -= 1;
                    prop_assert_eq!(refs.remove_one(buf_id), *count);
                    if *count == 0 {
                        model.remove(&buf_id);
                    }
                }
                prop_assert_eq!(refs.count(buf_id), model.get(&buf_id).copied().unwrap_or(0));
            }
            let mut pinned: Vec<u32> = refs.pinned().collect();
            pinned.sort_unstable();
            prop_assert_eq!(pinned, model.into_keys().collect::<Vec<_>>());
        }
    }
}
