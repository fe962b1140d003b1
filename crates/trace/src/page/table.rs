//! Dense numbers for the pages that a trace touches, given while it is gone through.

use std::ops::Range;

use flashtwin_bits::{mix, prefetch_if_there as prefetch};
use hashbrown::HashMap;

/// Pages that share one slot of the table, half a cache line: requests run through neighbours.
const CHUNK_PAGES: u64 = 6;
/// Chunks of a region have consecutive numbers.
const REGION_BITS: u32 = 20;
const NO_PAGE: u32 = u32::MAX;
/// No chunk has this key.
const FREE: u64 = u64::MAX;
const CAPACITY_MIN: usize = 64;

#[derive(Clone, Copy)]
#[repr(align(32))]
struct Slot {
    key: u64,
    ids: [u32; CHUNK_PAGES as usize],
}

const EMPTY: Slot = Slot { key: FREE, ids: [NO_PAGE; CHUNK_PAGES as usize] };

/// Numbers pages from 0 in order of first appearance: open addressing with linear probing, 35 to 70 % full. 8 to 15
/// bytes a page where whole neighbourhoods are touched, 46 to 91 where pages stand alone.
pub struct PageTable {
    slots: Vec<Slot>,
    used: usize,
    /// 64 - log2 of the number of slots.
    shift: u32,
    /// Numbers of the regions met: (volume, high part of the chunk).
    regions: HashMap<Region, u64>,
    last: LastRegion,
    pages: u32,
}

type Region = (u32, u64);

/// The region of the last look-up, and its number: requests stay in one for long.
#[derive(Clone, Copy, Debug)]
pub struct LastRegion(Region, u64);

impl Default for LastRegion {
    fn default() -> LastRegion {
        LastRegion((u32::MAX, u64::MAX), 0)
    }
}

/// A page as the table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberedPage {
    /// The page's number.
    pub id: u32,
    /// Whether this is its first appearance.
    pub new: bool,
}

impl Default for PageTable {
    fn default() -> PageTable {
        PageTable {
            slots: vec![EMPTY; CAPACITY_MIN],
            used: 0,
            shift: u64::BITS - CAPACITY_MIN.trailing_zeros(),
            regions: HashMap::new(),
            last: LastRegion::default(),
            pages: 0,
        }
    }
}

impl PageTable {
    /// Pages numbered so far; numbers are below it.
    pub fn len(&self) -> u32 {
        self.pages
    }

    /// Whether no page has a number.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Whether a page may have been left without a number because 32 bits were too few.
    pub fn is_full(&self) -> bool {
        self.pages >= NO_PAGE - 1
    }

    /// Bytes that the table takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Numbers a run of pages and shows them to `visit`, ascending; `None` stands for those beyond 2^32 - 2 pages.
    #[inline]
    pub fn each(&mut self, volume: u32, pages: Range<u64>, mut visit: impl FnMut(Option<NumberedPage>)) {
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

    /// The number of one page; if it has none, a new one when `create` says so.
    pub fn page(&mut self, volume: u32, page: u64, create: bool) -> Option<NumberedPage> {
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

    /// Appends the numbers of a run of pages to `ids`; false if one has none. Each thread has a `last` of its own.
    #[inline]
    pub fn look_up(&self, last: &mut LastRegion, volume: u32, pages: Range<u64>, ids: &mut Vec<u32>) -> bool {
        let mut page = pages.start;
        while page < pages.end {
            let chunk = page / CHUNK_PAGES;
            let first = chunk * CHUNK_PAGES;
            let end = pages.end.min(first + CHUNK_PAGES);
            let Some(key) = self.known_key(last, volume, chunk) else { return false };
            // A free slot has no numbers.
            let slot = &self.slots[self.probe(key)];
            for &id in &slot.ids[(page - first) as usize..(end - first) as usize] {
                if id == NO_PAGE {
                    return false;
                }
                ids.push(id);
            }
            page = end;
        }
        true
    }

    /// Starts loading the slot of a page that will be looked up.
    #[inline]
    pub fn ask_for_known(&self, last: &mut LastRegion, volume: u32, page: u64) {
        if let Some(key) = self.known_key(last, volume, page / CHUNK_PAGES) {
            prefetch(&self.slots, self.home(key));
        }
    }

    /// Numbers all pages anew, by address, volume `v` beginning at page `base[v]`. Returns the new number of each old
    /// one, and the address of each new one.
    pub fn number_by_address(&mut self, base: &[u64]) -> (Vec<u32>, Vec<u64>) {
        let regions = self.regions_by_number();
        let place = |slot: &Slot| {
            let (volume, high) = regions[(slot.key >> REGION_BITS) as usize];
            base[volume as usize] + chunk_of(slot.key, high) * CHUNK_PAGES
        };
        let taken = self.slots.iter().zip(0u32..).filter(|(slot, _)| slot.key != FREE);
        let mut places: Vec<(u64, u32)> = taken.map(|(slot, at)| (place(slot), at)).collect();
        places.sort_unstable();
        let mut renumbered = vec![NO_PAGE; self.pages as usize];
        let mut addresses = Vec::with_capacity(self.pages as usize);
        for (first, at) in places {
            for (page, id) in (first..).zip(&mut self.slots[at as usize].ids) {
                if *id != NO_PAGE {
                    let number = addresses.len() as u32;
                    renumbered[*id as usize] = number;
                    *id = number;
                    addresses.push(page);
                }
            }
        }
        (renumbered, addresses)
    }

    /// How many of the numbered pages are not `taken`.
    pub fn count_unless(&self, taken: impl Fn(u32, u64) -> bool) -> u64 {
        let regions = self.regions_by_number();
        let mut count = 0;
        for slot in self.slots.iter().filter(|slot| slot.key != FREE) {
            let (volume, high) = regions[(slot.key >> REGION_BITS) as usize];
            let first = chunk_of(slot.key, high) * CHUNK_PAGES;
            let numbered = (first..).zip(&slot.ids).filter(|&(_, &id)| id != NO_PAGE);
            count += numbered.filter(|&(page, _)| !taken(volume, page)).count() as u64;
        }
        count
    }

    fn regions_by_number(&self) -> Vec<Region> {
        let mut regions: Vec<Region> = vec![(0, 0); self.regions.len()];
        for (&region, &number) in &self.regions {
            regions[number as usize] = region;
        }
        regions
    }

    /// Starts loading the slot of a page.
    #[inline]
    pub fn ask_for(&mut self, volume: u32, page: u64) {
        let key = self.key(volume, page / CHUNK_PAGES);
        prefetch(&self.slots, self.home(key));
    }

    #[inline]
    fn key(&mut self, volume: u32, chunk: u64) -> u64 {
        let region = (volume, chunk >> REGION_BITS);
        if region != self.last.0 {
            let next = self.regions.len() as u64;
            self.last = LastRegion(region, *self.regions.entry(region).or_insert(next));
        }
        key_in(self.last.1, chunk)
    }

    #[inline]
    fn known_key(&self, last: &mut LastRegion, volume: u32, chunk: u64) -> Option<u64> {
        let region = (volume, chunk >> REGION_BITS);
        if region != last.0 {
            *last = LastRegion(region, *self.regions.get(&region)?);
        }
        Some(key_in(last.1, chunk))
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

#[inline]
fn key_in(region: u64, chunk: u64) -> u64 {
    region << REGION_BITS | chunk & ((1 << REGION_BITS) - 1)
}

fn chunk_of(key: u64, high: u64) -> u64 {
    high << REGION_BITS | key & ((1 << REGION_BITS) - 1)
}

#[cfg(test)]
mod tests;
