//! S / (E x Pop), RR-SSD's own placement; on-line S / (E x Pop x QL). Scores are compared as exact fractions. E and Pop
//! are counted from one, so that a new device has a score. The blocks of a chip, by which E is divided, are left out.

use flashtwin_bits::By;
use flashtwin_nand::Chip;

use super::{ChipSet, ChipView, Placement, ScorePopularity, ScoreTies, may_hold};

#[derive(Clone)]
pub(super) struct Score {
    popularity: ScorePopularity,
    ties: ScoreTies,
    /// Considers only chips that have received the fewest copies.
    even: bool,
    /// For ties in turn: the chip after the one chosen last.
    next: u32,
}

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
    pub(super) fn new(popularity: ScorePopularity, ties: ScoreTies, even: bool) -> Self {
        Self { popularity, ties, even, next: 0 }
    }

    /// S over E x Pop x QL. `below` fits for 2^44 erases of a chip, 2^32 pages with counters of 255, a load of 2^27.
    #[inline]
    fn of(&self, chip: &ChipView) -> Fraction {
        let wear = u128::from(chip.erases + chip.blocks);
        let popularity = u128::from(chip.popularity + (1 << 16));
        let below = (wear * popularity).saturating_mul(u128::from(chip.load) + 1);
        if self.popularity.is_mean() {
            Fraction { above: chip.free_pages.saturating_mul(chip.stored_pages + 1), below }
        } else {
            Fraction { above: chip.free_pages, below }
        }
    }
}

/// By how much a score in floating point may be off, and much more: each of its ten roundings is off by at most 2^-53.
const MARGIN: f64 = 1.0 / (1u64 << 40) as f64;

impl Score {
    /// The score in floating point. Counts are far below 2^63, so they convert as signed numbers, in one instruction.
    #[inline]
    fn approximate(&self, chip: &ChipView) -> f64 {
        let number = |count: u64| count as i64 as f64;
        let below = number(chip.erases + chip.blocks)
            * number(chip.popularity + (1 << 16))
            * (f64::from(chip.load) + 1.0);
        let stored = if self.popularity.is_mean() { number(chip.stored_pages + 1) } else { 1.0 };
        number(chip.free_pages) * stored / below
    }

    #[cold]
    fn exceeds(&self, chip: &ChipView, other: &ChipView) -> bool {
        self.of(chip).exceeds(&self.of(other))
    }
}

impl Score {
    /// The first permitted chip from `next` on with the largest score. Fractions decide where floating point cannot.
    #[inline(always)] // Its loop is all that choosing costs: one without a test that is seldom asked for.
    fn best(&self, chips: By<Chip, &[ChipView]>, may_be: impl Fn(Chip) -> bool) -> Option<Chip> {
        let mut best: Option<Chip> = None;
        let (mut surely_less, mut surely_more) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for half in [self.next..chips.len() as u32, 0..self.next] {
            for chip in half.map(Chip::new).filter(|&chip| may_be(chip)) {
                let score = self.approximate(&chips[chip]);
                if score < surely_less {
                    continue;
                }
                let is_more =
                    score > surely_more || best.is_none_or(|best| self.exceeds(&chips[chip], &chips[best]));
                if is_more {
                    best = Some(chip);
                    (surely_less, surely_more) = (score * (1.0 - MARGIN), score * (1.0 + MARGIN));
                }
            }
        }
        best
    }

    #[inline(never)]
    fn best_of_fewest(&self, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let is_open = |chip: Chip| may_hold(chip, chips, holds);
        let fewest = chips.ids().filter(|&chip| is_open(chip)).map(|chip| chips[chip].received).min()?;
        self.best(chips, |chip| is_open(chip) && chips[chip].received == fewest)
    }
}

impl Placement for Score {
    fn choose(&mut self, _home: Chip, chips: By<Chip, &[ChipView]>, holds: &ChipSet) -> Option<Chip> {
        let best = match self.even {
            true => self.best_of_fewest(chips, holds),
            false => self.best(chips, |chip| may_hold(chip, chips, holds)),
        };
        if let (ScoreTies::InTurn, Some(chip)) = (self.ties, best) {
            self.next = (chip.number() + 1) % chips.len() as u32;
        }
        best
    }
}

flashtwin_bits::state!(Score { next } kept { popularity, ties, even });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn by_fractions(score: &Score, chips: &[ChipView], holds: &ChipSet) -> Option<Chip> {
        let chips = By::new(chips);
        let open = chips.ids().filter(|&chip| may_hold(chip, chips, holds));
        let scores = open.map(|chip| (chip, score.of(&chips[chip])));
        let best = scores.reduce(|best, next| if next.1.exceeds(&best.1) { next } else { best });
        best.map(|(chip, _)| chip)
    }

    #[test]
    fn it_chooses_as_fractions_do() {
        let mut rng = Rng::stream(2, "chips");
        let mut alike = 0;
        for round in 0..4_000 {
            let bits = 1 + round % 40;
            let mut number = || rng.next_u64() >> (64 - bits);
            let mut chips: Vec<ChipView> = (0..8)
                .map(|_| ChipView {
                    free_pages: number() % (1 << 32),
                    stored_pages: number() % (1 << 32),
                    erases: number(),
                    blocks: 1 + number(),
                    popularity: number(),
                    load: number() as u32 >> 8,
                    received: 0,
                })
                .collect();
            if round % 2 == 0 {
                // Scores that floating point cannot tell apart, or that are equal.
                let popularity = chips[0].popularity;
                chips = vec![chips[0]; 8];
                chips.iter_mut().for_each(|chip| chip.popularity = popularity + u64::from(rng.below(2)));
                alike += 1;
            }
            let mut holds = ChipSet::default();
            holds.insert(Chip::new(rng.below(8)));
            for popularity in ScorePopularity::ALL {
                let mut score = Score::new(popularity, ScoreTies::First, false);
                let expected = by_fractions(&score, &chips, &holds);
                assert_eq!(score.choose(Chip::new(0), By::new(&chips), &holds), expected);
            }
        }
        assert_eq!(alike, 2_000);
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
