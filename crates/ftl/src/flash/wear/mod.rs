//! Wear levelling: which erased block is used next, and whether cold data move so that the blocks under them wear.

mod free_blocks;
mod levelling;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{RangeError, at_least_one};
use crate::policies::policies;

pub(crate) use free_blocks::FreeBlocks;
pub(crate) use levelling::Levelling;

policies! {
    /// How uneven wear is reduced. Every policy takes a block that was never used before all
    /// others. A block whose erase is ordered but not carried out yet is taken only if its plane
    /// has no erased one: the program would wait for that erase.
    pub enum WearPolicy;

    /// Takes the erased block with the fewest erases; among equals the lowest number. Blocks under
    /// cold data do not wear.
    #[default]
    Dynamic;
    /// None: the block that was erased first is used first.
    None;
    /// `dynamic`, and cold data move: the block whose data have been left alone for longest is
    /// moved to the most worn erased block when it has been erased `threshold` times less often
    /// than another block of its plane.
    Static;
}

/// Wear levelling, plane by plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearConfig {
    /// How uneven wear is reduced.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub policy: WearPolicy,
    /// For `policy = "static"`: the lead in erases of the plane's most worn block at which a
    /// block's data are moved. At least 1. For example 4: wear more even, more pages moved.
    #[schemars(extend("x-when" = "ftl.wear.policy = static", "x-moves" = "reads and writes, once blocks are collected"))]
    pub threshold: u32,
    /// For `policy = "static"`: collected blocks of a plane between two moved ones. At least 1, so
    /// that no more than half of the erases are for wear levelling. For example 64.
    #[schemars(extend("x-when" = "ftl.wear.policy = static", "x-moves" = "reads and writes, once blocks are collected"))]
    pub every: u32,
}

impl Default for WearConfig {
    fn default() -> Self {
        Self { policy: WearPolicy::Dynamic, threshold: 16, every: 16 }
    }
}

impl WearConfig {
    pub(crate) fn levels(&self) -> bool {
        self.policy == WearPolicy::Static
    }

    pub(crate) fn check(&self) -> Result<(), RangeError> {
        at_least_one([("wear.threshold", self.threshold), ("wear.every", self.every)])
    }
}
