//! S / (E x Pop), RR-SSD's own placement; on-line S / (E x Pop x QL).
//!
//! Scores are compared as fractions of integers, exactly. E and Pop are counted from one, so that a new device has
//! a score. What is equal for all chips is left out: the number of a chip's blocks, by which E would be divided.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

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
    /// Whether it is larger than another. The products take up to 192 bits, but seldom more than 128.
    #[inline]
    fn exceeds(&self, other: &Self) -> bool {
        if let (Ok(mine), Ok(theirs)) = (u64::try_from(self.below), u64::try_from(other.below)) {
            return u128::from(self.above) * u128::from(theirs) > u128::from(other.above) * u128::from(mine);
        }
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
    fn choose(&mut self, _home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let candidates = chips.ids().filter(|&chip| open(chip, chips, holds));
        let scores = candidates.map(|chip| (chip, self.of(&chips[chip])));
        // The first of equals.
        let best = scores.reduce(|best, next| if next.1.exceeds(&best.1) { next } else { best });
        best.map(|(chip, _)| chip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn short_products_decide_as_long_ones_do() {
        let mut rng = Rng::stream(1, "fractions");
        let mut fraction = || {
            let (above, below) = (rng.next_u64() >> rng.below(64), u128::from(rng.next_u64()));
            Fraction { above, below: (below << rng.below(8) >> rng.below(64)).max(1) }
        };
        let mut long = 0;
        for _ in 0..20_000 {
            let (one, other) = (fraction(), fraction());
            let expected = product(one.above, other.below) > product(other.above, one.below);
            assert_eq!(one.exceeds(&other), expected);
            long += u32::from(one.below.max(other.below) > u128::from(u64::MAX));
        }
        assert!((1_000..19_000).contains(&long), "{long}");
    }
}
