//! A write-back cache in controller DRAM: pages rewritten before they leave are programmed once, and reads of cached
//! pages need no flash. As in H. Kim, S. Ahn, "BPLRU", FAST '08, with single pages and plain LRU of writes. Hashing,
//! deduplication and allocation happen when a page leaves for the flash.

use std::collections::VecDeque;

use flashtwin_bits::{By, Slab};
use flashtwin_ftl::{Host, Lpn};

use super::NONE;
use crate::config::EngineConfig;

#[derive(Debug, Clone, Copy)]
struct CachedPage {
    host: Host,
    before: u32,
    after: u32,
    /// Versions of it on their way to the flash.
    flights: u32,
    /// Newer than the page on flash or on its way there.
    dirty: bool,
    /// Only part of it was written: the rest is on flash.
    partial: bool,
    /// The placement handle of its last write.
    handle: u8,
    /// Trimmed; its place is taken until its flights are over.
    gone: bool,
}

#[derive(Debug, Clone, Copy)]
struct List {
    oldest: u32,
    newest: u32,
}

impl List {
    const EMPTY: Self = Self { oldest: NONE, newest: NONE };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachePlacement {
    /// The page was there and had not left for the flash yet.
    pub(super) absorbed: bool,
    /// There is no place: the write is complete when one is given up.
    pub(super) waits: bool,
}

#[derive(Debug, Clone)]
pub(super) struct WriteCache {
    capacity: u32,
    pub(super) most_dirty: u32,
    /// Place of each logical page, [`NONE`] for those that are not here.
    place: By<Lpn, Vec<u32>>,
    pages: Slab<CachedPage>,
    dirty: List,
    dirty_pages: u32,
    clean: List,
    /// Requests that wait for a place, in the order in which they came.
    waiting: VecDeque<u32>,
}

impl WriteCache {
    pub(super) fn of(config: &EngineConfig) -> Option<Self> {
        let capacity = config.write_cache_pages;
        (capacity > 0).then(|| Self {
            capacity,
            most_dirty: (f64::from(capacity) * config.write_cache_dirty) as u32,
            place: By::new(Vec::new()),
            pages: Slab::new(),
            dirty: List::EMPTY,
            dirty_pages: 0,
            clean: List::EMPTY,
            waiting: VecDeque::new(),
        })
    }

    fn held(&self) -> u32 {
        self.pages.taken()
    }

    fn find(&self, lpn: Lpn) -> Option<u32> {
        self.place.get(lpn).copied().filter(|&at| at != NONE)
    }

    fn push(&mut self, dirty: bool, at: u32) {
        let list = if dirty { &mut self.dirty } else { &mut self.clean };
        let newest = std::mem::replace(&mut list.newest, at);
        match newest {
            NONE => list.oldest = at,
            newest => self.pages[newest as usize].after = at,
        }
        (self.pages[at as usize].before, self.pages[at as usize].after) = (newest, NONE);
        self.dirty_pages += u32::from(dirty);
    }

    fn unlink(&mut self, dirty: bool, at: u32) {
        let CachedPage { before, after, .. } = self.pages[at as usize];
        let list = if dirty { &mut self.dirty } else { &mut self.clean };
        match before {
            NONE => list.oldest = after,
            before => self.pages[before as usize].after = after,
        }
        match after {
            NONE => list.newest = before,
            after => self.pages[after as usize].before = before,
        }
        self.dirty_pages -= u32::from(dirty);
    }

    fn take_off(&mut self, at: u32) {
        let page = self.pages[at as usize];
        if page.dirty || page.flights == 0 {
            self.unlink(page.dirty, at);
        }
    }

    fn forget(&mut self, at: u32) {
        self.place[self.pages[at as usize].host.lpn] = NONE;
    }

    pub(super) fn handle(&self, at: u32) -> u8 {
        self.pages[at as usize].handle
    }

    pub(super) fn write(&mut self, host: Host, handle: u8, partial: bool, request: u32) -> CachePlacement {
        if let Some(at) = self.find(host.lpn) {
            let absorbed = self.pages[at as usize].dirty;
            self.take_off(at);
            let page = &mut self.pages[at as usize];
            page.partial &= partial;
            (page.host, page.handle, page.dirty) = (host, handle, true);
            self.push(true, at);
            return CachePlacement { absorbed, waits: false };
        }
        if self.held() >= self.capacity && self.clean.oldest != NONE {
            let at = self.clean.oldest;
            self.unlink(false, at);
            self.forget(at);
            self.pages.free(at);
        }
        let waits = self.held() >= self.capacity;
        if waits {
            self.waiting.push_back(request);
        }
        let (before, after) = (NONE, NONE);
        let page = CachedPage { host, before, after, flights: 0, dirty: true, partial, handle, gone: false };
        let at = self.pages.insert(page);
        if self.place.len() <= host.lpn.index() {
            self.place.resize((host.lpn.index() + 1).next_power_of_two(), NONE);
        }
        self.place[host.lpn] = at;
        self.push(true, at);
        CachePlacement { absorbed: false, waits }
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    #[inline]
    pub(super) fn has(&self, lpn: Lpn) -> bool {
        self.find(lpn).is_some_and(|at| !self.pages[at as usize].partial)
    }

    /// Returns whether the page was dirty, and the request that gets its place, if that is given up.
    pub(super) fn trim(&mut self, lpn: Lpn) -> (bool, Option<u32>) {
        let Some(at) = self.find(lpn) else { return (false, None) };
        self.take_off(at);
        self.forget(at);
        let page = &mut self.pages[at as usize];
        let dirty = std::mem::replace(&mut page.dirty, false);
        page.gone = true;
        if page.flights > 0 {
            return (dirty, None);
        }
        self.pages.free(at);
        (dirty, self.waiting.pop_front())
    }

    pub(super) fn next_to_leave(&mut self, most_dirty: u32) -> Option<(u32, Host, bool)> {
        if self.dirty_pages <= most_dirty {
            return None;
        }
        let at = self.dirty.oldest;
        self.unlink(true, at);
        let page = &mut self.pages[at as usize];
        page.flights += 1;
        page.dirty = false;
        Some((at, page.host, page.partial))
    }

    /// The page gives up its place if it was trimmed, or if a request waits for one. Returns that request.
    pub(super) fn arrived(&mut self, at: u32) -> Option<u32> {
        let page = &mut self.pages[at as usize];
        page.flights -= 1;
        if page.flights > 0 || page.dirty {
            return None;
        }
        if !page.gone {
            // The rest of a partly written page was read on its way out: all of it is in the cache now.
            page.partial = false;
            if self.waiting.is_empty() {
                self.push(false, at);
                return None;
            }
            self.forget(at);
        }
        self.pages.free(at);
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use flashtwin_ftl::{Content, Rng};

    use super::*;

    /// The same rules on plain lists: dirty and clean pages oldest first, versions under way by name.
    #[derive(Default)]
    struct Naive {
        capacity: usize,
        dirty: Vec<Lpn>,
        clean: Vec<Lpn>,
        /// Names of versions on their way, with their page unless it was trimmed since.
        flights: HashMap<u32, Option<Lpn>>,
        /// Trimmed pages of which versions are under way take a place each, by the version that is last.
        gone: Vec<HashSet<u32>>,
        partial: HashSet<Lpn>,
        waiting: Vec<u32>,
    }

    impl Naive {
        fn flies(&self, lpn: Lpn) -> bool {
            self.flights.values().any(|&page| page == Some(lpn))
        }

        fn held(&self) -> usize {
            let flying: HashSet<Lpn> = self.flights.values().copied().flatten().collect();
            let listed: HashSet<Lpn> = self.dirty.iter().chain(&self.clean).copied().collect();
            flying.union(&listed).count() + self.gone.len()
        }

        fn write(&mut self, lpn: Lpn, partial: bool) -> CachePlacement {
            let there = self.dirty.contains(&lpn) || self.clean.contains(&lpn) || self.flies(lpn);
            let absorbed = self.dirty.contains(&lpn);
            if !there && self.held() >= self.capacity && !self.clean.is_empty() {
                let out = self.clean.remove(0);
                self.partial.remove(&out);
            }
            let waits = !there && self.held() >= self.capacity;
            if !partial {
                self.partial.remove(&lpn);
            } else if !there {
                self.partial.insert(lpn);
            }
            self.dirty.retain(|&page| page != lpn);
            self.clean.retain(|&page| page != lpn);
            self.dirty.push(lpn);
            CachePlacement { absorbed, waits }
        }

        fn give_up_place(&mut self) -> Option<u32> {
            (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
        }

        fn trim(&mut self, lpn: Lpn) -> (bool, Option<u32>) {
            let there = self.dirty.contains(&lpn) || self.clean.contains(&lpn) || self.flies(lpn);
            let dirty = self.dirty.contains(&lpn);
            self.dirty.retain(|&page| page != lpn);
            self.clean.retain(|&page| page != lpn);
            self.partial.remove(&lpn);
            let names: HashSet<u32> =
                self.flights.iter().filter(|(_, page)| **page == Some(lpn)).map(|(&name, _)| name).collect();
            if !names.is_empty() {
                self.flights.values_mut().filter(|page| **page == Some(lpn)).for_each(|page| *page = None);
                self.gone.push(names);
                return (dirty, None);
            }
            (dirty, if there { self.give_up_place() } else { None })
        }

        fn arrived(&mut self, name: u32) -> Option<u32> {
            match self.flights.remove(&name).unwrap() {
                Some(lpn) if self.flies(lpn) || self.dirty.contains(&lpn) => None,
                Some(lpn) => {
                    self.partial.remove(&lpn);
                    if self.waiting.is_empty() {
                        self.clean.push(lpn);
                        return None;
                    }
                    self.give_up_place()
                }
                None => {
                    let at = self.gone.iter().position(|names| names.contains(&name)).unwrap();
                    self.gone[at].remove(&name);
                    if !self.gone[at].is_empty() {
                        return None;
                    }
                    self.gone.remove(at);
                    self.give_up_place()
                }
            }
        }
    }

    #[test]
    fn it_does_what_plain_lists_do() {
        for seed in 0..200 {
            let mut rng = Rng::stream(seed, "write cache");
            let capacity = 1 + rng.below(12);
            let share = [0.01, 0.5, 1.0][rng.below(3) as usize];
            let config = EngineConfig {
                write_cache_pages: capacity,
                write_cache_dirty: share,
                ..EngineConfig::default()
            };
            let mut cache = WriteCache::of(&config).unwrap();
            let mut naive = Naive { capacity: capacity as usize, ..Naive::default() };
            let most_dirty = (f64::from(capacity) * share) as usize;
            let mut under_way: Vec<(u32, u32)> = Vec::new();
            for name in 0..600 {
                let lpn = Lpn::new(rng.below(20));
                match rng.below(10) {
                    0 => {
                        assert_eq!(cache.trim(lpn), naive.trim(lpn));
                    }
                    1..=4 if !under_way.is_empty() => {
                        let (name, at) = under_way.remove(rng.below(under_way.len() as u32) as usize);
                        assert_eq!(cache.arrived(at), naive.arrived(name));
                    }
                    _ => {
                        let partial = rng.below(3) == 0;
                        let host = Host { lpn, address: 0, content: Content::new(name) };
                        let taken = cache.write(host, name as u8, partial, name);
                        assert_eq!(taken, naive.write(lpn, partial));
                        naive.waiting.extend(taken.waits.then_some(name));
                    }
                }
                let mut version = 0;
                while let Some((at, host, partial)) = cache.next_to_leave(cache.most_dirty) {
                    assert!(naive.dirty.len() > most_dirty);
                    let lpn = naive.dirty.remove(0);
                    assert_eq!((host.lpn, partial), (lpn, naive.partial.contains(&lpn)));
                    assert_eq!(u32::from(cache.handle(at)), host.content.number() % 256);
                    let flight = name * 100 + version;
                    naive.flights.insert(flight, Some(lpn));
                    under_way.push((flight, at));
                    version += 1;
                }
                assert!(naive.dirty.len() <= most_dirty);
                assert_eq!(cache.held() as usize, naive.held());
                assert_eq!(cache.waiting.len(), naive.held().saturating_sub(capacity as usize));
                let whole = |lpn: Lpn| {
                    let there = naive.dirty.contains(&lpn) || naive.clean.contains(&lpn) || naive.flies(lpn);
                    there && !naive.partial.contains(&lpn)
                };
                Lpn::each(0..20).for_each(|lpn| assert_eq!(cache.has(lpn), whole(lpn), "{seed}"));
            }
        }
    }
}
