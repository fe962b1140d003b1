//! Where host pages are written. One policy a file; one row registers its name.

mod dynamic;
mod hipa;
mod least_loaded;
mod static_order;

use flashtwin_nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use least_loaded::lowest_from;
pub use static_order::Order;
pub(crate) use static_order::planes_in;

use crate::config::AllocationConfig;
use crate::op::LoadView;

/// Proposes the plane of a host page.
///
/// The proposal stands unless the plane has no room; then the next plane that has takes
/// the page. A policy may keep state of its own; it sees nothing of the mapping.
pub trait Allocation: Send {
    /// The plane for the logical page at `address` (page number in the host's address
    /// space), given the chips' loads at this moment.
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> u32;

    /// Whether `address` is looked at; otherwise it need not be given.
    fn wants_address(&self) -> bool;

    /// The plane that `address` will probably go to, where that can be told before its turn comes. Only what is
    /// asked of memory ahead depends on it.
    fn foresee(&self, _address: u64) -> Option<u32> {
        None
    }
}

/// Which plane a host page goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationPolicy {
    /// A fixed function of the LPN: the levels in `ftl.allocation.order`.
    #[default]
    Static,
    /// Round robin over all planes in the order of `ftl.allocation.order`, whatever the LPN.
    Dynamic,
    /// `static` while the predicted load is even; when that of the target die exceeds
    /// `ftl.allocation.hipa_threshold` times the mean, the least loaded die (named by the DS-FTL paper).
    Hipa,
    /// The chip with the lowest load when the page is placed, round robin among equals.
    LeastLoaded,
}

impl AllocationPolicy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Static, Self::Dynamic, Self::Hipa, Self::LeastLoaded];
}

impl AllocationConfig {
    /// Builds the policy for a device.
    pub fn build(&self, geometry: &Geometry) -> Box<dyn Allocation> {
        let in_order = || static_order::StaticOrder::new(self.order, geometry);
        match self.policy {
            AllocationPolicy::Static => Box::new(in_order()),
            AllocationPolicy::Dynamic => Box::new(dynamic::Dynamic::new(self.order, geometry)),
            AllocationPolicy::Hipa => Box::new(hipa::Hipa::new(in_order(), self, geometry)),
            AllocationPolicy::LeastLoaded => Box::new(least_loaded::LeastLoaded::new(geometry)),
        }
    }
}
