//! The random numbers of the controller: small, seeded, one named stream a purpose.

/// SplitMix64's finisher: numbers that are neighbours become numbers that are not.
#[inline]
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 64 bits of state, passes BigCrush,
/// and the same numbers on every machine.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream called `purpose` of a seed. Streams of different names are independent,
    /// so that drawing more from one does not shift another.
    pub fn stream(seed: u64, purpose: &str) -> Self {
        // FNV-1a over the name, mixed with the seed.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in purpose.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut rng = Self { state: seed ^ hash };
        rng.next_u64();
        rng
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number in `0..bound`, each equally likely up to 2^-32. `bound` must not be 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        // Multiply-shift (Lemire 2019) without the rejection step: bias below 2^-32.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // Reference output of SplitMix64 for state 0.
        let mut rng = Rng { state: 0 };
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn streams_differ_and_bounds_hold() {
        let mut a = Rng::stream(1, "placement");
        let mut b = Rng::stream(1, "ageing");
        assert_ne!(a.next_u64(), b.next_u64());
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[a.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
    }
}
