use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReplicationPolicy;
use super::degree::DegreePolicy;
use super::placement::{Equals, PlacementPolicy, ScorePopularity, ScoreTies};
use crate::error::{RangeError, at_least_one};

/// Copies of popular contents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplicationConfig {
    /// When copies are made.
    #[schemars(extend("x-when" = "always"))]
    pub policy: ReplicationPolicy,
    /// Space for replicas beyond the trace's footprint without deduplication, as a share of it
    /// (RR-SSD paper: alpha). For example 0.05. With 0, replicas get only the space that
    /// deduplication saves (the paper's ISO-capacity analysis).
    pub alpha: f64,
    /// Number of copies that a content earns.
    #[schemars(extend("x-when" = "counts-popularity"))]
    pub degree: DegreePolicy,
    /// For `degree = "few-of-many"`: copies of every content that was read, the first included. For
    /// example 3.
    #[schemars(extend("x-when" = "counts-popularity and ftl.replication.degree = few-of-many"))]
    pub few_copies: u32,
    /// For `degree = "popularity"`: copies that a read earns, rounded down; above 0, up to 256. For
    /// example 0.25: every fourth read earns one. The RR-SSD paper gives no number ("the more
    /// popular, the more copies", II.D); with 1, a counter of log2(chips) bits is exactly
    /// sufficient.
    #[schemars(extend("x-when" = "counts-popularity and ftl.replication.degree = popularity"))]
    pub copies_per_read: f64,
    /// Most copies of a content, the first included; 1 to 256. A chip never has more than one. For
    /// example 8.
    #[schemars(extend("x-when" = "counts-popularity"))]
    pub most_copies: u32,
    /// Contents read less often than this in a period get no copies. At least 1, and at most the
    /// number of chips less one, where counters saturate. For example 2: contents read once
    /// get none.
    #[schemars(extend("x-when" = "counts-popularity"))]
    pub least_popularity: u32,
    /// Choice of the chip for a copy.
    #[schemars(extend("x-when" = "counts-popularity"))]
    pub placement: PlacementPolicy,
    /// For placements such as `score`: the popularity of a chip, Pop.
    #[schemars(extend("x-when" = "weighs-popularity"))]
    pub score_popularity: ScorePopularity,
    /// For `placement = "score"`: choice among chips with equal scores.
    #[schemars(extend("x-when" = "breaks-ties"))]
    pub score_ties: ScoreTies,
    /// For `policy = "end-of-period"`: order in which contents with equal counters are copied.
    #[schemars(extend("x-when" = "ftl.replication.policy = end-of-period"))]
    pub equals: Equals,
    /// Periods between clean-ups, which drop replicas that their content's popularity no longer
    /// earns. For example 1: after each. 7: weekly for daily periods (RR-SSD paper III.B: less often
    /// than replication).
    #[schemars(extend("x-when" = "counts-popularity"))]
    pub adjust_every: u32,
    /// For `policy = "priority-lru"`: pages of a class. The least recent page of a full class falls
    /// to the class of half its number of reads. Not given in the paper. For example 1024.
    #[schemars(extend("x-when" = "ftl.replication.policy = priority-lru"))]
    pub class_pages: u32,
}

impl Default for ReplicationConfig {
    fn default() -> Self {
        Self {
            policy: ReplicationPolicy::None,
            alpha: 0.0,
            degree: DegreePolicy::Popularity,
            few_copies: 2,
            copies_per_read: 1.0,
            most_copies: 256,
            least_popularity: 1,
            placement: PlacementPolicy::Score,
            score_popularity: ScorePopularity::Mean,
            score_ties: ScoreTies::First,
            equals: Equals::ByNumber,
            adjust_every: 7,
            class_pages: 4096,
        }
    }
}

impl ReplicationConfig {
    pub(crate) fn check(&self, chips: u32) -> Result<(), RangeError> {
        at_least_one([
            ("replication.adjust_every", self.adjust_every),
            ("replication.class_pages", self.class_pages),
            ("replication.few_copies", self.few_copies),
        ])?;
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            let expected = "a share of the footprint, 0 or more";
            return Err(("replication.alpha", self.alpha.to_string(), expected));
        }
        let Self { copies_per_read, most_copies, least_popularity, .. } = *self;
        if !(copies_per_read > 0.0 && copies_per_read <= 256.0) {
            let expected = "a number of copies above 0, up to 256";
            return Err(("replication.copies_per_read", copies_per_read.to_string(), expected));
        }
        if !(1..=256).contains(&most_copies) {
            return Err(("replication.most_copies", most_copies.to_string(), "1 to 256 copies"));
        }
        if least_popularity == 0 || self.policy.counts_popularity() && least_popularity > chips.max(2) - 1 {
            let expected = "at least 1, and at most the chips less one, where the counters of reads end";
            return Err(("replication.least_popularity", least_popularity.to_string(), expected));
        }
        Ok(())
    }
}
