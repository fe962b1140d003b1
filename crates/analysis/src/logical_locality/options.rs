//! The window of logical locality.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction in which a request can hit others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Later ones, as SWC section 5.1 defines it: whether the neighbourhood is touched again soon.
    #[default]
    Forward,
    /// Earlier ones: whether the neighbourhood was touched a moment ago.
    Backward,
}

/// Options of logical locality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogicalLocalityOptions {
    /// Bytes of a page: the granularity of the trace.
    pub sector_bytes: u32,
    /// Which other requests can be hit; default forward.
    pub direction: Direction,
    /// Furthest distance, in pages; default 1,024, at most 16,384.
    pub distance_pages_max: u32,
    /// Longest time, in requests of the kind; default 5,000, at least 1, at most 65,536.
    pub time_requests_max: u32,
}

impl LogicalLocalityOptions {
    /// The window of the SWC paper, on pages of `sector_bytes`.
    pub fn new(sector_bytes: u32) -> LogicalLocalityOptions {
        LogicalLocalityOptions {
            sector_bytes,
            direction: Direction::Forward,
            distance_pages_max: 1024,
            time_requests_max: 5000,
        }
    }

    pub(super) fn within_limits(self) -> LogicalLocalityOptions {
        LogicalLocalityOptions {
            sector_bytes: self.sector_bytes.max(1),
            distance_pages_max: self.distance_pages_max.min(1 << 14),
            time_requests_max: self.time_requests_max.clamp(1, 1 << 16),
            ..self
        }
    }
}
