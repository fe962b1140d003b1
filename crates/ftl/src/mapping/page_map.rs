//! LPN -> PPN: the map of a conventional SSD.

use flashtwin_nand::{NO_PPN, Ppn};

use crate::prefetch::prefetch;

/// One physical page a logical page. 4 bytes each.
pub(crate) struct PageMap {
    ppns: Vec<Ppn>,
    mapped: u64,
}

impl PageMap {
    pub(crate) fn new(footprint_pages: u32) -> Self {
        Self { ppns: vec![NO_PPN; footprint_pages as usize], mapped: 0 }
    }

    /// Where a logical page lies; [`NO_PPN`] when nowhere.
    #[inline]
    pub(crate) fn get(&self, lpn: u32) -> Ppn {
        self.ppns[lpn as usize]
    }

    #[inline]
    pub(crate) fn prefetch(&self, lpn: u32) {
        prefetch(&self.ppns, lpn as usize);
    }

    /// Moves a logical page; returns where it lay.
    #[inline]
    pub(crate) fn set(&mut self, lpn: u32, ppn: Ppn) -> Ppn {
        let old = std::mem::replace(&mut self.ppns[lpn as usize], ppn);
        self.mapped += u64::from(old == NO_PPN);
        self.mapped -= u64::from(ppn == NO_PPN);
        old
    }

    /// Logical pages that the map covers.
    pub(crate) fn len(&self) -> u32 {
        self.ppns.len() as u32
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ppns.len() as u64 * 4
    }
}
