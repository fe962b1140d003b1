//! Memory for the last-touch times of pages, chunk by chunk.

use std::ops::Range;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::pages::{GROUP_PAGES, GROUPS, Pages};
use crate::sample::mix;
use flashtwin_bits::prefetch_if_there as prefetch;

/// Chunks that are found together: as many as fill a cache line.
const REGION_CHUNKS: u64 = 6;
const NONE: u32 = u32::MAX;

#[repr(align(64))]
struct Region {
    /// Number of the first chunk / [`REGION_CHUNKS`].
    number: u64,
    volume: u32,
    used: u32,
    slots: [u32; REGION_CHUNKS as usize],
    /// When any page of each chunk was touched last.
    latest: [u32; REGION_CHUNKS as usize],
}

struct Owner {
    number: u64,
    volume: u32,
    latest: u32,
}

/// When any page of each group was touched last.
#[repr(align(64))]
struct Latest([u32; GROUPS]);

/// When each page was touched last.
#[repr(align(64))]
struct Times([[u32; GROUP_PAGES]; GROUPS]);

#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkEntry {
    pub(super) number: u64,
    pub(super) slot: u32,
    /// When any of its pages was touched last.
    pub(super) latest: u32,
}

/// Last-touch times of the pages of some chunks. Memory is reused without being erased: old times are too old to
/// matter. Slots are no [`Slab`](flashtwin_bits::Slab), because many look-ups end at a slot's owner or groups. Those
/// lie close together only if the 4 KB of single pages lie elsewhere.
#[derive(Default)]
pub(super) struct Chunks {
    regions: HashTable<Region>,
    owners: Vec<Owner>,
    latest: Vec<Latest>,
    whole: Vec<Latest>,
    times: Vec<Times>,
    free: Vec<u32>,
}

impl Chunks {
    /// Notes that the pages within a chunk are touched; gives the chunk memory if it has none.
    #[inline]
    pub(super) fn touch(&mut self, pages: Pages, number: u64, now: u32) -> u32 {
        let slot = self.slot(pages.volume, number, now);
        let range = pages.within(number);
        let (latest, whole) = (&mut self.latest[slot as usize].0, &mut self.whole[slot as usize].0);
        let times = &mut self.times[slot as usize].0;
        for group in range.start / GROUP_PAGES..range.end.div_ceil(GROUP_PAGES) {
            let part = part(&range, group);
            latest[group] = now;
            if part.len() == GROUP_PAGES {
                whole[group] = now;
            } else {
                times[group][part].fill(now);
            }
        }
        slot
    }

    #[inline]
    fn slot(&mut self, volume: u32, number: u64, now: u32) -> u32 {
        let (region, nth) = (number / REGION_CHUNKS, (number % REGION_CHUNKS) as usize);
        let is_it = |other: &Region| other.number == region && other.volume == volume;
        let rehash = |other: &Region| hash(other.volume, other.number);
        let region = match self.regions.entry(hash(volume, region), is_it, rehash) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(vacant) => {
                let (slots, latest) = ([NONE; REGION_CHUNKS as usize], [0; REGION_CHUNKS as usize]);
                vacant.insert(Region { number: region, volume, used: 0, slots, latest }).into_mut()
            }
        };
        region.latest[nth] = now;
        if region.slots[nth] == NONE {
            region.used += 1;
            region.slots[nth] = self.free.pop().unwrap_or(self.owners.len() as u32);
            if region.slots[nth] as usize == self.owners.len() {
                self.owners.push(Owner { number, volume, latest: now });
                self.latest.push(Latest([0; GROUPS]));
                self.whole.push(Latest([0; GROUPS]));
                self.times.push(Times([[0; GROUP_PAGES]; GROUPS]));
            }
        }
        let slot = region.slots[nth];
        self.owners[slot as usize] = Owner { number, volume, latest: now };
        slot
    }

    /// Unless a page of the chunk was touched after `time`.
    #[inline]
    pub(super) fn free_unless_touched_after(&mut self, slot: u32, time: u32) {
        let owner = &self.owners[slot as usize];
        if owner.latest != time {
            return;
        }
        let (region, nth) = (owner.number / REGION_CHUNKS, (owner.number % REGION_CHUNKS) as usize);
        let is_it = |other: &Region| other.number == region && other.volume == owner.volume;
        if let Ok(mut entry) = self.regions.find_entry(hash(owner.volume, region), is_it) {
            let region = entry.get_mut();
            region.slots[nth] = NONE;
            region.used -= 1;
            if region.used == 0 {
                entry.remove();
            }
            self.free.push(slot);
        }
    }

    #[inline]
    fn region(&self, volume: u32, number: u64) -> Option<&Region> {
        let is_it = |other: &Region| other.number == number && other.volume == volume;
        self.regions.find(hash(volume, number), is_it)
    }

    /// The chunks that hold some of `pages` and were touched after `time`, ascending.
    #[inline]
    pub(super) fn find(&self, pages: Pages, time: u32, places: &mut Vec<ChunkEntry>) {
        let chunks = pages.chunks();
        for number in chunks.start() / REGION_CHUNKS..=chunks.end() / REGION_CHUNKS {
            let Some(region) = self.region(pages.volume, number) else { continue };
            for (nth, (&slot, &latest)) in region.slots.iter().zip(&region.latest).enumerate() {
                let number = number * REGION_CHUNKS + nth as u64;
                if slot != NONE && latest > time && chunks.contains(&number) {
                    places.push(ChunkEntry { number, slot, latest });
                }
            }
        }
    }

    /// If any was touched later.
    #[inline]
    pub(super) fn raise(&self, place: ChunkEntry, range: Range<usize>, time: &mut u32) {
        if place.latest <= *time {
            return;
        }
        let latest = &self.latest[place.slot as usize].0;
        let groups = range.start / GROUP_PAGES..range.end.div_ceil(GROUP_PAGES);
        for (&latest, group) in latest[groups.clone()].iter().zip(groups) {
            let part = part(&range, group);
            if latest > *time && part.len() == GROUP_PAGES {
                *time = latest;
            } else if latest > *time {
                let (whole, times) = self.group(place.slot, group);
                *time = times[part].iter().fold((*time).max(whole), |time, &page| time.max(page));
            }
        }
    }

    /// When each group of a chunk was touched last.
    #[inline]
    pub(super) fn latest(&self, slot: u32) -> &[u32; GROUPS] {
        &self.latest[slot as usize].0
    }

    /// When all pages of a group were touched together last, and when each was by itself. The later of both counts.
    #[inline]
    pub(super) fn group(&self, slot: u32, group: usize) -> (u32, &[u32; GROUP_PAGES]) {
        (self.whole[slot as usize].0[group], &self.times[slot as usize].0[group])
    }

    /// Without the surroundings' times.
    #[inline]
    pub(super) fn prefetch(&self, pages: Pages, distance: u32) {
        let around = pages.widened(distance).chunks();
        for number in around.start() / REGION_CHUNKS..=around.end() / REGION_CHUNKS {
            let Some(region) = self.region(pages.volume, number) else { continue };
            for (nth, &slot) in region.slots.iter().enumerate() {
                let number = number * REGION_CHUNKS + nth as u64;
                if slot == NONE || !around.contains(&number) {
                    continue;
                }
                if let Some(latest) = self.latest.get(slot as usize) {
                    prefetch(&latest.0, 0);
                    prefetch(&latest.0, GROUPS / 2);
                }
                if pages.reach(number) {
                    let range = pages.within(number);
                    self.prefetch_group(slot, range.start / GROUP_PAGES);
                    self.prefetch_group(slot, (range.end - 1) / GROUP_PAGES);
                }
            }
        }
    }

    #[inline]
    pub(super) fn prefetch_group(&self, slot: u32, group: usize) {
        if let (Some(times), Some(whole)) = (self.times.get(slot as usize), self.whole.get(slot as usize)) {
            prefetch(&times.0[group], 0);
            prefetch(&times.0[group], GROUP_PAGES / 2);
            prefetch(&whole.0, group);
        }
    }
}

/// Counted from the group's beginning.
#[inline]
pub(super) fn part(range: &Range<usize>, group: usize) -> Range<usize> {
    let base = group * GROUP_PAGES;
    range.start.saturating_sub(base)..(range.end - base).min(GROUP_PAGES)
}

fn hash(volume: u32, region: u64) -> u64 {
    mix(region ^ u64::from(volume) << 40)
}
