//! Operations that the controller orders on its own account, such as collection and copies.

use flashtwin_ftl::{FlashOp, IDLE_STEP, OpKind};
use flashtwin_nand::Ppn;

use super::{Accounts, Array, Observer, Op, Queue, Work};

impl Array {
    /// `offline`: they take no time unless they must follow another, because the mirror serves the host meanwhile.
    pub(crate) fn carry_out_orders<O: Observer>(
        &mut self,
        ordered: &[FlashOp],
        offline: bool,
        accounts: &mut Accounts<O>,
    ) {
        let held = self.hold();
        // The orders may concern blocks all over the device, none of them in the processor's cache.
        for order in ordered {
            self.blocks.prefetch(self.geometry.block_index(order.ppn));
        }
        for (at, order) in ordered.iter().enumerate() {
            let work = match order.kind {
                OpKind::Read => Work::OwnRead,
                OpKind::Program => Work::OwnProgram,
                OpKind::Erase => Work::OwnErase,
            };
            if order.kind == OpKind::Read && !offline && order.job >= IDLE_STEP && !self.holds(order.ppn) {
                // The page is on its way to the flash: its copy takes the data from controller RAM.
                accounts.counts.own_buffer_reads[order.cause as usize] += 1;
                self.note_further_move(&ordered[at..]);
                continue;
            }
            if order.kind == OpKind::Erase {
                self.blocks.erase_decided(self.geometry.block_index(order.ppn));
                self.forget_moves_to(self.geometry.block_index(order.ppn));
            }
            let unit = self.unit_of_plane[self.geometry.plane(order.ppn)];
            let FlashOp { urgent, cause, job, .. } = *order;
            // The controller decided for the block's life as its tables have it now, erases under way included.
            let life = self.blocks.decided_life(self.geometry.block_index(order.ppn));
            let op = Op { urgent, offline, cause, job, life, ..Op::new(order.ppn, work) };
            if offline && self.carry_out_offline(unit, op, accounts) {
                continue;
            }
            let idle = job < IDLE_STEP && !urgent && !offline;
            let slot = self.submit_to(unit, if idle { Queue::Idle } else { Queue::Background }, op, accounts);
            if work == Work::OwnRead && !offline {
                self.note_move(slot, &ordered[at..]);
            }
        }
        self.release(held, accounts);
    }

    /// The life (erase count) of the block in which the host page just decided will be programmed: its erases may still
    /// wait for the flash, so the number does not tell lives apart. `ordered`: what the same decision ordered.
    #[inline]
    pub(crate) fn life_of_program(&self, ppn: Ppn, ordered: &[FlashOp]) -> u32 {
        let block = self.geometry.block_index(ppn);
        let life = self.blocks.decided_life(block);
        // Erases of a block that the page opens came before the page, those of a block that it closes come after.
        if ordered.is_empty() || self.geometry.page_in_block(ppn) != 0 {
            return life;
        }
        let erases =
            |order: &&FlashOp| order.kind == OpKind::Erase && self.geometry.block_index(order.ppn) == block;
        self.blocks.later(life, ordered.iter().filter(erases).count() as u32)
    }
}
