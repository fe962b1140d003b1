//! Distinct pages by runs of neighbours: the pages of long requests take a few words, not a word a page.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint and not adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// By volume and beginning.
    ends: BTreeMap<(u32, u64), u64>,
    pages: u64,
}

impl Extents {
    pub(crate) fn insert(&mut self, volume: u32, pages: Range<u64>) {
        let Range { mut start, mut end } = pages;
        if start >= end {
            return;
        }
        if let Some((&(_, first), &last)) = self.ends.range((volume, 0)..=(volume, start)).next_back()
            && last >= start
        {
            if last >= end {
                return;
            }
            start = first;
        }
        while let Some((&key, &last)) = self.ends.range((volume, start)..=(volume, end)).next() {
            self.ends.remove(&key);
            self.pages -= last - key.1;
            end = end.max(last);
        }
        self.ends.insert((volume, start), end);
        self.pages += end - start;
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    pub(crate) fn runs(&self) -> u64 {
        self.ends.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(crate) fn contains(&self, volume: u32, page: u64) -> bool {
        let before = self.ends.range((volume, 0)..=(volume, page)).next_back();
        before.is_some_and(|(_, &end)| page < end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::sample::mix;

    #[test]
    fn agrees_with_a_set_of_pages() {
        for seed in 0..200u64 {
            let (mut extents, mut set) = (Extents::default(), HashSet::new());
            let mut state = mix(seed);
            for _ in 0..state % 60 {
                state = mix(state);
                let (volume, start) = ((state % 2) as u32, state >> 8 & 0x7f);
                let end = start + (state >> 20) % 12;
                extents.insert(volume, start..end);
                set.extend((start..end).map(|page| (volume, page)));
                assert_eq!(extents.pages(), set.len() as u64, "seed {seed}");
            }
            let runs = set.iter().filter(|(volume, page)| *page == 0 || !set.contains(&(*volume, page - 1)));
            assert_eq!(extents.runs(), runs.count() as u64, "seed {seed}");
            for volume in 0..3 {
                for page in 0..150 {
                    assert_eq!(extents.contains(volume, page), set.contains(&(volume, page)), "seed {seed}");
                }
            }
        }
    }

    #[test]
    fn a_terabyte_is_one_run() {
        let mut extents = Extents::default();
        for number in 0..256 {
            extents.insert(0, number << 20..(number + 1) << 20);
        }
        assert_eq!((extents.pages(), extents.runs()), (256 << 20, 1));
        assert!(extents.contains(0, 5) && !extents.contains(1, 5) && !extents.is_empty());
    }
}
