//! Which logical pages hold which content, channel by channel.

use super::pages::{AllLinks, PageLinks};
use crate::ids::{Content, Lpn, link, named};
use flashtwin_bits::{HugeSlice, prefetch};
use flashtwin_nand::Channel;

/// Of a word: whether the channel's filter has an entry of the content. The rest is the head of the list.
const ENTERED: u32 = 1 << 31;

/// Lists of logical pages by content and channel, the latest written first. Links are page numbers plus one; 0: none. 4
/// bytes a content and channel. The filters' data of a content ([`super::filters`]) are beside each head: all channels
/// of a content are in one cache line, if there are no more than 16.
#[derive(Clone)]
pub(super) struct Residents {
    words: HugeSlice<u32>,
    channels: usize,
    /// Words from one content to the next are 2 to this power.
    shift: u32,
}

impl Residents {
    pub(super) fn new(contents: u32, channels: u32, footprint_pages: u32) -> Self {
        assert!(
            footprint_pages < ENTERED,
            "a page number takes 31 bits: {footprint_pages} pages are too many"
        );
        let shift = channels.next_power_of_two().ilog2();
        Self { words: HugeSlice::zeroed((contents as usize) << shift), channels: channels as usize, shift }
    }

    #[inline]
    fn first(&self, content: Content) -> usize {
        content.index() << self.shift
    }

    #[inline]
    fn slot(&self, content: Content, channel: Channel) -> usize {
        self.first(content) | channel.index()
    }

    #[inline]
    fn of(&self, content: Content) -> &[u32] {
        &self.words[self.first(content)..][..self.channels]
    }

    #[inline]
    fn head(&self, content: Content, channel: Channel) -> u32 {
        self.words[self.slot(content, channel)] & !ENTERED
    }

    #[inline]
    pub(super) fn prefetch(&self, content: Content) {
        prefetch(&self.words, self.first(content));
    }

    pub(super) fn contents(&self) -> u32 {
        (self.words.len() >> self.shift) as u32
    }

    /// The page last written with a content on each channel that holds it.
    #[inline]
    pub(super) fn latest(&self, content: Content) -> impl Iterator<Item = Lpn> {
        self.of(content).iter().filter_map(|word| named(word & !ENTERED))
    }

    /// As [`Residents::latest`], for prefetching: also yields a number that is no page's for a channel without the
    /// content, because a mispredicted branch costs more than a useless prefetch.
    #[inline]
    pub(super) fn foresee_latest(&self, content: Content) -> impl Iterator<Item = Lpn> {
        self.of(content).iter().map(|word| Lpn::new((word & !ENTERED).wrapping_sub(1)))
    }

    #[inline]
    pub(super) fn holds(&self, content: Content, channel: Channel) -> bool {
        self.head(content, channel) != 0
    }

    /// The channels whose filters have an entry of a content, dead or alive: bit c for channel c.
    #[inline]
    pub(super) fn entered(&self, content: Content) -> u64 {
        // Eight words at a time, which the compiler unrolls; words beyond the last channel's are 0.
        let (eights, rest) = self.words[self.first(content)..][..1 << self.shift].as_chunks::<8>();
        let bits = |words: &[u32]| {
            let bits = words.iter().enumerate();
            bits.fold(0, |mask, (at, word)| mask | u64::from(word / ENTERED) << at)
        };
        let eights = eights.iter().enumerate();
        eights.fold(bits(rest), |mask, (at, words)| mask | bits(words) << (8 * at))
    }

    /// Whether a channel's filter has an entry of a content, dead or alive: otherwise a yes is a coincidence of bits.
    #[inline]
    pub(super) fn has_entry(&self, content: Content, channel: Channel) -> bool {
        self.words[self.slot(content, channel)] & ENTERED != 0
    }

    /// The filter of a channel has an entry of a content from now on, or none. Returns whether it had.
    #[inline]
    pub(super) fn set_entry(&mut self, content: Content, channel: Channel, entered: bool) -> bool {
        let slot = self.slot(content, channel);
        let word = self.words[slot];
        self.words[slot] = word & !ENTERED | if entered { ENTERED } else { 0 };
        word & ENTERED != 0
    }

    /// The page that was last written with a content to a channel, other than `lpn`.
    #[inline]
    pub(super) fn other_than(
        &self,
        lpn: Lpn,
        content: Content,
        channel: Channel,
        pages: &AllLinks,
    ) -> Option<Lpn> {
        let mut link = self.head(content, channel);
        if link == self::link(lpn) {
            link = pages[lpn].after;
        }
        named(link)
    }

    /// A page now holds a content in a channel; returns whether it is the first to.
    #[inline]
    pub(super) fn add(&mut self, lpn: Lpn, content: Content, channel: Channel, pages: &mut AllLinks) -> bool {
        let slot = self.slot(content, channel);
        let word = self.words[slot];
        self.words[slot] = word & ENTERED | link(lpn);
        let page = &mut pages[lpn];
        (page.before, page.after) = (0, word & !ENTERED);
        if let Some(after) = named(page.after) {
            pages[after].before = link(lpn);
            return false;
        }
        true
    }

    #[inline]
    pub(super) fn remove(
        &mut self,
        lpn: Lpn,
        content: Content,
        channel: Channel,
        pages: &mut AllLinks,
    ) -> bool {
        let PageLinks { before, after, .. } = pages[lpn];
        if let Some(after) = named(after) {
            pages[after].before = before;
        }
        match named(before) {
            Some(before) => {
                pages[before].after = after;
                false
            }
            None => {
                let slot = self.slot(content, channel);
                self.words[slot] = self.words[slot] & ENTERED | after;
                after == 0
            }
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.words.len() * 4) as u64
    }

    pub(super) fn audit(
        &self,
        pages: &AllLinks,
        place_of: impl Fn(Lpn) -> Option<(Content, Channel)>,
    ) -> Result<(), String> {
        let mut listed = 0;
        let places = Content::each(0..self.contents()).flat_map(|content| {
            Channel::each(0..self.channels as u32).map(move |channel| (content, channel))
        });
        for place in places {
            let (mut before, mut link) = (0, self.head(place.0, place.1));
            while let Some(lpn) = named(link) {
                let page = pages[lpn];
                if place_of(lpn) != Some(place) || page.before != before {
                    return Err(format!("LPN {lpn} is listed under content and channel {place:?}"));
                }
                listed += 1;
                (before, link) = (link, page.after);
            }
        }
        let known = Lpn::each(0..pages.len() as u32).filter(|&lpn| place_of(lpn).is_some()).count();
        if listed == known {
            return Ok(());
        }
        Err(format!("{listed} pages are listed under their contents, {known} have one"))
    }
}

flashtwin_bits::state!(Residents { words } kept { channels, shift });

#[cfg(test)]
mod tests {
    use super::super::pages::fresh;
    use super::*;

    const A: Content = Content::new(1);
    const B: Content = Content::new(2);

    /// Pages 4 and 6 hold a content on channel 1, the later one first, page 2 on channel 0.
    fn three_pages() -> (Residents, AllLinks) {
        let (mut residents, mut pages) = (Residents::new(3, 3, 8), fresh(8));
        for (lpn, channel, first) in [(4, 1, true), (2, 0, true), (6, 1, false)] {
            assert_eq!(residents.add(Lpn::new(lpn), A, Channel::new(channel), &mut pages), first);
        }
        (residents, pages)
    }

    fn place_of(lpn: Lpn) -> Option<(Content, Channel)> {
        match lpn.number() {
            2 => Some((A, Channel::new(0))),
            4 | 6 => Some((A, Channel::new(1))),
            _ => None,
        }
    }

    #[test]
    fn latest_page_of_a_content_is_the_last_written_by_channel() {
        let (mut residents, _) = three_pages();
        residents.set_entry(A, Channel::new(1), true);
        residents.set_entry(A, Channel::new(2), true);
        assert_eq!(residents.latest(A).collect::<Vec<_>>(), [2, 6].map(Lpn::new));
        assert_eq!(residents.latest(B).count(), 0);
        let no_page = u32::MAX;
        assert_eq!(residents.foresee_latest(A).collect::<Vec<_>>(), [2, 6, no_page].map(Lpn::new));
        assert_eq!(residents.foresee_latest(B).collect::<Vec<_>>(), [no_page; 3].map(Lpn::new));
    }

    #[test]
    fn each_channel_has_its_bit_among_those_with_an_entry() {
        for channels in [1, 2, 3, 7, 8, 9, 16, 20, 33, 64] {
            let mut residents = Residents::new(3, channels, 8);
            let mut expected = 0;
            for channel in (0..3).flat_map(|first| (first..channels).step_by(3)) {
                assert!(!residents.set_entry(A, Channel::new(channel), true));
                expected |= 1 << channel;
                assert_eq!(residents.entered(A), expected, "channel {channel} of {channels}");
            }
            assert!(residents.set_entry(A, Channel::new(channels - 1), false));
            assert_eq!(residents.entered(A), expected & !(1 << (channels - 1)));
            assert_eq!((residents.entered(Content::new(0)), residents.entered(B)), (0, 0));
        }
    }

    #[test]
    fn an_audit_notices_each_way_in_which_lists_and_pages_differ() {
        let (residents, pages) = three_pages();
        residents.audit(&pages, place_of).unwrap();
        let noticed = |damage: &dyn Fn(Lpn) -> Option<(Content, Channel)>| {
            residents.audit(&pages, damage).expect_err("pages are not where the lists have them")
        };
        // Of another content, on another channel, nowhere; and one that no list has.
        let page_4 = |place| move |lpn: Lpn| if lpn.number() == 4 { place } else { place_of(lpn) };
        for place in [Some((B, Channel::new(1))), Some((A, Channel::new(0))), None] {
            let message = noticed(&page_4(place));
            assert!(message.starts_with("LPN 4 is listed under"), "{message}");
        }
        let message =
            noticed(&|lpn| if lpn.number() == 7 { Some((B, Channel::new(2))) } else { place_of(lpn) });
        assert!(message.starts_with("3 pages are listed under their contents, 4 have one"), "{message}");
        for (lpn, before) in [(4, 0), (4, 3), (6, 5), (2, 7)] {
            let (residents, mut pages) = three_pages();
            pages[Lpn::new(lpn)].before = before;
            let message = residents.audit(&pages, place_of).expect_err("it is not the one before");
            assert!(message.starts_with(&format!("LPN {lpn} is listed under")), "{message}");
        }
    }
}
