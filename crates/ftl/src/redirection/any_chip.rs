//! Ideal-All-Chip Replication (RR-SSD paper, section I): the least loaded chip, and unit in it, serves any read. No
//! copy exists or is paid for. On a device of one chip nothing is redirected.

use flashtwin_nand::{Chip, Geometry, Plane, Ppn};

use super::Redirection;
use super::ties::Ties;
use crate::loads::{LoadView, lowest_from};
use crate::op::ReadTarget;

#[derive(Clone)]
pub(super) struct AnyChip {
    pub(super) ties: Ties,
}

impl Redirection for AnyChip {
    #[inline]
    fn choose(&self, home: Ppn, _replicas: &[Ppn], loads: &LoadView<'_>, geometry: &Geometry) -> ReadTarget {
        let home_plane = geometry.plane(home);
        let per_chip = geometry.planes_per_chip();
        let home_chip = geometry.chip_of_plane(home_plane).index();
        if loads.chip.len() == 1 {
            return ReadTarget { ppn: home, plane: home_plane, redirected: false };
        }
        // By default the home chip if none is less loaded, otherwise the first of the least loaded after
        // it: equals share the reads.
        let first = self.ties.first_chip(loads.chip.len()).unwrap_or(home_chip);
        let chip = lowest_from(&loads.chip, first);
        self.ties.took(Chip::new(chip as u32));
        let units = loads.units_per_chip();
        let planes_per_unit = per_chip as usize / units;
        // The same place in the chip, unless another of its units is less loaded.
        let same_place = Plane::new(chip as u32 * per_chip + home_plane.number() % per_chip);
        let own_load = loads.of_unit(same_place, geometry);
        let in_chip = loads.of_units(Chip::new(chip as u32));
        let plane = match in_chip.iter().position(|&load| load < own_load) {
            None => same_place,
            Some(_) => {
                let least = lowest_from(in_chip, 0);
                Plane::new(((chip * units + least) * planes_per_unit) as u32)
            }
        };
        ReadTarget { ppn: home, plane, redirected: chip != home_chip }
    }
}

flashtwin_bits::state!(AnyChip { ties });
