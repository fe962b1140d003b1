//! A policy from outside, asked for many of the next victims at once.
//!
//! A victim that was written, or left, since the answer is stale: it is passed over. When all are used up, the policy is
//! asked again.

use super::Eviction;
use crate::foreign::{Foreign, ForeignName, Rule};
use crate::ids::Content;
use flashtwin_bits::By;

/// Victims of an answer at most, and the share of the entries if that is more: so the cost of one does not grow with
/// the store.
const VICTIMS: usize = 256;
const SHARE: usize = 8;

/// What the policy sees of an entry.
#[derive(Clone, Copy, Default)]
struct Entry {
    content: u32,
    references: u32,
    /// Writes since it was entered, that one included.
    writes: u32,
    /// The number of the last one among all writes, from 1; 0 where there is no entry.
    written: u64,
}

flashtwin_bits::state!(value Entry { content, references, writes, written });

pub(super) struct ForeignEviction {
    rule: Rule,
    entries: Vec<Entry>,
    /// Where each content stands in `entries`, if it does.
    places: By<Content, Vec<u32>>,
    free: Vec<u32>,
    writes: u64,
    /// The places of the victims to come, the last one first, with what `written` said of them.
    victims: Vec<(u32, u64)>,
}

impl ForeignEviction {
    pub(super) fn new(name: ForeignName, foreign: &Foreign, contents: u32, capacity: u32) -> Self {
        // A store with room for all contents evicts none.
        let entries = capacity.min(contents);
        Self {
            rule: foreign.rule("eviction", name, &[entries as usize; 4]),
            entries: vec![Entry::default(); entries as usize],
            places: By::new(vec![0; contents as usize]),
            free: (0..entries).rev().collect(),
            writes: 0,
            victims: Vec::new(),
        }
    }

    fn entry(&mut self, content: Content) -> &mut Entry {
        &mut self.entries[self.places[content] as usize]
    }

    /// Asks for the next victims of a full store; `None` after a failure.
    fn ask(&mut self) -> Option<()> {
        let Self { rule, entries, .. } = self;
        rule.fill(entries.iter().map(|&Entry { content, references, writes, written }| {
            [i64::from(content), i64::from(references), i64::from(writes), written as i64]
        }));
        let most = entries.len().min(VICTIMS.max(entries.len() / SHARE));
        let is_right = |answer: &[i64]| {
            let mut seen = vec![false; entries.len()];
            let mut is_new = |&at: &i64| {
                let place = usize::try_from(at).ok().and_then(|at| seen.get_mut(at));
                place.is_some_and(|seen| !std::mem::replace(seen, true))
            };
            (1..=most).contains(&answer.len()) && answer.iter().all(&mut is_new)
        };
        let expected = "the places of 1 to `victims` different entries of the table";
        let answer = rule.list(most as i64, expected, is_right)?;
        let victims = answer.into_iter().rev();
        self.victims = victims.map(|at| (at as u32, self.entries[at as usize].written)).collect();
        Some(())
    }
}

impl Eviction for ForeignEviction {
    fn entered(&mut self, content: Content) {
        let Some(place) = self.free.pop() else { return };
        self.places[content] = place;
        *self.entry(content) = Entry { content: content.number(), references: 1, ..Entry::default() };
        self.written(content);
    }

    fn written(&mut self, content: Content) {
        self.writes += 1;
        let written = self.writes;
        let entry = self.entry(content);
        entry.writes = entry.writes.saturating_add(1);
        entry.written = written;
    }

    fn recounted(&mut self, content: Content, references: u32) {
        self.entry(content).references = references;
    }

    fn counts_references(&self) -> bool {
        true
    }

    fn left(&mut self, content: Content) {
        *self.entry(content) = Entry::default();
        self.free.push(self.places[content]);
    }

    fn give_way(&mut self) -> Option<Content> {
        loop {
            while let Some((at, written)) = self.victims.pop() {
                let entry = self.entries[at as usize];
                if entry.written == written {
                    return Some(Content::new(entry.content));
                }
            }
            if self.ask().is_none() {
                // The run ends soon, whichever goes.
                return self.entries.first().map(|entry| Content::new(entry.content));
            }
        }
    }

    fn prefetch(&self, content: Content) {
        self.places.prefetch(content);
    }

    fn prefetch_neighbours(&self, _content: Content) {}

    fn bytes(&self) -> u64 {
        (self.entries.len() * (size_of::<Entry>() + 4) + self.places.len() * 4) as u64
    }
}

flashtwin_bits::state!(ForeignEviction { rule, entries, places, free, writes, victims });
