//! A page: a header of 16 bytes, then the body its owner writes.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | position in the log of the newest change, little-endian; 0 without a log |
//! | 8..12 | CRC-32C of the page with the number of its block, little-endian, in their place; little-endian |
//! | 12..16 | reserved, zero |
//!
//! A page of nothing but zeroes is a new page and needs no checksum. One that a disk read from, or wrote
//! to, another place of its file does not match: it was computed with another block. A page of another
//! file does, if it has the same number there; so does an old one whose successor went elsewhere.
//! Source: the idea is PostgreSQL's `PageHeaderData` and `pg_checksum_page`; the layout is ours.

use crc_fast::{CrcAlgorithm, Digest};

use crate::sync::mutant;
use crate::tag::BlockNumber;

/// Size of a page natively, in bytes. [`PoolOptions::page_size`](crate::PoolOptions) may ask for
/// smaller ones.
pub const PAGE_SIZE: usize = 8192;
/// Size of the header of a page, in bytes.
pub const HEADER_SIZE: usize = 16;

const LSN_AT: std::ops::Range<usize> = 0..8;
const CHECKSUM_AT: std::ops::Range<usize> = 8..12;

/// The position in the log of the newest change of `page`; 0 without a log.
pub(crate) fn lsn(page: &[u8]) -> u64 {
    let mut lsn = [0; 8];
    lsn.copy_from_slice(&page[LSN_AT]);
    u64::from_le_bytes(lsn)
}

/// Writes the checksum of `page`, the one numbered `block` of its file, into its header.
pub fn set_checksum(page: &mut [u8], block: BlockNumber) {
    let sum = checksum(page, block);
    page[CHECKSUM_AT].copy_from_slice(&sum.to_le_bytes());
}

/// Whether `page`, read as the one numbered `block` of its file, is new, or is what its checksum was
/// computed of.
#[must_use]
pub fn is_intact(page: &[u8], block: BlockNumber) -> bool {
    let mut stored = [0; 4];
    stored.copy_from_slice(&page[CHECKSUM_AT]);
    u32::from_le_bytes(stored) == checksum(page, block) || page.iter().all(|&byte| byte == 0)
}

fn checksum(page: &[u8], block: BlockNumber) -> u32 {
    let block = if mutant::is("checksum.no_block") { 0 } else { block };
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&page[..CHECKSUM_AT.start]);
    digest.update(&block.to_le_bytes());
    digest.update(&page[CHECKSUM_AT.end..]);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_page_is_intact() {
        assert!(is_intact(&[0; 64], 3));
    }

    #[test]
    fn every_single_flipped_bit_is_noticed() {
        let mut page = [7; 64];
        set_checksum(&mut page, 3);
        assert!(is_intact(&page, 3));

        for bit in 0..64 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(&page, 3), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_page_in_anothers_place_is_noticed() {
        let mut page = [7; 64];
        set_checksum(&mut page, 3);
        assert!([0, 2, 4, 3 << 8].iter().all(|&block| !is_intact(&page, block)));
    }
}
