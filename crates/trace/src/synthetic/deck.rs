//! Numbers of a given distribution, dealt so that not many of them already have it.

use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// There are none, or the last one is not at 100 percent.
    Incomplete,
    /// Values or percents do not rise, or are no numbers.
    NotRising,
}

/// Equally likely numbers, dealt without replacement: each deal of the whole deck has exactly the distribution.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    cards: Vec<u32>,
    dealt: usize,
}

impl Deck {
    /// Points `[value, percent]`: this percentage of the numbers is at most `value`, evenly on a scale of `1 + value`
    /// between points. `whole` numbers begin one above the point before; `unit` is the size of a `value` of one.
    pub(super) fn new(points: &[(f64, f64)], whole: bool, unit: f64, cards: usize) -> Result<Deck, Wrong> {
        check(points)?;
        let card = |index: usize| {
            let percent = (index as f64 + 0.5) / cards as f64 * 100.0;
            let above = points.iter().position(|&(_, upto)| percent <= upto).unwrap_or(points.len() - 1);
            let (low, below) = if above == 0 { (0.0, 0.0) } else { points[above - 1] };
            let (high, upto) = points[above];
            let part = (percent - below) / (upto - below);
            let (from, to) = (libm::log1p(low), libm::log1p(high));
            let number = libm::exp(from + part * (to - from));
            // The scale is that of 1 + value, and whole numbers begin at 1.
            let value = if whole { number.floor().min(high) } else { number - 1.0 };
            (value * unit).round() as u32
        };
        Ok(Deck { cards: (0..cards).map(card).collect(), dealt: 0 })
    }

    pub(super) fn mean(&self) -> f64 {
        self.cards.iter().copied().map(f64::from).sum::<f64>() / self.cards.len() as f64
    }

    pub(super) fn share_from(&self, value: u32) -> f64 {
        self.cards.iter().filter(|&&card| card >= value).count() as f64 / self.cards.len() as f64
    }

    #[inline]
    pub(super) fn deal(&mut self, random: &mut Random) -> u32 {
        let left = (self.cards.len() - self.dealt) as u64;
        // Cards are few, so that the product with 32 random bits is even enough.
        let drawn = self.dealt + (((random.next() >> 32) * left) >> 32) as usize;
        self.cards.swap(self.dealt, drawn);
        let card = self.cards[self.dealt];
        self.dealt += 1;
        if self.dealt == self.cards.len() {
            self.dealt = 0;
        }
        card
    }
}

fn check(points: &[(f64, f64)]) -> Result<(), Wrong> {
    let rises = |pair: &[(f64, f64)]| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1;
    let numbers = points.iter().all(|&(value, percent)| value >= 0.0 && value.is_finite() && percent > 0.0);
    if !numbers || !points.windows(2).all(rises) {
        return Err(Wrong::NotRising);
    }
    match points.last() {
        Some(&(_, percent)) if (percent - 100.0).abs() < 1e-6 => Ok(()),
        _ => Err(Wrong::Incomplete),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARDS: usize = 1024;

    fn dealt(deck: &mut Deck, seed: u64) -> Vec<u32> {
        let mut random = Random::new(seed, 1);
        (0..CARDS).map(|_| deck.deal(&mut random)).collect()
    }

    #[test]
    fn points_are_met_by_every_deal() {
        let points = [(1.0, 40.0), (3.0, 51.0), (9.0, 75.0), (211.0, 100.0)];
        let mut deck = Deck::new(&points, true, 1.0, CARDS).unwrap();
        let (first, second) = (dealt(&mut deck, 1), dealt(&mut deck, 2));
        assert_ne!(first, second);
        for cards in [first, second] {
            for (value, percent) in points {
                let upto = cards.iter().filter(|&&card| f64::from(card) <= value).count();
                assert!((upto as f64 / CARDS as f64 * 100.0 - percent).abs() < 0.1, "{value}: {upto}");
            }
            assert_eq!(
                (cards.iter().min(), cards.iter().max().map(|&most| most > 200)),
                (Some(&1), Some(true))
            );
            let mean = cards.iter().copied().map(f64::from).sum::<f64>() / CARDS as f64;
            assert!((mean - deck.mean()).abs() < 1e-9);
        }
        assert!((deck.share_from(2) - 0.6).abs() < 0.001);
    }

    #[test]
    fn numbers_may_be_nothing_and_have_a_unit() {
        let deck = Deck::new(&[(0.0, 10.0), (37.0, 50.0), (1000.0, 100.0)], false, 1000.0, CARDS).unwrap();
        let nothing = deck.cards.iter().filter(|&&card| card == 0).count();
        assert!(nothing.abs_diff(CARDS / 10) <= 1, "{nothing}");
        assert!(deck.cards.iter().filter(|&&card| card <= 37_000).count() == CARDS / 2);
        assert!(*deck.cards.iter().max().unwrap() <= 1_000_000);
    }
}
