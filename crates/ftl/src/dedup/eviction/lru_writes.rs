//! The least recently written content goes first (CA-SSD paper 4.1: LRU over writes of values).

use super::Eviction;
use crate::ids::Content;
use crate::lists::Lists;

#[derive(Clone)]
pub(super) struct LruWrites {
    order: Lists<Content>,
}

impl LruWrites {
    pub(super) fn new(contents: u32) -> Self {
        Self { order: Lists::new(contents as usize, 1) }
    }
}

impl Eviction for LruWrites {
    fn entered(&mut self, content: Content) {
        self.order.push(0, content);
    }

    fn written(&mut self, content: Content) {
        self.order.unlink(0, content);
        self.order.push(0, content);
    }

    fn left(&mut self, content: Content) {
        self.order.unlink(0, content);
    }

    fn give_way(&mut self) -> Option<Content> {
        self.order.oldest(0)
    }

    fn prefetch(&self, content: Content) {
        self.order.prefetch(content);
    }

    fn prefetch_neighbours(&self, content: Content) {
        self.order.prefetch_neighbours(content);
    }

    fn bytes(&self) -> u64 {
        self.order.bytes()
    }
}

flashtwin_bits::state!(LruWrites { order });
