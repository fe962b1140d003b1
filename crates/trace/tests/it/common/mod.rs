//! Shared by the tests of this crate.

use flashtwin_bits::SplitMix64;

/// Draws from SplitMix64: numbers and chances.
pub(crate) struct Random(SplitMix64);

#[allow(dead_code)]
impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in `times`.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
