//! The effect of operations on the medium, and operations that take no time.

use flashtwin_ftl::{IDLE_STEP, Unit};
use flashtwin_nand::Ppn;

use super::{Accounts, Array, NONE, Observer, Op, Queue, Work};

impl Array {
    /// Returns `false`, without any effect, if it must follow another that has not happened yet.
    #[inline(never)]
    pub(super) fn carry_out_offline<O: Observer>(
        &mut self,
        unit: Unit,
        op: Op,
        accounts: &mut Accounts<O>,
    ) -> bool {
        if self.units[unit].head(Queue::Background) != NONE {
            return false;
        }
        let slot = self.ops.insert(op);
        let may_start = self.may_start(slot);
        match may_start {
            true => self.carry_out_at_once(slot, accounts),
            false => self.ops.remove(slot),
        }
        may_start
    }

    #[inline(never)]
    pub(super) fn carry_out_at_once<O: Observer>(&mut self, slot: u32, accounts: &mut Accounts<O>) {
        let op = self.ops[slot];
        match op.work {
            Work::OwnProgram => self.program(op.ppn, accounts),
            Work::OwnErase => self.erase(op.ppn, accounts),
            _ if op.offline => accounts.counts.flash_ops[0] += 1,
            _ => accounts.counts.own_buffer_reads[op.cause as usize] += 1,
        }
        self.note_job_done(&op);
        self.ops.remove(slot);
    }

    pub(super) fn program<O: Observer>(&mut self, ppn: Ppn, accounts: &mut Accounts<O>) {
        accounts.counts.flash_ops[1] += 1;
        if let Err(rule) = self.flash.program(&self.geometry, ppn) {
            accounts.fail(rule);
        }
        if self.awaited.is_some() {
            self.programmed(ppn, accounts);
        }
    }

    #[inline(never)]
    pub(super) fn erase<O: Observer>(&mut self, ppn: Ppn, accounts: &mut Accounts<O>) {
        accounts.counts.flash_ops[2] += 1;
        let block = self.geometry.block_index(ppn);
        self.flash.erase(block);
        self.blocks.erased(block);
        accounts.observer.erased(block, self.now_ns);
        if !self.blocks.erase_is_pending(block) {
            self.news.erased.push(block);
        }
    }

    /// The controller hears of an ended job operation after the present event, when the queues are consistent.
    #[inline]
    pub(super) fn note_job_done(&mut self, op: &Op) {
        if op.job < IDLE_STEP {
            self.news.jobs_done.push(op.job);
        }
    }
}
