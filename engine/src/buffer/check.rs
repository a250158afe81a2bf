//! What a pool keeps when no task uses it.
//!
//! Not checked, since it needs a reader: that bytes in a clean buffer equal those in the storage.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::BufferPool;
use super::buckets::Place;
use super::desc::NOBODY;
use super::slot::NOT_WAITING;
use super::state::{
    CHECKPOINT_NEEDED, CONTENT_MASK, DIRTY, IO_IN_PROGRESS, LOCK_HAS_WAITERS,
    LOCK_WAKE_IN_PROGRESS, LOCKED, PIN_COUNT_WAITER, State, TAG_VALID, USAGE_MAX, VALID,
};
use crate::sync::Ordering;
use crate::tag::BufferTag;

/// A rule that does not hold. Prints as `I-REF3: nobody holds a guard, so nobody holds a pin,
/// buffer 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Id of the rule.
    pub rule: &'static str,
    /// The rule.
    pub sentence: &'static str,
    /// Where it does not hold; `None` if it is about the pool.
    pub buf_id: Option<u32>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.sentence)?;
        self.buf_id.map_or(Ok(()), |buf_id| write!(f, ", buffer {buf_id}"))
    }
}

impl std::error::Error for Broken {}

/// Checks a pool that no task is using; returns the first rule broken.
///
/// # Errors
///
/// [`Broken`], the first rule that does not hold.
pub fn check_quiescent(pool: &BufferPool) -> Result<(), Broken> {
    let entries = pool.mapping.entries();
    let mut tagged = BTreeMap::new();
    for buf_id in 0..pool.n_buffers() {
        check_buffer(pool, buf_id, &entries, &mut tagged)?;
    }
    let hold = |rule, sentence, holds| hold(rule, sentence, None, holds);
    let asleep = pool.slots.iter().any(|slot| slot.waiting.load(Ordering::Relaxed) != NOT_WAITING);
    hold(
        "I-MAP5",
        "there are as many entries as buffers with a tag",
        entries.len() == tagged.len(),
    )?;
    hold("I-LK4", "nobody waits for a lock that is free", !asleep)?;
    check_free_list(pool)
}

fn check_free_list(pool: &BufferPool) -> Result<(), Broken> {
    let list = pool.free_list();
    let listed: BTreeSet<u32> = list.iter().copied().collect();
    let once = listed.len() == list.len();
    hold("I-FREE1", "the free list has a buffer once", None, once)?;
    let locked = pool.strategy.locked.lock();
    for buf_id in 0..pool.n_buffers() {
        let says_so = pool.is_on_free_list(buf_id, &locked);
        let sentence = "a buffer is on the free list if its link says so";
        hold("I-FREE1", sentence, Some(buf_id), listed.contains(&buf_id) == says_so)?;
    }
    Ok(())
}

fn hold(
    rule: &'static str,
    sentence: &'static str,
    buf_id: Option<u32>,
    holds: bool,
) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { rule, sentence, buf_id }) }
}

fn check_buffer(
    pool: &BufferPool,
    buf_id: u32,
    entries: &[(Place, u32)],
    tagged: &mut BTreeMap<BufferTag, u32>,
) -> Result<(), Broken> {
    let desc = pool.desc(buf_id);
    let state = desc.load();
    let content =
        if pool.is_modern() { state } else { State(desc.content.load(Ordering::Relaxed)) };
    let tag = desc.read_tag().filter(|_| state.has(TAG_VALID));
    // The table has no names, but an entry with a buffer's own name could be in one place only.
    let place = tag.map(|tag| pool.mapping.key(tag).place());
    let entry = entries.iter().find(|(_, buffer)| *buffer == buf_id).map(|(place, _)| *place);
    let unique = tag.is_none_or(|tag| tagged.insert(tag, buf_id).is_none());
    let list_is_empty = desc.head.load(Ordering::Relaxed) == NOBODY;
    let waiters = pool.io.waiters(buf_id);
    let hold = |rule, sentence, holds| hold(rule, sentence, Some(buf_id), holds);

    hold("I-SP4", "nobody holds a header lock", !state.has(LOCKED) && !content.has(LOCKED))?;
    hold("I-REF3", "nobody holds a guard, so nobody holds a pin", state.refcount() == 0)?;
    hold("I-REF5", "a usage count is at most 5", u64::from(state.usage()) <= USAGE_MAX)?;
    hold("I-CL2", "nobody waits for the only pin", !state.has(PIN_COUNT_WAITER))?;
    hold("I-IO1", "nobody reads or writes a page", !state.has(IO_IN_PROGRESS))?;
    hold("I-IO5", "nobody waits for an I/O that is over", waiters == 0)?;
    hold("I-IO2", "only a page with a name is valid", !state.has(VALID) || state.has(TAG_VALID))?;
    hold("I-IO3", "only a page read whole is dirty", !state.has(DIRTY) || state.has(VALID))?;
    let for_checkpoint = state.has(CHECKPOINT_NEEDED);
    hold("I-CKP1", "a checkpoint needs dirty pages only", !for_checkpoint || state.has(DIRTY))?;
    hold("I-LK1", "nobody holds a content lock", !content.has(CONTENT_MASK))?;
    hold(
        "I-LK3",
        "a lock has waiters if the list has",
        content.has(LOCK_HAS_WAITERS) != list_is_empty,
    )?;
    hold("I-LK3", "nobody is being woken", !content.has(LOCK_WAKE_IN_PROGRESS))?;
    hold("I-ID2", "a buffer with a name has a tag", state.has(TAG_VALID) == tag.is_some())?;
    hold("I-MAP2", "a page is in one buffer", unique)?;
    hold("I-MAP4", "a buffer with a tag has an entry", place.is_none() || entry == place)?;
    hold("I-MAP3", "an entry points to a buffer with its tag", entry.is_none() || entry == place)
}
