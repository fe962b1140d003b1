//! Where host pages are written. One policy a file; one row registers its name.

mod least_loaded;
mod static_order;

use flashtwin_nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use least_loaded::lowest_from;
pub use static_order::Order;

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
}

/// Which plane a host page goes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationPolicy {
    /// A fixed function of the LPN: the levels in `ftl.allocation.order`.
    Static,
    /// The chip with the lowest load when the write arrives, round robin among equals.
    #[default]
    LeastLoaded,
}

impl AllocationPolicy {
    /// Builds the policy for a device.
    pub fn build(self, order: Order, geometry: &Geometry) -> Box<dyn Allocation> {
        match self {
            Self::Static => Box::new(static_order::StaticOrder::new(order, geometry)),
            Self::LeastLoaded => Box::new(least_loaded::LeastLoaded::new(geometry)),
        }
    }
}
