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

/// The chips that may receive a copy.
fn candidates(chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> impl Iterator<Item = Chip> {
    chips.ids().filter(move |&chip| open(chip, chips, holds))
}

impl Score {
    /// The first of the chips with the largest score.
    fn choose_by_fractions(&self, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let scores = candidates(chips, holds).map(|chip| (chip, self.of(&chips[chip])));
        let best = scores.reduce(|best, next| if next.1.exceeds(&best.1) { next } else { best });
        best.map(|(chip, _)| chip)
    }

    /// The same, if no fraction takes more than 64 bits above or below: such that do are rare, and take longer.
    fn choose_by_words(&self, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let mut best = (None, 0, 1);
        for at in candidates(chips, holds) {
            let chip = &chips[at];
            let wear = chip.erases + chip.blocks;
            let below =
                wear.checked_mul(chip.popularity + (1 << 16))?.checked_mul(u64::from(chip.load) + 1)?;
            let above = match self.popularity {
                ScorePopularity::Mean => chip.free_pages.checked_mul(chip.stored_pages + 1)?,
                ScorePopularity::Sum => chip.free_pages,
            };
            if u128::from(above) * u128::from(best.2) > u128::from(best.1) * u128::from(below) {
                best = (Some(at), above, below);
            }
        }
        best.0
    }
}

impl Placement for Score {
    fn choose(&mut self, _home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        self.choose_by_words(chips, holds).or_else(|| self.choose_by_fractions(chips, holds))
    }
}

flashtwin_bits::state!(Score {} kept { popularity });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn words_choose_as_fractions_do() {
        let mut rng = Rng::stream(2, "chips");
        let mut by_words = 0;
        for round in 0..2_000 {
            let bits = 1 + round % 40;
            let mut number = || rng.next_u64() >> (64 - bits);
            let chips: Vec<ChipView> = (0..8)
                .map(|_| ChipView {
                    free_pages: number() % (1 << 32),
                    stored_pages: number() % (1 << 32),
                    erases: number(),
                    blocks: 1 + number(),
                    popularity: number(),
                    load: number() as u32 >> 8,
                })
                .collect();
            let mut holds = ChipSet::default();
            holds.insert(Chip::new(rng.below(8)));
            for popularity in ScorePopularity::ALL {
                let score = Score { popularity };
                let expected = score.choose_by_fractions(By::new(&chips), &holds);
                let found = score.choose_by_words(By::new(&chips), &holds);
                assert!(found.is_none() || found == expected, "{found:?} {expected:?}");
                by_words += u32::from(found.is_some());
            }
        }
        assert!((1_000..3_800).contains(&by_words), "{by_words} of 4,000");
    }

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
