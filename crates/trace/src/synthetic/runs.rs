//! Runs of requests: how many belong together, and how large each is.

use super::kinds::KindPlan;
use crate::random::Random;

/// Cuts the requests of one kind into runs, and gives each its size: both exact in number.
#[derive(Debug)]
pub(super) struct Runs {
    pub(super) requests: u64,
    runs: u64,
    pub(super) pages: u64,
    sizes: Vec<(u32, u64)>,
    /// Runs that end because something else ends, by request.
    ended_per_request: f64,
}

impl Runs {
    pub(super) fn new(plan: &KindPlan) -> Runs {
        Runs {
            requests: plan.requests,
            runs: plan.runs,
            pages: plan.pages,
            sizes: plan.sizes.clone(),
            ended_per_request: plan.stretches_per_request,
        }
    }

    /// Runs to come. A run that would have been too long is cut, which makes more of them.
    pub(super) fn left(&self) -> u64 {
        if self.requests > 0 { self.runs.max(1) } else { 0 }
    }

    pub(super) fn mean_pages(&self) -> f64 {
        self.pages as f64 / self.left().max(1) as f64
    }

    /// The sizes of the requests of the next run, in pages; none when all are given. All ways to cut the rest are
    /// equally likely, but no run exceeds `pages_max` (unless it is one request) or `room` requests.
    pub(super) fn next(&mut self, pages_max: u64, room: u64, sizes: &mut Vec<u32>, random: &mut Random) {
        sizes.clear();
        if self.requests == 0 {
            return;
        }
        let mut pages = u64::from(self.size(random));
        sizes.push(pages as u32);
        self.runs = self.runs.saturating_sub(1);
        while self.requests > 0 && (sizes.len() as u64) < room && !self.ends(random) {
            if pages + u64::from(self.largest()) > pages_max {
                break;
            }
            let size = self.size(random);
            pages += u64::from(size);
            sizes.push(size);
        }
    }

    /// Whether the run ends before the next request: boundaries are drawn among those left, but for runs that end
    /// anyway.
    #[inline]
    fn ends(&self, random: &mut Random) -> bool {
        let anyway = (self.requests as f64 * self.ended_per_request) as u64;
        random.below(self.requests - anyway) < self.runs.saturating_sub(anyway)
    }

    fn largest(&self) -> u32 {
        self.sizes.iter().filter(|&&(_, left)| left > 0).map(|&(pages, _)| pages).max().unwrap_or(0)
    }

    #[inline]
    fn size(&mut self, random: &mut Random) -> u32 {
        let mut drawn = if self.sizes.len() == 1 { 0 } else { random.below(self.requests) };
        self.requests -= 1;
        let size = self.sizes.iter_mut().find(|(_, left)| {
            let here = drawn < *left;
            drawn = drawn.wrapping_sub(*left);
            here
        });
        match size {
            Some((pages, left)) => {
                *left -= 1;
                self.pages -= u64::from(*pages);
                *pages
            }
            None => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_runs_are_spread_as_if_boundaries_were_shuffled() {
        // The first run of n requests cut into s runs has one request with probability (s-1)/(n-1).
        let plan =
            KindPlan { requests: 21, runs: 6, sizes: vec![(1, 21)], pages: 21, stretches_per_request: 0.0 };
        let mut sizes = Vec::new();
        let ones = (0..20_000).filter(|&seed| {
            Runs::new(&plan).next(u64::MAX, u64::MAX, &mut sizes, &mut Random::new(seed, 1));
            sizes.len() == 1
        });
        let share = ones.count() as f64 / 20_000.0;
        assert!((share - 5.0 / 20.0).abs() < 0.015, "{share}");
    }
}
