//! Lists of contents that run through arrays indexed by content: no allocation per entry.

use flashtwin_bits::{HugeSlice, prefetch};

/// A stored number, plus one; 0: none.
const NONE: u32 = 0;

/// Several lists, each from its oldest entry to its newest. A content is in one at most. 8 bytes
/// a content, which are looked at together.
pub(super) struct Lists {
    links: HugeSlice<[u32; 2]>,
    newest: Vec<u32>,
    oldest: Vec<u32>,
}

/// Of a content's links: to the next newer one, to the next older one.
const NEWER: usize = 0;
const OLDER: usize = 1;

impl Lists {
    pub(super) fn new(contents: u32, lists: usize) -> Self {
        Self {
            links: HugeSlice::zeroed(contents as usize),
            newest: vec![NONE; lists],
            oldest: vec![NONE; lists],
        }
    }

    /// Asks for the links of a content.
    #[inline]
    pub(super) fn prefetch(&self, content: u32) {
        prefetch(&self.links, content as usize);
    }

    /// Asks for the links of a content's neighbours.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, content: u32) {
        if let Some(links) = self.links.get(content as usize) {
            links.iter().for_each(|&link| prefetch(&self.links, (link as usize).wrapping_sub(1)));
        }
    }

    /// The entry at the old end.
    pub(super) fn oldest(&self, list: usize) -> Option<u32> {
        self.oldest[list].checked_sub(1)
    }

    /// Puts a content that is in no list at the new end.
    pub(super) fn push(&mut self, list: usize, content: u32) {
        let newest = std::mem::replace(&mut self.newest[list], content + 1);
        self.links[content as usize] = [NONE, newest];
        match newest {
            NONE => self.oldest[list] = content + 1,
            newest => self.links[newest as usize - 1][NEWER] = content + 1,
        }
    }

    /// Takes a content out of its list.
    pub(super) fn unlink(&mut self, list: usize, content: u32) {
        let [newer, older] = self.links[content as usize];
        match newer {
            NONE => self.newest[list] = older,
            newer => self.links[newer as usize - 1][OLDER] = older,
        }
        match older {
            NONE => self.oldest[list] = newer,
            older => self.links[older as usize - 1][NEWER] = newer,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        let all = 2 * self.links.len() + self.newest.len() + self.oldest.len();
        all as u64 * 4
    }
}
