//! Senses: pages of one flash page that are read with one tR.
//!
//! A flash page may hold several pages of the mapping (`nand.sense_pages`). Reads of one flash page that wait at the same
//! die are one command: the array senses once, then the pages pass over the channel one after the other.

use flashtwin_ftl::Unit;
use flashtwin_nand::{Block, Ppn};

use super::unit::WINDOW;
use super::{Array, NONE, Queue, Work};

impl Array {
    /// Chains the reads of a queue that ask for the flash page of one that starts, by `next`. Returns the number of pages.
    pub(super) fn gather_sense(&mut self, unit: Unit, queue: Queue, slot: u32) -> u64 {
        let (first, most) = (self.ops[slot], u64::from(self.geometry.sense_pages));
        let wanted = self.place_of_sense(first.ppn);
        let (mut last, mut before, mut pages) = (slot, NONE, 1);
        let mut candidate = self.units[unit].head(queue);
        for _ in 0..WINDOW {
            if candidate == NONE || pages == most {
                break;
            }
            let op = &self.ops[candidate];
            let after = op.next;
            let joins = op.work == first.work && !op.offline && self.place_of_sense(op.ppn) == wanted;
            if joins && (queue == Queue::Reads || self.flash_has(candidate)) {
                self.units[unit].pop_after(queue, before, &mut self.ops);
                self.ops[last].next = candidate;
                self.ops[candidate].next = NONE;
                (last, pages) = (candidate, pages + 1);
            } else if op.work == Work::OwnErase {
                // A read behind it may need the block's new data.
                break;
            } else {
                before = candidate;
            }
            candidate = after;
        }
        pages
    }

    /// The flash page that a page lies in.
    fn place_of_sense(&self, ppn: Ppn) -> (Block, u32) {
        (self.geometry.block_index(ppn), self.geometry.flash_page(ppn))
    }

    /// tR of a command: of its flash pages, the one that takes longest.
    pub(super) fn longest_sense_ns(&self, first: u32) -> u64 {
        let next = |&slot: &u32| Some(self.ops[slot].next).filter(|&next| next != NONE);
        std::iter::successors(Some(first), next)
            .map(|slot| self.sense_ns(self.ops[slot].ppn))
            .max()
            .unwrap_or(0)
    }
}
