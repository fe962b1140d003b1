//! Slots that are used again, named by dense 32-bit numbers.
//!
//! Unlike the crate `slab` it does not store whether a slot is taken, so a slot can be exactly a cache line. A free
//! slot keeps its old value, so that a list in it keeps its capacity.

use std::ops::{Deref, DerefMut};

use crate::roomy::Roomy;

/// All slots in one array. The last one freed is the first used again.
#[derive(Debug, Clone)]
pub struct Slab<T> {
    slots: Vec<T>,
    free: Roomy<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Roomy::default() }
    }
}

impl<T> Slab<T> {
    /// Without slots.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a value into a slot; its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.list.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => self.push(value),
        }
    }

    /// For slots whose old value is worth reusing: `renew` resets it, `fresh` makes one for a new slot.
    #[inline]
    pub fn insert_with(&mut self, fresh: impl FnOnce() -> T, renew: impl FnOnce(&mut T)) -> u32 {
        match self.free.list.pop() {
            Some(slot) => {
                renew(&mut self.slots[slot as usize]);
                slot
            }
            None => self.push(fresh()),
        }
    }

    #[inline]
    fn push(&mut self, value: T) -> u32 {
        self.slots.push(value);
        self.slots.len() as u32 - 1
    }

    /// Frees a slot. Its value stays until the slot is used again.
    #[inline]
    pub fn free(&mut self, slot: u32) {
        self.free.list.push(slot);
    }

    /// Slots that are taken.
    #[inline]
    pub fn taken(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Slots that are free.
    pub fn free_slots(&self) -> usize {
        self.free.len()
    }

    /// Free slots that there is room to remember, 4 bytes each.
    pub fn free_capacity(&self) -> usize {
        self.free.list.capacity()
    }
}

impl<T> Deref for Slab<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.slots
    }
}

impl<T> DerefMut for Slab<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.slots
    }
}

crate::state!(any T: crate::State => Slab<T> { slots, free });

#[cfg(test)]
mod tests {
    use super::Slab;
    use crate::mixing::SplitMix64;

    #[test]
    fn no_number_is_given_twice_and_the_last_freed_comes_first() {
        let (mut slab, mut random) = (Slab::new(), SplitMix64(7));
        let (mut taken, mut freed) = (Vec::<(u32, u64)>::new(), Vec::new());
        for value in 0..5_000 {
            if random.next() % 2 == 0 || taken.is_empty() {
                let slot = match value % 2 {
                    0 => slab.insert(value),
                    _ => slab.insert_with(|| value, |kept| *kept = value),
                };
                assert!(taken.iter().all(|&(other, _)| other != slot));
                assert!(freed.pop().is_none_or(|last| last == slot));
                taken.push((slot, value));
            } else {
                let (slot, value) = taken.swap_remove(random.next() as usize % taken.len());
                assert_eq!(slab[slot as usize], value);
                slab.free(slot);
                freed.push(slot);
            }
            assert_eq!((slab.taken() as usize, slab.free_slots()), (taken.len(), freed.len()));
        }
    }
}
