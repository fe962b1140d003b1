//! Spreading's entry for each logical page.

use crate::ids::Lpn;
use flashtwin_bits::{By, HugeSlice, prefetch};

/// One logical page: its neighbours of the same content and channel ([`super::residents`]), and its duplicate pages
/// ([`super::duplicate_lists`]). Both are used at about the same time, so they share a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
pub(super) struct PageLinks {
    /// The one before and the one after, as page numbers plus one; 0: none.
    pub(super) before: u32,
    pub(super) after: u32,
    /// The list of duplicate pages; [`NO_SET`]: none.
    pub(super) set: u32,
    pub(super) at: u32,
}

impl PageLinks {
    #[inline]
    pub(super) fn list(&self) -> Option<u32> {
        (self.set != NO_SET).then_some(self.set)
    }
}

pub(super) const NO_SET: u32 = u32::MAX;

/// Entries of all logical pages. 16 bytes each.
pub(super) type AllLinks = By<Lpn, HugeSlice<PageLinks>>;

pub(super) fn fresh(footprint_pages: u32) -> AllLinks {
    By::new(HugeSlice::filled(
        PageLinks { before: 0, after: 0, set: NO_SET, at: 0 },
        footprint_pages as usize,
    ))
}

#[inline]
pub(super) fn prefetch_neighbours(pages: &AllLinks, lpn: Lpn) {
    if let Some(page) = pages.get(lpn) {
        prefetch(pages, (page.before as usize).wrapping_sub(1));
        prefetch(pages, (page.after as usize).wrapping_sub(1));
    }
}

flashtwin_bits::state!(value PageLinks { before, after, set, at });
