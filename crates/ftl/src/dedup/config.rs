use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EvictionPolicy;
use crate::error::RangeError;

/// Capacity of the fingerprint store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Entries {
    /// At most this many; `eviction` chooses the one to drop.
    Limited(u32),
    /// Every content on flash is known: written `"unlimited"`.
    #[default]
    #[serde(with = "unlimited")]
    #[schemars(with = "String")]
    Unlimited,
}

pub(crate) mod unlimited {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("unlimited")
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "unlimited" {
            return Ok(());
        }
        Err(D::Error::custom("expected a whole number or \"unlimited\""))
    }
}

/// The tables of a content-addressed SSD. Both forms cause the same flash traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    /// LPN -> VPN -> PPN with reference counts, content -> VPN (CAFTL; RR-SSD paper III.B).
    #[default]
    TwoLevel,
    /// LPN -> PPN, content -> PPN, and the inverse of both (CA-SSD paper 4.1: LPT, iLPT, HPT,
    /// iHPT).
    Inverted,
}

/// Deduplication after the write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfLinePolicy {
    /// None.
    #[default]
    None,
    /// Pages that were written without a fingerprint, the oldest first, in idle time (CAFTL).
    #[schemars(extend("x-traits" = ["background-jobs"]))]
    Unhashed,
}

/// Deduplication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DedupConfig {
    /// Tables: `two-level` (LPN -> VPN -> PPN with reference counts) or `inverted` (LPN -> PPN,
    /// content -> PPN and the inverse of both; CA-SSD paper 4.1). Flash traffic is the same; RAM
    /// and the updates for a moved page differ.
    pub tables: TableKind,
    /// Entries of the fingerprint store: a number, for example 131072 (CA-SSD paper 5.2), or
    /// `"unlimited"`. Evicted entries are dropped, so that a later duplicate is written again.
    pub fingerprint_entries: Entries,
    /// Entry that a full fingerprint store drops.
    #[schemars(extend("x-when" = "deduplicates and ftl.dedup.fingerprint_entries != unlimited"))]
    pub eviction: EvictionPolicy,
    /// Pages of a write that share a sample (CAFTL). For example 4: of each run of four pages one
    /// is fingerprinted first, and the others only if its content is on flash. 1: every page is
    /// fingerprinted.
    pub sampling_pages: u32,
    /// Deduplication of pages after their write, in idle time.
    pub out_of_line: OutOfLinePolicy,
}

impl Default for DedupConfig {
    fn default() -> Self {
        Self {
            tables: TableKind::default(),
            fingerprint_entries: Entries::default(),
            eviction: EvictionPolicy::default(),
            sampling_pages: 1,
            out_of_line: OutOfLinePolicy::default(),
        }
    }
}

impl DedupConfig {
    pub(crate) fn knows_all(&self) -> bool {
        self.fingerprint_entries == Entries::Unlimited && self.sampling_pages == 1
    }

    pub(crate) fn check(&self, replicates: bool) -> Result<(), RangeError> {
        if self.fingerprint_entries == Entries::Limited(0) {
            return Err(("dedup.fingerprint_entries", "0".into(), "at least 1, or \"unlimited\""));
        }
        if self.sampling_pages == 0 {
            return Err(("dedup.sampling_pages", "0".into(), "at least 1, which is without sampling"));
        }
        if self.tables == TableKind::TwoLevel {
            return Ok(());
        }
        let needs = |cure| Err(("dedup.tables", "inverted".into(), cure));
        if replicates {
            return needs(
                "\"two-level\", or ftl.replication.policy = \"none\" (inverted tables hold one page a content)",
            );
        }
        if self.eviction == EvictionPolicy::ReferenceCount {
            return needs(
                "\"two-level\", or ftl.dedup.eviction = \"lru-writes\" (inverted tables keep no reference counts)",
            );
        }
        if self.out_of_line != OutOfLinePolicy::None {
            return needs("\"two-level\", or ftl.dedup.out_of_line = \"none\"");
        }
        Ok(())
    }
}
