//! A page: a header of 16 bytes, then the body its owner writes.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0..8 | position in the log of the newest change, little-endian; 0 without a log |
//! | 8..12 | CRC-32C of the page with these four bytes zero, little-endian |
//! | 12..16 | reserved, zero |
//!
//! A page of nothing but zeroes is a new page and needs no checksum.
//! Source: the idea is PostgreSQL's `PageHeaderData`; the layout is ours.

use crc_fast::{CrcAlgorithm, Digest};

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

/// Writes the checksum of `page` into its header.
pub fn set_checksum(page: &mut [u8]) {
    let sum = checksum(page);
    page[CHECKSUM_AT].copy_from_slice(&sum.to_le_bytes());
}

/// Whether `page` is new, or holds the bytes its checksum was computed of.
#[must_use]
pub fn is_intact(page: &[u8]) -> bool {
    let mut stored = [0; 4];
    stored.copy_from_slice(&page[CHECKSUM_AT]);
    u32::from_le_bytes(stored) == checksum(page) || page.iter().all(|&byte| byte == 0)
}

fn checksum(page: &[u8]) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&page[..CHECKSUM_AT.start]);
    digest.update(&[0; 4]);
    digest.update(&page[CHECKSUM_AT.end..]);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_page_is_intact() {
        assert!(is_intact(&[0; 64]));
    }

    #[test]
    fn every_single_flipped_bit_is_noticed() {
        let mut page = [7; 64];
        set_checksum(&mut page);
        assert!(is_intact(&page));

        for bit in 0..64 * 8 {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_intact(&page), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
