//! Lists that run through arrays indexed by their members: no allocation per entry.

use flashtwin_bits::{By, HugeSlice, Id};

use crate::ids::{NONE, link, named};

/// Several lists, each from its oldest member to its newest. An id is in one at most. 8 bytes an id.
#[derive(Clone)]
pub(crate) struct Lists<I> {
    links: By<I, HugeSlice<[u32; 2]>>,
    newest: Vec<u32>,
    oldest: Vec<u32>,
}

/// Of a member's links: to the next newer one, to the next older one.
const NEWER: usize = 0;
const OLDER: usize = 1;

impl<I: Id> Lists<I> {
    pub(crate) fn new(ids: usize, lists: usize) -> Self {
        Self { links: By::new(HugeSlice::zeroed(ids)), newest: vec![NONE; lists], oldest: vec![NONE; lists] }
    }

    #[inline]
    pub(crate) fn prefetch(&self, id: I) {
        self.links.prefetch(id);
    }

    #[inline]
    pub(crate) fn prefetch_neighbours(&self, id: I) {
        if let Some(links) = self.links.get(id) {
            links.iter().filter_map(|&link| named(link)).for_each(|other| self.links.prefetch(other));
        }
    }

    pub(crate) fn oldest(&self, list: usize) -> Option<I> {
        named(self.oldest[list])
    }

    pub(crate) fn newest(&self, list: usize) -> Option<I> {
        named(self.newest[list])
    }

    /// The third oldest member: a caller that takes the oldest prefetches it, since taking the second changes it.
    pub(crate) fn third(&self, list: usize) -> Option<I> {
        let second = named::<I>(self.links[self.oldest(list)?][NEWER])?;
        named(self.links[second][NEWER])
    }

    /// Puts an id that is in no list at the new end.
    pub(crate) fn push(&mut self, list: usize, id: I) {
        let newest = std::mem::replace(&mut self.newest[list], link(id));
        self.links[id] = [NONE, newest];
        match named::<I>(newest) {
            None => self.oldest[list] = link(id),
            Some(newest) => self.links[newest][NEWER] = link(id),
        }
    }

    pub(crate) fn unlink(&mut self, list: usize, id: I) {
        let [newer, older] = self.links[id];
        match named::<I>(newer) {
            None => self.newest[list] = older,
            Some(newer) => self.links[newer][OLDER] = older,
        }
        match named::<I>(older) {
            None => self.oldest[list] = newer,
            Some(older) => self.links[older][NEWER] = newer,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let all = 2 * self.links.len() + self.newest.len() + self.oldest.len();
        all as u64 * 4
    }
}

flashtwin_bits::state!(any I: Id => Lists<I> { links, newest, oldest });
