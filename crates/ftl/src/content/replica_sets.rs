//! The further copies of replicated contents, in order of popularity.

use crate::ids::Vpn;
use crate::sabotage::sabotaged;
use flashtwin_nand::Ppn;
use smallvec::{SmallVec, smallvec};

use flashtwin_bits::{Loader, Saver, Slab, State, StateResult, prefetch};

const NONE: u32 = u32::MAX;

/// Replicas that a set holds in place: most contents have fewer, and those are a cache line with the rest.
const FEW: usize = 8;

#[repr(align(64))]
struct Set {
    vpn: Vpn,
    level: u8,
    previous: u32,
    next: u32,
    ppns: SmallVec<[Ppn; FEW]>,
}

const _: () = assert!(size_of::<Set>() == 64, "a set is a cache line");

/// One set a replicated content, listed by its popularity when copies were last decided.
#[derive(Clone)]
pub(crate) struct ReplicaSets {
    sets: Slab<Set>,
    heads: [u32; 256],
    tails: [u32; 256],
    pages: u64,
}

impl ReplicaSets {
    pub(crate) const NO_SET: u32 = NONE;

    pub(crate) fn new() -> Self {
        Self { sets: Slab::new(), heads: [NONE; 256], tails: [NONE; 256], pages: 0 }
    }

    pub(crate) fn pages(&self) -> u64 {
        self.pages
    }

    pub(crate) fn len(&self) -> u64 {
        u64::from(self.sets.taken())
    }

    pub(crate) fn bytes(&self) -> u64 {
        let more = |set: &Set| if set.ppns.spilled() { set.ppns.capacity() * 4 } else { 0 };
        let lists: usize = self.sets.iter().map(|set| size_of::<Set>() + more(set)).sum();
        (lists + self.sets.free_capacity() * 4) as u64
    }

    #[inline]
    pub(crate) fn ppns(&self, set: u32) -> &[Ppn] {
        if set == NONE {
            return &[];
        }
        &self.sets[set as usize].ppns
    }

    #[inline]
    pub(crate) fn prefetch(&self, set: u32) {
        prefetch(&self.sets, set as usize);
    }

    #[inline]
    pub(crate) fn prefetch_list(&self, set: u32) {
        if let Some(set) = self.sets.get(set as usize).filter(|set| set.ppns.spilled()) {
            prefetch(&set.ppns, 0);
        }
    }

    fn link(&mut self, set: u32, level: u8) {
        let tail = self.tails[level as usize];
        let entry = &mut self.sets[set as usize];
        entry.level = level;
        entry.previous = tail;
        entry.next = NONE;
        match tail {
            NONE => self.heads[level as usize] = set,
            tail => self.sets[tail as usize].next = set,
        }
        self.tails[level as usize] = set;
    }

    fn unlink(&mut self, set: u32) {
        let Set { level, previous, next, .. } = self.sets[set as usize];
        match previous {
            NONE => self.heads[level as usize] = next,
            previous => self.sets[previous as usize].next = next,
        }
        match next {
            NONE => self.tails[level as usize] = previous,
            next => self.sets[next as usize].previous = previous,
        }
    }

    /// Adds a replica to a content's set, which is made if it has none; returns the set.
    pub(crate) fn add(&mut self, set: u32, vpn: Vpn, level: u8, ppn: Ppn) -> u32 {
        self.pages += 1;
        if set != NONE {
            self.sets[set as usize].ppns.push(ppn);
            return set;
        }
        let set = self.sets.insert(Set { vpn, level, previous: NONE, next: NONE, ppns: smallvec![ppn] });
        self.link(set, level);
        set
    }

    /// Takes the last replica off a set; returns it and whether the set is gone with it.
    pub(crate) fn pop(&mut self, set: u32) -> Option<(Ppn, bool)> {
        let ppn = self.sets[set as usize].ppns.pop()?;
        self.pages -= 1;
        let empty = self.sets[set as usize].ppns.is_empty();
        if empty {
            self.unlink(set);
            self.sets.free(set);
        }
        Some((ppn, empty))
    }

    /// Garbage collection moved a replica. Returns whether it was one of the set's.
    pub(crate) fn relocate(&mut self, set: u32, from: Ppn, to: Ppn) -> bool {
        if sabotaged!(ForgottenMove) {
            return true;
        }
        match self.sets[set as usize].ppns.iter_mut().find(|ppn| **ppn == from) {
            Some(ppn) => {
                *ppn = to;
                true
            }
            None => false,
        }
    }

    /// The least popular set below `level`: its VPN and handle; the longest there first.
    pub(crate) fn least_popular(&self, below: u16) -> Option<(Vpn, u32)> {
        let set = self.heads[..below as usize].iter().copied().find(|&head| head != NONE)?;
        Some((self.sets[set as usize].vpn, set))
    }

    pub(crate) fn level(&self, set: u32) -> u8 {
        self.sets[set as usize].level
    }

    pub(crate) fn relist(&mut self, set: u32, level: u8) {
        self.unlink(set);
        self.link(set, level);
    }

    pub(crate) fn relevel(&mut self, level_of: impl Fn(Vpn) -> u8) {
        let live: Vec<u32> =
            (0..self.sets.len() as u32).filter(|&set| !self.sets[set as usize].ppns.is_empty()).collect();
        self.heads = [NONE; 256];
        self.tails = [NONE; 256];
        for set in live {
            let level = level_of(self.sets[set as usize].vpn);
            self.link(set, level);
        }
    }

    pub(crate) fn live(&self) -> Vec<(Vpn, u32)> {
        (0..self.sets.len() as u32)
            .filter(|&set| !self.sets[set as usize].ppns.is_empty())
            .map(|set| (self.sets[set as usize].vpn, set))
            .collect()
    }
}

impl Clone for Set {
    /// With as much room, which is a figure of a result.
    fn clone(&self) -> Self {
        let Self { vpn, level, previous, next, ppns: ref from } = *self;
        let mut ppns = SmallVec::with_capacity(from.capacity());
        ppns.extend_from_slice(from);
        Self { vpn, level, previous, next, ppns }
    }
}

flashtwin_bits::state!(ReplicaSets { sets, heads, tails, pages });

impl State for Set {
    fn save(&self, to: &mut Saver<'_>) -> StateResult {
        let Self { vpn, level, previous, next, ppns } = self;
        vpn.save(to)?;
        level.save(to)?;
        previous.save(to)?;
        next.save(to)?;
        // As a list is saved, because it is loaded as one.
        (ppns.len(), ppns.capacity()).save(to)?;
        Ppn::save_all(ppns, to)
    }

    fn load(&mut self, from: &mut Loader<'_>) -> StateResult {
        let Self { vpn, level, previous, next, ppns } = self;
        vpn.load(from)?;
        level.load(from)?;
        previous.load(from)?;
        next.load(from)?;
        let mut list = Vec::new();
        list.load(from)?;
        *ppns = SmallVec::from_vec(list);
        Ok(())
    }

    fn blank() -> Option<Self> {
        Some(Self { vpn: Vpn::new(0), level: 0, previous: NONE, next: NONE, ppns: SmallVec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_large_replica_sets_and_free_slots() {
        let mut sets = ReplicaSets::new();
        assert_eq!(sets.bytes(), 0);
        let handles = [0, 1, 2].map(|vpn| sets.add(ReplicaSets::NO_SET, Vpn::new(vpn), 1, Ppn::new(vpn)));
        assert_eq!(sets.bytes(), 3 * 64, "a set is a cache line");
        assert_eq!((sets.len(), sets.pages()), (3, 3));
        (10..110).for_each(|ppn| assert_eq!(sets.add(handles[0], Vpn::new(0), 1, Ppn::new(ppn)), handles[0]));
        // 101 replicas of 4 bytes, and less than as many again that there is room for.
        let many = sets.bytes() - 3 * 64;
        assert!((101 * 4..2 * 128 * 4).contains(&many), "{many}");
        for set in [handles[1], handles[2]] {
            assert!(matches!(sets.pop(set), Some((_, true))));
        }
        assert_eq!((sets.len(), sets.pages()), (1, 101));
        let free = sets.bytes() - 3 * 64 - many;
        assert!(free >= 2 * 4 && free.is_multiple_of(4), "the handles of two free sets take {free}");
    }

    #[test]
    fn sets_are_loaded_as_they_were_saved() {
        let mut sets = ReplicaSets::new();
        let few = sets.add(ReplicaSets::NO_SET, Vpn::new(3), 2, Ppn::new(30));
        let many = sets.add(ReplicaSets::NO_SET, Vpn::new(5), 1, Ppn::new(50));
        (51..70).for_each(|ppn| assert_eq!(sets.add(many, Vpn::new(5), 1, Ppn::new(ppn)), many));
        for mut loaded in [ReplicaSets::new(), sets_of_one()] {
            crate::tests::reload(&sets, &mut loaded);
            assert_eq!(
                (loaded.pages(), loaded.len(), loaded.bytes()),
                (sets.pages(), sets.len(), sets.bytes())
            );
            for set in [few, many] {
                assert_eq!((loaded.ppns(set), loaded.level(set)), (sets.ppns(set), sets.level(set)));
            }
            assert_eq!(loaded.least_popular(256), sets.least_popular(256));
            assert_eq!(loaded.live(), sets.live());
        }
    }

    fn sets_of_one() -> ReplicaSets {
        let mut sets = ReplicaSets::new();
        sets.add(ReplicaSets::NO_SET, Vpn::new(9), 7, Ppn::new(90));
        sets
    }
}
