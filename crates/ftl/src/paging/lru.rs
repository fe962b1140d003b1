//! Which pages of the tables are in RAM, in the order of their last use.

use flashtwin_bits::By;

use crate::ids::TablePage;
use crate::lists::Lists;

/// In RAM; not in RAM as it is on flash.
const CACHED: u8 = 1;
const DIRTY: u8 = 2;

/// A list of pages in the order of their last use. 9 bytes a page of the tables.
#[derive(Clone)]
pub(super) struct Lru {
    order: Lists<TablePage>,
    flags: By<TablePage, Vec<u8>>,
    capacity: u32,
    len: u32,
}

impl Lru {
    pub(super) fn new(pages: u32, capacity: u32) -> Self {
        let order = Lists::new(pages as usize, 1);
        Self { order, flags: By::new(vec![0; pages as usize]), capacity, len: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn is_cached(&self, page: TablePage) -> bool {
        self.flags[page] & CACHED != 0
    }

    pub(super) fn is_dirty(&self, page: TablePage) -> bool {
        self.flags[page] & DIRTY != 0
    }

    pub(super) fn set_dirty(&mut self, page: TablePage, dirty: bool) {
        debug_assert!(self.is_cached(page));
        self.flags[page] = if dirty { CACHED | DIRTY } else { CACHED };
    }

    #[inline]
    pub(super) fn touch(&mut self, page: TablePage) -> bool {
        if !self.is_cached(page) {
            return false;
        }
        if self.order.newest(0) != Some(page) {
            self.order.unlink(0, page);
            self.order.push(0, page);
        }
        true
    }

    /// Takes a page in that is not in RAM. Returns the page that gives way, and whether it is dirty.
    pub(super) fn insert(&mut self, page: TablePage) -> Option<(TablePage, bool)> {
        debug_assert!(!self.is_cached(page));
        let mut evicted = None;
        if self.len == self.capacity
            && let Some(last) = self.order.oldest(0)
        {
            self.order.unlink(0, last);
            evicted = Some((last, self.is_dirty(last)));
            self.flags[last] = 0;
            self.len -= 1;
        }
        self.order.push(0, page);
        self.flags[page] = CACHED;
        self.len += 1;
        evicted
    }

    pub(super) fn bytes(&self) -> u64 {
        self.order.bytes() + self.flags.len() as u64
    }
}

flashtwin_bits::state!(Lru { order, flags, len } kept { capacity });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_nine_bytes() {
        // Eight of them for its neighbours; the two ends of the list take as much.
        assert_eq!([0, 10, 11].map(|pages| Lru::new(pages, 3).bytes()), [8, 98, 107]);
    }
}
