//! Where host pages are written. One policy a file; one row registers its name.

mod dynamic;
mod foreign;
mod hipa;
mod least_loaded;
mod static_order;

use flashtwin_nand::{Geometry, Plane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use static_order::Order;
pub(crate) use static_order::planes_in;

use crate::error::RangeError;
use crate::foreign::Foreign;
use crate::loads::LoadView;
use crate::policies::policies;

/// Proposes the plane of a host page. If it has no room, the next one that has takes the page. A policy sees nothing of
/// the mapping.
pub trait Allocation: Send + dyn_clone::DynClone + flashtwin_bits::State {
    /// The plane for the host's page number `address`, given the chips' loads at this moment.
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> Plane;

    /// Whether the policy needs `address`; otherwise it may be anything.
    fn wants_address(&self) -> bool;

    /// The plane that `address` will probably go to, if known in advance. Only prefetches depend on it.
    fn foresee(&self, _address: u64) -> Option<Plane> {
        None
    }
}

dyn_clone::clone_trait_object!(Allocation);

policies! {
    /// Choice of the plane for a host page.
    pub enum AllocationPolicy;
    fn build(config: &AllocationConfig, geometry: &Geometry, foreign: &Foreign) -> Box<dyn Allocation>;
    @ name ["weighs-load"] => Box::new(foreign::ForeignAllocation::new(name, foreign, geometry));

    /// A fixed function of the LPN: the levels in `ftl.allocation.order`.
    #[default]
    Static => Box::new(static_order::StaticOrder::new(config.order, config.stripe_pages, geometry));
    /// Round robin over all planes in the order of `ftl.allocation.order`, independent of the LPN.
    Dynamic => Box::new(dynamic::Dynamic::new(config.order, geometry));
    /// `static` while the predicted load is even; if that of the target die exceeds
    /// `ftl.allocation.hipa_threshold` times the mean, the least loaded die (named by the DS-FTL
    /// paper).
    #[schemars(extend("x-traits" = ["weighs-load"]))]
    Hipa => Box::new(hipa::Hipa::new(config, geometry));
    /// The chip with the lowest load when the page is placed, round robin among equals.
    #[schemars(extend("x-traits" = ["weighs-load"]))]
    LeastLoaded => Box::new(least_loaded::LeastLoaded::new(geometry));
}

/// Placement of host pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AllocationConfig {
    /// Choice of the plane for a host page.
    #[schemars(extend("x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub policy: AllocationPolicy,
    /// For `static`, `dynamic` and `hipa`: the levels from the fastest changing to the slowest:
    /// C(hannel), W(ay, a chip of the channel), D(ie), P(lane) in any order. For example `PDWC`.
    #[schemars(extend("x-when" = "ftl.allocation.policy != least-loaded or spreads", "x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub order: Order,
    /// For `static` and `hipa`: neighbouring pages that go to one plane before the next one's turn;
    /// from 1 to 65,536. For example 4: with `PDWC` and 8 planes a chip, a chip gets 32 neighbours.
    /// Not given in the papers.
    #[schemars(extend("x-when" = "ftl.allocation.policy = static|hipa", "x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub stripe_pages: u32,
    /// For `hipa`: a die is avoided if its predicted load exceeds the mean by this factor. For
    /// example 2.
    #[schemars(extend("x-when" = "ftl.allocation.policy = hipa", "x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub hipa_threshold: f64,
    /// For `hipa`: weight of the newest load sample in the prediction, an exponentially weighted
    /// mean; above 0, up to 1. Not given in the papers. For example 0.5.
    #[schemars(extend("x-when" = "ftl.allocation.policy = hipa", "x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub hipa_weight: f64,
    /// For `hipa`: interval of the load samples, in microseconds; from 0.001 to 1e9. Not given in
    /// the papers; by default, four samples, which make up most of a prediction, take about a page
    /// program. For example 1000.
    #[schemars(extend("x-when" = "ftl.allocation.policy = hipa", "x-moves" = "reads and writes: which chips hold what is asked for together"))]
    pub hipa_sample_us: f64,
}

impl Default for AllocationConfig {
    fn default() -> Self {
        Self {
            policy: AllocationPolicy::default(),
            order: Order::default(),
            stripe_pages: 1,
            hipa_threshold: 1.5,
            hipa_weight: 0.25,
            hipa_sample_us: 100.0,
        }
    }
}

impl AllocationConfig {
    pub(crate) fn check(&self) -> Result<(), RangeError> {
        let stripe = self.stripe_pages;
        if !(1..=65_536).contains(&stripe) {
            return Err(("allocation.stripe_pages", stripe.to_string(), "1 to 65536 pages"));
        }
        let threshold = self.hipa_threshold;
        if !(1.0..=1000.0).contains(&threshold) {
            return Err(("allocation.hipa_threshold", threshold.to_string(), "a factor from 1 to 1000"));
        }
        let weight = self.hipa_weight;
        if !(weight > 0.0 && weight <= 1.0) {
            return Err(("allocation.hipa_weight", weight.to_string(), "a weight above 0, up to 1"));
        }
        let sample = self.hipa_sample_us;
        if !(0.001..=1e9).contains(&sample) {
            return Err(("allocation.hipa_sample_us", sample.to_string(), "0.001 to 1e9 microseconds"));
        }
        Ok(())
    }

    /// Builds the policy for a device.
    pub fn build(&self, geometry: &Geometry, foreign: &Foreign) -> Box<dyn Allocation> {
        self.policy.build(self, geometry, foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_24: [&str; 24] = [
        "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC",
        "DCWP", "DCPW", "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
    ];

    #[test]
    fn an_idle_device_is_filled_plane_by_plane_by_every_policy_in_every_order() {
        let g = crate::tests::ds_ftl();
        let loads = LoadView::new(&[0; 16], &[0; 32]);
        for (policy, text) in
            AllocationPolicy::ALL.into_iter().flat_map(|policy| ALL_24.map(|text| (policy, text)))
        {
            let order = Order::try_from(text.to_owned()).unwrap();
            let mut allocation = AllocationConfig { policy, order, ..AllocationConfig::default() }
                .build(&g, &Foreign::default());
            let mut planes: Vec<Plane> = (0..64).map(|address| allocation.plane(address, &loads)).collect();
            planes.sort_unstable();
            assert!(planes.iter().copied().eq(g.all_planes()), "{policy:?}, {text}");
        }
    }
}
