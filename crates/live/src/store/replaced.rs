//! Pages whose own places could not be written. They lie in the gap between spare bytes and data, in slots of a page.

use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Debug, Default, Clone)]
pub(crate) struct Replaced {
    /// By page number.
    slots: BTreeMap<u32, u32>,
    /// Slots from this one on are free in every state that a recovery may find.
    next: u32,
}

impl Replaced {
    #[inline]
    pub(crate) fn slot(&self, page: u32) -> Option<u32> {
        if self.slots.is_empty() { None } else { self.slots.get(&page).copied() }
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn insert(&mut self, page: u32, slot: u32) {
        self.slots.insert(page, slot);
        self.next = self.next.max(slot + 1);
    }

    /// These pages were erased.
    pub(crate) fn remove(&mut self, pages: Range<u32>) {
        if !self.slots.is_empty() {
            self.slots.retain(|page, _| !pages.contains(page));
        }
    }

    /// What was removed so far is durable.
    pub(crate) fn reuse(&mut self) {
        self.next = self.slots.values().max().map_or(0, |last| last + 1);
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.slots.iter().map(|(&page, &slot)| (page, slot))
    }
}
