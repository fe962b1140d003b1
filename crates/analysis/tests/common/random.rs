//! One source of randomness for tests and benches.
#![allow(dead_code, missing_docs, unreachable_pub)]

/// SplitMix64 (G. Steele et al., OOPSLA '14).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(flashtwin_bits::STEP);
        flashtwin_bits::mix(self.0)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
