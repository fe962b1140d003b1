//! CAFTL's rules written out on plain maps, compared step by step; and one life of a page by hand.

use std::collections::{HashMap, HashSet};

use super::driver::{Driver, Options, Step, Workload};
use super::reach::Map;
use crate::content::Candidate;
use crate::dedup::plain::PlainStore;
use crate::dedup::{EvictionPolicy, OutOfLinePolicy};
use crate::ids::Content;
use crate::{Cause, Entries, FlashOp, FtlConfig, Mapping, ReplicationPolicy};

pub(super) struct ContentEntry {
    content: u32,
    lpns: HashSet<u32>,
}

pub(super) struct Reference {
    by_count: bool,
    pub(super) pages: HashMap<u32, u32>,
    pub(super) held: HashMap<u32, ContentEntry>,
    /// Pages whose fingerprint is known.
    pub(super) store: PlainStore<u32>,
    /// Pages neither fingerprinted nor being read, the next one first.
    waiting: Vec<u32>,
    pub(super) ever: HashSet<u32>,
    next: u32,
}

impl Reference {
    pub(super) fn new(entries: Entries, by_count: bool) -> Self {
        let capacity = match entries {
            Entries::Limited(limit) => limit as usize,
            Entries::Unlimited => usize::MAX,
        };
        Self {
            by_count,
            pages: HashMap::new(),
            held: HashMap::new(),
            store: PlainStore::new(capacity, by_count),
            waiting: Vec::new(),
            ever: HashSet::new(),
            next: 0,
        }
    }

    pub(super) fn content(&self, lpn: u32) -> Option<u32> {
        self.pages.get(&lpn).map(|id| self.held[id].content)
    }

    pub(super) fn known(&self, content: u32) -> Option<u32> {
        self.store.entries().find(|id| self.held[id].content == content)
    }

    fn recount(&mut self, id: u32) {
        let references = self.held[&id].lpns.len();
        if self.by_count && self.store.knows(id) {
            self.store.recounted(id, references);
        }
    }

    /// Why the write programs a page, or `None` for a duplicate that is found.
    pub(super) fn write(&mut self, lpn: u32, content: u32, hashed: bool) -> Option<Cause> {
        if let Some(known) = self.known(content).filter(|_| hashed) {
            self.store.written(known);
            if self.pages.get(&lpn) != Some(&known) {
                self.point(lpn, Some(known));
            }
            return None;
        }
        let on_flash = self.held.values().any(|held| held.content == content);
        let cause = match (on_flash, self.ever.insert(content)) {
            (true, _) => Cause::MissedDuplicate,
            (false, false) => Cause::Reborn,
            (false, true) => Cause::Unique,
        };
        self.next += 1;
        self.held.insert(self.next, ContentEntry { content, lpns: HashSet::new() });
        if hashed {
            self.store.enter(self.next);
        } else {
            self.waiting.push(self.next);
        }
        self.point(lpn, Some(self.next));
        Some(cause)
    }

    pub(super) fn point(&mut self, lpn: u32, to: Option<u32>) {
        if let Some(id) = to {
            self.held.get_mut(&id).unwrap().lpns.insert(lpn);
            self.recount(id);
        }
        let old = match to {
            Some(id) => self.pages.insert(lpn, id),
            None => self.pages.remove(&lpn),
        };
        let Some(old) = old else { return };
        let page = self.held.get_mut(&old).unwrap();
        page.lpns.remove(&lpn);
        if page.lpns.is_empty() {
            self.held.remove(&old);
            if self.store.knows(old) {
                self.store.remove(old);
            }
            self.waiting.retain(|&other| other != old);
        } else {
            self.recount(old);
        }
    }

    fn fingerprint(&mut self, id: u32, moved: bool) -> bool {
        let Some(page) = self.held.get(&id) else { return false };
        if moved {
            self.waiting.push(id);
            return false;
        }
        let (content, lpn) = (page.content, *page.lpns.iter().next().unwrap());
        match self.known(content) {
            Some(known) => self.point(lpn, Some(known)),
            None => {
                self.store.enter(id);
            }
        }
        !self.held.contains_key(&id)
    }
}

/// A controller that begins no job: these tests choose the time of each read.
fn by_hand(options: &Options) -> Driver {
    let mut driver = Driver::new(options);
    driver.ftl.refuse_jobs();
    driver
}

fn options(seed: u64) -> Options {
    let mut options = Options::draw(seed);
    options.config.replication.policy = ReplicationPolicy::None;
    options.plain_dedup();
    let dedup = &mut options.config.dedup;
    let capacities = [1, 3, 10].map(Entries::Limited);
    dedup.fingerprint_entries = capacities.get(seed as usize % 4).copied().unwrap_or(Entries::Unlimited);
    dedup.eviction = EvictionPolicy::ALL[(seed / 4) as usize % 2];
    dedup.sampling_pages = 4;
    dedup.out_of_line = OutOfLinePolicy::Unhashed;
    options.read_percent = 0;
    options.steps = 600;
    options
}

#[test]
fn every_write_and_every_merge_is_what_the_plain_model_says() {
    let (mut unhashed, mut merged, mut moved) = (0, 0, 0);
    for seed in 0..120 {
        let options = options(seed);
        let mut driver = by_hand(&options);
        let dedup = &options.config.dedup;
        let by_count = dedup.eviction == EvictionPolicy::ReferenceCount;
        let mut reference = Reference::new(dedup.fingerprint_entries, by_count);
        let mut workload = Workload::new(&options);
        // Of a run: pages still to come, and whether they are hashed (unknown before the sample).
        let (mut left, mut hash_rest) = (0, None);
        let mut reading: Vec<(Candidate, u32)> = Vec::new();
        for step in 0..options.steps {
            if left == 0 && workload.rng.below(3) == 0 {
                (left, hash_rest) = (1 + workload.rng.below(4), None);
                driver.begin_run(left);
            }
            match workload.next() {
                Step::Write { lpn, content, .. } => {
                    let hashed = left == 0 || hash_rest.unwrap_or(true);
                    let expected = reference.write(lpn, content, hashed);
                    if left > 0 {
                        left -= 1;
                        hash_rest = hash_rest.or(Some(expected.is_none()));
                    }
                    let fingerprinted = driver.fingerprints();
                    let outcome = driver.write(lpn, content, false).unwrap();
                    let found = (outcome.program.map(|page| page.1), fingerprinted);
                    assert_eq!(found, (expected, hashed), "step {step} of {options:?}");
                    unhashed += u32::from(!hashed);
                }
                Step::Trim { lpn } => {
                    driver.trim(lpn);
                    reference.point(lpn, None);
                }
                _ => {}
            }
            moved += u32::from(idle(&mut driver, &mut reference, &mut reading, &mut workload));
            let sizes = driver.ftl.table_sizes();
            assert_eq!(sizes.vpns, reference.held.len() as u64, "step {step} of {options:?}");
            assert_eq!(sizes.fingerprints, reference.store.len() as u64, "step {step} of {options:?}");
        }
        driver.ftl.audit().unwrap();
        compare_stores(&driver, &reference);
        merged += driver.ftl.counters().dedup.duplicates_out_of_line;
    }
    assert!(unhashed > 1_000 && merged > 1_000 && moved > 20, "{unhashed} {merged} {moved}");
}

/// Ends and begins reads in both. Returns whether a page that was read had been moved meanwhile.
fn idle(
    driver: &mut Driver,
    reference: &mut Reference,
    reading: &mut Vec<(Candidate, u32)>,
    workload: &mut Workload,
) -> bool {
    let mut moved = false;
    if !reading.is_empty() && workload.rng.below(2) == 0 {
        let (page, id) = reading.swap_remove(workload.rng.below(reading.len() as u32) as usize);
        let before = driver.ftl.counters().dedup.duplicates_out_of_line;
        let Map::Content(map) = driver.ftl.map() else { unreachable!("the options say content") };
        moved = map.is_live(page.vpn) && map.home(page.vpn) != page.ppn;
        driver.ftl.fingerprint_read(page);
        let merged = driver.ftl.counters().dedup.duplicates_out_of_line > before;
        assert_eq!(merged, reference.fingerprint(id, moved));
    }
    let begun = (workload.rng.below(2) as usize).min(reference.waiting.len());
    let expected: Vec<u32> = reference.waiting.drain(..begun).collect();
    let mut pages = Vec::new();
    driver.ftl.dedup_by_hand(expected.len() as u32, &mut driver.ops, &mut pages);
    assert_eq!(pages.len(), expected.len());
    reading.extend(pages.into_iter().zip(expected));
    moved
}

fn compare_stores(driver: &Driver, reference: &Reference) {
    let Map::Content(map) = driver.ftl.map() else { unreachable!("the options say content") };
    for &content in &reference.ever {
        let found = map.fingerprints.peek(Content::new(content)) != crate::NO_VPN;
        assert_eq!(found, reference.known(content).is_some(), "content {content}");
    }
}

#[test]
fn a_page_is_written_unhashed_read_in_idle_time_and_merged() {
    let mut config = FtlConfig { mapping: Mapping::Content, ..FtlConfig::default() };
    config.dedup.sampling_pages = 3;
    config.dedup.out_of_line = OutOfLinePolicy::Unhashed;
    let mut driver =
        by_hand(&Options { levels: [1, 1, 1, 1, 8, 4], config, footprint: 8, contents: 10, ..options(0) });
    let mut write = |lpn, content| driver.write(lpn, content, false).unwrap();
    assert_eq!(write(0, 5).program.unwrap().1, Cause::Unique);
    // Content 7 is the sample and new, so the copy of 5 on flash goes unnoticed.
    driver.begin_run(3);
    let mut write = |lpn, content| driver.write(lpn, content, false).unwrap();
    assert_eq!(write(1, 7).program.unwrap().1, Cause::Unique);
    let (missed, fresh) = (write(2, 5), write(3, 6));
    let (second, cause) = missed.program.unwrap();
    assert_eq!(cause, Cause::MissedDuplicate);
    let (third, cause) = fresh.program.unwrap();
    assert_eq!(cause, Cause::Unique);
    // Idle time: both pages are read, the older one first, and no other.
    let mut pages = Vec::new();
    driver.ftl.dedup_by_hand(9, &mut driver.ops, &mut pages);
    assert_eq!(driver.ops, [second, third].map(|ppn| FlashOp::read(ppn, Cause::Fingerprint)));
    assert_eq!(driver.ftl.pages_in_use(), 4, "nothing is merged before the data are there");
    for page in pages {
        driver.ftl.fingerprint_read(page);
    }
    assert_eq!(driver.ftl.pages_in_use(), 3, "5 is held once now");
    assert_eq!(driver.ftl.flash.blocks.owner(second), None);
    let counters = driver.ftl.counters();
    let hashes = (
        counters.dedup.hashes_inline,
        counters.dedup.hashes_out_of_line,
        counters.dedup.duplicates_out_of_line,
    );
    assert_eq!(hashes, (2, 2, 1));
    assert_eq!(driver.write(4, 6, false).unwrap().program, None);
    driver.ftl.dedup_by_hand(9, &mut driver.ops, &mut Vec::new());
    assert_eq!(driver.ops.len(), 2, "nothing is left to read");
    driver.ftl.audit().unwrap();
}
