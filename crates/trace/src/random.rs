//! Seeded random numbers, the same on every machine.

use flashtwin_bits::{STEP, SplitMix64, mix};

/// Numbers drawn from SplitMix64: small, fast, and good enough here.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    numbers: SplitMix64,
}

impl Random {
    /// The numbers of a seed for one purpose: each purpose has a stream of its own.
    pub(crate) fn new(seed: u64, purpose: u64) -> Random {
        Random { numbers: SplitMix64(mix(seed.wrapping_add(STEP)) ^ mix(purpose.wrapping_mul(STEP))) }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.numbers.next()
    }

    /// A number below `limit` (not 0), all equally likely (Lemire, ACM TOMACS 29(1), 2019).
    #[inline]
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        loop {
            let product = u128::from(self.next()) * u128::from(limit);
            let low = product as u64;
            if low >= limit || low >= limit.wrapping_neg() % limit {
                return (product >> 64) as u64;
            }
        }
    }

    #[inline]
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() <= probability
    }

    /// A number above 0 and up to 1.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}
