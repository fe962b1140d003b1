//! The chip with the smallest score of a policy from outside takes the page; otherwise as `least-loaded`.

use flashtwin_nand::{Geometry, Plane};

use super::Allocation;
use super::least_loaded::LeastLoaded;
use crate::loads::LoadView;
use crate::scores::Scores;

pub(super) struct ScoredAllocation {
    scores: Scores,
    turns: LeastLoaded,
    geometry: Geometry,
}

impl ScoredAllocation {
    pub(super) fn new(scores: Scores, geometry: &Geometry) -> Self {
        Self { scores, turns: LeastLoaded::new(geometry), geometry: geometry.clone() }
    }
}

impl Allocation for ScoredAllocation {
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> Plane {
        let plane = self.turns.plane(address, &self.scores.view(loads));
        self.scores.choose(self.geometry.chip_of_plane(plane));
        plane
    }

    fn wants_address(&self) -> bool {
        false
    }
}

flashtwin_bits::state!(ScoredAllocation { scores, turns } kept { geometry });
