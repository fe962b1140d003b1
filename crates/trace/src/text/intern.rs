//! Digests to dense ids, fast: the one hash table on the way in.

use flashtwin_bits::STEP;

use crate::memory::IDS_MAX;

/// Interns 16-byte digests in order of first appearance. Open addressing over 8-byte slots: 32 bits of hash beside the
/// id. One look-up after another waits for memory twice each, so [`Interner::ids`] takes a batch, whose loads overlap.
pub(crate) struct Interner {
    slots: Vec<u64>,
    mask: usize,
    pub(crate) digests: Vec<[u8; 16]>,
}

pub(crate) const BATCH: usize = 64;

const EMPTY: u64 = u64::MAX;
const FIRST_SLOTS: usize = 1 << 12;
const LARGE_SLOTS: usize = 1 << 22;

/// Digests are hashes already, but not those a user may make up; one multiplication mixes both halves.
#[inline]
fn hash(digest: &[u8; 16]) -> u64 {
    let value = u128::from_le_bytes(*digest);
    let low = value as u64 ^ STEP;
    let high = (value >> 64) as u64 ^ 0xa076_1d64_78bd_642f;
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}

impl Interner {
    pub(crate) fn new() -> Interner {
        Interner { slots: vec![EMPTY; FIRST_SLOTS], mask: FIRST_SLOTS - 1, digests: Vec::new() }
    }

    /// Calls `found` with the id of each digest (at most [`BATCH`]), in order; `None` beyond [`IDS_MAX`].
    pub(crate) fn ids(&mut self, batch: &[[u8; 16]], mut found: impl FnMut(usize, Option<u32>)) {
        let mut hashes = [0; BATCH];
        let mut guesses = [EMPTY; BATCH];
        let mut right = [false; BATCH];
        for (nth, digest) in batch.iter().enumerate() {
            hashes[nth] = hash(digest);
            guesses[nth] = self.slots[hashes[nth] as usize & self.mask];
        }
        for (nth, digest) in batch.iter().enumerate() {
            let known = self.digests.get(guesses[nth] as u32 as usize);
            right[nth] = known == Some(digest);
        }
        for (nth, digest) in batch.iter().enumerate() {
            let id = if right[nth] { Some(guesses[nth] as u32) } else { self.id(digest, hashes[nth]) };
            found(nth, id);
        }
    }

    fn id(&mut self, digest: &[u8; 16], hash: u64) -> Option<u32> {
        self.probe(digest, hash).or_else(|free| self.add(free, hash >> 32, digest).ok_or(free)).ok()
    }

    /// The id of a digest that is there; otherwise the free slot where it would be put.
    fn probe(&self, digest: &[u8; 16], hash: u64) -> Result<u32, usize> {
        let tag = hash >> 32;
        let mut at = hash as usize & self.mask;
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return Err(at);
            }
            let id = slot as u32;
            if slot >> 32 == tag && self.digests[id as usize] == *digest {
                return Ok(id);
            }
            at = (at + 1) & self.mask;
        }
    }

    pub(crate) fn find(&self, digest: &[u8; 16]) -> Option<u32> {
        self.probe(digest, hash(digest)).ok()
    }

    fn add(&mut self, at: usize, tag: u64, digest: &[u8; 16]) -> Option<u32> {
        let id = (self.digests.len() < IDS_MAX).then_some(self.digests.len() as u32)?;
        self.slots[at] = tag << 32 | u64::from(id);
        self.digests.push(*digest);
        // Half full at most: probes stay short.
        if self.digests.len() * 2 > self.slots.len() {
            self.grow();
        }
        Some(id)
    }

    pub(crate) fn bytes(&self, further: usize) -> (u64, u64) {
        let held = self.slots.len() as u64 * 8 + self.digests.capacity() as u64 * 16;
        let full = (self.digests.len() + further) * 2 > self.slots.len();
        let longer = self.digests.len() + further > self.digests.capacity();
        let slots = if full { 2 * self.slots.len() as u64 * 8 } else { 0 };
        (held, slots + if longer { self.digests.capacity().max(further) as u64 * 16 } else { 0 })
    }

    fn grow(&mut self) {
        // A large table is as large as it must be; a small one need not grow often.
        let size = self.slots.len() * if self.slots.len() < LARGE_SLOTS { 4 } else { 2 };
        self.mask = size - 1;
        self.slots = vec![EMPTY; size];
        for (id, digest) in self.digests.iter().enumerate() {
            let hash = hash(digest);
            let mut at = hash as usize & self.mask;
            while self.slots[at] != EMPTY {
                at = (at + 1) & self.mask;
            }
            self.slots[at] = (hash >> 32) << 32 | id as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn numbers_digests_by_first_appearance() {
        let mut interner = Interner::new();
        let mut reference: HashMap<[u8; 16], u32> = HashMap::new();
        let digests: Vec<[u8; 16]> = (0u64..100_000)
            .map(|n| {
                // Repeats near and far; half of them differ in the upper bytes only.
                let value = u128::from(n * n % 20_011) << (n % 2 * 70);
                value.to_le_bytes()
            })
            .collect();
        for batch in digests.chunks(BATCH - 1) {
            interner.ids(batch, |nth, id| {
                let next = reference.len() as u32;
                let expected = *reference.entry(batch[nth]).or_insert(next);
                assert_eq!(id, Some(expected));
            });
        }
        assert!(reference.iter().all(|(digest, &id)| interner.find(digest) == Some(id)));
        assert_eq!(interner.find(&[0xff; 16]), None);
        assert_eq!(interner.digests.len(), reference.len());
    }
}
