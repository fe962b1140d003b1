//! HIPA: static allocation while the predicted load is even, the least loaded die when it is not.
//!
//! Source: the hybrid page allocation that the DS-FTL paper compares with (section 5.1 and its reference
//! on load-predicting hybrid allocation); the threshold and the predictor's weight are ours, the paper
//! does not give them.

use flashtwin_nand::Geometry;

use super::Allocation;
use super::least_loaded::lowest_from;
use super::static_order::StaticOrder;
use crate::op::LoadView;

/// Predictions are kept in 1/256 of a queued operation.
const SCALE_BITS: u32 = 8;

pub(super) struct Hipa {
    target: StaticOrder,
    /// Load of each unit, as an exponentially weighted mean over the writes so far.
    predicted: Vec<u32>,
    /// Weight of the newest load, in 1/256.
    weight: i64,
    /// A target is avoided above this many 1/256 of the mean prediction.
    threshold: u64,
    planes: usize,
    /// Turns among equally loaded units, and among the planes of each.
    next_unit: usize,
    next_plane: Vec<u32>,
}

impl Hipa {
    pub(super) fn new(target: StaticOrder, threshold: f64, weight: f64, geometry: &Geometry) -> Self {
        let scaled = |share: f64| share * f64::from(1 << SCALE_BITS);
        Self {
            target,
            predicted: Vec::new(),
            weight: scaled(weight).round().max(1.0) as i64,
            threshold: scaled(threshold).round() as u64,
            planes: geometry.planes() as usize,
            next_unit: 0,
            next_plane: vec![0; geometry.planes() as usize],
        }
    }

    /// Takes in the loads of this moment; the sum of all predictions.
    fn predict(&mut self, loads: &[u32]) -> u64 {
        if self.predicted.len() != loads.len() {
            // Preloading sees whole chips, the engine what works on its own there.
            self.predicted = vec![0; loads.len()];
            self.next_unit = 0;
        }
        let mut sum = 0;
        for (predicted, &load) in self.predicted.iter_mut().zip(loads) {
            let newest = i64::from(load) << SCALE_BITS;
            let step = ((newest - i64::from(*predicted)) * self.weight) >> SCALE_BITS;
            *predicted = (i64::from(*predicted) + step) as u32;
            sum += u64::from(*predicted);
        }
        sum
    }
}

impl Allocation for Hipa {
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> u32 {
        let target = self.target.plane(address, loads);
        let sum = self.predict(loads.unit);
        let units = loads.unit.len();
        let planes_per_unit = self.planes / units;
        let of_target = u64::from(self.predicted[target as usize / planes_per_unit]);
        // Above threshold x mean; both sides times the number of units.
        if (of_target * units as u64) << SCALE_BITS <= self.threshold * sum {
            return target;
        }
        let unit = lowest_from(loads.unit, self.next_unit);
        self.next_unit = if unit + 1 == units { 0 } else { unit + 1 };
        let plane = self.next_plane[unit] as usize % planes_per_unit;
        self.next_plane[unit] = (plane + 1) as u32;
        (unit * planes_per_unit + plane) as u32
    }

    fn wants_address(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::static_order::Order;
    use super::*;
    use flashtwin_nand::{NandDevice, device_toml};

    fn hipa(weight: f64) -> (Geometry, Hipa) {
        let g = NandDevice::from_toml(device_toml("ds-ftl").unwrap()).unwrap().geometry;
        let target = StaticOrder::new(Order::default(), &g);
        let hipa = Hipa::new(target, 1.5, weight, &g);
        (g, hipa)
    }

    #[test]
    fn an_idle_or_evenly_loaded_device_is_written_statically() {
        let (g, mut hipa) = hipa(0.25);
        for load in [0, 5] {
            let (chip, unit) = ([load; 16], [load; 32]);
            let loads = LoadView::new(&chip, &unit);
            assert_eq!(hipa.plane(8, &loads), g.plane_at(0, 1, 0, 0));
        }
    }

    #[test]
    fn an_overloaded_target_is_avoided() {
        let (_, mut hipa) = hipa(1.0);
        let mut unit = [4; 32];
        (unit[0], unit[9]) = (7, 1);
        // Mean 4: 6 is 1.5 times as much and stays, 7 is more and goes to the idlest die.
        let loads = LoadView::new(&[0; 16], &unit);
        assert_eq!(hipa.plane(0, &loads), 9 * 2);
        assert_eq!(hipa.plane(0, &loads), 9 * 2 + 1, "planes of a die take turns");
        unit[0] = 6;
        unit[9] = 2;
        assert_eq!(hipa.plane(0, &LoadView::new(&[0; 16], &unit)), 0);
    }

    #[test]
    fn a_short_peak_is_smoothed_away_and_a_lasting_one_is_not() {
        let (_, mut hipa) = hipa(0.25);
        let even = [4; 32];
        for _ in 0..50 {
            hipa.plane(0, &LoadView::new(&[4; 16], &even));
        }
        let mut peak = even;
        peak[0] = 8;
        let loads = LoadView::new(&[4; 16], &peak);
        // 4 + 0.25 x 4 = 5, 5.75, 6.3: above 1.5 times the mean (a little over 4) at the third.
        let planes: Vec<u32> = (0..3).map(|_| hipa.plane(0, &loads)).collect();
        assert_eq!(planes[..2], [0, 0]);
        assert_ne!(planes[2], 0);
    }
}
