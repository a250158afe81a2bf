//! Buckets: the mapping's table, one line of the cache a look.
//!
//! An entry is the id of a buffer and one byte of the hash of its page; the page's name is not in
//! it. Who looks compares the bytes of a bucket, twelve at once in two words, and then the name in
//! the descriptor of the one buffer that matches. That descriptor has to be fetched for the pin
//! anyway, so a hit costs one line of the table and no other: the chained entries of PostgreSQL's
//! `dynahash` cost a line for the directory, one for the bucket, and one for every entry that is
//! passed. A byte matches by chance once in some forty looks.
//!
//! A partition has buckets of its own, for seven entries each on average, so one in forty is full
//! at times and goes on in a spare bucket. All buckets of such a chain but the last are full: what
//! is removed is replaced by an entry of the last one. Hence spares for a twelfth of the buffers
//! are enough, however badly pages are spread.
//!
//! Touches: words of the table. Entries change under the exclusive lock of their partition. Who
//! reads holds the lock shared, or holds nothing: then an entry that moves may not be found, one
//! found may be of the past, and a chain may lead into one that is not ours. An entry is never
//! more than a hint there.
//! Source: the layout is that of F14 (Facebook, 2019) with chains instead of probes; the table is
//! `buf_table.c` of PostgreSQL.
#![expect(unsafe_code, reason = "says that zeroes are a bucket")]

use super::BufferError;
use super::zeroed::{ZeroIsFirst, Zeroed};
use crate::sync::{AtomicU32, AtomicU64, Mutex, Ordering, lock, name};

/// Entries of a bucket.
const SLOTS: u32 = 12;
/// Slots whose bytes are in the first word.
const LOW_SLOTS: u32 = 8;
/// Entries a bucket has on average when every buffer has a page.
const LOAD: u32 = 7;

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;
/// Those of the slots in the second word.
const HIGH_TOPS: u64 = 0x8080_8080;

/// Up to twelve entries.
#[derive(Debug)]
#[repr(C, align(64))]
struct Bucket {
    /// A byte for each of the slots 0 to 7; 0 where the slot is free.
    low: AtomicU64,
    /// As `low`, for the slots 8 to 11. The upper half is the index, plus one, of the bucket in
    /// which this one goes on, or 0.
    high: AtomicU64,
    /// The buffer of each slot that is not free.
    buf_ids: [AtomicU32; SLOTS as usize],
}

// SAFETY:
// - valid: every field is made of atomic integers;
// - no destructor, and a line of the cache is what it is aligned to;
// - first: every slot is free, and no bucket follows.
unsafe impl ZeroIsFirst for Bucket {}

/// Where the entry of a page belongs: the first bucket of a chain, and its byte there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    bucket: u32,
    byte: u8,
}

#[cfg(test)]
impl Place {
    pub(super) fn bucket(self) -> u32 {
        self.bucket
    }
}

/// The table of all partitions.
#[derive(Debug)]
pub(super) struct Buckets {
    buckets: Zeroed<Bucket>,
    per_partition: u32,
    /// Boxed, so that it stays where it is named.
    spares: Box<Mutex<Spares>>,
}

/// The buckets that are in no chain.
#[derive(Debug)]
struct Spares {
    /// Index, plus one, of one that was in a chain; each goes on in the next. 0 if there is none.
    used: u32,
    /// The first that never was in a chain. All behind it were not, either.
    unused: u32,
}

/// A slot of a bucket, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    bucket: u32,
    slot: u32,
}

impl Buckets {
    pub(super) fn new(
        partitions: u32,
        n_buffers: u32,
        huge_pages: bool,
    ) -> Result<Self, BufferError> {
        let per_partition = n_buffers / partitions / LOAD + 1;
        let unused = partitions * per_partition;
        // A chain of n spares has at least 12 n + 1 entries.
        let len = unused + n_buffers / SLOTS;
        let spares = Box::new(Mutex::new(Spares { used: 0, unused }));
        name!(&*spares, "spare buckets");
        Ok(Self { buckets: Zeroed::new(len as usize, huge_pages)?, per_partition, spares })
    }

    /// Where entries with this `hash` belong. `partition` is chosen by its upper half.
    #[inline]
    pub(super) fn place(&self, partition: u32, hash: u64) -> Place {
        let in_partition = ((hash & 0xFFFF_FFFF) * u64::from(self.per_partition)) >> 32;
        let bucket = partition * self.per_partition + in_partition as u32;
        // The upper half's low byte; its high bits chose the partition. 0 means free.
        Place { bucket, byte: ((hash >> 32) as u8).max(1) }
    }

    /// The first buffer with an entry at `place` that `is_it`.
    ///
    /// Without a lock on the partition, `None` does not mean that there was none.
    #[inline(always)]
    pub(super) fn find(&self, place: Place, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let bucket = &self.buckets[place.bucket as usize];
        // The acquire is for who has no lock: the id is the one the byte was written for.
        let low = bucket.low.load(Ordering::Acquire);
        if let Some((_, buf_id)) = bucket.find_low(low, place.byte, &is_it) {
            return Some(buf_id);
        }
        self.find_further(place, is_it)
    }

    /// Goes on with the second word of the first bucket.
    #[inline(never)]
    fn find_further(&self, place: Place, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mut bucket = &self.buckets[place.bucket as usize];
        // Chains end; a bound for who is led on and on by others that change them meanwhile.
        for _ in 0..self.buckets.len() {
            let high = bucket.high.load(Ordering::Acquire);
            if let Some((_, buf_id)) = bucket.find_high(high, place.byte, &is_it) {
                return Some(buf_id);
            }
            bucket = &self.buckets[next(high)? as usize];
            let low = bucket.low.load(Ordering::Acquire);
            if let Some((_, buf_id)) = bucket.find_low(low, place.byte, &is_it) {
                return Some(buf_id);
            }
        }
        None
    }

    /// Where the entry of a buffer is. The caller holds the partition.
    fn slot_of(&self, place: Place, buf_id: u32) -> Option<Slot> {
        let is_it = |other| other == buf_id;
        let mut at = place.bucket;
        loop {
            let bucket = &self.buckets[at as usize];
            let low = bucket.low.load(Ordering::Relaxed);
            if let Some((slot, _)) = bucket.find_low(low, place.byte, &is_it) {
                return Some(Slot { bucket: at, slot });
            }
            let high = bucket.high.load(Ordering::Relaxed);
            if let Some((slot, _)) = bucket.find_high(high, place.byte, &is_it) {
                return Some(Slot { bucket: at, slot });
            }
            at = next(high)?;
        }
    }

    /// Adds an entry. The caller holds the partition exclusively.
    pub(super) fn insert(&self, place: Place, buf_id: u32) {
        let mut at = place.bucket;
        loop {
            let bucket = &self.buckets[at as usize];
            if let Some(slot) = bucket.free_slot() {
                return bucket.fill(slot, place.byte, buf_id);
            }
            let high = bucket.high.load(Ordering::Relaxed);
            at = next(high).unwrap_or_else(|| {
                let spare = self.take_spare();
                let high = high | u64::from(spare + 1) << 32;
                bucket.high.store(high, Ordering::Release);
                spare
            });
        }
    }

    /// Removes the entry of a buffer. False if there is none. The caller holds the partition
    /// exclusively.
    pub(super) fn remove(&self, place: Place, buf_id: u32) -> bool {
        let Some(hole) = self.slot_of(place, buf_id) else {
            return false;
        };
        let bucket = &self.buckets[hole.bucket as usize];
        bucket.clear(hole.slot);
        let mut before = place.bucket;
        let Some(mut last) = next(self.buckets[before as usize].high.load(Ordering::Relaxed))
        else {
            return true;
        };
        while let Some(after) = next(self.buckets[last as usize].high.load(Ordering::Relaxed)) {
            (before, last) = (last, after);
        }
        let last_bucket = &self.buckets[last as usize];
        if hole.bucket != last {
            let Some((slot, byte)) = last_bucket.some_entry() else {
                panic!("I-MAP5: the last bucket of a chain is not empty, but bucket {last} was");
            };
            let moved = last_bucket.buf_ids[slot as usize].load(Ordering::Relaxed);
            bucket.fill(hole.slot, byte, moved);
            last_bucket.clear(slot);
        }
        if last_bucket.some_entry().is_none() {
            let before = &self.buckets[before as usize].high;
            let high = before.load(Ordering::Relaxed) & 0xFFFF_FFFF;
            before.store(high, Ordering::Release);
            self.give_back(last);
        }
        true
    }

    fn take_spare(&self) -> u32 {
        let mut spares = lock(&self.spares);
        if let Some(spare) = spares.used.checked_sub(1) {
            let high = &self.buckets[spare as usize].high;
            spares.used = (high.load(Ordering::Relaxed) >> 32) as u32;
            high.store(0, Ordering::Relaxed);
            return spare;
        }
        let spare = spares.unused;
        assert!(
            (spare as usize) < self.buckets.len(),
            "I-MAP5: there are no more entries than buffers, but the table is full"
        );
        spares.unused += 1;
        spare
    }

    /// Puts a bucket back that is empty and in no chain any more.
    fn give_back(&self, spare: u32) {
        let mut spares = lock(&self.spares);
        let high = u64::from(spares.used) << 32;
        self.buckets[spare as usize].high.store(high, Ordering::Relaxed);
        spares.used = spare + 1;
    }

    /// Every entry of a partition, which the caller holds. For checkers.
    pub(super) fn entries(&self, partition: u32) -> Vec<(Place, u32)> {
        let mut all = Vec::new();
        for first in partition * self.per_partition..(partition + 1) * self.per_partition {
            let mut at = Some(first);
            while let Some(bucket) = at {
                let bucket = &self.buckets[bucket as usize];
                for (byte, buf_id) in bucket.entries() {
                    all.push((Place { bucket: first, byte }, buf_id));
                }
                at = next(bucket.high.load(Ordering::Relaxed));
            }
        }
        all
    }
}

impl Bucket {
    /// The first of the slots with `byte` in `low` whose buffer `is_it`, and that buffer.
    #[inline(always)]
    fn find_low(&self, low: u64, byte: u8, is_it: &impl Fn(u32) -> bool) -> Option<(u32, u32)> {
        self.find_in(equal(low, byte), 0, is_it)
    }

    /// As [`Bucket::find_low`], with the slots in `high`.
    #[inline(always)]
    fn find_high(&self, high: u64, byte: u8, is_it: &impl Fn(u32) -> bool) -> Option<(u32, u32)> {
        self.find_in(equal(high, byte) & HIGH_TOPS, LOW_SLOTS, is_it)
    }

    #[inline(always)]
    fn find_in(
        &self,
        mut matches: u64,
        first: u32,
        is_it: &impl Fn(u32) -> bool,
    ) -> Option<(u32, u32)> {
        while matches != 0 {
            let slot = first + matches.trailing_zeros() / 8;
            let buf_id = self.buf_ids[slot as usize].load(Ordering::Relaxed);
            if is_it(buf_id) {
                return Some((slot, buf_id));
            }
            matches &= matches - 1;
        }
        None
    }

    fn free_slot(&self) -> Option<u32> {
        let low = equal(self.low.load(Ordering::Relaxed), 0);
        if low != 0 {
            return Some(low.trailing_zeros() / 8);
        }
        let high = equal(self.high.load(Ordering::Relaxed), 0) & HIGH_TOPS;
        (high != 0).then(|| LOW_SLOTS + high.trailing_zeros() / 8)
    }

    /// Writes an entry into a free slot: the id first, so that who sees the byte sees the id.
    fn fill(&self, slot: u32, byte: u8, buf_id: u32) {
        self.buf_ids[slot as usize].store(buf_id, Ordering::Relaxed);
        let (word, shift) = self.byte_of(slot);
        let bytes = word.load(Ordering::Relaxed) | u64::from(byte) << shift;
        word.store(bytes, Ordering::Release);
    }

    fn clear(&self, slot: u32) {
        let (word, shift) = self.byte_of(slot);
        let bytes = word.load(Ordering::Relaxed) & !(0xFF << shift);
        word.store(bytes, Ordering::Release);
    }

    /// The word that has the byte of a slot, and where in it.
    fn byte_of(&self, slot: u32) -> (&AtomicU64, u32) {
        if slot < LOW_SLOTS { (&self.low, slot * 8) } else { (&self.high, (slot - LOW_SLOTS) * 8) }
    }

    /// The first slot that is not free, and its byte.
    fn some_entry(&self) -> Option<(u32, u8)> {
        let bytes = self.bytes();
        (0..SLOTS).zip(bytes).find(|(_, byte)| *byte != 0)
    }

    fn bytes(&self) -> [u8; SLOTS as usize] {
        let low = self.low.load(Ordering::Relaxed);
        let high = self.high.load(Ordering::Relaxed);
        let mut bytes = [0; SLOTS as usize];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&high.to_le_bytes()[..4]);
        bytes
    }

    fn entries(&self) -> impl Iterator<Item = (u8, u32)> {
        let taken = self.bytes().into_iter().zip(&self.buf_ids).filter(|(byte, _)| *byte != 0);
        taken.map(|(byte, buf_id)| (byte, buf_id.load(Ordering::Relaxed)))
    }
}

/// The bucket in which one with this upper word goes on.
#[inline]
fn next(high: u64) -> Option<u32> {
    ((high >> 32) as u32).checked_sub(1)
}

/// Sets the top bit of every byte of `word` that is `byte`, and no other bit.
///
/// The shorter form that subtracts from every byte may mark a free slot beside a match, and who
/// removes an entry would then take what an entry that moved has left there.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let differences = word ^ (u64::from(byte) * ONES);
    let carries = (differences & !TOPS) + !TOPS;
    !(carries | differences | !TOPS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const BUFFERS: u32 = 100;

    proptest! {
        #[test]
        fn entries_agree_with_a_set(
            steps in prop::collection::vec((0..BUFFERS, 0_u64..3), 0..800),
            spread in 0_u64..4,
        ) {
            let buckets = Buckets::new(2, BUFFERS, false).unwrap();
            let mut model = BTreeSet::new();
            // A buffer's page is a function of its number; with no spread all are in one bucket,
            // and up to a dozen pages share a byte.
            let place = |buf_id: u32| {
                let low = (u64::from(buf_id) << 25) & (spread << 30);
                let hash = u64::from(buf_id % 8) << 32 | low;
                buckets.place((buf_id % 2) & spread as u32, hash)
            };
            for (buf_id, remove) in steps {
                if remove == 0 {
                    prop_assert_eq!(buckets.remove(place(buf_id), buf_id), model.remove(&buf_id));
                } else if model.insert(buf_id) {
                    buckets.insert(place(buf_id), buf_id);
                }
                let other = (buf_id * 7 + 1) % BUFFERS;
                for buf_id in [buf_id, other] {
                    let found = buckets.find(place(buf_id), |found| found == buf_id);
                    prop_assert_eq!(found.is_some(), model.contains(&buf_id));
                }
            }
            let mut entries: Vec<_> = [0, 1].into_iter().flat_map(|i| buckets.entries(i)).collect();
            entries.sort_unstable_by_key(|(_, buf_id)| *buf_id);
            let expected: Vec<_> = model.into_iter().map(|buf_id| (place(buf_id), buf_id)).collect();
            prop_assert_eq!(entries, expected);
        }
    }

    #[test]
    fn spare_buckets_are_enough_where_all_pages_belong_into_one() {
        let buckets = Buckets::new(4, BUFFERS, false).unwrap();
        let place = buckets.place(3, 7 << 32);
        for round in 0..3 {
            (0..BUFFERS).for_each(|buf_id| buckets.insert(place, buf_id));
            let all = (0..BUFFERS).all(|id| buckets.find(place, |found| found == id).is_some());
            assert!(all, "round {round}: every entry is found");
            (0..BUFFERS).rev().for_each(|buf_id| assert!(buckets.remove(place, buf_id)));
            assert_eq!(buckets.entries(3), []);
        }
    }
}
