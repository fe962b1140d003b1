//! LRU stack distances, exactly.

use flashtwin_bits::prefetch_if_there as prefetch;

/// The distance of an item that was not accessed before.
pub(super) const FIRST_ACCESS: u32 = u32::MAX;
const NONE: u32 = u32::MAX;
/// In accesses; half of it for the look-up.
const AHEAD: usize = 12;
/// Slots whose used ones are counted together.
const BLOCK_SLOTS: usize = BLOCK_WORDS * 64;
const BLOCK_WORDS: usize = 4;
/// They double when items need more.
const SLOTS_MIN: u64 = 1 << 14;
/// The highest number of a slot stays below [`NONE`].
const SLOTS_MAX: u64 = (1 << 32) - BLOCK_SLOTS as u64;
const ITEMS_MAX: u32 = u32::MAX - 511;
/// More make renumbering rarer and the tables larger.
const SLOTS_PER_ITEM: u64 = 4;

/// Measures at each access how many other items were accessed since the item's last access (R. Mattson et al., IBM
/// Systems Journal 9(2), 1970). An LRU cache of n items holds it exactly when the distance is below n.
///
/// Every access takes the next time slot and the item gives its former one back, so the distance is the number of slots
/// in use behind that. Slots are bits; a Fenwick tree over blocks of 256 of them counts those in use. When slots run
/// out, items are renumbered in order. 4 bytes and 5 to 9 bits an item. At most 2^32 - 512 items are told apart.
#[derive(Clone, Debug)]
pub struct StackDistances {
    slots: Vec<u32>,
    used: Vec<u64>,
    /// Fenwick tree, from 1 on, over the full blocks: those before the block of `next`.
    counts: Vec<u32>,
    next: u32,
    items: u32,
}

impl Default for StackDistances {
    fn default() -> StackDistances {
        StackDistances::new()
    }
}

impl StackDistances {
    /// Bytes of an item at most.
    pub(crate) const ITEM_BYTES: f64 = 9.0;

    pub fn new() -> StackDistances {
        let slots = SLOTS_MIN as usize;
        StackDistances {
            slots: Vec::new(),
            used: vec![0; slots / 64],
            counts: vec![0; slots / BLOCK_SLOTS + 1],
            next: 0,
            items: 0,
        }
    }

    pub fn items(&self) -> u32 {
        self.items
    }

    /// How many other items were accessed since the last access to `item`; `None` the first time. Number items densely.
    #[inline]
    pub fn access(&mut self, item: u32) -> Option<u32> {
        if self.next as usize == self.used.len() * 64 {
            self.renumber();
        }
        if item as usize >= self.slots.len() {
            let longer = self.slots.len() + self.slots.len() / 2;
            self.slots.resize(longer.max(item as usize + 1), NONE);
        }
        let slot = std::mem::replace(&mut self.slots[item as usize], self.next);
        let distance = if slot != NONE {
            let before = self.used_before(slot);
            self.give_back(slot);
            Some(self.items - 1 - before)
        } else if self.items < ITEMS_MAX {
            self.items += 1;
            None
        } else {
            self.slots[item as usize] = NONE;
            return None;
        };
        self.used[self.next as usize / 64] |= 1 << (self.next % 64);
        self.next += 1;
        if (self.next as usize).is_multiple_of(BLOCK_SLOTS) {
            self.count_full_block();
        }
        distance
    }

    /// Appends the distances of items accessed one after another; [`FIRST_ACCESS`] the first time.
    pub(super) fn access_all(&mut self, items: &[u32], distances: &mut Vec<u32>) {
        distances.extend(items.iter().enumerate().map(|(nth, &item)| {
            if let Some(&later) = items.get(nth + 2 * AHEAD) {
                prefetch(&self.slots, later as usize);
            }
            // Unless the item is accessed before, this is the slot that it will give back.
            let later = items.get(nth + AHEAD).and_then(|&later| self.slots.get(later as usize));
            if let Some(&slot) = later {
                prefetch(&self.used, slot as usize / 64);
            }
            self.access(item).unwrap_or(FIRST_ACCESS)
        }));
    }

    #[inline]
    fn give_back(&mut self, slot: u32) {
        self.used[slot as usize / 64] &= !(1 << (slot % 64));
        let full = self.next as usize / BLOCK_SLOTS;
        let mut at = slot as usize / BLOCK_SLOTS + 1;
        while at <= full {
            self.counts[at] -= 1;
            at += at & at.wrapping_neg();
        }
    }

    fn count_full_block(&mut self) {
        let at = self.next as usize / BLOCK_SLOTS;
        let words = &self.used[(at - 1) * BLOCK_WORDS..at * BLOCK_WORDS];
        let mut count: u32 = words.iter().map(|word| word.count_ones()).sum();
        // The blocks that this node of the tree stands for besides: down to `at` without its lowest bit.
        let mut part = at - 1;
        while part > at & (at - 1) {
            count += self.counts[part];
            part &= part - 1;
        }
        self.counts[at] = count;
    }

    /// In the order of the old ones, without gaps.
    #[cold]
    fn renumber(&mut self) {
        let mut before = 0;
        for (block, words) in self.used.chunks_exact(BLOCK_WORDS).enumerate() {
            self.counts[block] = before;
            before += words.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        let (used, counts) = (&self.used, &self.counts);
        for slot in self.slots.iter_mut().filter(|slot| **slot != NONE) {
            *slot = counts[*slot as usize / BLOCK_SLOTS] + used_within_block(used, *slot);
        }
        let wanted = u64::from(self.items) * SLOTS_PER_ITEM;
        if wanted > self.used.len() as u64 * 64 {
            let slots = wanted.next_power_of_two().min(SLOTS_MAX) as usize;
            self.used.resize(slots / 64, 0);
            self.counts.resize(slots / BLOCK_SLOTS + 1, 0);
        }
        self.next = self.items;
        self.used.fill(0);
        self.used[..self.items as usize / 64].fill(u64::MAX);
        if let Some(word) = self.used.get_mut(self.items as usize / 64) {
            *word = (1 << (self.items % 64)) - 1;
        }
        for at in 1..=self.items as usize / BLOCK_SLOTS {
            self.counts[at] = (BLOCK_SLOTS * (at & at.wrapping_neg())) as u32;
        }
    }

    #[inline]
    fn used_before(&self, slot: u32) -> u32 {
        let mut before = used_within_block(&self.used, slot);
        let mut at = slot as usize / BLOCK_SLOTS;
        while at > 0 {
            before += self.counts[at];
            at &= at - 1;
        }
        before
    }
}

#[inline]
fn used_within_block(used: &[u64], slot: u32) -> u32 {
    let block = slot as usize / BLOCK_SLOTS;
    let mut left = slot as usize % BLOCK_SLOTS;
    let mut before = 0;
    for word in &used[block * BLOCK_WORDS..][..BLOCK_WORDS] {
        let bits = left.min(64);
        left -= bits;
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        before += (word & mask).count_ones();
    }
    before
}
