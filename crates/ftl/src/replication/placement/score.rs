//! S / (E x Pop), RR-SSD's own placement; on-line S / (E x Pop x QL).
//!
//! Scores are compared as fractions of integers, exactly. E and Pop are counted from one, so that a new device has
//! a score. What is equal for all chips is left out: the number of a chip's blocks, by which E would be divided.

use super::{ChipSet, ChipView, Placement, ScorePopularity, open};

pub(super) struct Score {
    pub(super) popularity: ScorePopularity,
}

/// A score as a fraction.
struct Fraction {
    above: u64,
    below: u128,
}

impl Fraction {
    /// Whether it is larger than another. The products take up to 192 bits.
    fn exceeds(&self, other: &Self) -> bool {
        product(self.above, other.below) > product(other.above, self.below)
    }
}

/// The product of two numbers: all but its lowest 64 bits, and those.
fn product(a: u64, b: u128) -> (u128, u64) {
    let low = u128::from(a) * u128::from(b as u64);
    (u128::from(a) * (b >> 64) + (low >> 64), low as u64)
}

impl Score {
    /// S over E x Pop x QL. A chip has fewer than 2^32 pages, so that `above` fits; `below` does up to 2^44
    /// erases of a chip, 2^32 pages with counters of 255 and a load of 2^27.
    #[inline]
    fn of(&self, chip: &ChipView) -> Fraction {
        let wear = u128::from(chip.erases + chip.blocks);
        let popularity = u128::from(chip.popularity + (1 << 16));
        let below = (wear * popularity).saturating_mul(u128::from(chip.load) + 1);
        match self.popularity {
            ScorePopularity::Mean => {
                Fraction { above: chip.free_pages.saturating_mul(chip.stored_pages + 1), below }
            }
            ScorePopularity::Sum => Fraction { above: chip.free_pages, below },
        }
    }
}

impl Placement for Score {
    fn choose(&mut self, _home: u32, chips: &[ChipView], holds: &ChipSet) -> Option<u32> {
        let candidates = (0..chips.len() as u32).filter(|&chip| open(chip, chips, holds));
        let scores = candidates.map(|chip| (chip, self.of(&chips[chip as usize])));
        // The first of equals.
        let best = scores.reduce(|best, next| if next.1.exceeds(&best.1) { next } else { best });
        best.map(|(chip, _)| chip)
    }
}
