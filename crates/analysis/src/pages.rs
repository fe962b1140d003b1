//! Dense numbers for the pages that a trace touches, given while it is gone through.

use std::ops::Range;

use flashtwin_trace::Requests;
use hashbrown::HashMap;

use crate::sample::{Sample, mix};
use flashtwin_bits::prefetch_if_there as prefetch;

/// Pages that share one slot of the table, half a cache line: requests run through neighbours.
const CHUNK_PAGES: u64 = 6;
/// Chunks of a region have consecutive numbers.
const REGION_BITS: u32 = 20;
/// How many requests ahead slots are asked for.
const AHEAD: usize = 12;
/// A page that has no number.
pub(crate) const NO_PAGE: u32 = u32::MAX;
/// No chunk has this key.
const FREE: u64 = u64::MAX;
const CAPACITY_MIN: usize = 64;

/// A few neighbouring pages of a volume.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Slot {
    key: u64,
    ids: [u32; CHUNK_PAGES as usize],
}

const EMPTY: Slot = Slot { key: FREE, ids: [NO_PAGE; CHUNK_PAGES as usize] };

/// Numbers pages from 0 in order of first appearance: open addressing with linear probing, between 35 %
/// and 70 % full. 8 to 15 bytes a page where whole neighbourhoods are touched, 46 to 91 where pages
/// stand alone.
pub(crate) struct PageTable {
    slots: Vec<Slot>,
    used: usize,
    /// 64 - log2 of the number of slots.
    shift: u32,
    /// Numbers of the regions met: (volume, high part of the chunk).
    regions: HashMap<(u32, u64), u64>,
    last_region: ((u32, u64), u64),
    pages: u32,
    sample: Sample,
}

/// A page as the table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedPage {
    pub(crate) id: u32,
    /// Whether this is its first appearance.
    pub(crate) new: bool,
}

impl PageTable {
    /// A table of the pages that `sample` keeps; all others have no number.
    pub(crate) fn new(sample: Sample) -> PageTable {
        PageTable {
            slots: vec![EMPTY; CAPACITY_MIN],
            used: 0,
            shift: u64::BITS - CAPACITY_MIN.trailing_zeros(),
            regions: HashMap::new(),
            last_region: ((u32::MAX, u64::MAX), 0),
            pages: 0,
            sample,
        }
    }

    /// Pages numbered so far; numbers are below it.
    pub(crate) fn len(&self) -> u32 {
        self.pages
    }

    /// Whether a page may have been left without a number because 32 bits were too few.
    pub(crate) fn is_full(&self) -> bool {
        self.pages >= NO_PAGE - 1
    }

    /// Appends to `ids` the number of every page of the requests that are `wanted` by their index, in order;
    /// [`NO_PAGE`] for those that the sample leaves out. A number equal to that of pages numbered
    /// before it is a page's first appearance.
    pub(crate) fn number(
        &mut self,
        requests: &Requests<'_>,
        page_bytes: u32,
        wanted: impl Fn(usize) -> bool,
        ids: &mut Vec<u32>,
    ) {
        let chosen = (0..requests.len()).filter(|&index| wanted(index));
        let mut ahead = chosen.clone().skip(AHEAD);
        for index in chosen {
            if let Some(later) = ahead.next() {
                self.ask_for(requests.volume[later], requests.pages(later, page_bytes).start);
            }
            let pages = requests.pages(index, page_bytes);
            self.each(requests.volume[index], pages, |page| ids.push(page.map_or(NO_PAGE, |page| page.id)));
        }
    }

    /// Numbers a run of pages of a volume, and shows `visit` those that the sample keeps, ascending.
    ///
    /// At most 2^32 - 2 pages can be numbered; those beyond are passed over, see [`PageTable::is_full`].
    #[inline]
    pub(crate) fn run(&mut self, volume: u32, pages: Range<u64>, mut visit: impl FnMut(NumberedPage)) {
        self.each(volume, pages, |page| {
            if let Some(page) = page {
                visit(page);
            }
        });
    }

    #[inline]
    fn each(&mut self, volume: u32, pages: Range<u64>, mut visit: impl FnMut(Option<NumberedPage>)) {
        if !self.sample.is_all() {
            // Only what the sample keeps gets a slot, or long requests would take as much as without it.
            for page in pages {
                let kept = self.sample.keeps_page(volume, page);
                visit(if kept { self.page(volume, page, true) } else { None });
            }
            return;
        }
        let mut page = pages.start;
        while page < pages.end {
            let chunk = page / CHUNK_PAGES;
            let first = chunk * CHUNK_PAGES;
            let end = pages.end.min(first + CHUNK_PAGES);
            if end < pages.end {
                self.ask_for(volume, end);
            }
            let slot = self.slot(volume, chunk);
            for page in page..end {
                let id = &mut self.slots[slot].ids[(page - first) as usize];
                if *id != NO_PAGE {
                    visit(Some(NumberedPage { id: *id, new: false }));
                } else if self.pages < NO_PAGE - 1 {
                    *id = self.pages;
                    self.pages += 1;
                    visit(Some(NumberedPage { id: *id, new: true }));
                } else {
                    visit(None);
                }
            }
            page = end;
        }
    }

    /// The number of one page; if it has none, a new one when `create` says so. Whether the sample keeps
    /// the page is not asked.
    pub(crate) fn page(&mut self, volume: u32, page: u64, create: bool) -> Option<NumberedPage> {
        let chunk = page / CHUNK_PAGES;
        let slot = if create {
            self.slot(volume, chunk)
        } else {
            let key = self.key(volume, chunk);
            let slot = self.probe(key);
            if self.slots[slot].key == FREE {
                return None;
            }
            slot
        };
        let id = &mut self.slots[slot].ids[(page % CHUNK_PAGES) as usize];
        if *id != NO_PAGE {
            return Some(NumberedPage { id: *id, new: false });
        }
        if !create || self.pages >= NO_PAGE - 1 {
            return None;
        }
        *id = self.pages;
        self.pages += 1;
        Some(NumberedPage { id: *id, new: true })
    }

    /// How many of the numbered pages are not `taken`.
    pub(crate) fn count_unless(&self, taken: impl Fn(u32, u64) -> bool) -> u64 {
        let mut regions: Vec<(u32, u64)> = vec![(0, 0); self.regions.len()];
        for (&region, &number) in &self.regions {
            regions[number as usize] = region;
        }
        let mut count = 0;
        for slot in self.slots.iter().filter(|slot| slot.key != FREE) {
            let (volume, high) = regions[(slot.key >> REGION_BITS) as usize];
            let chunk = high << REGION_BITS | slot.key & ((1 << REGION_BITS) - 1);
            let numbered = (0u64..).zip(&slot.ids).filter(|&(_, &id)| id != NO_PAGE);
            count += numbered.filter(|&(nth, _)| !taken(volume, chunk * CHUNK_PAGES + nth)).count() as u64;
        }
        count
    }

    /// Starts loading the slot of a page.
    #[inline]
    fn ask_for(&mut self, volume: u32, page: u64) {
        let key = self.key(volume, page / CHUNK_PAGES);
        prefetch(&self.slots, self.home(key));
    }

    /// A key that no other chunk has.
    #[inline]
    fn key(&mut self, volume: u32, chunk: u64) -> u64 {
        let region = (volume, chunk >> REGION_BITS);
        if region != self.last_region.0 {
            let next = self.regions.len() as u64;
            self.last_region = (region, *self.regions.entry(region).or_insert(next));
        }
        self.last_region.1 << REGION_BITS | chunk & ((1 << REGION_BITS) - 1)
    }

    /// Where a key belongs. Four neighbours lie together, so that long requests walk through memory.
    #[inline]
    fn home(&self, key: u64) -> usize {
        (mix(key >> 2) >> self.shift) as usize & !3 | (key & 3) as usize
    }

    /// Where the key is, or the free slot where it would be put.
    #[inline]
    fn probe(&self, key: u64) -> usize {
        let mut slot = self.home(key);
        while self.slots[slot].key != key && self.slots[slot].key != FREE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Where the chunk is; it is put there if it is new.
    #[inline]
    fn slot(&mut self, volume: u32, chunk: u64) -> usize {
        let key = self.key(volume, chunk);
        let slot = self.probe(key);
        if self.slots[slot].key == key { slot } else { self.insert(key, slot) }
    }

    #[cold]
    fn insert(&mut self, key: u64, slot: usize) -> usize {
        self.used += 1;
        if self.used * 10 <= self.slots.len() * 7 {
            self.slots[slot].key = key;
            return slot;
        }
        let bigger = vec![EMPTY; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, bigger);
        self.shift -= 1;
        for moved in old.into_iter().filter(|slot| slot.key != FREE) {
            let slot = self.probe(moved.key);
            self.slots[slot] = moved;
        }
        let slot = self.probe(key);
        self.slots[slot].key = key;
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_order_of_first_appearance() {
        let mut table = PageTable::new(Sample::ALL);
        let mut seen = Vec::new();
        for (volume, pages) in [(0, 6..10), (1, 6..7), (0, 9..11), (0, 0..1)] {
            table.run(volume, pages, |page| seen.push((page.id, page.new)));
        }
        let news = [(0, true), (1, true), (2, true), (3, true), (4, true), (3, false), (5, true), (6, true)];
        assert_eq!(seen, news);
        assert_eq!(table.len(), 7);
    }

    #[test]
    fn agrees_with_a_map_over_volumes_and_far_addresses() {
        let mut table = PageTable::new(Sample::ALL);
        let mut map = HashMap::new();
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = mix(state);
            let (volume, near) = ((state % 3) as u32, state >> 8 & 0x3fff);
            let page = near + [0, 1 << 30, 1 << 51][(state >> 40) as usize % 3];
            let next = map.len() as u32;
            let expected = *map.entry((volume, page)).or_insert(next);
            if state >> 60 == 0 {
                assert_eq!(table.page(volume, page, true).map(|page| page.id), Some(expected));
            } else {
                table.run(volume, page..page + 1, |page| {
                    assert_eq!(page, NumberedPage { id: expected, new: expected == next });
                });
            }
        }
        assert_eq!(table.len() as usize, map.len());
        assert_eq!(table.page(9, 9, false), None);
    }

    #[test]
    fn counts_pages_that_are_not_taken() {
        let mut table = PageTable::new(Sample::ALL);
        for (volume, pages) in [(0, 3..40), (1, 0..7), (0, (1 << 40)..(1 << 40) + 5)] {
            table.run(volume, pages, |_| {});
        }
        assert_eq!(table.count_unless(|_, _| false), 37 + 7 + 5);
        assert_eq!(table.count_unless(|volume, page| volume == 0 && page < 10), 30 + 7 + 5);
        assert_eq!(table.count_unless(|volume, page| volume == 0 && page >= 1 << 40), 37 + 7);
    }

    #[test]
    fn a_sample_takes_memory_for_what_it_keeps_only() {
        let mut table = PageTable::new(Sample::new(0.001, 7));
        table.run(0, 0..10_000_000, |_| {});
        assert!(table.len() > 9_000 && table.slots.len() <= 1 << 15, "{} slots", table.slots.len());
    }

    #[test]
    fn shows_only_the_pages_of_the_sample() {
        let sample = Sample::new(0.25, 7);
        let mut table = PageTable::new(sample);
        let mut shown = 0;
        table.run(3, 0..10_000, |page| {
            assert!(page.new);
            shown += 1;
        });
        let kept = (0..10_000).filter(|&page| sample.keeps_page(3, page)).count();
        assert_eq!(shown, kept);
        assert_eq!(table.len() as usize, kept);
        // Binomial: 2,500 expected, standard deviation 43.
        assert!(kept.abs_diff(2500) < 200, "{kept}");
    }
}
