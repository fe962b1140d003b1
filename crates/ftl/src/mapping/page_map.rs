//! LPN -> PPN: the map of a conventional SSD.

use flashtwin_nand::{NO_PPN, Ppn};

use super::NO_CONTENT;
use crate::prefetch::prefetch;

/// One physical page a logical page; beside it, where contents are known, what it holds. 4 bytes
/// each.
pub(crate) struct PageMap {
    ppns: Vec<Ppn>,
    /// Empty where contents are not known.
    held: Vec<u32>,
    contents: u32,
    mapped: u64,
}

impl PageMap {
    pub(crate) fn new(footprint_pages: u32, contents: u32) -> Self {
        let known = if contents > 0 { footprint_pages } else { 0 };
        Self {
            ppns: vec![NO_PPN; footprint_pages as usize],
            held: vec![NO_CONTENT; known as usize],
            contents,
            mapped: 0,
        }
    }

    /// Where a logical page lies; [`NO_PPN`] when nowhere.
    #[inline]
    pub(crate) fn get(&self, lpn: u32) -> Ppn {
        self.ppns[lpn as usize]
    }

    #[inline]
    pub(crate) fn prefetch(&self, lpn: u32) {
        prefetch(&self.ppns, lpn as usize);
        prefetch(&self.held, lpn as usize);
    }

    /// Moves a logical page; returns where it lay.
    #[inline]
    pub(crate) fn set(&mut self, lpn: u32, ppn: Ppn) -> Ppn {
        let old = std::mem::replace(&mut self.ppns[lpn as usize], ppn);
        self.mapped += u64::from(old == NO_PPN);
        self.mapped -= u64::from(ppn == NO_PPN);
        old
    }

    /// Contents that are told apart; 0 where none is known.
    pub(crate) fn contents(&self) -> u32 {
        self.contents
    }

    /// A content as this map knows it.
    #[inline]
    pub(crate) fn known(&self, content: u32) -> u32 {
        if content < self.contents { content } else { NO_CONTENT }
    }

    /// What a logical page holds; [`NO_CONTENT`] where nobody knows.
    #[inline]
    pub(crate) fn content(&self, lpn: u32) -> u32 {
        self.held.get(lpn as usize).copied().unwrap_or(NO_CONTENT)
    }

    /// A logical page holds something else; returns what it held.
    #[inline]
    pub(crate) fn hold(&mut self, lpn: u32, content: u32) -> u32 {
        self.held.get_mut(lpn as usize).map_or(NO_CONTENT, |held| std::mem::replace(held, content))
    }

    /// Logical pages that the map covers.
    pub(crate) fn len(&self) -> u32 {
        self.ppns.len() as u32
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.ppns.len() + self.held.len()) as u64 * 4
    }
}
