//! The store beside plain lists, the guarantee of every order, and misses by size beside the unavoidable ones.

use std::collections::{BTreeSet, HashMap};

use super::*;
use crate::dedup::plain::PlainStore;
use crate::foreign::stub;
use crate::rng::Rng;

#[test]
fn each_store_evicts_what_a_plain_list_would() {
    let mut rng = Rng::stream(7, "fingerprints");
    for (eviction, capacity) in [1, 2, 3, 10, 40].iter().flat_map(|n| EvictionPolicy::ALL.map(|e| (e, *n))) {
        let by_count = eviction == EvictionPolicy::ReferenceCount;
        let mut store = FingerprintStore::new(50, Entries::Limited(capacity), eviction, &Foreign::default());
        let mut plain = PlainStore::new(capacity as usize, by_count);
        let mut places = HashMap::new();
        for step in 0..20_000 {
            let (content, place) = (Content::new(rng.below(50)), Vpn::new(step));
            let references = [1, 1, 2, 3, 253, 254, 255, 70_000][rng.below(8) as usize];
            match (plain.knows(content), rng.below(10)) {
                (true, 0) => {
                    plain.remove(content);
                    store.remove(content);
                }
                (true, 1..4) if by_count => {
                    plain.recounted(content, references as usize);
                    store.recount(content, references);
                }
                (true, _) => {
                    plain.written(content);
                    assert_eq!(store.lookup(content), places[&content]);
                }
                (false, _) => {
                    assert_eq!(store.lookup(content), NO_VPN);
                    let gone = store.insert(content, place);
                    assert_eq!(gone.map(|entry| entry.0), plain.enter(content), "step {step}");
                    assert!(gone.is_none_or(|(content, place)| places[&content] == place));
                    places.insert(content, place);
                }
            }
            assert_eq!(store.entries(), plain.len() as u64);
        }
    }
}

struct Drive {
    store: FingerprintStore<Vpn>,
    pages: Vec<Option<u32>>,
    references: Vec<u32>,
}

impl Drive {
    fn new(contents: u32, capacity: u32, eviction: EvictionPolicy, pages: u32) -> Self {
        Self {
            store: FingerprintStore::new(contents, Entries::Limited(capacity), eviction, &Foreign::default()),
            pages: vec![None; pages as usize],
            references: vec![0; contents as usize],
        }
    }

    fn recount(&mut self, content: u32) {
        let (id, references) = (Content::new(content), self.references[content as usize]);
        if self.store.peek(id) != NO_VPN {
            match references {
                0 => self.store.remove(id),
                _ => self.store.recount(id, references),
            }
        }
    }

    /// Writes a page; whether its content is on the drive, and whether the store knows that.
    fn write(&mut self, page: u32, content: u32) -> (bool, bool) {
        let held = self.references[content as usize] > 0;
        let found = self.store.lookup(Content::new(content)) != NO_VPN;
        if !found {
            self.store.insert(Content::new(content), Vpn::new(content));
        }
        self.references[content as usize] += 1;
        self.recount(content);
        if let Some(old) = self.pages[page as usize].replace(content) {
            self.references[old as usize] -= 1;
            self.recount(old);
        }
        (held, found)
    }
}

struct Writes {
    name: &'static str,
    all: Vec<(u32, u32)>,
    pages: u32,
    contents: u32,
}

/// Contents by Zipf's law (an exponent of 1), with a change to others after `drift` writes, and
/// with scans of contents that are written once.
fn drawn(name: &'static str, drift: Option<u32>, scan: bool) -> Writes {
    let (pages, values, writes) = (6_000, 8_000, 40_000);
    let weights: Vec<f64> = (1..=values)
        .scan(0.0, |sum, rank| {
            *sum += 1.0 / f64::from(rank);
            Some(*sum)
        })
        .collect();
    let mut rng = Rng::stream(3, name);
    let (mut all, mut once) = (Vec::new(), 2 * values);
    for at in 0..writes {
        let share = f64::from(rng.below(1 << 30)) / f64::from(1 << 30) * weights.last().unwrap();
        let rank = weights.partition_point(|&sum| sum < share) as u32;
        let content = if scan && at / 1_000 % 4 == 3 {
            once += 1;
            once - 1
        } else {
            (rank + drift.map_or(0, |step| at / step * 100)) % (2 * values)
        };
        all.push((rng.below(pages), content));
    }
    Writes { name, all, pages, contents: once }
}

fn workloads() -> [Writes; 5] {
    [
        drawn("zipf", None, false),
        drawn("drift", Some(1_000), false),
        drawn("scan", None, true),
        drawn("drift and scan", Some(500), true),
        // The worst case of recency: 3,000 contents in turn, each on two pages.
        Writes {
            name: "loop",
            all: (0..40_000).map(|at| (at % 6_000, at % 3_000)).collect(),
            pages: 6_000,
            contents: 3_000,
        },
    ]
}

fn misses(writes: &Writes, capacity: u32, eviction: EvictionPolicy) -> u32 {
    let mut drive = Drive::new(writes.contents, capacity, eviction, writes.pages);
    writes.all.iter().map(|&(page, content)| u32::from(drive.write(page, content) == (true, false))).sum()
}

/// Duplicates that no store of this size can find, even with knowledge of the future: it forgets
/// the content written again last (Belady 1966), and a content that dies before at once.
fn unavoidable(writes: &Writes, capacity: u32) -> u32 {
    let mut drive = Drive::new(writes.contents, 1, EvictionPolicy::LruWrites, writes.pages);
    let held: Vec<bool> = writes.all.iter().map(|&(page, content)| drive.write(page, content).0).collect();
    let mut later = vec![None; writes.contents as usize];
    let mut again: Vec<Option<usize>> = Vec::new();
    for (at, &(_, content)) in writes.all.iter().enumerate().rev() {
        again.push(later[content as usize].filter(|&next: &usize| held[next]));
        later[content as usize] = Some(at);
    }
    again.reverse();
    let mut known = BTreeSet::new();
    let mut missed = 0;
    for (at, next) in again.into_iter().enumerate() {
        missed += u32::from(!known.remove(&at) && held[at]);
        known.extend(next);
        if known.len() > capacity as usize {
            known.pop_last();
        }
    }
    missed
}

const SIZES: [u32; 10] = [16, 32, 64, 128, 256, 512, 1_024, 2_048, 3_000, 4_096];

#[test]
fn misses_do_not_grow_with_the_size_of_a_store() {
    for (writes, eviction) in workloads().iter().flat_map(|w| EvictionPolicy::ALL.map(|e| (w, e))) {
        let of_each = SIZES.map(|capacity| misses(writes, capacity, eviction));
        for (pair, sizes) in of_each.windows(2).zip(SIZES.windows(2)) {
            assert!(
                f64::from(pair[1]) <= 1.02 * f64::from(pair[0]),
                "{}, {eviction:?}: {pair:?} with {sizes:?} entries",
                writes.name
            );
        }
    }
}

#[test]
fn store_by_count_misses_no_more_than_half_of_it_by_recency() {
    let (mut all, mut recency) = (0, 0);
    for (writes, capacity) in workloads().iter().flat_map(|writes| SIZES.map(|size| (writes, size))) {
        let by_count = misses(writes, capacity, EvictionPolicy::ReferenceCount);
        let half = misses(writes, capacity.div_ceil(2), EvictionPolicy::LruWrites);
        let least = unavoidable(writes, capacity);
        assert!(least <= by_count && by_count <= half, "{}, {capacity}", writes.name);
        assert!(least <= misses(writes, capacity, EvictionPolicy::LruWrites), "{}, {capacity}", writes.name);
        all += by_count;
        recency += misses(writes, capacity, EvictionPolicy::LruWrites);
    }
    assert!(all < recency, "{all} misses by count, {recency} by recency");
}

fn full(capacity: u32, references: u32, contents: u32) -> Drive {
    let pages = capacity * references + contents;
    let mut drive = Drive::new(contents, capacity, EvictionPolicy::ReferenceCount, pages);
    (0..capacity * references).for_each(|page| {
        drive.write(page, page % capacity);
    });
    drive
}

#[test]
fn store_full_of_popular_contents_takes_newcomers() {
    let (capacity, contents) = (40, 1_000);
    for references in [1, 2, 3, 100, 300] {
        let mut drive = full(capacity, references, contents);
        for group in (capacity..contents).collect::<Vec<_>>().chunks(20) {
            for again in [false, true] {
                for (page, &content) in (capacity * references..).zip(group) {
                    assert_eq!(drive.write(page, content), (again, again), "{references} references");
                }
            }
        }
    }
}

#[test]
fn entry_that_is_not_written_goes_in_the_end() {
    let capacity = 10;
    for references in [1, 2, 50, 300] {
        // Newcomers as a scan brings them: those that leave the recent half are worth one more than the age.
        let scan = 3 * 254 * capacity;
        let mut drive = full(capacity, references, capacity + scan);
        (0..scan).for_each(|at| {
            drive.write(capacity * references + at % 20, capacity + at);
        });
        let known = |content: u32| drive.store.peek(Content::new(content)) != NO_VPN;
        assert!(!(0..capacity).any(known), "{references} references");
        assert_eq!(drive.store.entries(), u64::from(capacity));
    }
}

#[test]
fn references_decide_among_what_is_not_recent() {
    let mut drive = Drive::new(30, 4, EvictionPolicy::ReferenceCount, 40);
    // Content 0 on four pages, 1 on one, 2 on two: the last two are recent.
    for (page, content) in [0, 0, 0, 0, 1, 2, 2].into_iter().enumerate() {
        drive.write(page as u32, content);
    }
    let known = |drive: &Drive| {
        (0..30).filter(|&content| drive.store.peek(Content::new(content)) != NO_VPN).collect::<Vec<_>>()
    };
    drive.write(10, 3);
    drive.write(11, 4);
    assert_eq!(known(&drive), [0, 2, 3, 4], "1 had one reference; the age is 1");
    drive.write(12, 5);
    assert_eq!(known(&drive), [0, 3, 4, 5], "2 had two, and ceased to be recent at age 1; the age is 3");
    drive.write(13, 6);
    assert_eq!(known(&drive), [3, 4, 5, 6], "0 had four, at age 0; 3 has one, at age 3; the older goes");
}

#[test]
fn a_policy_from_outside_is_asked_for_the_next_victims_at_once() {
    // Fewest references first, then the one written first.
    let fewest = |victims: i64, entries: &[Vec<i64>]| {
        let mut places: Vec<usize> = (0..entries.len()).collect();
        places.sort_by_key(|&at| (entries[at][1], entries[at][3]));
        places.into_iter().take(victims as usize).map(|at| at as i64).collect()
    };
    let mut rng = Rng::stream(9, "batches");
    for capacity in [1, 2, 10, 300, 2_500] {
        let (contents, eviction) = (capacity * 2, stub::named("eviction"));
        let foreign = stub::lists(fewest);
        let mut store = FingerprintStore::new(contents, Entries::Limited(capacity), eviction, &foreign);
        // The same with one list: entries with their references and last writes, and the victims to come.
        let (mut entries, mut victims) = (HashMap::<u32, (u32, u32)>::new(), Vec::new());
        let mut evictions = 0;
        for step in 0..20_000 {
            let number = rng.below(contents);
            let content = Content::new(number);
            match (entries.contains_key(&number), rng.below(10)) {
                (true, 0) => {
                    entries.remove(&number);
                    store.remove(content);
                }
                (true, 1..4) => {
                    let references = 1 + rng.below(4);
                    entries.entry(number).and_modify(|entry| entry.0 = references);
                    store.recount(content, references);
                }
                (true, _) => {
                    entries.entry(number).and_modify(|entry| entry.1 = step);
                    store.lookup(content);
                }
                (false, _) => {
                    let mut gone = None;
                    while entries.len() == capacity as usize {
                        if victims.is_empty() {
                            victims = entries
                                .iter()
                                .map(|(&at, &(references, last))| (references, last, at))
                                .collect();
                            victims.sort_unstable();
                            victims.truncate(256.max(entries.len() / 8));
                        }
                        let (_, last, victim) = victims.remove(0);
                        if entries.get(&victim).is_some_and(|entry| entry.1 == last) {
                            entries.remove(&victim);
                            gone = Some(Content::new(victim));
                            evictions += 1;
                        }
                    }
                    entries.insert(number, (1, step));
                    assert_eq!(
                        store.insert(content, Vpn::new(step)).map(|entry| entry.0),
                        gone,
                        "step {step}"
                    );
                }
            }
        }
        assert!(evictions > 1_000, "{evictions} with {capacity} entries");
    }
}
