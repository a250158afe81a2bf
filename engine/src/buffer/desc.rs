//! Buffer descriptors: the tag and the words of one buffer, on one line of the cache.
//!
//! | field | to change | to read |
//! | --- | --- | --- |
//! | tag | header lock, exclusive partition lock of the tag, and no pin but one's own | with a pin: freely; else header lock, or an unlocked look followed by a second one |
//! | state | see [`state`](super::state) | a stale answer must be harmless, or header lock |
//! | pin waiter | header lock | header lock |
//! | link of the free list | strategy lock | strategy lock |
//! | head, tail of the wait list | header lock (`Modern`), list lock (`Classic`) | as to change |
//!
//! The tag is five words, read and written one by one: who looks without lock or pin may see half
//! of the old and half of the new one.
//!
//! A descriptor begins as zeroes: no page, no pin, nobody waiting. So a pool opens without touching
//! them, and they come into memory as they are used.
#![expect(unsafe_code, reason = "says that zeroes are a descriptor")]

use super::state::{LOCKED, State};
use super::zeroed::ZeroIsFirst;
use crate::sync::{AtomicU32, AtomicU64, Ordering, mutant, name, note, spin_until};
use crate::tag::{BufferTag, RelationId};

/// No session, and the end of a wait list.
pub(crate) const NOBODY: u32 = u32::MAX;
/// What all words of a tag are when it is cleared. A tag's fork is counted from 1 there.
const CLEARED: u32 = 0;

#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct BufferDesc {
    pub(super) state: AtomicU64,
    tag: [AtomicU32; 5],
    pub(super) pin_waiter: AtomicU32,
    /// The content lock of the classic profile. Unused in the modern one.
    pub(super) content: AtomicU64,
    pub(super) head: Link,
    pub(super) tail: Link,
    /// See [`free_list`](super::free_list); zero is not on the list.
    pub(super) free_link: AtomicU32,
}

// SAFETY:
// - valid: every field is an atomic integer, or a `Link`, which is one;
// - no destructor, and a line of the cache is what it is aligned to;
// - first: no page, no flags, no pins, an empty wait list, not on the free list.
unsafe impl ZeroIsFirst for BufferDesc {}

/// The id of a session in a list, or [`NOBODY`]; zero is nobody.
#[derive(Debug)]
pub(super) struct Link(AtomicU32);

impl Link {
    #[inline]
    #[track_caller]
    pub(super) fn load(&self, order: Ordering) -> u32 {
        !self.0.load(order)
    }

    #[inline]
    #[track_caller]
    pub(super) fn store(&self, id: u32, order: Ordering) {
        self.0.store(!id, order);
    }
}

impl BufferDesc {
    #[inline]
    #[track_caller]
    pub(super) fn load(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }

    /// Replaces `old` by `new`, or returns what is there instead.
    #[inline]
    #[track_caller]
    pub(super) fn swap(&self, old: State, new: State) -> Result<(), State> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        self.state.compare_exchange(old.0, new.0, success, failure).map(|_| ()).map_err(State)
    }

    /// As [`BufferDesc::swap`], for a pin.
    #[inline]
    #[track_caller]
    pub(super) fn swap_for_pin(&self, old: State, new: State) -> Result<(), State> {
        if mutant::is("atomics.plain_store_not_rmw_safe") {
            let current = self.load();
            if current != old {
                return Err(current);
            }
            note!("compares, and has yet to store");
            self.state.store(new.0, Ordering::Release);
            return Ok(());
        }
        self.swap(old, new)
    }

    /// Spins until the word is no longer what it was, whoever has the header lock.
    #[track_caller]
    pub(super) fn wait_for_change(&self, seen: State) {
        spin_until(&self.state, |now| (now ^ seen.0) & !LOCKED != 0);
    }

    /// Names the words of the tag for timelines: each is read and written by itself.
    pub(super) fn name_tag(&self, _buf_id: usize) {
        for (_word, _part) in self.tag.iter().zip(BufferTag::WORDS) {
            name!(_word, "{_part} in the tag of buffer {_buf_id}");
        }
    }

    /// The tag, word by word; `None` if it is cleared, or torn into something that is no tag.
    pub(super) fn read_tag(&self) -> Option<BufferTag> {
        BufferTag::from_words(self.tag.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Whether the tag is `tag`. Stops at the first word that differs.
    #[inline(always)]
    pub(super) fn tag_is(&self, tag: BufferTag) -> bool {
        let words = tag.words();
        // The block first: it is the word most likely to differ.
        [4, 2, 1, 0, 3].iter().all(|&i| self.tag[i].load(Ordering::Relaxed) == words[i])
    }

    /// Whether the tag is of `relation`. Stops at the first word that differs.
    #[inline]
    pub(super) fn relation_is(&self, relation: RelationId) -> bool {
        let RelationId { tablespace, database, number } = relation;
        [(2, number), (1, database), (0, tablespace)]
            .iter()
            .all(|&(i, word)| self.tag[i].load(Ordering::Relaxed) == word)
    }

    pub(super) fn write_tag(&self, tag: BufferTag) {
        for (word, value) in self.tag.iter().zip(tag.words()) {
            word.store(value, Ordering::Relaxed);
        }
    }

    pub(super) fn clear_tag(&self) {
        for word in &self.tag {
            word.store(CLEARED, Ordering::Relaxed);
        }
    }
}
