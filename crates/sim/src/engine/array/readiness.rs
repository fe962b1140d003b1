//! What an operation must follow.

use flashtwin_ftl::NO_JOB;

use super::{Array, Work};

impl Array {
    /// Whether everything that the operation must follow has happened.
    #[inline]
    pub(super) fn may_start(&self, op: u32) -> bool {
        let op = &self.ops[op];
        match op.work {
            Work::HostRead | Work::ReadBeforeWrite | Work::TableRead | Work::OwnRead | Work::Parity => true,
            Work::HostProgram => {
                self.flash.is_next(&self.geometry, op.ppn)
                    && self.blocks.life(self.geometry.block_index(op.ppn)) == op.life
            }
            Work::OwnProgram => {
                // A job's program waits in a queue of its own, so that its block may still be in an
                // earlier life. So does a program unit some of whose pages are a job's.
                self.flash.is_next(&self.geometry, op.ppn)
                    && (op.job == NO_JOB && self.program_units.is_none()
                        || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
            }
            Work::OwnErase => {
                let block = self.geometry.block_index(op.ppn);
                self.flash.is_full(&self.geometry, block) && !self.blocks.has_reads(block)
            }
        }
    }

    /// Whether the page is on flash that a read on the controller's own account asks for. Otherwise the read is of a
    /// background job: the page is still in controller RAM; or the read waited so long that the page's block was
    /// erased, and then its data are wanted no more.
    #[inline]
    pub(super) fn flash_has(&self, slot: u32) -> bool {
        let op = &self.ops[slot];
        self.flash.is_programmed(&self.geometry, op.ppn)
            && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
    }
}
