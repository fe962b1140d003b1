//! What the channels' filters hold: entries that live, entries that are dead, and when a filter
//! is rebuilt.

use super::bloom::Bloom;
use crate::prefetch::prefetch;

/// Entries ahead at which a rebuild asks for what it will look at.
const AHEAD: usize = 12;

/// Bloom filters with the bookkeeping that decides when one is rebuilt. Nothing can be deleted
/// from a Bloom filter (DS-FTL paper, section 4.2.2, is silent about it): the entry of a content
/// whose last page in the channel died stays until the dead are too large a share.
pub(super) struct Filters {
    bloom: Bloom,
    channels: u32,
    /// The channels whose filter has an entry of each content: a bit each, in bytes.
    entered: Vec<u8>,
    /// The channels that hold a page of each content, likewise.
    alive: Vec<u8>,
    entered_bytes: usize,
    /// Contents entered in each channel's filter since it was last rebuilt, dead ones included.
    entries: Vec<Vec<u32>>,
    dead: Vec<u32>,
    rebuild_share: f64,
}

impl Filters {
    pub(super) fn new(
        channels: u32,
        contents: u32,
        channel_pages: u64,
        config: &super::SpreadConfig,
    ) -> Self {
        let bits = channel_pages * u64::from(config.bloom_bits_per_page);
        let entered_bytes = channels.div_ceil(8) as usize;
        Self {
            bloom: Bloom::new(channels, bits, config.bloom_hashes),
            channels,
            entered: vec![0; contents as usize * entered_bytes],
            alive: vec![0; contents as usize * entered_bytes],
            entered_bytes,
            entries: vec![Vec::new(); channels as usize],
            dead: vec![0; channels as usize],
            rebuild_share: config.bloom_rebuild,
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, content: u32) {
        self.bloom.prefetch(content);
        prefetch(&self.entered, content as usize * self.entered_bytes);
        prefetch(&self.alive, content as usize * self.entered_bytes);
    }

    /// The channels that may hold a content: bit c for channel c.
    #[inline]
    pub(super) fn query(&self, content: u32) -> u64 {
        self.bloom.query(content)
    }

    #[inline]
    fn entered_bit(&self, content: u32, channel: u32) -> (usize, u8) {
        (content as usize * self.entered_bytes + channel as usize / 8, 1 << (channel % 8))
    }

    /// Whether the filter of a channel has an entry of a content, dead or alive: otherwise a
    /// positive answer is a coincidence of other entries' bits.
    #[inline]
    pub(super) fn has_entry(&self, content: u32, channel: u32) -> bool {
        let (at, bit) = self.entered_bit(content, channel);
        self.entered[at] & bit != 0
    }

    /// A channel holds the first page of a content.
    #[inline]
    pub(super) fn appeared(&mut self, content: u32, channel: u32) {
        let (at, bit) = self.entered_bit(content, channel);
        self.alive[at] |= bit;
        if self.entered[at] & bit != 0 {
            self.dead[channel as usize] -= 1;
            return;
        }
        self.entered[at] |= bit;
        self.entries[channel as usize].push(content);
        self.bloom.insert(content, channel);
    }

    /// The last page of a content in a channel died. Returns whether its
    /// filter was rebuilt for it.
    #[inline]
    pub(super) fn died(&mut self, content: u32, channel: u32) -> bool {
        let (at, bit) = self.entered_bit(content, channel);
        self.alive[at] &= !bit;
        let dead = &mut self.dead[channel as usize];
        *dead += 1;
        let too_many = self.rebuild_share * self.entries[channel as usize].len() as f64;
        if f64::from(*dead) <= too_many {
            return false;
        }
        self.rebuild(channel);
        true
    }

    /// Makes a channel's filter anew from the contents that the channel holds.
    fn rebuild(&mut self, channel: u32) {
        let mut entries = std::mem::take(&mut self.entries[channel as usize]);
        let (bit, bytes) = (1u8 << (channel % 8), self.entered_bytes);
        let at = |content: u32| content as usize * bytes + channel as usize / 8;
        let mut kept = 0;
        for index in 0..entries.len() {
            if let Some(&soon) = entries.get(index + AHEAD) {
                prefetch(&self.alive, at(soon));
                prefetch(&self.entered, at(soon));
                self.bloom.prefetch(soon);
            }
            let content = entries[index];
            if self.alive[at(content)] & bit == 0 {
                self.entered[at(content)] &= !bit;
                self.bloom.clear(content, channel);
            } else {
                entries[kept] = content;
                kept += 1;
            }
        }
        entries.truncate(kept);
        // The dead took bits along that the living share.
        for (index, &content) in entries.iter().enumerate() {
            if let Some(&soon) = entries.get(index + AHEAD) {
                self.bloom.prefetch(soon);
            }
            self.bloom.insert(content, channel);
        }
        self.entries[channel as usize] = entries;
        self.dead[channel as usize] = 0;
    }

    /// Bits of the filters together, in bytes: what a controller would need.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.bloom.bits() / 8 * u64::from(self.channels)
    }

    /// Bytes of the bookkeeping here (untouched filters not counted).
    pub(super) fn bytes(&self) -> u64 {
        let listed: usize = self.entries.iter().map(|list| list.capacity() * 4).sum();
        (listed + self.entered.len() + self.alive.len()) as u64
    }

    /// Compares entries and dead ones with the contents that each channel holds.
    pub(super) fn audit(&self, contents: u32, holds: impl Fn(u32, u32) -> bool) -> Result<(), String> {
        let mut counts = vec![(0, 0); self.channels as usize];
        for content in 0..contents {
            let mask = self.query(content);
            for channel in 0..self.channels {
                let (alive, entered) = (holds(content, channel), self.has_entry(content, channel));
                let (at, bit) = self.entered_bit(content, channel);
                if alive != (self.alive[at] & bit != 0) {
                    return Err(format!("channel {channel} is wrong about content {content}: {alive}"));
                }
                if alive && (mask >> channel & 1 == 0 || !entered) {
                    return Err(format!(
                        "the filter of channel {channel} denies content {content}, which it holds"
                    ));
                }
                let (entries, dead) = &mut counts[channel as usize];
                *entries += usize::from(entered);
                *dead += u32::from(entered && !alive);
            }
        }
        for (channel, (entries, dead)) in counts.into_iter().enumerate() {
            let found = (self.entries[channel].len(), self.dead[channel]);
            if found != (entries, dead) {
                return Err(format!(
                    "the filter of channel {channel} counts {found:?} entries and dead ones, there are {:?}",
                    (entries, dead)
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::SpreadConfig;
    use super::*;
    use crate::rng::Rng;
    use std::collections::HashSet;

    #[test]
    fn filters_beside_plain_sets_never_deny_and_forget_the_dead_in_time() {
        for (seed, share) in [(1, 0.5), (2, 0.1), (3, 1.0)] {
            let config = SpreadConfig { bloom_rebuild: share, ..SpreadConfig::default() };
            let mut filters = Filters::new(3, 60, 40, &config);
            let mut sets = vec![HashSet::new(); 3];
            let mut rng = Rng::stream(seed, "filters");
            let mut rebuilds = 0;
            for _ in 0..5_000 {
                let (content, channel) = (rng.below(60), rng.below(3));
                let set: &mut HashSet<u32> = &mut sets[channel as usize];
                if set.remove(&content) {
                    rebuilds += u32::from(filters.died(content, channel));
                } else {
                    set.insert(content);
                    filters.appeared(content, channel);
                }
                filters.audit(60, |content, channel| sets[channel as usize].contains(&content)).unwrap();
                let dead = f64::from(filters.dead[channel as usize]);
                assert!(dead <= share * filters.entries[channel as usize].len() as f64);
            }
            assert!((rebuilds > 20) == (share < 1.0), "{rebuilds} rebuilds with {share}");
        }
    }
}
