//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014; passes BigCrush) and FNV-1a (Fowler, Noll and Vo).

/// The increment of the state: 2^64 over the golden ratio, made odd.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's finisher: numbers that are neighbours become numbers that are not; different ones stay different.
#[inline]
pub const fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The generator. Its user chooses the seed and the distribution.
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

/// The initial value of a hash by [`fnv1a`].
pub const FNV1A_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// A hash with one more item in it: FNV-1a with 64 bits, where items are bytes; wider ones go in as a whole.
#[inline]
pub const fn fnv1a(hash: u64, item: u64) -> u64 {
    (hash ^ item).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::{FNV1A_BASIS, SplitMix64, fnv1a};

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // Reference output for state 0.
        let mut numbers = SplitMix64(0);
        assert_eq!(numbers.next(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(numbers.next(), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(numbers.next(), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn texts_hash_to_the_published_numbers() {
        let hash = |text: &str| text.bytes().fold(FNV1A_BASIS, |hash, byte| fnv1a(hash, u64::from(byte)));
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
