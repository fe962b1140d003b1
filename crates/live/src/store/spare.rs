//! The spare bytes of a page: a second record of its content.
//!
//! They are written for a whole block when its last page has been programmed, because writing them page by page would
//! rewrite a sector with durable ones, which a cut could destroy. For an open block, log and checkpoint know as much.
//! Recovery does not use spare bytes; a check compares them with the tables.
//!
//! A page's 32 bytes: its sequence among all programs (u64; 0: not known any more, as it was programmed before the
//! last start), the page's own number (u32), the logical page that was the first to point to it (u32), the first 8
//! bytes of the digest of its data (u64), checksum of these (u64).

use super::bytes::{Taker, checksum};
use super::layout::SPARE_BYTES;

/// Entry of a page in RAM: 12 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed(4))]
pub(crate) struct Spare {
    pub(crate) check: u64,
    /// The logical page that was the first to point to it.
    pub(crate) lpn: u32,
}

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
