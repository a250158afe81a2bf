//! The bytes of a file, twice: as programs see them, and as they are on the platter.
//!
//! What is written goes to the cache. A sync copies to the platter what was written since the last
//! one. Until then each sector that was written keeps all its versions, and any of them may have
//! been written back when the power fails: the disk and the system choose, sector by sector. Lengths
//! are different, since file systems keep a journal of them: of several changes of the length, the
//! first ones last, up to one that is drawn.
//!
//! Keeps: what was synced and neither overwritten nor cut off since is on the platter.
//! Source: the abstract persistence model of Pillai et al., "All File Systems Are Not Created Equal",
//! OSDI 2014, in its weakest form; failed syncs as ext4 and XFS treat them, after Rebello et al., "Can
//! Applications Recover from fsync Failures?", ATC 2020.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a disk writes whole or not at all, in bytes.
pub(super) const SECTOR: usize = 512;
/// Versions of a sector beyond which the oldest but those are forgotten: they were lost for sure.
const MOST_VERSIONS: usize = 8;
/// Changes of the length that may be told apart.
const MOST_SIZES: usize = 64;

/// The bytes of a file.
#[derive(Default)]
pub(super) struct Image {
    /// What programs see.
    cache: Vec<u8>,
    /// What is durable; its length is, too.
    platter: Vec<u8>,
    /// Sectors written since the last sync, and what was written, the oldest first.
    dirty: BTreeMap<usize, Vec<Version>>,
    /// Lengths since the last sync, the oldest first.
    sizes: Vec<Size>,
    /// Times the file was cut since the last sync.
    cuts: u32,
    /// Sectors of each write since the last sync.
    writes: Vec<Range<usize>>,
}

struct Version {
    bytes: [u8; SECTOR],
    /// Which write it was.
    write: usize,
    /// Cuts before it.
    cuts: u32,
}

#[derive(Clone, Copy)]
struct Size {
    len_bytes: usize,
    /// Cuts so far, this one included.
    cuts: u32,
}

/// What the platter keeps of what was not synced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing.
    Nothing,
    /// All, as it was last.
    All,
    /// Whatever is drawn.
    Some,
}

/// What a power failure did to a file.
#[derive(Default)]
pub(super) struct Loss {
    /// Unsynced sectors that are not as they were written last, and those that are.
    pub(super) lost: u64,
    pub(super) kept: u64,
    /// Sectors of writes of which a part is there, and one sector that is older.
    pub(super) torn: Vec<(Range<usize>, usize)>,
    /// The length before, where it is another one now.
    pub(super) len_before: Option<u64>,
}

/// The sectors in which these bytes lie.
pub(super) fn sectors(from: usize, len_bytes: usize) -> Range<usize> {
    from / SECTOR..(from + len_bytes).div_ceil(SECTOR)
}

/// The bytes of a sector, as far as `bytes` has them.
fn sector(bytes: &[u8], at: usize) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let from = (at * SECTOR).min(bytes.len());
    let found = &bytes[from..(from + SECTOR).min(bytes.len())];
    sector[..found.len()].copy_from_slice(found);
    sector
}

/// Puts a sector into its place, as far as `bytes` has one.
fn put(bytes: &mut [u8], at: usize, sector: &[u8; SECTOR]) {
    let from = (at * SECTOR).min(bytes.len());
    let to = (from + SECTOR).min(bytes.len());
    bytes[from..to].copy_from_slice(&sector[..to - from]);
}

impl Image {
    /// A file that a power failure left behind: all that it has is durable.
    fn durable(bytes: Vec<u8>) -> Self {
        Self { cache: bytes.clone(), platter: bytes, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.cache.len()
    }

    /// Reads as much as there is from `from` on, up to the length of `buffer`.
    pub(super) fn read(&self, buffer: &mut [u8], from: usize) -> usize {
        let from = from.min(self.cache.len());
        let n = buffer.len().min(self.cache.len() - from);
        buffer[..n].copy_from_slice(&self.cache[from..from + n]);
        n
    }

    /// Reads what is durable instead, zeros where nothing is. False if it is the same.
    pub(super) fn read_stale(&self, buffer: &mut [u8], from: usize) -> bool {
        let mut stale = vec![0; buffer.len()];
        let start = from.min(self.platter.len());
        let found = &self.platter[start..(start + buffer.len()).min(self.platter.len())];
        stale[..found.len()].copy_from_slice(found);
        let differs = stale != buffer;
        buffer.copy_from_slice(&stale);
        differs
    }

    /// Writes at `from`; what lies between the end and there becomes zeros.
    pub(super) fn write(&mut self, from: usize, written: &[u8]) {
        let to = from + written.len();
        if to > self.cache.len() {
            self.cache.resize(to, 0);
            self.resized();
        }
        self.cache[from..to].copy_from_slice(written);
        self.changed(sectors(from, written.len()));
    }

    fn changed(&mut self, sectors: Range<usize>) {
        let write = self.writes.len();
        self.writes.push(sectors.clone());
        for at in sectors {
            let versions = self.dirty.entry(at).or_default();
            if versions.len() == MOST_VERSIONS {
                versions.remove(0);
            }
            versions.push(Version { bytes: sector(&self.cache, at), write, cuts: self.cuts });
        }
    }

    /// The length has changed to that of the cache.
    fn resized(&mut self) {
        let grown = |pair: &[Size]| pair.windows(2).all(|two| two[0].len_bytes < two[1].len_bytes);
        if self.sizes.len() >= MOST_SIZES && grown(&self.sizes[self.sizes.len() - 2..]) {
            self.sizes.pop();
        }
        self.sizes.push(Size { len_bytes: self.cache.len(), cuts: self.cuts });
    }

    pub(super) fn set_len(&mut self, len_bytes: usize) {
        let before = self.cache.len();
        if len_bytes == before {
            return;
        }
        self.cache.resize(len_bytes, 0);
        self.cuts += u32::from(len_bytes < before);
        self.resized();
        if len_bytes < before && !len_bytes.is_multiple_of(SECTOR) {
            self.changed(sectors(len_bytes - 1, 1));
        }
    }

    /// Whether a sync has anything to do.
    pub(super) fn is_dirty(&self) -> bool {
        !(self.dirty.is_empty() && self.sizes.is_empty())
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) {
        self.write_back(|_| true);
    }

    /// A sync that fails: some of the sectors reach the platter, at least one does not. All are
    /// clean from here on, so that no later sync writes them.
    pub(super) fn fail_sync(&mut self, draw: &mut dyn FnMut(u32) -> u32) {
        let lost = draw(self.dirty.len().max(1) as u32);
        let mut nth = 0;
        self.write_back(|_| {
            nth += 1;
            nth - 1 != lost && draw(2) == 0
        });
    }

    fn write_back(&mut self, mut reaches: impl FnMut(usize) -> bool) {
        for size in self.sizes.drain(..) {
            self.platter.resize(size.len_bytes, 0);
        }
        for &at in self.dirty.keys() {
            if reaches(at) {
                put(&mut self.platter, at, &sector(&self.cache, at));
            }
        }
        self.dirty.clear();
        self.writes.clear();
        self.cuts = 0;
    }

    /// Flips a durable bit among those that a read of `buffer` at `from` finds; where it was.
    pub(super) fn rot(
        &mut self,
        buffer: &mut [u8],
        from: usize,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> Option<usize> {
        let end = (from + buffer.len()).min(self.platter.len()).min(self.cache.len());
        let clean = |at: &usize| !self.dirty.contains_key(&(at / SECTOR));
        let bytes: Vec<usize> = (from..end).filter(clean).collect();
        let &at = bytes.get(draw(bytes.len().max(1) as u32) as usize)?;
        let bit = 1 << draw(8);
        self.platter[at] ^= bit;
        self.cache[at] ^= bit;
        buffer[at - from] ^= bit;
        Some(at)
    }

    /// The file when the power is back.
    pub(super) fn after_power_failure(
        &self,
        keep: Keep,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> (Self, Loss) {
        let n_sizes = match keep {
            Keep::Nothing => 0,
            Keep::All => self.sizes.len(),
            Keep::Some => draw(self.sizes.len() as u32 + 1) as usize,
        };
        let lasting = &self.sizes[..n_sizes];
        let mut bytes = self.platter.clone();
        lasting.iter().for_each(|size| bytes.resize(size.len_bytes, 0));
        let cuts = lasting.last().map_or(0, |size| size.cuts);

        let mut loss = Loss::default();
        let mut writes: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for (&at, versions) in &self.dirty {
            // A version before a cut that lasts was cut off; one after a cut that does not last is
            // in blocks that nobody knows.
            let cut_off = |version: &Version| {
                let end = (at + 1) * SECTOR;
                lasting.iter().any(|size| size.cuts > version.cuts && size.len_bytes < end)
            };
            let fits = |version: &&Version| version.cuts <= cuts && !cut_off(version);
            let candidates: Vec<&Version> = versions.iter().filter(fits).collect();
            let chosen = match keep {
                Keep::Nothing => 0,
                Keep::All => candidates.len(),
                Keep::Some => draw(candidates.len() as u32 + 1) as usize,
            };
            let chosen = chosen.checked_sub(1).map(|chosen| candidates[chosen]);
            if let Some(version) = chosen {
                put(&mut bytes, at, &version.bytes);
            }
            let there = at * SECTOR < bytes.len();
            let chosen = chosen.filter(|_| there).map(|version| version.write);
            let last = versions.last().map(|version| version.write);
            *(if chosen == last { &mut loss.kept } else { &mut loss.lost }) += 1;
            writes.insert(at, chosen);
        }
        for (write, sectors) in self.writes.iter().enumerate() {
            let of = |at: &usize| writes.get(at).copied().flatten();
            let is_older = |at: &usize| of(at).is_none_or(|other| other < write);
            let older = sectors.clone().find(is_older);
            if sectors.clone().any(|at| of(&at) == Some(write))
                && let Some(older) = older
            {
                loss.torn.push((sectors.clone(), older));
            }
        }
        let changed = bytes.len() != self.cache.len();
        loss.len_before = changed.then_some(self.cache.len() as u64);
        (Self::durable(bytes), loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the file may be after a power failure: all outcomes of small draws.
    fn outcomes(image: &Image) -> std::collections::BTreeSet<Vec<u8>> {
        let after = |seed: u32| {
            let mut state = seed;
            let mut draw = |n: u32| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((u64::from(state) * u64::from(n)) >> 32) as u32
            };
            let (after, _) = image.after_power_failure(Keep::Some, &mut draw);
            assert_eq!(after.cache, after.platter);
            after.platter
        };
        (0..2_000).map(after).collect()
    }

    fn firsts(image: &Image) -> Vec<String> {
        let first = |bytes: &Vec<u8>| bytes.iter().step_by(SECTOR).map(u8::to_string).collect();
        outcomes(image).iter().map(first).collect()
    }

    fn synced(bytes: &[u8]) -> Image {
        let mut image = Image::default();
        image.write(0, bytes);
        image.sync();
        image
    }

    #[test]
    fn what_is_synced_is_all_there_is() {
        let image = synced(&[1; 2 * SECTOR]);
        assert_eq!(firsts(&image), ["11"]);
    }

    #[test]
    fn sectors_written_since_are_each_any_version() {
        let mut image = synced(&[1; 2 * SECTOR]);
        image.write(0, &[2; 2 * SECTOR]);
        assert_eq!(firsts(&image), ["11", "12", "21", "22"]);
        image.write(0, &[3; 1]);
        assert_eq!(firsts(&image), ["11", "12", "21", "22", "31", "32"]);
    }

    #[test]
    fn a_longer_file_is_as_long_as_it_ever_was_and_zeros_where_nothing_came() {
        let mut image = synced(&[1; SECTOR]);
        image.write(SECTOR, &[2; SECTOR]);
        assert_eq!(firsts(&image), ["1", "10", "12"]);
    }

    #[test]
    fn a_cut_lasts_or_does_not_and_never_mixes_with_what_it_cut_off() {
        let mut image = synced(&[1; 2 * SECTOR]);
        image.write(0, &[2; 2 * SECTOR]);
        image.set_len(SECTOR);
        image.write(SECTOR, &[3; SECTOR]);
        let outcomes = firsts(&image);
        let expected = ["1", "10", "11", "12", "13", "2", "20", "21", "22", "23"];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_failed_sync_leaves_sectors_that_no_later_sync_writes() {
        let mut image = synced(&[1; 2 * SECTOR]);
        image.write(0, &[2; 2 * SECTOR]);
        image.fail_sync(&mut |_| 0);
        assert!(!image.is_dirty());
        image.sync();
        let mut found = [0; 2 * SECTOR];
        image.read(&mut found, 0);
        assert_eq!(found, [2; 2 * SECTOR]);
        assert_eq!(firsts(&image), ["12"]);
        // Written again it is dirty again.
        image.write(0, &[2; 1]);
        image.sync();
        assert_eq!(firsts(&image), ["22"]);
    }
}
