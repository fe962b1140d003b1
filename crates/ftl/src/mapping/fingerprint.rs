//! The fingerprint store: which contents are known to be on flash.

use super::NO_VPN;
use crate::config::Entries;
use crate::prefetch::prefetch;

/// Content -> VPN, all of them or the most recently written ones.
///
/// Source: CA-SSD paper 4.1 (LRU over writes of values; evicted entries are dropped).
/// Contents are dense ids, so the store is an array; the LRU order is an intrusive list
/// over contents, kept only where the capacity is limited. 4 bytes a content unlimited,
/// 12 limited.
pub(crate) struct FingerprintStore {
    vpns: Vec<u32>,
    capacity: Option<u32>,
    entries: u32,
    /// Neighbours in order of last write, plus one; 0: none.
    newer: Vec<u32>,
    older: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl FingerprintStore {
    pub(crate) fn new(contents: u32, entries: Entries) -> Self {
        let capacity = match entries {
            Entries::Unlimited => None,
            Entries::Limited(limit) => Some(limit),
        };
        let links = if capacity.is_some() { contents as usize } else { 0 };
        Self {
            vpns: vec![NO_VPN; contents as usize],
            capacity,
            entries: 0,
            newer: vec![0; links],
            older: vec![0; links],
            newest: 0,
            oldest: 0,
        }
    }

    pub(crate) fn entries(&self) -> u64 {
        u64::from(self.entries)
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.vpns.len() + self.newer.len() + self.older.len()) as u64 * 4
    }

    /// Looks a written content up; a hit becomes the most recently written.
    #[inline]
    pub(crate) fn lookup(&mut self, content: u32) -> u32 {
        let vpn = self.vpns[content as usize];
        if vpn != NO_VPN && self.capacity.is_some() {
            self.unlink(content);
            self.push_newest(content);
        }
        vpn
    }

    /// The VPN a content is known under, without touching the order.
    #[inline]
    pub(crate) fn peek(&self, content: u32) -> u32 {
        self.vpns[content as usize]
    }

    /// The table's entry for a content, where there is such a content.
    #[inline]
    pub(crate) fn slot(&self, content: u32) -> Option<&u32> {
        self.vpns.get(content as usize)
    }

    #[inline]
    pub(crate) fn prefetch(&self, content: u32) {
        prefetch(&self.vpns, content as usize);
    }

    /// Remembers a content just written, evicting the least recently written one if full.
    #[inline]
    pub(crate) fn insert(&mut self, content: u32, vpn: u32) {
        debug_assert_eq!(self.vpns[content as usize], NO_VPN);
        self.vpns[content as usize] = vpn;
        self.entries += 1;
        if let Some(capacity) = self.capacity {
            self.push_newest(content);
            if self.entries > capacity {
                self.remove(self.oldest - 1);
            }
        }
    }

    /// Forgets a content.
    #[inline]
    pub(crate) fn remove(&mut self, content: u32) {
        self.vpns[content as usize] = NO_VPN;
        self.entries -= 1;
        if self.capacity.is_some() {
            self.unlink(content);
        }
    }

    fn push_newest(&mut self, content: u32) {
        self.newer[content as usize] = 0;
        self.older[content as usize] = self.newest;
        match self.newest {
            0 => self.oldest = content + 1,
            newest => self.newer[newest as usize - 1] = content + 1,
        }
        self.newest = content + 1;
    }

    fn unlink(&mut self, content: u32) {
        let (newer, older) = (self.newer[content as usize], self.older[content as usize]);
        match newer {
            0 => self.newest = older,
            newer => self.older[newer as usize - 1] = older,
        }
        match older {
            0 => self.oldest = newer,
            older => self.newer[older as usize - 1] = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The same store as a plain list, newest last.
    struct Reference {
        order: Vec<(u32, u32)>,
        capacity: usize,
    }

    impl Reference {
        fn write(&mut self, content: u32, vpn: u32) -> u32 {
            if let Some(at) = self.order.iter().position(|&(c, _)| c == content) {
                let hit = self.order.remove(at);
                self.order.push(hit);
                return hit.1;
            }
            self.order.push((content, vpn));
            if self.order.len() > self.capacity {
                self.order.remove(0);
            }
            NO_VPN
        }
    }

    #[test]
    fn the_store_evicts_what_a_plain_list_would() {
        let mut rng = Rng::stream(7, "fingerprints");
        for capacity in [1, 2, 3, 10, 40] {
            let mut store = FingerprintStore::new(50, Entries::Limited(capacity));
            let mut reference = Reference { order: Vec::new(), capacity: capacity as usize };
            for step in 0..5_000 {
                let content = rng.below(50);
                if rng.below(10) == 0 {
                    let known = reference.order.iter().position(|&(c, _)| c == content);
                    if let Some(at) = known {
                        reference.order.remove(at);
                        store.remove(content);
                    }
                    continue;
                }
                let hit = store.lookup(content);
                if hit == NO_VPN {
                    store.insert(content, step);
                }
                assert_eq!(hit, reference.write(content, step));
                assert_eq!(store.entries(), reference.order.len() as u64);
            }
        }
    }
}
