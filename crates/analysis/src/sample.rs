//! Spatial sampling: some pages and some contents, chosen by hash, with all their accesses (SHARDS, FAST '15). So a
//! sampled metric sees whole histories of few items and not holes in many.

use schemars::JsonSchema;
use serde::Serialize;

/// The items of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Share of items kept, above 0 up to 1.
    pub rate: f64,
    /// Another seed keeps other items.
    pub seed: u64,
    #[serde(skip)]
    threshold: u64,
}

/// Groups of items by which errors of sampled figures are estimated.
pub const GROUPS: usize = 16;

impl Sample {
    pub const ALL: Sample = Sample { rate: 1.0, seed: 0, threshold: u64::MAX };

    /// Keeps the share `rate` of all items; 1 or more (and NaN) keeps all.
    pub fn new(rate: f64, seed: u64) -> Sample {
        if rate < 1.0 {
            // 2^64 items of hash space; the product is below it.
            let threshold = (rate.max(0.0) * 18_446_744_073_709_551_616.0) as u64;
            Sample { rate, seed, threshold }
        } else {
            Sample { seed, ..Sample::ALL }
        }
    }

    pub fn is_all(&self) -> bool {
        self.threshold == u64::MAX
    }

    #[inline]
    pub(crate) fn keeps_page(&self, volume: u32, page: u64) -> bool {
        self.is_all() || self.page_hash(volume, page) < self.threshold
    }

    #[inline]
    pub(crate) fn keeps_content(&self, content: u32) -> bool {
        self.is_all() || self.content_hash(content) < self.threshold
    }

    /// The group (below [`GROUPS`]) of a page, by bits that do not decide whether it is kept.
    pub(crate) fn group_of_page(&self, volume: u32, page: u64) -> usize {
        group(self.page_hash(volume, page))
    }

    pub(crate) fn group_of_content(&self, content: u32) -> usize {
        group(self.content_hash(content))
    }

    #[inline]
    fn page_hash(&self, volume: u32, page: u64) -> u64 {
        mix(mix(page ^ u64::from(volume) << 40) ^ self.seed)
    }

    #[inline]
    fn content_hash(&self, content: u32) -> u64 {
        // Not the hash of the page of the same number.
        mix(mix(u64::from(content) ^ 0xc0de << 48) ^ self.seed)
    }
}

fn group(hash: u64) -> usize {
    (mix(hash) % GROUPS as u64) as usize
}

/// Mixes 64 bits; 0 as any other number.
#[inline]
pub(crate) fn mix(bits: u64) -> u64 {
    flashtwin_bits::mix(bits.wrapping_add(flashtwin_bits::STEP))
}
