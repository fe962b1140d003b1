//! One source of randomness for tests and benches.
#![allow(dead_code, missing_docs, unreachable_pub)]

use flashtwin_bits::SplitMix64;

/// Draws from SplitMix64.
pub struct Random(pub SplitMix64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Below `limit`, small numbers more often: number n about in proportion to 1 / (n + 1).
    pub fn skewed(&mut self, limit: u64) -> u64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        ((limit as f64 + 1.0).powf(uniform) - 1.0) as u64
    }
}
