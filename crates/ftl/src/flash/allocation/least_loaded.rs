//! The chip with the lowest load takes the write; writes are never bound to a place.
//!
//! Source: RR-SSD paper, section I (write redirection); Tavakkol et al., SIGMETRICS 2014.

use flashtwin_nand::{Chip, Geometry, Plane};

use super::Allocation;
use crate::loads::{LoadView, lowest_from};

/// Equals take turns, so that an idle device is filled evenly: channel by channel, then chip, die and plane.
#[derive(Clone)]
pub(super) struct LeastLoaded {
    planes_per_chip: usize,
    next_chip: usize,
    /// Per chip: turns taken among its units.
    next_unit: Vec<u32>,
    /// Per plane-in-chip slot of each chip: turns taken among the planes of a unit.
    next_plane: Vec<u32>,
}

impl LeastLoaded {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            planes_per_chip: geometry.planes_per_chip() as usize,
            next_chip: 0,
            next_unit: vec![0; geometry.chips() as usize],
            next_plane: vec![0; geometry.planes() as usize],
        }
    }
}

impl Allocation for LeastLoaded {
    #[inline]
    fn plane(&mut self, _address: u64, loads: &LoadView<'_>) -> Plane {
        let chip = lowest_from(&loads.chip, self.next_chip);
        self.next_chip = if chip + 1 == loads.chip.len() { 0 } else { chip + 1 };
        let units = loads.units_per_chip();
        // Preloading sees a chip as one unit, so earlier turns may count further than there are.
        let turn = self.next_unit[chip] as usize % units;
        let unit = lowest_from(loads.of_units(Chip::new(chip as u32)), turn);
        self.next_unit[chip] = if unit + 1 == units { 0 } else { unit as u32 + 1 };
        let planes = self.planes_per_chip / units;
        let base = chip * self.planes_per_chip + unit * planes;
        let plane = self.next_plane[base] as usize % planes;
        self.next_plane[base] = if plane + 1 == planes { 0 } else { plane as u32 + 1 };
        Plane::new((base + plane) as u32)
    }

    fn wants_address(&self) -> bool {
        false
    }
}

flashtwin_bits::state!(LeastLoaded { next_chip, next_unit, next_plane } kept { planes_per_chip });

#[cfg(test)]
mod tests {
    use super::*;
    use flashtwin_nand::Channel;

    #[test]
    fn an_idle_device_is_filled_evenly_channel_by_channel() {
        let g = crate::tests::ds_ftl();
        let loads = LoadView::new(&[0; 16], &[0; 32]);
        let mut policy = LeastLoaded::new(&g);
        let channels = (0..8).map(|_| g.channel_of_chip(g.chip_of_plane(policy.plane(0, &loads))));
        assert!(channels.eq(Channel::each(0..8)));
    }

    #[test]
    fn the_least_loaded_chip_and_its_least_loaded_unit_win() {
        let g = crate::tests::ds_ftl();
        let mut chip = [3; 16];
        chip[5] = 1;
        let mut unit = [1; 32];
        unit[11] = 0;
        let mut policy = LeastLoaded::new(&g);
        let plane = policy.plane(0, &LoadView::new(&chip, &unit));
        assert_eq!(plane.number() / g.planes_per_die, 11);
    }
}
