//! Which pages a run goes to: new ones, or ones that were used before.

use crate::random::Random;

/// Pages `0..top`, used from the end downwards, so that two new runs in a row are not taken for one.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) top: u64,
    fresh: u64,
    /// Reciprocal of the share that the skew leaves.
    power: f64,
    last_end: u64,
}

impl Places {
    pub(super) fn new(top: u64, skew: f64) -> Places {
        Places { top, fresh: top, power: 1.0 / (1.0 - skew), last_end: u64::MAX }
    }

    pub(super) fn used(&self) -> u64 {
        self.top - self.fresh
    }

    #[inline]
    pub(super) fn index(&self, page: u64) -> usize {
        (self.top - 1 - page) as usize
    }

    /// The first page of a run of `pages`, when `left` pages are to be used with it and after it. All are used in the
    /// end. Pages used again are those from `wanted` on, if that is given.
    pub(super) fn choose(&mut self, pages: u64, left: u64, wanted: Option<u64>, random: &mut Random) -> u64 {
        let must = self.fresh > left.saturating_sub(pages) || self.used() < pages;
        let start = if self.fresh > 0 && (must || random.below(left.max(1)) < self.fresh) {
            self.fresh -= pages.min(self.fresh);
            self.fresh.min(self.top - pages)
        } else {
            match wanted {
                Some(start) => start.min(self.top - pages),
                None => self.draw(pages, random),
            }
        };
        self.last_end = start + pages;
        start
    }

    pub(super) fn forget(&mut self) {
        self.last_end = u64::MAX;
    }

    /// The first of `pages` used before, drawn as [`choose`](Self::choose) does; none if there are not as many.
    pub(super) fn again(&self, pages: u64, random: &mut Random) -> Option<u64> {
        (self.used() >= pages.max(1)).then(|| self.draw(pages, random))
    }

    fn draw(&self, pages: u64, random: &mut Random) -> u64 {
        let used = self.used();
        let mut start = self.fresh;
        for _ in 0..2 {
            let place = if self.power == 1.0 {
                random.below(used)
            } else {
                (used as f64 * libm::pow(random.unit(), self.power)) as u64
            };
            start = (self.top - 1 - place.min(used - 1)).min(self.top - pages);
            // A run that begins where the last one ended would be one with it.
            if start != self.last_end {
                break;
            }
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skew_is_the_power_law_it_says() {
        // A density of (x / n)^-s puts the share (1/10)^(1-s) of overwrites on the first tenth.
        for skew in [0.0, 0.5, 0.8] {
            let (mut places, mut random) = (Places::new(10_000, skew), Random::new(1, 1));
            places.choose(10_000, 200_000, None, &mut random);
            let first = (0..100_000).filter(|_| {
                let start = places.choose(1, 100_000, None, &mut random);
                places.index(start) < 1000
            });
            let (share, expected) = (first.count() as f64 / 1e5, 0.1f64.powf(1.0 - skew));
            assert!((share - expected).abs() < 0.01, "{skew}: {share} {expected}");
        }
    }
}
