//! Which logical pages hold which content, channel by channel.

use super::pages::{AllLinks, PageLinks, link, named};
use crate::ids::{Content, Lpn};
use flashtwin_bits::{HugeSlice, prefetch};
use flashtwin_nand::Channel;

/// Of a word: whether the channel's filter has an entry of the content. The rest is the head of the list.
const ENTERED: u32 = 1 << 31;

/// Lists of logical pages, one for each content and channel, the latest written first. Links are
/// page numbers plus one; 0: none. 4 bytes a content and channel.
///
/// It stands for what a controller finds with the fingerprints that it keeps; the simulator
/// compares contents by their numbers. Beside each head lies what the filters keep of the content
/// ([`super::filters`]): all channels of a content are then in one cache line, if there are no more than 16.
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

    /// The word of a content's first channel.
    #[inline]
    fn first(&self, content: Content) -> usize {
        content.index() << self.shift
    }

    #[inline]
    fn slot(&self, content: Content, channel: Channel) -> usize {
        self.first(content) | channel.index()
    }

    /// The words of a content.
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

    /// Contents that there may be.
    pub(super) fn contents(&self) -> u32 {
        (self.words.len() >> self.shift) as u32
    }

    /// The page last written with a content on each channel that holds it.
    #[inline]
    pub(super) fn latest(&self, content: Content) -> impl Iterator<Item = Lpn> {
        self.of(content).iter().filter_map(|word| named(word & !ENTERED))
    }

    /// As [`Residents::latest`], for prefetching: also yields a number that is no page's for each channel without the
    /// content, which spares a branch. Which channels hold it is as random as the trace: a wrong guess of the processor
    /// costs more than memory that is asked for in vain.
    #[inline]
    pub(super) fn foresee_latest(&self, content: Content) -> impl Iterator<Item = Lpn> {
        self.of(content).iter().map(|word| Lpn::new((word & !ENTERED).wrapping_sub(1)))
    }

    /// Whether a channel holds a content.
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

    /// Whether the filter of a channel has an entry of a content, dead or alive: otherwise a
    /// positive answer is a coincidence of other entries' bits.
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

    /// A page no longer holds a content in a channel; returns whether it was the last to.
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

    /// Compares the lists with the content and channel of every page that has them.
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
