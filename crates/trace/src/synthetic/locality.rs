//! From LRU positions to distances in time: how close repeats must be.

use super::pool::Closeness;
use super::popularity::Multiplicities;

/// Lasting items, mixed with those of each day, and the known distances between their occurrences.
pub(super) struct Mixed<'a> {
    /// Pools, the length of the order that each is spread over in accesses, and how many there are like it.
    pools: Vec<(&'a Multiplicities, f64, f64)>,
    accesses: f64,
    first: f64,
    taken: f64,
}

impl Mixed<'_> {
    pub(super) fn new<'a>(
        lasting: &'a Multiplicities,
        of_days: &'a [Multiplicities],
        taken: f64,
    ) -> Mixed<'a> {
        let all = || of_days.iter().chain([lasting]);
        let accesses = all().map(Multiplicities::occurrences).sum::<u64>() as f64;
        let things = all().map(Multiplicities::things).sum::<u64>() as f64;
        let days = of_days.len().max(1) as f64;
        // The days are as like each other as whole numbers permit.
        let of_day = of_days.first().map(|pool| (pool, accesses / days, days));
        let pools = of_day.into_iter().chain([(lasting, accesses, 1.0)]).collect();
        let taken = if accesses > things { (taken / (accesses - things)).min(1.0) } else { 0.0 };
        Mixed { pools, accesses, first: things / accesses, taken }
    }

    /// Closeness with which `share` of repeats are found among the `depth` things used last.
    ///
    /// Two occurrences of an item `g` accesses apart have as many others between them as a window of `g` touches: the
    /// integral, over windows up to `g`, of the share of accesses that are first ones or whose item was used longer ago
    /// (Denning and Schwartz, CACM 15(3), 1972; Xiang et al., ASPLOS '13). Close repeats have distances up to `within`,
    /// all equally likely. They reach a little deeper than asked for, because at their end a small error in the share
    /// is large.
    pub(super) fn closeness(&self, share: f64, depth: f64) -> Closeness {
        if self.first >= 1.0 || self.first.is_nan() || share <= self.taken || depth < 1.0 {
            return Closeness::default();
        }
        let share = (share - self.taken) / (1.0 - self.taken);
        let deeper = share + (1.0 - share) * DEEPER;
        // The window that touches `depth` things has at least as many accesses.
        let (mut low, mut high) = (depth.min(self.accesses), self.accesses);
        for _ in 0..BISECTIONS {
            let within = (low + high) / 2.0;
            let close = self.close_share(deeper, within);
            let gap = self.gap_of(share, close, within);
            if self.touched(close, within, gap) < depth { low = within } else { high = within }
        }
        Closeness { share: self.close_share(deeper, low), within: (low as u64).max(1) }
    }

    fn gap_of(&self, share: f64, close: f64, within: f64) -> f64 {
        let (mut low, mut high) = (0.0, self.accesses);
        for _ in 0..BISECTIONS {
            let gap = (low + high) / 2.0;
            if self.in_turn_longer(close, within, gap) > 1.0 - share { low = gap } else { high = gap }
        }
        low
    }

    /// Share of close repeats with which `share` of all that are not taken out of turn lie within `window`.
    fn close_share(&self, share: f64, window: f64) -> f64 {
        // The contribution of the other repeats depends a little on their number: a few rounds settle it.
        let mut close = share;
        for _ in 0..ROUNDS {
            let others = 1.0 - self.longer(close, window);
            close = ((share - others) / (1.0 - others).max(1e-9)).clamp(0.0, 1.0);
        }
        close
    }

    /// Share of the repeats that are not close whose distance is above `gap`, in a random order.
    fn longer(&self, close: f64, gap: f64) -> f64 {
        let (mut sum, mut weight) = (0.0, 0.0);
        for (pool, horizon, number) in &self.pools {
            let part = (gap / horizon).min(1.0);
            for class in &pool.classes {
                let repeats = number * class.things as f64 * f64::from(class.times - 1);
                let points = 1.0 + (1.0 - close) * (1.0 - self.taken) * f64::from(class.times - 1);
                sum += repeats * libm::pow(1.0 - part, points);
                weight += repeats;
            }
        }
        sum / weight
    }

    /// Share of all repeats that are not taken out of turn whose distance is above `gap`.
    fn in_turn_longer(&self, close: f64, within: f64, gap: f64) -> f64 {
        close * (1.0 - gap / within).max(0.0) + (1.0 - close) * self.longer(close, gap)
    }

    /// Things that a window of `gap` accesses touches.
    fn touched(&self, close: f64, within: f64, gap: f64) -> f64 {
        let miss = |at: f64| {
            let in_turn = self.in_turn_longer(close, within, at * gap);
            self.first + (1.0 - self.first) * (1.0 - self.taken) * in_turn
        };
        // The trapezoid rule: the integrand is smooth and falls.
        let inner: f64 = (1..STEPS).map(|step| miss(f64::from(step) / f64::from(STEPS))).sum();
        gap * (inner + (miss(0.0) + miss(1.0)) / 2.0) / f64::from(STEPS)
    }
}

/// Share of the other repeats that close ones take in addition.
const DEEPER: f64 = 0.3;
const BISECTIONS: u32 = 24;
const ROUNDS: u32 = 6;
const STEPS: u32 = 24;
