//! Which logical pages hold which content, channel by channel.

use crate::prefetch::prefetch;

/// Lists of logical pages, one for each content and channel, the latest written first. Links are
/// page numbers plus one; 0: none. 4 bytes a content and channel, 8 a logical page.
///
/// It stands for what a controller finds with the fingerprints that it keeps; the simulator
/// compares contents by their numbers.
pub(super) struct Residents {
    heads: Vec<u32>,
    /// Neighbours in the list: the one before, the one after.
    links: Vec<[u32; 2]>,
    channels: usize,
}

impl Residents {
    pub(super) fn new(contents: u32, channels: u32, footprint_pages: u32) -> Self {
        Self {
            heads: vec![0; contents as usize * channels as usize],
            links: vec![[0; 2]; footprint_pages as usize],
            channels: channels as usize,
        }
    }

    #[inline]
    fn slot(&self, content: u32, channel: u32) -> usize {
        content as usize * self.channels + channel as usize
    }

    #[inline]
    pub(super) fn prefetch_content(&self, content: u32) {
        prefetch(&self.heads, self.slot(content, 0));
    }

    #[inline]
    pub(super) fn prefetch_page(&self, lpn: u32) {
        prefetch(&self.links, lpn as usize);
    }

    /// Asks for the pages that the links of this one name.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, lpn: u32) {
        if let Some(links) = self.links.get(lpn as usize) {
            links.iter().for_each(|&link| prefetch(&self.links, (link as usize).wrapping_sub(1)));
        }
    }

    /// The page last written with a content on each channel that holds it.
    #[inline]
    pub(super) fn latest(&self, content: u32) -> impl Iterator<Item = u32> {
        let first = self.slot(content, 0);
        self.heads[first..first + self.channels].iter().filter_map(|head| head.checked_sub(1))
    }

    /// Whether a channel holds a content.
    #[inline]
    pub(super) fn holds(&self, content: u32, channel: u32) -> bool {
        self.heads[self.slot(content, channel)] != 0
    }

    /// The page that was last written with a content to a channel, other than `lpn`.
    #[inline]
    pub(super) fn other_than(&self, lpn: u32, content: u32, channel: u32) -> Option<u32> {
        let mut link = self.heads[self.slot(content, channel)];
        if link == lpn + 1 {
            link = self.links[lpn as usize][1];
        }
        link.checked_sub(1)
    }

    /// A page now holds a content in a channel; returns whether it is the first to.
    #[inline]
    pub(super) fn add(&mut self, lpn: u32, content: u32, channel: u32) -> bool {
        let slot = self.slot(content, channel);
        let after = std::mem::replace(&mut self.heads[slot], lpn + 1);
        self.links[lpn as usize] = [0, after];
        if let Some(after) = after.checked_sub(1) {
            self.links[after as usize][0] = lpn + 1;
        }
        after == 0
    }

    /// A page no longer holds a content in a channel; returns whether it was the last to.
    #[inline]
    pub(super) fn remove(&mut self, lpn: u32, content: u32, channel: u32) -> bool {
        let [before, after] = self.links[lpn as usize];
        if let Some(after) = after.checked_sub(1) {
            self.links[after as usize][0] = before;
        }
        match before.checked_sub(1) {
            Some(before) => {
                self.links[before as usize][1] = after;
                false
            }
            None => {
                let slot = self.slot(content, channel);
                self.heads[slot] = after;
                after == 0
            }
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.heads.len() * 4 + self.links.len() * 8) as u64
    }

    /// Compares the lists with the content and channel of every page that has them.
    pub(super) fn audit(&self, place_of: impl Fn(u32) -> Option<(u32, u32)>) -> Result<(), String> {
        let mut listed = 0;
        for (slot, &head) in self.heads.iter().enumerate() {
            let place = ((slot / self.channels) as u32, (slot % self.channels) as u32);
            let (mut before, mut link) = (0, head);
            while let Some(lpn) = link.checked_sub(1) {
                let [back, after] = self.links[lpn as usize];
                if place_of(lpn) != Some(place) || back != before {
                    return Err(format!("LPN {lpn} is listed under content and channel {place:?}"));
                }
                listed += 1;
                (before, link) = (link, after);
            }
        }
        let pages = (0..self.links.len() as u32).filter(|&lpn| place_of(lpn).is_some()).count();
        if listed == pages {
            return Ok(());
        }
        Err(format!("{listed} pages are listed under their contents, {pages} have one"))
    }
}
