//! Hot pages from cold ones by several Bloom filters, in a few bits a page and without a list of pages.
//!
//! D. Park, D. H. C. Du, "Hot data identification for flash-based storage systems using multiple Bloom filters", MSST
//! 2011. Four filters take turns. A write enters the page into the newest filter that does not hold it, so the filters
//! of a page count its writes up to four. After each window of writes the oldest filter is emptied and becomes the
//! newest. Hotness is the sum of the weights of the filters that hold the page, 2, 1.5, 1 and 0.5 from the newest. A
//! page is hot from 4 on.
//!
//! The paper's window is 512 writes. Here it is a share of the logical pages, because separating data pays if
//! collection meets them before they die, and that time grows with the device.

use super::PartitionAssignment;
use crate::ids::Lpn;
use flashtwin_bits::{STEP, mix};

const FILTERS: u32 = 4;
const HASHES: u64 = 2;
/// Weights in halves, from the newest filter to the oldest, and the sum from which on a page is hot.
const WEIGHTS: [u32; FILTERS as usize] = [4, 3, 2, 1];
const HOT: u32 = 8;

const HOT_PARTITION: u8 = 0;
const COLD_PARTITION: u8 = 1;

pub(super) struct BloomFilters {
    /// At each position a bit for every filter, in the lower half of a byte.
    positions: Vec<u8>,
    newest: u32,
    /// Writes of the window, and those that are left of it.
    window: u64,
    left: u64,
}

impl BloomFilters {
    pub(super) fn new(window: u64, filter_bits: u32) -> Self {
        let positions = (window * u64::from(filter_bits)).next_multiple_of(8);
        Self { positions: vec![0; positions as usize], newest: 0, window, left: window }
    }

    fn positions_of(&self, lpn: Lpn) -> impl Iterator<Item = usize> + use<> {
        let first = mix(u64::from(lpn.number()).wrapping_add(STEP));
        let step = mix(first) | 1;
        let positions = self.positions.len() as u128;
        (0..HASHES).map(move |turn| {
            let hash = first.wrapping_add(turn.wrapping_mul(step));
            // The upper bits of a product spread a hash evenly over any number of positions.
            ((u128::from(hash) * positions) >> 64) as usize
        })
    }

    fn filter(&self, age: u32) -> u32 {
        (self.newest + FILTERS - age) % FILTERS
    }

    /// Ages of the filters that may hold a page, a bit each.
    fn ages(&self, lpn: Lpn) -> u32 {
        let held = self.positions_of(lpn).fold(u8::MAX, |held, at| held & self.positions[at]);
        (0..FILTERS).map(|age| u32::from(held >> self.filter(age) & 1) << age).sum()
    }

    fn turn(&mut self) {
        self.newest = (self.newest + 1) % FILTERS;
        let others = !(1 << self.newest);
        self.positions.iter_mut().for_each(|position| *position &= others);
        self.left = self.window;
    }
}

fn hotness(ages: u32) -> u32 {
    (0..).zip(WEIGHTS).map(|(age, weight)| weight * (ages >> age & 1)).sum()
}

fn partition_of(ages: u32) -> u8 {
    if hotness(ages) >= HOT { HOT_PARTITION } else { COLD_PARTITION }
}

impl PartitionAssignment for BloomFilters {
    fn written(&mut self, lpn: Lpn) -> u8 {
        let mut ages = self.ages(lpn);
        if let Some(age) = (0..FILTERS).find(|&age| ages >> age & 1 == 0) {
            let bit = 1 << self.filter(age);
            for at in self.positions_of(lpn) {
                self.positions[at] |= bit;
            }
            ages |= 1 << age;
        }
        self.left -= 1;
        if self.left == 0 {
            self.turn();
        }
        partition_of(ages)
    }

    fn partition(&self, lpn: Lpn) -> u8 {
        partition_of(self.ages(lpn))
    }

    fn forget(&mut self) {
        self.positions.fill(0);
        (self.newest, self.left) = (0, self.window);
    }

    fn ram_bytes(&self) -> u64 {
        self.positions.len() as u64 * u64::from(FILTERS) / 8
    }

    fn bytes(&self) -> u64 {
        self.positions.len() as u64
    }
}

flashtwin_bits::state!(BloomFilters { positions, newest, left } kept { window });

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::rng::Rng;

    #[test]
    fn page_is_hot_after_three_writes_and_cools_by_windows() {
        // 16 writes a window, positions enough for no accidents.
        let mut filters = BloomFilters::new(16, 64);
        let told: Vec<u8> = (0..5).map(|_| filters.written(Lpn::new(7))).collect();
        // 2, then 3.5, then 4.5 and 5.
        assert_eq!(told, [1, 1, 0, 0, 0]);
        assert_eq!((filters.partition(Lpn::new(7)), filters.partition(Lpn::new(8))), (0, 1));
        let mut others = 100..;
        let mut pass = |filters: &mut BloomFilters, writes: usize| {
            others.by_ref().take(writes).for_each(|lpn| assert_eq!(filters.written(Lpn::new(lpn)), 1));
        };
        pass(&mut filters, 11);
        // Its oldest filter is emptied: 1.5 + 1 + 0.5 are left.
        assert_eq!(filters.partition(Lpn::new(7)), 1);
        assert_eq!(filters.written(Lpn::new(7)), 0, "2 + 1.5 + 1 + 0.5");
        pass(&mut filters, 3 * 16);
        // Only its last entry is left, in the filter that is the oldest now.
        assert_eq!(hotness(filters.ages(Lpn::new(7))), 1);
        pass(&mut filters, 16);
        assert_eq!(filters.ages(Lpn::new(7)), 0);
        filters.written(Lpn::new(7));
        filters.forget();
        assert_eq!((filters.ages(Lpn::new(7)), filters.left), (0, 16));
        assert_eq!((filters.ram_bytes(), filters.bytes()), (4 * 16 * 64 / 8, 16 * 64));
    }

    #[test]
    fn a_page_has_two_positions_of_its_own() {
        let filters = BloomFilters::new(1_000, 64);
        let positions: Vec<Vec<usize>> =
            (0..1_000).map(|lpn| filters.positions_of(Lpn::new(lpn)).collect()).collect();
        assert!(positions.iter().all(|both| both.len() == 2 && both.iter().all(|&at| at < 64_000)));
        // Of 64,000 each, two are one for a page of 64,000, and no two pages of 1,000 are likely to share both.
        assert!(positions.iter().filter(|both| both[0] == both[1]).count() < 5);
        assert_eq!(positions.iter().collect::<HashSet<_>>().len(), 1_000);
    }

    struct Sets {
        newest_first: Vec<HashSet<Lpn>>,
        writes: u64,
    }

    impl Sets {
        fn written(&mut self, lpn: Lpn, window: u64) -> u8 {
            if let Some(set) = self.newest_first.iter_mut().find(|set| !set.contains(&lpn)) {
                set.insert(lpn);
            }
            let weights = [2.0, 1.5, 1.0, 0.5];
            let held = self.newest_first.iter().zip(weights).filter(|(set, _)| set.contains(&lpn));
            let hot = held.map(|(_, weight)| weight).sum::<f64>() >= 4.0;
            self.writes += 1;
            if self.writes.is_multiple_of(window) {
                self.newest_first.pop();
                self.newest_first.insert(0, HashSet::new());
            }
            if hot { 0 } else { 1 }
        }
    }

    #[test]
    fn filters_say_what_plain_sets_say_but_for_accidents() {
        let pages = 2_000;
        let share_wrong = |filter_bits: u32| {
            let mut filters = BloomFilters::new(500, filter_bits);
            let mut sets = Sets { newest_first: vec![HashSet::new(); 4], writes: 0 };
            let mut rng = Rng::stream(5, "temperature");
            let (mut wrong, mut hot) = (0u32, 0u32);
            let writes = 100_000;
            for _ in 0..writes {
                let lpn = if rng.below(10) < 9 { rng.below(pages / 10) } else { rng.below(pages) };
                let (told, truth) = (filters.written(Lpn::new(lpn)), sets.written(Lpn::new(lpn), 500));
                wrong += u32::from(told != truth);
                hot += u32::from(truth == HOT_PARTITION);
            }
            assert!((80_000..95_000).contains(&hot), "{hot}");
            f64::from(wrong) / f64::from(writes)
        };
        assert!(share_wrong(64) < 0.001, "{}", share_wrong(64));
        assert!(share_wrong(8) < 0.05, "{}", share_wrong(8));
        assert!(share_wrong(1) > 0.01, "with too few bits accidents are common: {}", share_wrong(1));
    }
}
