//! The copy on the chip with the lowest load (RR-SSD paper III.B, "Handling Read Requests").

use flashtwin_nand::{Geometry, Ppn};

use super::Redirection;
use crate::loads::LoadView;
use crate::op::ReadTarget;

pub(super) struct Replicas;

impl Redirection for Replicas {
    #[inline]
    fn choose(&self, home: Ppn, replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        let home_plane = geometry.plane(home);
        if replicas.is_empty() {
            return ReadTarget { ppn: home, plane: home_plane, redirected: false };
        }
        let mut best = (home, home_plane);
        let mut lowest = loads.of_plane(home_plane, geometry);
        for &ppn in replicas {
            let plane = geometry.plane(ppn);
            let load = loads.of_plane(plane, geometry);
            if load < lowest {
                lowest = load;
                best = (ppn, plane);
            }
        }
        // Replicas never share a chip, and a duplicate page wins only where its unit is less loaded.
        ReadTarget { ppn: best.0, plane: best.1, redirected: best.0 != home }
    }

    fn reads_replicas(&self) -> bool {
        true
    }
}

flashtwin_bits::state!(Replicas {});
