//! Entries of the channels' filters, alive and dead, and the rebuilding of a filter.

use super::bloom::Bloom;
use super::residents::Residents;
use crate::ids::Content;
use flashtwin_bits::{By, Roomy};
use flashtwin_nand::Channel;

/// Distance in entries of the prefetches of a rebuild.
const AHEAD: usize = 12;

/// Bloom filters, and when one is rebuilt. Nothing can be deleted from a Bloom filter (DS-FTL paper 4.2.2 is silent):
/// the entry of a content whose last page in the channel died stays until the dead are too large a share. Which
/// contents have entries is kept with the pages that hold them.
#[derive(Clone)]
pub(super) struct Filters {
    bloom: Bloom,
    channels: u32,
    /// The contents for which the filters' bits say more than who has an entry, a bit each.
    crowded: Vec<u64>,
    /// Contents entered in each channel's filter since it was last rebuilt, dead ones included.
    entries: By<Channel, Vec<Roomy<Content>>>,
    dead: By<Channel, Vec<u32>>,
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
        let bloom = Bloom::new(channels, bits, config.bloom_hashes);
        Self {
            crowded: bloom.crowded(contents),
            bloom,
            channels,
            entries: By::new(vec![Roomy::default(); channels as usize]),
            dead: By::new(vec![0; channels as usize]),
            rebuild_share: config.bloom_rebuild,
        }
    }

    /// Whether other contents' bits can make a filter answer yes for this one.
    #[inline]
    fn is_crowded(&self, content: Content) -> bool {
        self.crowded[content.index() / 64] >> (content.number() % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn prefetch(&self, content: Content) {
        if self.is_crowded(content) {
            self.bloom.prefetch(content);
        }
    }

    #[inline]
    pub(super) fn query(&self, content: Content, residents: &Residents) -> u64 {
        if self.is_crowded(content) { self.bloom.query(content) } else { residents.entered(content) }
    }

    #[inline]
    pub(super) fn appeared(&mut self, content: Content, channel: Channel, residents: &mut Residents) {
        if residents.set_entry(content, channel, true) {
            self.dead[channel] -= 1;
            return;
        }
        self.entries[channel].list.push(content);
        if self.is_crowded(content) {
            self.bloom.insert(content, channel);
        }
    }

    /// The last page of a content in a channel died. Returns whether its filter was rebuilt for it.
    #[inline]
    pub(super) fn died(&mut self, channel: Channel, residents: &mut Residents) -> bool {
        let dead = &mut self.dead[channel];
        *dead += 1;
        let too_many = self.rebuild_share * self.entries[channel].len() as f64;
        if f64::from(*dead) <= too_many {
            return false;
        }
        self.rebuild(channel, residents);
        true
    }

    #[inline(never)]
    pub(super) fn rebuild(&mut self, channel: Channel, residents: &mut Residents) {
        let mut entries = std::mem::take(&mut self.entries[channel]);
        let (mut kept, mut crowded) = (0, false);
        for index in 0..entries.len() {
            if let Some(&soon) = entries.get(index + AHEAD) {
                residents.prefetch(soon);
                self.prefetch(soon);
            }
            let content = entries[index];
            crowded |= self.is_crowded(content);
            if residents.holds(content, channel) {
                entries[kept] = content;
                kept += 1;
                continue;
            }
            residents.set_entry(content, channel, false);
            if self.is_crowded(content) {
                self.bloom.clear(content, channel);
            }
        }
        entries.list.truncate(kept);
        if crowded {
            self.insert_all(&entries, channel);
        }
        self.entries[channel] = entries;
        self.dead[channel] = 0;
    }

    /// Clearing dead entries cleared bits that live entries share: sets those again.
    fn insert_all(&mut self, entries: &[Content], channel: Channel) {
        for (index, &content) in entries.iter().enumerate() {
            if let Some(&soon) = entries.get(index + AHEAD) {
                self.prefetch(soon);
            }
            if self.is_crowded(content) {
                self.bloom.insert(content, channel);
            }
        }
    }

    /// Bits of the filters together, in bytes: the memory of a real controller.
    pub(super) fn filter_bytes(&self) -> u64 {
        self.bloom.bits() / 8 * u64::from(self.channels)
    }

    pub(super) fn bytes(&self) -> u64 {
        let listed: usize = self.entries.iter().map(|list| list.list.capacity() * 4).sum();
        (listed + self.crowded.len() * 8) as u64
    }

    pub(super) fn audit(&self, residents: &Residents) -> Result<(), String> {
        let mut counts = By::<Channel, _>::new(vec![(0, 0); self.channels as usize]);
        for content in Content::each(0..residents.contents()) {
            let mask = self.query(content, residents);
            for channel in Channel::each(0..self.channels) {
                let (alive, entered) =
                    (residents.holds(content, channel), residents.has_entry(content, channel));
                if (alive || entered) && (mask >> channel.number() & 1 == 0 || !entered) {
                    return Err(format!(
                        "the filter of channel {channel} denies content {content}, which it holds or held"
                    ));
                }
                let (entries, dead) = &mut counts[channel];
                *entries += usize::from(entered);
                *dead += u32::from(entered && !alive);
            }
        }
        for (channel, &counted) in counts.rows() {
            let found = (self.entries[channel].len(), self.dead[channel]);
            if found != counted {
                return Err(format!(
                    "the filter of channel {channel} counts {found:?} entries and dead ones, there are {counted:?}"
                ));
            }
        }
        Ok(())
    }
}

flashtwin_bits::state!(Filters { bloom, entries, dead } kept { channels, crowded, rebuild_share });

#[cfg(test)]
mod tests {
    use super::super::SpreadConfig;
    use super::*;
    use crate::ids::Lpn;
    use crate::rng::Rng;
    use std::collections::HashSet;

    fn come_and_go(filters: &mut Filters, contents: u32, seed: u64, share: f64) -> u32 {
        let mut residents = Residents::new(contents, 3, 3 * contents);
        let mut pages = super::super::pages::fresh(3 * contents);
        let mut sets = vec![HashSet::new(); 3];
        let mut rng = Rng::stream(seed, "filters");
        let mut rebuilds = 0;
        for _ in 0..5_000 {
            let (content, channel) = (rng.below(contents), rng.below(3));
            let page = content * 3 + channel;
            let set: &mut HashSet<u32> = &mut sets[channel as usize];
            let channel = Channel::new(channel);
            if set.remove(&content) {
                assert!(residents.remove(Lpn::new(page), Content::new(content), channel, &mut pages));
                rebuilds += u32::from(filters.died(channel, &mut residents));
            } else {
                set.insert(content);
                assert!(residents.add(Lpn::new(page), Content::new(content), channel, &mut pages));
                filters.appeared(Content::new(content), channel, &mut residents);
            }
            assert!((0..contents).all(|c| {
                (0..3).all(|at| {
                    sets[at].contains(&c) == residents.holds(Content::new(c), Channel::new(at as u32))
                })
            }));
            filters.audit(&residents).unwrap();
            let dead = f64::from(filters.dead[channel]);
            assert!(dead <= share * filters.entries[channel].len() as f64);
            same_as_all_bits(filters, &residents, contents);
        }
        rebuilds
    }

    /// Keeping fewer bits must not change the filters' answers.
    fn same_as_all_bits(filters: &Filters, residents: &Residents, contents: u32) {
        let mut bloom = Bloom::new(3, filters.bloom.bits(), filters.bloom.hashes());
        for (channel, entries) in filters.entries.rows() {
            entries.iter().for_each(|&content| bloom.insert(content, channel));
        }
        assert!(
            (0..contents).all(|content| filters.query(Content::new(content), residents)
                == bloom.query(Content::new(content)))
        );
    }

    #[test]
    fn filters_never_deny_and_forget_dead_entries_in_time() {
        for (seed, share) in [(1, 0.5), (2, 0.1), (3, 1.0)] {
            let config = SpreadConfig { bloom_rebuild: share, ..SpreadConfig::default() };
            let mut filters = Filters::new(3, 60, 40, &config);
            let rebuilds = come_and_go(&mut filters, 60, seed, share);
            assert!((rebuilds > 20) == (share < 1.0), "{rebuilds} rebuilds with {share}");
        }
    }

    #[test]
    fn filters_with_some_crowded_words_say_what_their_bits_say() {
        for (hashes, channel_pages) in [(1, 40), (3, 40), (5, 25), (7, 26), (7, 4_000)] {
            let config = SpreadConfig { bloom_hashes: hashes, ..SpreadConfig::default() };
            let mut filters = Filters::new(3, 60, channel_pages, &config);
            assert!(come_and_go(&mut filters, 60, u64::from(hashes), 0.5) > 20);
            let crowded = (0..60).filter(|&content| filters.is_crowded(Content::new(content))).count();
            assert!(
                if channel_pages == 4_000 { crowded == 0 } else { (1..60).contains(&crowded) },
                "{crowded} of 60"
            );
        }
    }

    #[test]
    fn an_audit_notices_each_way_in_which_a_filter_is_wrong() {
        let one = Channel::new(1);
        let (alive, dead) = (Content::new(3), Content::new(4));
        // On channel 1 one content lives and one is dead; all are crowded, or none.
        for (channel_pages, hashes, all_crowded) in [(1, 1, true), (4_000, 7, false)] {
            let config = SpreadConfig { bloom_hashes: hashes, bloom_rebuild: 1.0, ..SpreadConfig::default() };
            let scene = || {
                // In 64 bits of one each, every one of a thousand contents shares its own.
                let contents = if all_crowded { 1_000 } else { 10 };
                let mut filters = Filters::new(2, contents, channel_pages, &config);
                let mut residents = Residents::new(contents, 2, 8);
                let mut pages = super::super::pages::fresh(8);
                for (lpn, content) in [(0, alive), (1, dead)] {
                    assert!(residents.add(Lpn::new(lpn), content, one, &mut pages));
                    filters.appeared(content, one, &mut residents);
                }
                assert!(residents.remove(Lpn::new(1), dead, one, &mut pages));
                assert!(!filters.died(one, &mut residents));
                assert!([alive, dead].iter().all(|&content| filters.is_crowded(content) == all_crowded));
                filters.audit(&residents).unwrap();
                (filters, residents)
            };
            for content in [alive, dead] {
                let denied = format!("the filter of channel 1 denies content {content}");
                let (mut filters, residents) = scene();
                filters.bloom.clear(content, one);
                match filters.audit(&residents) {
                    Ok(()) => assert!(!all_crowded, "nobody asks the bits of what is not crowded"),
                    Err(message) => assert!(all_crowded && message.starts_with(&denied), "{message}"),
                }
                let (filters, mut residents) = scene();
                residents.set_entry(content, one, false);
                let message = filters.audit(&residents).unwrap_err();
                // Without its entry, a dead content is one that was never there: only the numbers are wrong.
                assert_eq!(message.starts_with(&denied), content == alive, "{message}");
            }
            let (mut filters, residents) = scene();
            filters.entries[one].list.push(dead);
            assert!(filters.audit(&residents).unwrap_err().contains("counts (3, 1)"));
            let (mut filters, residents) = scene();
            filters.dead[one] = 0;
            assert!(filters.audit(&residents).unwrap_err().contains("counts (2, 0)"));
            let (mut filters, residents) = scene();
            filters.dead[Channel::new(0)] = 1;
            assert!(filters.audit(&residents).unwrap_err().contains("channel 0 counts (0, 1)"));
        }
    }
}
