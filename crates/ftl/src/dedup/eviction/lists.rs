//! Lists of contents that run through arrays indexed by content: no allocation per entry.

use crate::ids::Content;
use flashtwin_bits::{By, HugeSlice};

/// A stored number, plus one; 0: none.
const NONE: u32 = 0;

/// Several lists, each from its oldest entry to its newest. A content is in one at most. 8 bytes
/// a content, which are looked at together.
pub(super) struct Lists {
    links: By<Content, HugeSlice<[u32; 2]>>,
    newest: Vec<u32>,
    oldest: Vec<u32>,
}

/// Of a content's links: to the next newer one, to the next older one.
const NEWER: usize = 0;
const OLDER: usize = 1;

/// How a content is stored as a link.
#[inline]
fn link(content: Content) -> u32 {
    content.number() + 1
}

/// The content that a link names.
#[inline]
fn named(link: u32) -> Option<Content> {
    link.checked_sub(1).map(Content::new)
}

impl Lists {
    pub(super) fn new(contents: u32, lists: usize) -> Self {
        Self {
            links: By::new(HugeSlice::zeroed(contents as usize)),
            newest: vec![NONE; lists],
            oldest: vec![NONE; lists],
        }
    }

    /// Prefetches the links of a content.
    #[inline]
    pub(super) fn prefetch(&self, content: Content) {
        self.links.prefetch(content);
    }

    /// Prefetches the links of a content's neighbours.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, content: Content) {
        if let Some(links) = self.links.get(content) {
            links.iter().filter_map(|&link| named(link)).for_each(|other| self.links.prefetch(other));
        }
    }

    /// The entry at the old end.
    pub(super) fn oldest(&self, list: usize) -> Option<Content> {
        named(self.oldest[list])
    }

    /// The third entry from the old end: a caller that takes the oldest one prefetches it, since
    /// taking the second one, soon, changes it.
    pub(super) fn third(&self, list: usize) -> Option<Content> {
        let second = named(self.links[self.oldest(list)?][NEWER])?;
        named(self.links[second][NEWER])
    }

    /// Puts a content that is in no list at the new end.
    pub(super) fn push(&mut self, list: usize, content: Content) {
        let newest = std::mem::replace(&mut self.newest[list], link(content));
        self.links[content] = [NONE, newest];
        match named(newest) {
            None => self.oldest[list] = link(content),
            Some(newest) => self.links[newest][NEWER] = link(content),
        }
    }

    /// Takes a content out of its list.
    pub(super) fn unlink(&mut self, list: usize, content: Content) {
        let [newer, older] = self.links[content];
        match named(newer) {
            None => self.newest[list] = older,
            Some(newer) => self.links[newer][OLDER] = older,
        }
        match named(older) {
            None => self.oldest[list] = newer,
            Some(older) => self.links[older][NEWER] = newer,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        let all = 2 * self.links.len() + self.newest.len() + self.oldest.len();
        all as u64 * 4
    }
}

flashtwin_bits::state!(Lists { links, newest, oldest });
