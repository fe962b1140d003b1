//! The random numbers of the controller: small, seeded, one named stream a purpose.

use flashtwin_bits::{FNV1A_BASIS, SplitMix64, fnv1a};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Rng {
    numbers: SplitMix64,
}

impl Rng {
    /// The stream called `purpose` of a seed. Streams of different names are independent,
    /// so that drawing more from one does not shift another.
    pub fn stream(seed: u64, purpose: &str) -> Self {
        let name = purpose.bytes().fold(FNV1A_BASIS, |hash, byte| fnv1a(hash, u64::from(byte)));
        let mut rng = Self { numbers: SplitMix64(seed ^ name) };
        rng.next_u64();
        rng
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.numbers.next()
    }

    /// A number in `0..bound`, each equally likely up to 2^-32. `bound` must not be 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        // Multiply-shift (Lemire 2019) without the rejection step: bias below 2^-32.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u32
    }

    /// A number from the exponential distribution of this mean, cut at so many means.
    ///
    /// By comparisons alone (J. von Neumann, "Various techniques used in connection with random digits", 1951), so that
    /// every machine draws the same.
    pub fn exponential(&mut self, mean: u64, most_means: u64) -> u64 {
        if mean == 0 {
            return 0;
        }
        for whole in 0..most_means {
            let first = self.next_u64() >> 32;
            let (mut last, mut descending) = (first, true);
            let mut odd = false;
            while descending {
                odd = !odd;
                let next = self.next_u64() >> 32;
                (descending, last) = (next < last, next);
            }
            if odd {
                let means = u128::from(whole << 32 | first);
                return ((means * u128::from(mean)) >> 32) as u64;
            }
        }
        most_means * mean
    }
}

flashtwin_bits::state!(Rng { numbers });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_numbers_have_their_mean_and_shares_and_are_cut() {
        let mut rng = Rng::stream(7, "slices");
        let draws = 200_000;
        let mut drawn: Vec<f64> = (0..draws).map(|_| rng.exponential(1_000_000, 5) as f64 / 1e6).collect();
        drawn.sort_by(f64::total_cmp);
        let mean = drawn.iter().sum::<f64>() / f64::from(draws);
        assert!((mean - (1.0 - (-5f64).exp())).abs() < 0.01, "{mean}");
        for share in [0.1, 0.5, 0.9, 0.99] {
            let (found, expected) = (drawn[(share * f64::from(draws)) as usize], -(1.0 - share).ln());
            assert!((found / expected - 1.0).abs() < 0.04, "{share}: {found}, expected {expected}");
        }
        assert_eq!(drawn.last(), Some(&5.0));
        let cut = drawn.iter().filter(|&&slice| slice == 5.0).count() as f64 / f64::from(draws);
        assert!((cut - (-5f64).exp()).abs() < 0.001, "{cut}");
    }
}
