//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 64 bits of state, passes BigCrush, the same numbers on every
//! machine.

/// What the state grows by from one number to the next: 2^64 over the golden ratio, made odd.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finisher: numbers that are neighbours become numbers that are not; different ones stay different.
#[inline]
pub const fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The generator. How it is seeded and what is drawn from its numbers is the user's affair.
#[derive(Debug, Clone)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// The next 64 random bits.
    #[inline]
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // Reference output for state 0.
        let mut numbers = SplitMix64(0);
        assert_eq!(numbers.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(numbers.next(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(numbers.next(), 0x06c4_5d18_8009_454f);
    }
}
