//! The content to which the fewest logical pages point goes first.
//!
//! Source: CAFTL (Chen et al., FAST 2011): the store keeps the fingerprints of the contents with
//! the highest reference counts.

use super::Eviction;
use super::lists::Lists;
use crate::ids::Content;
use flashtwin_bits::By;

/// Counts from here on are told apart no more: a count takes one byte.
const HIGHEST: u32 = 255;

/// Entries by reference count, within a count by when they were last written or came to it.
/// Every step takes constant time. 9 bytes a content.
pub(super) struct ReferenceCount {
    order: Lists,
    count: By<Content, Vec<u8>>,
    /// Entries of each count.
    entries: [u32; HIGHEST as usize + 1],
    /// Counts that some entry has, one bit each.
    present: [u64; 4],
}

fn class(references: u32) -> u8 {
    references.min(HIGHEST) as u8
}

impl ReferenceCount {
    pub(super) fn new(contents: u32) -> Self {
        Self {
            order: Lists::new(contents, HIGHEST as usize + 1),
            count: By::new(vec![0; contents as usize]),
            entries: [0; HIGHEST as usize + 1],
            present: [0; 4],
        }
    }

    fn put(&mut self, content: Content, count: u8) {
        self.count[content] = count;
        self.order.push(count.into(), content);
        self.entries[usize::from(count)] += 1;
        self.present[usize::from(count / 64)] |= 1 << (count % 64);
    }

    fn take(&mut self, content: Content) -> u8 {
        let count = self.count[content];
        self.order.unlink(count.into(), content);
        self.entries[usize::from(count)] -= 1;
        if self.entries[usize::from(count)] == 0 {
            self.present[usize::from(count / 64)] &= !(1 << (count % 64));
        }
        count
    }

    /// The lowest count that some entry has.
    fn lowest(&self) -> Option<usize> {
        let word = self.present.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.present[word].trailing_zeros() as usize)
    }
}

impl Eviction for ReferenceCount {
    fn entered(&mut self, content: Content, references: u32) {
        self.put(content, class(references));
    }

    fn written(&mut self, content: Content) {
        let count = self.take(content);
        self.put(content, count);
    }

    fn recounted(&mut self, content: Content, references: u32) {
        self.take(content);
        self.put(content, class(references));
    }

    fn counts_references(&self) -> bool {
        true
    }

    fn left(&mut self, content: Content) {
        self.take(content);
    }

    fn next(&self, references: u32) -> Option<Content> {
        let lowest = self.lowest()?;
        if lowest > usize::from(class(references)) {
            return None;
        }
        self.order.oldest(lowest)
    }

    fn prefetch(&self, content: Content) {
        self.count.prefetch(content);
        self.order.prefetch(content);
    }

    fn prefetch_neighbours(&self, content: Content) {
        self.order.prefetch_neighbours(content);
    }

    fn bytes(&self) -> u64 {
        self.order.bytes() + self.count.len() as u64 + size_of_val(&self.entries) as u64
    }
}

flashtwin_bits::state!(ReferenceCount { order, count, entries, present });
