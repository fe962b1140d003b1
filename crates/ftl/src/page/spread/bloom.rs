//! One Bloom filter a channel, asked all at once.
//!
//! Source: Bloom, CACM 1970; DS-FTL paper, section 4.2.2. Blocked: all bits of a content lie in one word of its filter
//! (Putze, Sanders and Singler, WEA 2007; Lang, Neumann, Kemper and Boncz, VLDB 2019), so a look-up is one memory
//! access. At 10 bits an entry and 7 hashes 2.1 % of the answers are false positives, and 0.8 % without blocks.
//!
//! All contents of a trace are known beforehand, and so are the words in which one can be mistaken for others. A device
//! large for its data has none. So the code that reads bits is out of line, away from the code for every page.

use crate::ids::Content;
use flashtwin_bits::{HugeSlice, STEP, mix, prefetch};
use flashtwin_nand::Channel;

const WORD: u64 = 64;
const LINE: usize = 8;
/// Positions in a word that one hash is good for: 6 bits each.
const POSITIONS: u32 = 10;

/// All filters are alike, so the words of all channels at one place lie side by side: a cache line for eight.
#[derive(Clone)]
pub(super) struct Bloom {
    bits: HugeSlice<u64>,
    /// Words from one place to the next: the channels, rounded up to a power of two.
    stride: usize,
    channels: u32,
    words: u64,
    hashes: u32,
}

impl Bloom {
    pub(super) fn new(channels: u32, bits: u64, hashes: u32) -> Self {
        let stride = (channels as usize).next_power_of_two();
        let words = bits.div_ceil(WORD).max(1);
        Self { bits: HugeSlice::zeroed(words as usize * stride), stride, channels, words, hashes }
    }

    pub(super) fn bits(&self) -> u64 {
        self.words * WORD
    }

    #[cfg(test)]
    pub(super) fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Where the words of a content begin, and its bits in each.
    #[inline]
    fn place(&self, content: Content) -> (usize, u64) {
        let first = mix(u64::from(content.number()).wrapping_add(STEP));
        let word = ((u128::from(first) * u128::from(self.words)) >> 64) as usize;
        let mut bits = 0;
        let mut rest = mix(first);
        for turn in 0..self.hashes {
            if turn % POSITIONS == 0 && turn > 0 {
                rest = mix(first.wrapping_add(u64::from(turn)));
            }
            bits |= 1 << (rest % WORD);
            rest /= WORD;
        }
        (word * self.stride, bits)
    }

    #[inline(never)]
    pub(super) fn prefetch(&self, content: Content) {
        let (first, _) = self.place(content);
        for at in (first..first + self.stride).step_by(LINE) {
            prefetch(&self.bits, at);
        }
    }

    /// The channels whose filter may hold a content: bit c for channel c.
    #[inline(never)]
    pub(super) fn query(&self, content: Content) -> u64 {
        let (first, bits) = self.place(content);
        let mut found = 0;
        for (channel, word) in self.bits[first..][..self.channels as usize].iter().enumerate() {
            found |= u64::from(word & bits == bits) << channel;
        }
        found
    }

    #[inline(never)]
    pub(super) fn insert(&mut self, content: Content, channel: Channel) {
        let (first, bits) = self.place(content);
        self.bits[first + channel.index()] |= bits;
    }

    /// Clears a content's bits even if others share them: only while emptying the whole filter.
    #[inline(never)]
    pub(super) fn clear(&mut self, content: Content, channel: Channel) {
        let (first, bits) = self.place(content);
        self.bits[first + channel.index()] &= !bits;
    }

    /// A bit for each content below `contents`: set if its word has a content all of whose bits others of the word set.
    /// In other words a content is found if and only if it was inserted: they need neither insertions nor queries.
    pub(super) fn crowded(&self, contents: u32) -> Vec<u64> {
        // Bits that a content of the word has, and those that two or more have.
        let mut seen = vec![(0u64, 0u64); self.words as usize];
        for (word, bits) in self.places(contents) {
            let (once, twice) = &mut seen[word];
            *twice |= *once & bits;
            *once |= bits;
        }
        let mut matters = vec![false; self.words as usize];
        for (word, bits) in self.places(contents) {
            matters[word] |= bits & !seen[word].1 == 0;
        }
        let mut crowded = vec![0; contents.div_ceil(64) as usize];
        for (content, (word, _)) in self.places(contents).enumerate() {
            crowded[content / 64] |= u64::from(matters[word]) << (content % 64);
        }
        crowded
    }

    fn places(&self, contents: u32) -> impl Iterator<Item = (usize, u64)> {
        Content::each(0..contents).map(|content| {
            let (first, bits) = self.place(content);
            (first / self.stride, bits)
        })
    }
}

flashtwin_bits::state!(Bloom { bits } kept { stride, channels, words, hashes });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::HashSet;

    #[test]
    fn what_was_inserted_is_always_found_beside_plain_sets() {
        for (channels, bits, hashes) in [(1, 7, 1), (3, 200, 3), (8, 5_000, 7), (20, 900, 4), (64, 64, 16)] {
            let mut bloom = Bloom::new(channels, bits, hashes);
            let mut sets = vec![HashSet::new(); channels as usize];
            let mut rng = Rng::stream(u64::from(channels), "bloom");
            for _ in 0..400 {
                let (content, channel) = (rng.next_u64() as u32, rng.below(channels));
                bloom.insert(Content::new(content), Channel::new(channel));
                sets[channel as usize].insert(content);
                let mask = bloom.query(Content::new(content));
                for (channel, set) in sets.iter().enumerate() {
                    assert!(!set.contains(&content) || mask >> channel & 1 == 1);
                }
            }
            assert!(
                (0..64).all(|channel| channel < channels || bloom.query(Content::new(1)) >> channel == 0)
            );
        }
    }

    /// The bits of a content in its word, one after another: each hash is good for ten of six bits, the lowest first.
    fn bits_in_turn(content: u32) -> impl Iterator<Item = u64> {
        let first = mix(u64::from(content).wrapping_add(STEP));
        (0..2).flat_map(move |hash| {
            let positions = mix(first.wrapping_add(10 * hash));
            (0..10).map(move |turn| 1 << (positions >> (6 * turn) & 63))
        })
    }

    #[test]
    fn an_entry_sets_the_bits_of_its_hashes_ten_of_each() {
        for hashes in 1..=16 {
            let bloom = Bloom::new(1, 64, hashes);
            for content in 0..50 {
                let expected = bits_in_turn(content).take(hashes as usize).fold(0, |all, bit| all | bit);
                assert_eq!(bloom.place(Content::new(content)), (0, expected), "{content}, {hashes} hashes");
            }
        }
    }

    #[test]
    fn only_what_is_crowded_is_ever_found_where_it_is_not() {
        for (bits, hashes, contents) in [(64_000, 7, 1_000), (6_400, 3, 1_000), (640, 7, 1_000), (64, 1, 40)]
        {
            let mut bloom = Bloom::new(2, bits, hashes);
            let crowded = bloom.crowded(contents);
            let is_crowded =
                |content: Content| crowded[content.index() / 64] >> (content.number() % 64) & 1 == 1;
            // All but one of those that share a word are in it: the most that can be.
            let mut coincidences = 0;
            for absent in 0..contents {
                bloom.bits.fill(0);
                let (place, _) = bloom.place(Content::new(absent));
                let others =
                    (0..contents).filter(|&c| c != absent && bloom.place(Content::new(c)).0 == place);
                for other in others.collect::<Vec<_>>() {
                    assert_eq!(
                        is_crowded(Content::new(other)),
                        is_crowded(Content::new(absent)),
                        "a word matters or does not"
                    );
                    bloom.insert(Content::new(other), Channel::new(1));
                }
                let found = bloom.query(Content::new(absent)) == 2;
                assert!(is_crowded(Content::new(absent)) || !found, "{absent} is found by coincidence");
                coincidences += u32::from(found);
            }
            let all = (0..contents).filter(|&content| is_crowded(Content::new(content))).count() as u32;
            assert!(coincidences <= all && (coincidences == 0) == (all == 0), "{coincidences} of {all}");
        }
    }

    /// Probability that a content finds all of its bits set in a word that holds `entries` others.
    /// Of `hashes` throws at 64 positions, the chance to hit d different ones is S(hashes, d) 64! / (64 - d)! /
    /// 64^hashes (S: Stirling numbers of the second kind), and that d given ones were all hit by the
    /// entries' throws, by inclusion and exclusion, the sum over j of (-1)^j C(d, j) (1 - j / 64)^throws.
    fn all_set(entries: u32, hashes: u32) -> f64 {
        let throws = f64::from(entries * hashes);
        // Chance of d different positions after each throw.
        let mut different = vec![0.0; hashes as usize + 1];
        different[0] = 1.0;
        for _ in 0..hashes {
            for d in (0..=hashes as usize).rev() {
                let fresh = if d == 0 { 0.0 } else { different[d - 1] * (65.0 - d as f64) / 64.0 };
                different[d] = different[d] * d as f64 / 64.0 + fresh;
            }
        }
        let given = |d: usize| {
            let mut choose = 1.0;
            let mut sum = 0.0;
            for j in 0..=d {
                let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
                sum += sign * choose * (1.0 - j as f64 / 64.0).powf(throws);
                choose *= (d - j) as f64 / (j + 1) as f64;
            }
            sum
        };
        different.iter().enumerate().map(|(d, chance)| chance * given(d)).sum()
    }

    /// The same over words whose entries are Poisson distributed.
    fn false_positives(mean_entries: f64, hashes: u32) -> f64 {
        let mut chance = (-mean_entries).exp();
        let mut sum = 0.0;
        for entries in 0..200 {
            sum += chance * all_set(entries, hashes);
            chance *= mean_entries / f64::from(entries + 1);
        }
        sum
    }

    #[test]
    fn false_positives_are_as_rare_as_the_formula_says() {
        for (bits, hashes) in [(10u32, 7u32), (5, 3), (16, 4), (12, 12)] {
            let entries = 40_000;
            let mut bloom = Bloom::new(8, u64::from(entries * bits), hashes);
            (0..entries).for_each(|content| bloom.insert(Content::new(content), Channel::new(content % 2)));
            // Channel 0 and 1 hold half as many each.
            let expected = false_positives(64.0 / f64::from(2 * bits), hashes);
            let asked = 2_000_000;
            for channel in [0, 1] {
                let wrong = (entries..entries + asked)
                    .filter(|&c| bloom.query(Content::new(c)) >> channel & 1 == 1)
                    .count();
                let rate = wrong as f64 / f64::from(asked);
                let noise = 4.0 * (expected / f64::from(asked)).sqrt();
                assert!(
                    (rate - expected).abs() < 0.05 * expected + noise,
                    "{bits} {hashes}: {rate} {expected}"
                );
            }
            assert!(
                (entries..entries + asked).all(|c| bloom.query(Content::new(c)) >> 2 == 0),
                "nothing is in the others"
            );
        }
        // The default as the configuration's text describes it.
        assert_eq!((false_positives(6.4, 7) * 1000.0).round(), 21.0, "in thousandths");
    }
}
