//! Digests of contents, and the digest of a trace.

use twox_hash::XxHash3_128;

/// The digests behind content ids: id -> 16 bytes.
///
/// An MD5 is kept as it is. Anything longer (the eight MD5s that make a page of the FIU homes traces,
/// a SHA-1) is kept as the 128-bit XXH3 of itself: identity is all that is asked of it, and among
/// 10^9 contents two share such a hash with a probability below 10^-20.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub(crate) bytes: Vec<[u8; 16]>,
}

impl Digests {
    /// A table of digests in the order of their ids.
    pub fn new(bytes: Vec<[u8; 16]>) -> Digests {
        Digests { bytes }
    }

    /// The digest of a content; `None` for an unknown id or a trace without digests.
    pub fn get(&self, content: u32) -> Option<&[u8; 16]> {
        self.bytes.get(content as usize)
    }

    /// How many digests there are.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none: contents may have ids without digests (synthetic traces).
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All digests in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &[u8; 16]> {
        self.bytes.iter()
    }
}

/// Brings a recorded digest of any length to 16 bytes.
pub(crate) fn fold(digest: &[u8]) -> [u8; 16] {
    match digest.try_into() {
        Ok(as_recorded) => as_recorded,
        Err(_) => XxHash3_128::oneshot(digest).to_be_bytes(),
    }
}

/// A 128-bit hash fed with columns, the same on every machine.
pub(crate) struct ColumnHasher {
    hasher: XxHash3_128,
    buffer: Vec<u8>,
}

const BUFFER_BYTES: usize = 64 * 1024;

impl ColumnHasher {
    pub(crate) fn new() -> ColumnHasher {
        ColumnHasher { hasher: XxHash3_128::with_seed(0), buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// Feeds a column: its length, then its values in little-endian order.
    pub(crate) fn column<T: Copy, const N: usize>(&mut self, values: &[T], to_bytes: impl Fn(T) -> [u8; N]) {
        self.hasher.write(&(values.len() as u64).to_le_bytes());
        for block in values.chunks(BUFFER_BYTES / N) {
            self.buffer.clear();
            self.buffer.extend(block.iter().flat_map(|&value| to_bytes(value)));
            self.hasher.write(&self.buffer);
        }
    }

    pub(crate) fn finish(&self) -> String {
        format!("{:032x}", self.hasher.finish_128())
    }
}
