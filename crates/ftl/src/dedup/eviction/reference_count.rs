//! The half of the entries written last stays. Of the others, the content with the fewest logical pages is evicted.
//!
//! Sources: CAFTL (Chen et al., FAST 2011): the store keeps the fingerprints that most logical pages refer to. Arlitt
//! et al. (2000): least frequently used with dynamic ageing. Halves are ours: the paper is silent on a full store.
//! Without ageing, no newcomer could enter once every entry has two references. Ageing alone lets entries with many
//! references crowd out newcomers for a while. Hence two parts:
//!
//! * *Recent*: the `(S + 1) / 2` contents written last, of `S` entries. None of them gives way, so a content written
//!   again before `(S + 1) / 2` others is always found.
//! * *Kept*: by worth, their references plus the store's age when they ceased to be recent. The least worth is evicted,
//!   the oldest among equals, and the store's age is the worth of the last evicted entry. For example, at age 10, an
//!   entry with five references stays until age 15 unless it is written.

use super::Eviction;
use crate::ids::Content;
use crate::lists::Lists;
use flashtwin_bits::By;

/// Kept entries are worth at most this more than the age. A list holds one worth modulo this, so a byte names it.
const RING: u16 = 255;
/// Larger numbers of references count as this.
const MOST: u8 = RING as u8 - 1;
const RECENT: u8 = RING as u8;

const REFERENCES: usize = 0;
const LIST: usize = 1;

/// Entries by part, worth and time. Every step takes constant time. 10 bytes a content.
#[derive(Clone)]
pub(super) struct ReferenceCount {
    order: Lists<Content>,
    entries: By<Content, Vec<[u8; 2]>>,
    recent: u32,
    most_recent: u32,
    /// The list of entries that are worth no more than the age.
    age: u8,
    /// Lists of the ring that have an entry, one bit each.
    present: [u64; 4],
}

impl ReferenceCount {
    pub(super) fn new(contents: u32, capacity: u32) -> Self {
        Self {
            order: Lists::new(contents as usize, usize::from(RING) + 1),
            entries: By::new(vec![[0; 2]; contents as usize]),
            recent: 0,
            most_recent: capacity.div_ceil(2),
            age: 0,
            present: [0; 4],
        }
    }

    /// Keeps a content that is in no list, worth this much more than the age.
    fn keep(&mut self, content: Content, worth: u8) {
        let list = ((u16::from(self.age) + u16::from(worth)) % RING) as u8;
        self.entries[content][LIST] = list;
        self.order.push(list.into(), content);
        self.present[usize::from(list / 64)] |= 1 << (list % 64);
    }

    /// Puts a content that is in no list first among the recent ones; the last of these may have to go to the others.
    fn renew(&mut self, content: Content) {
        self.entries[content][LIST] = RECENT;
        self.order.push(RECENT.into(), content);
        self.recent += 1;
        if self.recent > self.most_recent
            && let Some(last) = self.order.oldest(RECENT.into())
        {
            self.prefetch_third(RECENT);
            self.take(last);
            self.keep(last, self.entries[last][REFERENCES]);
        }
    }

    fn take(&mut self, content: Content) -> u8 {
        let list = self.entries[content][LIST];
        self.order.unlink(list.into(), content);
        if list == RECENT {
            self.recent -= 1;
        } else if self.order.oldest(list.into()).is_none() {
            self.present[usize::from(list / 64)] &= !(1 << (list % 64));
        }
        list
    }

    /// Prefetches an entry that will soon be the second oldest of its list.
    fn prefetch_third(&self, list: u8) {
        if let Some(content) = self.order.third(list.into()) {
            self.prefetch(content);
        }
    }

    fn worth(&self, list: u8) -> u8 {
        ((u16::from(list) + RING - u16::from(self.age)) % RING) as u8
    }

    /// The list of the least worth: the first from the age's on, around the ring.
    fn least(&self) -> Option<u8> {
        let (first, bit) = (usize::from(self.age / 64), self.age % 64);
        let above = !0 << bit;
        let words = [(first, above), (first + 1, !0), (first + 2, !0), (first + 3, !0), (first, !above)];
        words.iter().find_map(|&(at, mask)| {
            let word = self.present[at % 4] & mask;
            (word != 0).then(|| (at % 4 * 64) as u8 + word.trailing_zeros() as u8)
        })
    }
}

impl Eviction for ReferenceCount {
    fn entered(&mut self, content: Content) {
        self.entries[content][REFERENCES] = 1;
        self.renew(content);
    }

    fn written(&mut self, content: Content) {
        self.take(content);
        self.renew(content);
    }

    fn recounted(&mut self, content: Content, references: u32) {
        let [before, list] = self.entries[content];
        let now = references.min(MOST.into()) as u8;
        self.entries[content][REFERENCES] = now;
        if list != RECENT && now != before {
            self.take(content);
            // Worth at most `before`, as the age only grows.
            self.keep(
                content,
                (u16::from(self.worth(list)) + u16::from(now)).saturating_sub(before.into()) as u8,
            );
        }
    }

    fn counts_references(&self) -> bool {
        true
    }

    fn left(&mut self, content: Content) {
        self.take(content);
    }

    fn give_way(&mut self) -> Option<Content> {
        let Some(list) = self.least() else { return self.order.oldest(RECENT.into()) };
        self.age = list;
        self.prefetch_third(list);
        self.order.oldest(list.into())
    }

    fn prefetch(&self, content: Content) {
        self.entries.prefetch(content);
        self.order.prefetch(content);
    }

    fn prefetch_neighbours(&self, content: Content) {
        self.order.prefetch_neighbours(content);
    }

    fn bytes(&self) -> u64 {
        self.order.bytes() + 2 * self.entries.len() as u64
    }
}

flashtwin_bits::state!(ReferenceCount { order, entries, recent, age, present } kept { most_recent });
