//! Conditions for the start of an operation.

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

    /// Whether the flash has the page that a read on the controller's own account needs. If not,
    /// the read belongs to a background job: its page is still in controller RAM, or the page's
    /// block was erased during the wait and its data are obsolete.
    #[inline]
    pub(super) fn flash_has(&self, slot: u32) -> bool {
        let op = &self.ops[slot];
        self.flash.is_programmed(&self.geometry, op.ppn)
            && (op.job == NO_JOB || self.blocks.life(self.geometry.block_index(op.ppn)) == op.life)
    }
}
