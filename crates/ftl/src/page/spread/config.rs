use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PlacePolicy;
use crate::error::{RangeError, at_least_one};

/// Treatment of pages with equal contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpreadPolicy {
    /// They lie where the allocation puts them, and their equality is not known.
    #[default]
    None,
    /// If the proposed channel may hold a page's content already, the page goes to the next channel
    /// that does not. A read then takes the least loaded of the verified duplicates (DS-FTL paper).
    #[schemars(extend("x-traits" = ["looks-at-contents", "spreads"]))]
    Duplicates,
}

/// Duplicates on different channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpreadConfig {
    /// Treatment of pages with equal contents; used by `mapping = "page"`.
    #[schemars(extend("x-when" = "always"))]
    pub policy: SpreadPolicy,
    /// Plane of such a page on its new channel.
    pub place: PlacePolicy,
    /// Bits of a channel's Bloom filter for each physical page of the channel. For example 16:
    /// fewer false positives.
    pub bloom_bits_per_page: u32,
    /// Bits that an entry sets in the filter; 1 to 16. For example 4.
    pub bloom_hashes: u32,
    /// Share of dead entries at which a filter is rebuilt (entries cannot be deleted); above 0, up
    /// to 1, which is never. For example 0.25.
    pub bloom_rebuild: f64,
    /// Whether idle time verifies a positive answer by reading both pages. If false, equal contents
    /// are known at once, at no cost. For example `false` as an upper bound.
    #[schemars(extend("x-traits" = ["background-jobs"]))]
    pub verify: bool,
    /// Most pages that one read may choose from. For example 2: its own page and one duplicate.
    pub candidates: u32,
    /// Whether rewriting a page with its own content counts as a duplicate, so that the write moves
    /// to another channel. True in the DS-FTL paper, which asks the fingerprint table before the
    /// map changes (4.2.1) and spreads such duplicates in its webmail trace (5.2.3). Ageing
    /// (`replay.preload = "footprint"`) never counts them. For example `false`: such a write stays
    /// on its channel.
    pub own_copy_counts: bool,
    /// Whether the run counts page writes that repeat an earlier content of their plane
    /// (`redundancy.written_mean`; DS-FTL paper, Fig. 4 and 11), under any allocation. Takes 16
    /// bytes a content for each 64 planes. For example `true`.
    #[schemars(extend("x-when" = "ftl.mapping = page"))]
    pub count_written: bool,
}

impl Default for SpreadConfig {
    fn default() -> Self {
        Self {
            policy: SpreadPolicy::None,
            place: PlacePolicy::RoundRobin,
            bloom_bits_per_page: 10,
            bloom_hashes: 7,
            bloom_rebuild: 0.5,
            verify: true,
            candidates: 16,
            own_copy_counts: true,
            count_written: false,
        }
    }
}

impl SpreadConfig {
    pub(crate) fn check(&self) -> Result<(), RangeError> {
        if !(1..=64).contains(&self.bloom_bits_per_page) {
            return Err(("spread.bloom_bits_per_page", self.bloom_bits_per_page.to_string(), "1 to 64 bits"));
        }
        if !(1..=16).contains(&self.bloom_hashes) {
            return Err(("spread.bloom_hashes", self.bloom_hashes.to_string(), "1 to 16 hashes"));
        }
        if !(self.bloom_rebuild > 0.0 && self.bloom_rebuild <= 1.0) {
            let expected = "a share above 0, up to 1";
            return Err(("spread.bloom_rebuild", self.bloom_rebuild.to_string(), expected));
        }
        at_least_one([("spread.candidates", self.candidates)])
    }
}
