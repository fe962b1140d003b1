//! Slots of one array, reused, never allocated one by one: flash operations, requests, page writes under way.

use flashtwin_bits::prefetch;

pub(crate) const NONE: u32 = u32::MAX;

/// A slab with a free list threaded through the slots, as three of them are the hottest there are: no second array
/// is touched to take a slot or to give one back.
#[derive(Debug, Clone)]
pub(crate) struct Pool<T> {
    slots: Vec<T>,
    free: u32,
}

pub(crate) trait Slot: Copy {
    fn next(&self) -> u32;
    fn set_next(&mut self, next: u32);
}

impl<T: Slot> Pool<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if self.free == NONE {
            self.slots.push(value);
            return self.slots.len() as u32 - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot as usize].next();
        self.slots[slot as usize] = value;
        slot
    }

    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        prefetch(&self.slots, slot as usize);
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) {
        self.slots[slot as usize].set_next(self.free);
        self.free = slot;
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct Numbered(u64, u32);
    impl Slot for Numbered {
        fn next(&self) -> u32 {
            self.1
        }
        fn set_next(&mut self, next: u32) {
            self.1 = next;
        }
    }

    #[test]
    fn removed_places_are_reused_before_new_ones() {
        let mut pool = Pool::new();
        let slots: Vec<u32> = (0..4).map(|at| pool.insert(Numbered(at, NONE))).collect();
        assert_eq!(slots, [0, 1, 2, 3]);
        for slot in [1, 3, 0] {
            pool.remove(slot);
        }
        let again: Vec<u32> = (10..14).map(|at| pool.insert(Numbered(at, NONE))).collect();
        assert_eq!(again, [0, 3, 1, 4]);
        assert_eq!([0, 1, 2, 3, 4].map(|slot| pool[slot].0), [10, 12, 2, 11, 13]);
    }
}
