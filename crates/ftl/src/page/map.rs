//! LPN -> PPN: the map of a conventional SSD.

use flashtwin_nand::{NO_PPN, Ppn};

use crate::op::NO_CONTENT;
use flashtwin_bits::{HugeSlice, prefetch};

#[derive(Clone, Copy)]
struct Page {
    ppn: Ppn,
    held: u32,
}

/// One physical page a logical page, beside what it holds where that is known. 8 bytes each.
pub(crate) struct PageMap {
    pages: HugeSlice<Page>,
    contents: u32,
    mapped: u64,
}

impl PageMap {
    pub(crate) fn new(footprint_pages: u32, contents: u32) -> Self {
        Self {
            pages: HugeSlice::filled(Page { ppn: NO_PPN, held: NO_CONTENT }, footprint_pages as usize),
            contents,
            mapped: 0,
        }
    }

    /// Where a logical page lies; [`NO_PPN`] when nowhere.
    #[inline]
    pub(crate) fn get(&self, lpn: u32) -> Ppn {
        self.pages[lpn as usize].ppn
    }

    #[inline]
    pub(crate) fn prefetch(&self, lpn: u32) {
        prefetch(&self.pages, lpn as usize);
    }

    /// Moves a logical page; returns where it lay.
    #[inline]
    pub(crate) fn set(&mut self, lpn: u32, ppn: Ppn) -> Ppn {
        let old = std::mem::replace(&mut self.pages[lpn as usize].ppn, ppn);
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
        self.pages[lpn as usize].held
    }

    /// A logical page holds something else; returns what it held.
    #[inline]
    pub(crate) fn hold(&mut self, lpn: u32, content: u32) -> u32 {
        std::mem::replace(&mut self.pages[lpn as usize].held, content)
    }

    /// Logical pages that the map covers.
    pub(crate) fn len(&self) -> u32 {
        self.pages.len() as u32
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.pages.len() as u64 * 8
    }
}
