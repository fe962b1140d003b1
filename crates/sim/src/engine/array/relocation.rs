//! Pages that collection has decided to move and has not read yet.
//!
//! The tables name a page's new place at once, but controller RAM has it only once collection has read it. Until then
//! the host reads the old place, and the victim's erase waits. Linux's pblk does the same (`pblk_write_gc_to_cache`).

use flashtwin_bits::{By, HugeSlice};
use flashtwin_ftl::{FlashOp, OpKind};
use flashtwin_nand::{Block, Ppn};

use super::{Array, NONE, Op, Pool};

/// For each block that pages are moved to: the reads that have not ended, linked by [`Op::other`] as they were ordered,
/// which is nearly always how they end. [`Op::request`] is the page's new place.
#[derive(Clone)]
pub(super) struct Relocations {
    /// First and last read of each block, plus one each; 0: none. Untouched memory costs nothing.
    lists: By<Block, HugeSlice<[u32; 2]>>,
}

impl Relocations {
    pub(super) fn new(blocks: usize) -> Self {
        Self { lists: By::new(HugeSlice::zeroed(blocks)) }
    }

    fn push(&mut self, block: Block, to: Ppn, slot: u32, ops: &mut Pool<Op>) {
        (ops[slot].request, ops[slot].other) = (to.number(), NONE);
        let [first, last] = &mut self.lists[block];
        match last.checked_sub(1) {
            Some(last) => ops[last].other = slot,
            None => *first = slot + 1,
        }
        *last = slot + 1;
    }

    fn reads<'a>(&self, block: Block, ops: &'a Pool<Op>) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let first = self.lists[block][0].wrapping_sub(1);
        let next = |&(_, slot): &(u32, u32)| Some((slot, ops[slot].other)).filter(|next| next.1 != NONE);
        std::iter::successors(Some((NONE, first)).filter(|first| first.1 != NONE), next)
    }

    /// The read of the page that is moved to `to`, and the one before it in the list.
    fn find(&self, block: Block, to: Ppn, ops: &Pool<Op>) -> Option<(u32, u32)> {
        self.reads(block, ops).find(|&(_, slot)| ops[slot].request == to.number())
    }

    fn unlink(&mut self, block: Block, (before, slot): (u32, u32), ops: &mut Pool<Op>) {
        let after = ops[slot].other;
        let [first, last] = &mut self.lists[block];
        match before {
            NONE => *first = after.wrapping_add(1),
            before => ops[before].other = after,
        }
        if *last == slot + 1 {
            *last = before.wrapping_add(1);
        }
        (ops[slot].request, ops[slot].other) = (NONE, NONE);
    }
}

impl Array {
    /// If the second of these orders programs the data of the first, read `slot`, the page is moved there.
    #[inline]
    pub(super) fn note_move(&mut self, slot: u32, orders: &[FlashOp]) {
        if let Some(to) = destination(orders) {
            self.relocations.push(self.geometry.block_index(to), to, slot, &mut self.ops);
        }
    }

    /// If the first of these orders reads a page whose move has not read it yet, that read is now for the next place.
    pub(super) fn note_further_move(&mut self, orders: &[FlashOp]) {
        let (Some(read), Some(to)) = (orders.first(), destination(orders)) else { return };
        let block = self.geometry.block_index(read.ppn);
        if let Some(found) = self.relocations.find(block, read.ppn, &self.ops) {
            self.relocations.unlink(block, found, &mut self.ops);
            self.relocations.push(self.geometry.block_index(to), to, found.1, &mut self.ops);
        }
    }

    /// A read of the controller's own has ended. If it was of a page to be moved, RAM has the page now.
    #[inline]
    pub(super) fn note_moved_page_read(&mut self, slot: u32) {
        let to = self.ops[slot].request;
        if to == NONE {
            return;
        }
        let block = self.geometry.block_index(Ppn::new(to));
        let found = self.relocations.reads(block, &self.ops).find(|&(_, other)| other == slot);
        if let Some(found) = found {
            self.relocations.unlink(block, found, &mut self.ops);
        }
    }

    pub(super) fn forget_moves_to(&mut self, block: Block) {
        loop {
            let first = self.relocations.reads(block, &self.ops).next();
            let Some(first) = first else { return };
            self.relocations.unlink(block, first, &mut self.ops);
        }
    }

    /// `None` if controller RAM has the page's data, on their way to the flash.
    #[inline]
    pub(crate) fn place_on_flash(&self, ppn: Ppn) -> Option<Ppn> {
        if self.holds(ppn) { Some(ppn) } else { self.place_before_move(ppn) }
    }

    #[inline(never)]
    fn place_before_move(&self, to: Ppn) -> Option<Ppn> {
        let (_, slot) = self.relocations.find(self.geometry.block_index(to), to, &self.ops)?;
        Some(self.ops[slot].ppn)
    }
}

fn destination(orders: &[FlashOp]) -> Option<Ppn> {
    let [read, program, ..] = orders else { return None };
    (program.kind == OpKind::Program && program.source == read.ppn).then_some(program.ppn)
}
