//! The bytes that a page has beside its data: a second witness of what it holds.
//!
//! They are written for a whole block at once, when its last page has been programmed: while a block is open, the
//! sector with the spare bytes of its next page would hold those of pages that are durable already, and a cut could
//! take them along. What they say of an open block stands in the log and in the checkpoint. Nothing is recovered from
//! them; a check compares them with the tables.
//!
//! A page's 32 bytes: its sequence among all programs (u64; 0: not known any more, as it was programmed before the
//! last start), the page's own number (u32), the logical page that was the first to point to it (u32), the first 8
//! bytes of the digest of its data (u64), checksum of these (u64).

use super::bytes::{Taker, checksum};
use super::layout::SPARE_BYTES;

/// What is kept of a page in RAM: 12 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Spare {
    /// First 8 bytes of the digest of its data.
    pub(crate) check: u64,
    /// The logical page that was the first to point to it.
    pub(crate) lpn: u32,
}

/// What lies on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpareBytes {
    pub(crate) sequence: u64,
    pub(crate) page: u32,
    pub(crate) spare: Spare,
}

impl SpareBytes {
    pub(crate) fn append(&self, uuid: &[u8; 16], to: &mut Vec<u8>) {
        let first = to.len();
        to.extend(self.sequence.to_le_bytes());
        to.extend(self.page.to_le_bytes());
        to.extend({ self.spare.lpn }.to_le_bytes());
        to.extend({ self.spare.check }.to_le_bytes());
        let sum = checksum(uuid, &[&to[first..]]);
        to.extend(sum.to_le_bytes());
    }

    /// `None` where the bytes are not whole.
    pub(crate) fn parse(uuid: &[u8; 16], bytes: &[u8]) -> Option<Self> {
        let body = bytes.get(..SPARE_BYTES as usize - 8)?;
        let sum = Taker(bytes.get(SPARE_BYTES as usize - 8..)?).u64()?;
        let mut taker = Taker(body);
        let (sequence, page) = (taker.u64()?, taker.u32()?);
        let (lpn, check) = (taker.u32()?, taker.u64()?);
        let read = Self { sequence, page, spare: Spare { check, lpn } };
        (sum == checksum(uuid, &[body])).then_some(read)
    }
}
