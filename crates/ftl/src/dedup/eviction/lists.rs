//! Lists of contents that run through arrays indexed by content: no allocation per entry.

/// A stored number, plus one; 0: none.
const NONE: u32 = 0;

/// Several lists, each from its oldest entry to its newest. A content is in one at most. 8 bytes
/// a content.
pub(super) struct Lists {
    newer: Vec<u32>,
    older: Vec<u32>,
    newest: Vec<u32>,
    oldest: Vec<u32>,
}

impl Lists {
    pub(super) fn new(contents: u32, lists: usize) -> Self {
        Self {
            newer: vec![NONE; contents as usize],
            older: vec![NONE; contents as usize],
            newest: vec![NONE; lists],
            oldest: vec![NONE; lists],
        }
    }

    /// The entry at the old end.
    pub(super) fn oldest(&self, list: usize) -> Option<u32> {
        self.oldest[list].checked_sub(1)
    }

    /// Puts a content that is in no list at the new end.
    pub(super) fn push(&mut self, list: usize, content: u32) {
        let newest = std::mem::replace(&mut self.newest[list], content + 1);
        self.newer[content as usize] = NONE;
        self.older[content as usize] = newest;
        match newest {
            NONE => self.oldest[list] = content + 1,
            newest => self.newer[newest as usize - 1] = content + 1,
        }
    }

    /// Takes a content out of its list.
    pub(super) fn unlink(&mut self, list: usize, content: u32) {
        let (newer, older) = (self.newer[content as usize], self.older[content as usize]);
        match newer {
            NONE => self.newest[list] = older,
            newer => self.older[newer as usize - 1] = older,
        }
        match older {
            NONE => self.oldest[list] = newer,
            older => self.newer[older as usize - 1] = newer,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        let all = self.newer.len() + self.older.len() + self.newest.len() + self.oldest.len();
        all as u64 * 4
    }
}
