//! Pages that collection has decided to move and has not read yet.
//!
//! The tables name a page's new place as soon as the move is decided, but controller RAM has the
//! page only once collection has read it. Until then the host reads the page at its old place.
//! Linux's FTL for open-channel SSDs, pblk, does the same: it points its map to the copy in RAM
//! when the page has been read (`pblk_write_gc_to_cache`). The victim's erase waits for such a read
//! as for any other.

use flashtwin_bits::{By, HugeSlice};
use flashtwin_ftl::{FlashOp, OpKind};
use flashtwin_nand::{Block, Ppn};

use super::{Array, NONE, Op, Pool};

/// For each block that pages are moved to: the reads of those that are not read yet. They are linked by [`Op::other`] in
/// the order in which they were ordered, which is nearly always that in which they end; [`Op::request`] is the place
/// that the page is moved to.
pub(super) struct Moves {
    /// First and last read of each block, plus one each; 0: none. Memory that is never touched costs nothing.
    lists: By<Block, HugeSlice<[u32; 2]>>,
}

impl Moves {
    pub(super) fn new(blocks: usize) -> Self {
        Self { lists: By::new(HugeSlice::zeroed(blocks)) }
    }

    /// Enters the read `slot` of a page that is moved to `to`, in `block`.
    fn push(&mut self, block: Block, to: Ppn, slot: u32, ops: &mut Pool<Op>) {
        (ops[slot].request, ops[slot].other) = (to.number(), NONE);
        let [first, last] = &mut self.lists[block];
        match last.checked_sub(1) {
            Some(last) => ops[last].other = slot,
            None => *first = slot + 1,
        }
        *last = slot + 1;
    }

    /// The reads of a block's list, each with the one before it.
    fn reads<'a>(&self, block: Block, ops: &'a Pool<Op>) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let first = self.lists[block][0].wrapping_sub(1);
        let next = |&(_, slot): &(u32, u32)| Some((slot, ops[slot].other)).filter(|next| next.1 != NONE);
        std::iter::successors(Some((NONE, first)).filter(|first| first.1 != NONE), next)
    }

    /// The read of the page that is moved to `to`, and the one before it in the list.
    fn find(&self, block: Block, to: Ppn, ops: &Pool<Op>) -> Option<(u32, u32)> {
        self.reads(block, ops).find(|&(_, slot)| ops[slot].request == to.number())
    }

    /// Takes a read out of a block's list.
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
    /// The read `slot`, the first of these orders, is queued. If the next one programs its data,
    /// the page is on its way there.
    #[inline]
    pub(super) fn note_move(&mut self, slot: u32, orders: &[FlashOp]) {
        if let Some(to) = destination(orders) {
            self.moves.push(self.geometry.block_index(to), to, slot, &mut self.ops);
        }
    }

    /// The first of these orders is to read a page that is not on flash. If it is not in RAM either, because it was moved and
    /// not read yet, its one read is now for its next place.
    pub(super) fn note_further_move(&mut self, orders: &[FlashOp]) {
        let (Some(read), Some(to)) = (orders.first(), destination(orders)) else { return };
        let block = self.geometry.block_index(read.ppn);
        if let Some(found) = self.moves.find(block, read.ppn, &self.ops) {
            self.moves.unlink(block, found, &mut self.ops);
            self.moves.push(self.geometry.block_index(to), to, found.1, &mut self.ops);
        }
    }

    /// A read of the controller's own has ended: if it was of a page to be moved, RAM has the page now.
    #[inline]
    pub(super) fn note_moved_page_read(&mut self, slot: u32) {
        let to = self.ops[slot].request;
        if to == NONE {
            return;
        }
        let block = self.geometry.block_index(Ppn::new(to));
        let found = self.moves.reads(block, &self.ops).find(|&(_, other)| other == slot);
        if let Some(found) = found {
            self.moves.unlink(block, found, &mut self.ops);
        }
    }

    /// A block's erase is ordered: pages on their way there are obsolete.
    pub(super) fn forget_moves_to(&mut self, block: Block) {
        loop {
            let first = self.moves.reads(block, &self.ops).next();
            let Some(first) = first else { return };
            self.moves.unlink(block, first, &mut self.ops);
        }
    }

    /// See [`super::Backend::place_on_flash`].
    #[inline]
    pub(super) fn place_on_flash(&self, ppn: Ppn) -> Option<Ppn> {
        if self.holds(ppn) { Some(ppn) } else { self.place_before_move(ppn) }
    }

    #[inline(never)]
    fn place_before_move(&self, to: Ppn) -> Option<Ppn> {
        let (_, slot) = self.moves.find(self.geometry.block_index(to), to, &self.ops)?;
        Some(self.ops[slot].ppn)
    }
}

/// Where the page goes that the first of these orders reads.
fn destination(orders: &[FlashOp]) -> Option<Ppn> {
    let [read, program, ..] = orders else { return None };
    (program.kind == OpKind::Program && program.source == read.ppn).then_some(program.ppn)
}
