//! Wear levelling: which erased block is used next, and whether cold data are moved so that the blocks under
//! them wear, too.

mod free_blocks;
mod levelling;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policies::policies;

pub(crate) use free_blocks::FreeBlocks;
pub(crate) use levelling::Levelling;

policies! {
    /// What is done about uneven wear. A block that was never used is taken before all others whatever the
    /// policy. A block whose erase is ordered but not carried out yet is taken only where its plane has no
    /// erased one: the program would wait for that erase.
    pub enum WearPolicy;

    /// Of the erased blocks, the one erased least often is used next; among equals the lowest number.
    /// Blocks under data that nobody updates do not wear.
    #[default]
    Dynamic;
    /// Nothing: the block that was erased first is used first.
    None;
    /// `dynamic`; and the block whose data have been left alone for longest is moved to the most worn
    /// erased block when it has been erased `threshold` times less often than another block of its plane.
    Static;
}

/// Wear levelling, plane by plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearConfig {
    /// What is done about uneven wear.
    #[schemars(extend("x-moves" = "reads and writes, once blocks are collected"))]
    pub policy: WearPolicy,
    /// For `policy = "static"`: a block is moved when the most worn block of its plane has been erased more
    /// than so many times more often. At least 1.
    #[schemars(extend("x-when" = "ftl.wear.policy = static", "x-moves" = "reads and writes, once blocks are collected"))]
    pub threshold: u32,
    /// For `policy = "static"`: blocks that a plane collects between two that are moved. At least 1: no more
    /// than half of the blocks erased are those moved.
    #[schemars(extend("x-when" = "ftl.wear.policy = static", "x-moves" = "reads and writes, once blocks are collected"))]
    pub every: u32,
}

impl Default for WearConfig {
    fn default() -> Self {
        Self { policy: WearPolicy::Dynamic, threshold: 16, every: 16 }
    }
}

impl WearConfig {
    /// Whether data are moved on account of wear.
    pub(crate) fn levels(&self) -> bool {
        self.policy == WearPolicy::Static
    }

    /// Checks numbers.
    pub(crate) fn check(&self) -> Result<(), crate::error::RangeError> {
        for (key, value) in [("wear.threshold", self.threshold), ("wear.every", self.every)] {
            if value == 0 {
                return Err((key, "0".into(), "at least 1"));
            }
        }
        Ok(())
    }
}
