//! HIPA: static allocation while the predicted load is even, the least loaded die when it is not.
//!
//! Source: Sun et al., J. Syst. Archit. 131, 2022, known from its abstract and the DS-FTL paper (section 5.1). Neither
//! gives the predictor, so ours keeps an exponentially weighted mean of each die's load, sampled at regular times. It
//! sees the loads when a page is written, and they stand for all samples since the page before. Pages written at one
//! moment see one prediction, so a request's own pages do not count against those that follow.

use flashtwin_nand::{Geometry, Plane};

use super::static_order::StaticOrder;
use super::{Allocation, AllocationConfig};
use crate::loads::{LoadView, lowest_from};

/// Predictions, and the threshold, are kept in 1/256.
const SCALE_BITS: u32 = 8;
/// Shares of older looks are kept in 1/2^32.
const SHARE_BITS: u32 = 32;

#[derive(Clone)]
pub(super) struct Hipa {
    target: StaticOrder,
    /// Load of each unit as predicted by the looks so far.
    predicted: Vec<u64>,
    /// Weight that a prediction keeps when one look is added, in 1/2^32.
    keep: u64,
    /// Time from look to look, and how many there have been.
    sample_ns: u64,
    samples: u64,
    /// A target is avoided above this many 1/256 of the mean prediction.
    threshold: u64,
    planes: usize,
    next_unit: usize,
    next_plane: Vec<u32>,
}

impl Hipa {
    pub(super) fn new(config: &AllocationConfig, geometry: &Geometry) -> Self {
        let share = (1.0 - config.hipa_weight) * (1u64 << SHARE_BITS) as f64;
        Self {
            target: StaticOrder::new(config.order, config.stripe_pages, geometry),
            predicted: Vec::new(),
            keep: share.round() as u64,
            sample_ns: ((config.hipa_sample_us * 1e3).round() as u64).max(1),
            samples: 0,
            threshold: (config.hipa_threshold * f64::from(1 << SCALE_BITS)).round() as u64,
            planes: geometry.planes() as usize,
            next_unit: 0,
            next_plane: vec![0; geometry.planes() as usize],
        }
    }

    /// Takes in the loads of this moment for all looks since the last page; the sum of all predictions.
    fn predict(&mut self, loads: &LoadView<'_>) -> u64 {
        if self.predicted.len() != loads.unit.len() {
            // Preloading sees whole chips, the engine the units that work in parallel there.
            self.predicted = vec![0; loads.unit.len()];
            self.next_unit = 0;
        }
        let samples = loads.now_ns / self.sample_ns;
        let looks = samples.saturating_sub(self.samples);
        if looks > 0 {
            self.samples = samples;
            let keep = i128::from(power(self.keep, looks));
            for (predicted, &load) in self.predicted.iter_mut().zip(loads.unit.iter()) {
                let newest = u64::from(load) << SCALE_BITS;
                let gap = i128::from(*predicted) - i128::from(newest);
                // Towards zero, so that a load that lasts is met exactly. Between the two, so that it fits.
                *predicted = (i128::from(newest) + (gap * keep) / (1 << SHARE_BITS)) as u64;
            }
        }
        self.predicted.iter().sum()
    }
}

fn power(share: u64, exponent: u64) -> u64 {
    let times = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> SHARE_BITS) as u64;
    let (mut result, mut square, mut rest) = (1 << SHARE_BITS, share, exponent);
    while rest > 0 && result > 0 {
        if rest & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        rest >>= 1;
    }
    result
}

impl Allocation for Hipa {
    fn plane(&mut self, address: u64, loads: &LoadView<'_>) -> Plane {
        let target = self.target.plane(address, loads);
        let sum = self.predict(loads);
        let units = loads.unit.len();
        let planes_per_unit = self.planes / units;
        let of_target = self.predicted[target.index() / planes_per_unit];
        // Above threshold x mean; both sides times the number of units.
        let (above, limit) =
            (u128::from(of_target) * units as u128, u128::from(self.threshold) * u128::from(sum));
        if above << SCALE_BITS <= limit {
            return target;
        }
        let unit = lowest_from(&loads.unit, self.next_unit);
        self.next_unit = if unit + 1 == units { 0 } else { unit + 1 };
        let plane = self.next_plane[unit] as usize % planes_per_unit;
        self.next_plane[unit] = (plane + 1) as u32;
        Plane::new((unit * planes_per_unit + plane) as u32)
    }

    fn wants_address(&self) -> bool {
        true
    }
}

flashtwin_bits::state!(Hipa { predicted, samples, next_unit, next_plane } kept { target, keep, sample_ns, threshold, planes });

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks 100 us apart, of weight `hipa_weight`.
    fn hipa(hipa_weight: f64) -> (Geometry, Hipa) {
        let g = crate::tests::ds_ftl();
        let config = AllocationConfig { hipa_weight, ..AllocationConfig::default() };
        let hipa = Hipa::new(&config, &g);
        (g, hipa)
    }

    fn plane_at(hipa: &mut Hipa, unit: &[u32], look: u64) -> u32 {
        hipa.plane(0, &LoadView::new(&[0; 16], unit).at(look * 100_000)).number()
    }

    #[test]
    fn an_idle_or_evenly_loaded_device_is_written_statically() {
        let (g, mut hipa) = hipa(0.25);
        for (look, load) in [(1, 0), (2, 5)] {
            let (chip, unit) = ([load; 16], [load; 32]);
            let loads = LoadView::new(&chip, &unit).at(look * 100_000);
            assert_eq!(hipa.plane(8, &loads), g.plane_at(0, 1, 0, 0));
        }
    }

    #[test]
    fn an_overloaded_target_is_avoided() {
        let (_, mut hipa) = hipa(1.0);
        let mut unit = [4; 32];
        (unit[0], unit[9]) = (7, 1);
        // Mean 4: 6 is 1.5 times as much and stays, 7 is more and goes to the idlest die.
        assert_eq!(plane_at(&mut hipa, &unit, 1), 9 * 2);
        assert_eq!(plane_at(&mut hipa, &unit, 2), 9 * 2 + 1, "planes of a die take turns");
        unit[0] = 6;
        unit[9] = 2;
        assert_eq!(plane_at(&mut hipa, &unit, 3), 0);
    }

    #[test]
    fn equally_loaded_dies_take_turns_and_so_do_their_planes() {
        let (_, mut hipa) = hipa(1.0);
        let mut unit = [0; 32];
        unit[0] = 9;
        let others = |plane: u32| (1..32u32).map(move |unit| 2 * unit + plane);
        let written: Vec<u32> = (0..3 * 31).map(|_| plane_at(&mut hipa, &unit, 1)).collect();
        assert_eq!(written, others(0).chain(others(1)).chain(others(0)).collect::<Vec<_>>());
    }

    #[test]
    fn a_short_peak_is_smoothed_away_and_a_lasting_one_is_not() {
        let (_, mut hipa) = hipa(0.25);
        let even = [4; 32];
        plane_at(&mut hipa, &even, 50);
        let mut peak = even;
        peak[0] = 8;
        // 4 + 0.25 x 4 = 5, 5.75, 6.3: above 1.5 times the mean (a little over 4) at the third look.
        assert_eq!([51, 52].map(|look| plane_at(&mut hipa, &peak, look)), [0, 0]);
        assert_ne!(plane_at(&mut hipa, &peak, 53), 0);
    }

    #[test]
    fn what_is_written_at_one_moment_does_not_count_against_itself() {
        let (_, mut hipa) = hipa(1.0);
        let idle = [0; 32];
        assert_eq!(plane_at(&mut hipa, &idle, 7), 0);
        // Pages of the same request are queued by now.
        let mut queued = idle;
        queued[0] = 9;
        assert_eq!(plane_at(&mut hipa, &queued, 7), 0);
        assert_ne!(plane_at(&mut hipa, &queued, 8), 0, "they are what others find");
    }

    #[test]
    fn predictions_are_forgotten_with_time_and_not_with_writes() {
        let (_, mut hipa) = hipa(0.25);
        let mut peak = [0; 32];
        peak[0] = 1_000;
        assert_ne!(plane_at(&mut hipa, &peak, 1), 0);
        let idle = [0; 32];
        for (look, predicted) in [(1, 64_000), (2, 48_000), (3, 36_000), (39, 1), (40, 0), (10_000, 0)] {
            for _ in 0..100 {
                plane_at(&mut hipa, &idle, look);
                assert_eq!(hipa.predicted[0], predicted, "in 1/256, at look {look}");
            }
        }
        assert_eq!(plane_at(&mut hipa, &idle, 10_000), 0);
    }

    #[test]
    fn many_looks_are_as_good_as_one_by_one() {
        let ((_, mut at_once), (_, mut one_by_one)) = (hipa(0.1), hipa(0.1));
        let unit: [u32; 32] = std::array::from_fn(|unit| 1_000 * unit as u32);
        plane_at(&mut at_once, &unit, 60);
        for look in 1..=60 {
            plane_at(&mut one_by_one, &unit, look);
        }
        for (a, b) in at_once.predicted.iter().zip(&one_by_one.predicted) {
            assert!(a.abs_diff(*b) <= 60, "{a} {b}");
        }
    }

    #[test]
    fn the_longest_wait_does_not_wrap() {
        let (_, mut hipa) = hipa(1.0);
        // Four minutes in units of 64 ns.
        let mut unit = [u32::MAX; 32];
        assert_eq!(plane_at(&mut hipa, &unit, 1), 0, "even");
        unit[1..].fill(u32::MAX / 2);
        assert_ne!(plane_at(&mut hipa, &unit, 2), 0);
    }
}
