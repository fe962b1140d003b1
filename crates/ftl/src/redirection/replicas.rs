//! The copy on the chip with the lowest load (RR-SSD paper III.B, "Handling Read Requests").

use flashtwin_nand::{Geometry, Ppn};

use super::Redirection;
use super::ties::Ties;
use crate::loads::LoadView;
use crate::op::ReadTarget;

#[derive(Clone)]
pub(super) struct Replicas {
    pub(super) ties: Ties,
}

impl Redirection for Replicas {
    #[inline]
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        let home_plane = geometry.plane(home);
        if replicas.is_empty() {
            return ReadTarget { ppn: home, plane: home_plane, redirected: false };
        }
        let chips = loads.chip.len();
        let first = self.ties.first_chip(chips);
        // Chips from the first one on; without a first one all are alike, and the earlier copy stays.
        let turn =
            |plane| first.map_or(0, |first| (geometry.chip_of_plane(plane).index() + chips - first) % chips);
        let mut best = (home, home_plane);
        let mut lowest = (loads.of_plane(home_plane, geometry), turn(home_plane));
        for &ppn in replicas {
            let plane = geometry.plane(ppn);
            let load = (loads.of_plane(plane, geometry), turn(plane));
            if load < lowest {
                lowest = load;
                best = (ppn, plane);
            }
        }
        self.ties.took(geometry.chip_of_plane(best.1));
        // Replicas never share a chip, and a duplicate page wins only where its unit is less loaded.
        ReadTarget { ppn: best.0, plane: best.1, redirected: best.0 != home }
    }

    fn reads_replicas(&self) -> bool {
        true
    }
}

flashtwin_bits::state!(Replicas { ties });
