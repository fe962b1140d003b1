//! Numbers in untrusted bytes: little-endian, each access checked.

/// First bytes of a digest over a drive's id and some bytes: proves that the bytes are whole and this drive's.
pub(crate) fn checksum(uuid: &[u8; 16], parts: &[&[u8]]) -> u64 {
    if cfg!(fuzzing) {
        // A fuzzer would not get past it.
        return 0;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(uuid);
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    first_bytes(&hasher.finalize())
}

pub(crate) fn first_bytes(digest: &blake3::Hash) -> u64 {
    digest.as_bytes()[..8].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Takes numbers off the beginning of bytes; `None` when there are too few.
pub(crate) struct Taker<'a>(pub(crate) &'a [u8]);

impl<'a> Taker<'a> {
    pub(crate) fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|bytes| bytes[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
