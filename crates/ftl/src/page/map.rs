//! LPN -> PPN: the map of a conventional SSD.

use crate::ids::{Content, Lpn, NO_CONTENT};
use flashtwin_nand::{NO_PPN, Ppn};

use flashtwin_bits::{By, HugeSlice};

#[derive(Clone, Copy, PartialEq)]
struct Mapped {
    ppn: Ppn,
    held: Content,
}

/// The physical page of each logical page, and its content if known. 8 bytes each.
#[derive(Clone)]
pub(crate) struct PageMap {
    pages: By<Lpn, HugeSlice<Mapped>>,
    contents: u32,
    mapped: u64,
}

impl PageMap {
    pub(crate) fn new(footprint_pages: u32, contents: u32) -> Self {
        Self {
            pages: By::new(HugeSlice::filled(
                Mapped { ppn: NO_PPN, held: NO_CONTENT },
                footprint_pages as usize,
            )),
            contents,
            mapped: 0,
        }
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Ppn {
        self.pages[lpn].ppn
    }

    #[inline]
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.pages.prefetch(lpn);
    }

    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, ppn: Ppn) -> Ppn {
        let old = std::mem::replace(&mut self.pages[lpn].ppn, ppn);
        self.mapped += u64::from(old == NO_PPN);
        self.mapped -= u64::from(ppn == NO_PPN);
        old
    }

    /// Number of distinct contents; 0 if none is known.
    pub(crate) fn contents(&self) -> u32 {
        self.contents
    }

    #[inline]
    pub(crate) fn known(&self, content: Content) -> Content {
        if content.number() < self.contents { content } else { NO_CONTENT }
    }

    #[inline]
    pub(crate) fn content(&self, lpn: Lpn) -> Content {
        self.pages[lpn].held
    }

    #[inline]
    pub(crate) fn hold(&mut self, lpn: Lpn, content: Content) -> Content {
        std::mem::replace(&mut self.pages[lpn].held, content)
    }

    pub(crate) fn len(&self) -> u32 {
        self.pages.len() as u32
    }

    pub(crate) fn mapped(&self) -> u64 {
        self.mapped
    }

    pub(crate) fn bytes(pages: u64) -> u64 {
        pages * size_of::<Mapped>() as u64
    }
}

flashtwin_bits::state!(value Mapped { ppn, held });
flashtwin_bits::state!(PageMap { pages, mapped } kept { contents });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_known_up_to_the_last_that_is_told_apart() {
        let content = Content::new;
        let map = PageMap::new(4, 3);
        let known = [0, 2, 3, 4, NO_CONTENT.number()].map(|number| map.known(content(number)));
        assert_eq!(known, [content(0), content(2), NO_CONTENT, NO_CONTENT, NO_CONTENT]);
        assert_eq!(PageMap::new(4, 0).known(content(0)), NO_CONTENT);
    }

    #[test]
    fn a_page_takes_8_bytes() {
        assert_eq!([0, 1, 3].map(PageMap::bytes), [0, 8, 24]);
    }
}
