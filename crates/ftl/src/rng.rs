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
}

flashtwin_bits::state!(Rng { numbers });
