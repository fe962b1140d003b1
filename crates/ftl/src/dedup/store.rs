//! The fingerprint store: which contents are known to be on flash, and where.

use super::config::Entries;
use super::eviction::{Eviction, EvictionPolicy};
use crate::foreign::Foreign;
use crate::ids::{Content, NO_VPN, Vpn};
use flashtwin_bits::{By, HugeSlice};
use flashtwin_nand::{NO_PPN, Ppn};

pub(crate) trait ContentAddress:
    flashtwin_bits::State + Copy + Eq + std::fmt::Debug + 'static
{
    /// No place: the content is not known.
    const NONE: Self;
}

impl ContentAddress for Vpn {
    const NONE: Self = NO_VPN;
}

impl ContentAddress for Ppn {
    const NONE: Self = NO_PPN;
}

/// Content -> place (a VPN, or in inverted tables a PPN). Evicted entries are dropped, not saved (CA-SSD paper 4.1).
/// Contents are dense ids: an array of 4 bytes a content, and those of its order if it is limited.
pub(crate) struct FingerprintStore<P> {
    places: By<Content, HugeSlice<P>>,
    entries: u32,
    limit: Option<Limit>,
    /// Contents whose entry changed since it was last asked, where anybody asks.
    changed: Option<Vec<Content>>,
}

struct Limit {
    capacity: u32,
    order: Box<dyn Eviction>,
}

impl<P: ContentAddress> FingerprintStore<P> {
    pub(crate) fn new(contents: u32, entries: Entries, eviction: EvictionPolicy, foreign: &Foreign) -> Self {
        let limit = match entries {
            Entries::Unlimited => None,
            Entries::Limited(capacity) => {
                Some(Limit { capacity, order: eviction.build(contents, capacity, foreign) })
            }
        };
        Self {
            places: By::new(HugeSlice::filled(P::NONE, contents as usize)),
            entries: 0,
            limit,
            changed: None,
        }
    }

    pub(crate) fn note_changes(&mut self, wanted: bool) {
        self.changed = wanted.then(Vec::new);
    }

    pub(crate) fn take_changed(&mut self) -> Vec<Content> {
        self.changed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    #[inline]
    fn change(&mut self, content: Content) {
        if let Some(changed) = &mut self.changed {
            changed.push(content);
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        u64::from(self.entries)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.places.len() as u64 * 4 + self.limit.as_ref().map_or(0, |limit| limit.order.bytes())
    }

    #[inline]
    pub(crate) fn counts_references(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.order.counts_references())
    }

    #[inline]
    pub(crate) fn lookup(&mut self, content: Content) -> P {
        let place = self.places[content];
        if let (true, Some(limit)) = (place != P::NONE, &mut self.limit) {
            limit.order.written(content);
        }
        place
    }

    /// Where a content is known to be, without touching the order.
    #[inline]
    pub(crate) fn peek(&self, content: Content) -> P {
        self.places[content]
    }

    /// Like [`FingerprintStore::peek`], for prefetching only: a number that is no content's gets another one's place.
    #[inline]
    pub(crate) fn foresee(&self, content: Content) -> P {
        let content = if content.index() < self.places.len() { content } else { Content::new(0) };
        self.places.get(content).copied().unwrap_or(P::NONE)
    }

    #[inline]
    pub(crate) fn prefetch(&self, content: Content) {
        self.places.prefetch(content);
        if let Some(limit) = &self.limit {
            limit.order.prefetch(content);
        }
    }

    #[inline]
    pub(crate) fn prefetch_neighbours(&self, content: Content) {
        if let Some(limit) = &self.limit {
            limit.order.prefetch_neighbours(content);
        }
    }

    /// Enters an unknown content, which has one LPN. Returns the evicted entry and its place.
    #[inline]
    pub(crate) fn insert(&mut self, content: Content, place: P) -> Option<(Content, P)> {
        debug_assert_eq!(self.places[content], P::NONE);
        let mut evicted = None;
        if let Some(limit) = self.limit.as_mut().filter(|limit| self.entries >= limit.capacity)
            && let Some(next) = limit.order.give_way()
        {
            evicted = Some((next, self.places[next]));
            self.remove(next);
        }
        if let Some(limit) = &mut self.limit {
            limit.order.entered(content);
        }
        self.places[content] = place;
        self.entries += 1;
        self.change(content);
        evicted
    }

    #[inline]
    pub(crate) fn renew(&mut self, content: Content, place: P) {
        self.places[content] = place;
        self.change(content);
    }

    #[inline]
    pub(crate) fn recount(&mut self, content: Content, references: u32) {
        if let Some(limit) = &mut self.limit {
            limit.order.recounted(content, references);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, content: Content) {
        self.places[content] = P::NONE;
        self.entries -= 1;
        self.change(content);
        if let Some(limit) = &mut self.limit {
            limit.order.left(content);
        }
    }
}

flashtwin_bits::state!(Limit { order } kept { capacity });
flashtwin_bits::state!(any P: ContentAddress => FingerprintStore<P> { places, entries, limit, changed });

#[cfg(test)]
mod tests;
