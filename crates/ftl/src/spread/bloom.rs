//! One Bloom filter a channel, asked all at once.
//!
//! Source: Bloom, CACM 1970; DS-FTL paper, section 4.2.2. Hash i is h1 + i x h2 (Kirsch and
//! Mitzenmacher, Random Structures and Algorithms 2008): the false-positive rate stays that of
//! independent hashes.

use crate::prefetch::prefetch;

/// All filters have the same size and the same hashes, so that the bits of all channels at one
/// position can lie side by side: one look at each of the positions of a content answers for
/// every channel. A bit a channel and position, rounded up to bytes a position.
pub(super) struct Bloom {
    rows: Vec<u8>,
    row_bytes: usize,
    positions: u64,
    hashes: u32,
}

/// SplitMix64's finisher: contents are dense numbers, their hashes are not.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Bloom {
    /// Empty filters of `positions` bits each for up to 64 channels.
    pub(super) fn new(channels: u32, positions: u64, hashes: u32) -> Self {
        let row_bytes = channels.div_ceil(8) as usize;
        Self { rows: vec![0; positions as usize * row_bytes], row_bytes, positions, hashes }
    }

    /// Bits of one filter.
    pub(super) fn positions(&self) -> u64 {
        self.positions
    }

    /// Where the bits of a content lie.
    #[inline]
    fn rows_of(&self, content: u32) -> impl Iterator<Item = usize> + use<> {
        let first = mix(u64::from(content).wrapping_add(0x9e37_79b9_7f4a_7c15));
        let step = mix(first) | 1;
        let (positions, row_bytes) = (u128::from(self.positions), self.row_bytes);
        (0..u64::from(self.hashes)).map(move |turn| {
            let hash = first.wrapping_add(turn.wrapping_mul(step));
            // The upper bits of a product spread a hash evenly over any number of positions.
            ((u128::from(hash) * positions) >> 64) as usize * row_bytes
        })
    }

    #[inline]
    pub(super) fn prefetch(&self, content: u32) {
        self.rows_of(content).for_each(|row| prefetch(&self.rows, row));
    }

    /// The channels whose filter may hold a content: bit c for channel c.
    #[inline]
    pub(super) fn query(&self, content: u32) -> u64 {
        let mut all = u64::MAX;
        for row in self.rows_of(content) {
            all &= match self.row_bytes {
                1 => u64::from(self.rows[row]),
                bytes => {
                    let row = &self.rows[row..row + bytes];
                    row.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
                }
            };
            // Most contents are new, and no channel has all of their bits.
            if all == 0 {
                break;
            }
        }
        all
    }

    /// Adds a content to a channel's filter.
    #[inline]
    pub(super) fn insert(&mut self, content: u32, channel: u32) {
        for row in self.rows_of(content) {
            self.rows[row + channel as usize / 8] |= 1 << (channel % 8);
        }
    }

    /// Takes the bits of a content away, whoever else set them: of use only to whoever empties a
    /// filter of everything that it holds.
    #[inline]
    pub(super) fn clear(&mut self, content: u32, channel: u32) {
        for row in self.rows_of(content) {
            self.rows[row + channel as usize / 8] &= !(1 << (channel % 8));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::HashSet;

    #[test]
    fn what_was_inserted_is_always_found_beside_plain_sets() {
        for (channels, positions, hashes) in
            [(1, 7, 1), (3, 200, 3), (8, 5_000, 7), (20, 900, 4), (64, 64, 16)]
        {
            let mut bloom = Bloom::new(channels, positions, hashes);
            let mut sets = vec![HashSet::new(); channels as usize];
            let mut rng = Rng::stream(u64::from(channels), "bloom");
            for _ in 0..400 {
                let (content, channel) = (rng.next_u64() as u32, rng.below(channels));
                bloom.insert(content, channel);
                sets[channel as usize].insert(content);
                let mask = bloom.query(content);
                for (channel, set) in sets.iter().enumerate() {
                    assert!(!set.contains(&content) || mask >> channel & 1 == 1);
                }
            }
            assert!((0..64).all(|channel| channel < channels || bloom.query(1) >> channel == 0));
        }
    }

    #[test]
    fn false_positives_are_as_rare_as_the_formula_says() {
        // (1 - e^(-k n / m))^k of the contents that were never inserted.
        for (bits, hashes) in [(10u32, 7u32), (5, 3), (16, 4)] {
            let entries = 40_000;
            let mut bloom = Bloom::new(8, u64::from(entries * bits), hashes);
            (0..entries).for_each(|content| bloom.insert(content, content % 2));
            // Channel 0 and 1 hold half as many each.
            let load = f64::from(hashes) / f64::from(2 * bits);
            let expected = (1.0 - (-load).exp()).powi(hashes as i32);
            let asked = 2_000_000;
            for channel in [0, 1] {
                let wrong =
                    (entries..entries + asked).filter(|&c| bloom.query(c) >> channel & 1 == 1).count();
                let rate = wrong as f64 / f64::from(asked);
                let noise = 4.0 * (expected / f64::from(asked)).sqrt();
                assert!(
                    (rate - expected).abs() < 0.05 * expected + noise,
                    "{bits} {hashes}: {rate} {expected}"
                );
            }
            assert!((entries..entries + asked).all(|c| bloom.query(c) >> 2 == 0), "nothing is in the others");
        }
    }
}
