//! Program units: host pages stay on a plane until its unit is full, and units are padded.

use flashtwin_nand::{NO_PPN, Plane, Ppn};

use super::Flash;
use super::blocks::{Blocks, Stream};
use crate::error::FtlResult;
use crate::loads::LoadView;
use crate::op::{Cause, FlashOp, OpKind};

impl Flash {
    /// The plane of the stream's last page while a program unit is open there; otherwise another one.
    #[inline(never)]
    pub(super) fn fill_unit(
        &mut self,
        stream: Stream,
        address: u64,
        loads: &LoadView<'_>,
    ) -> FtlResult<Plane> {
        let partition = usize::from(stream.partition(self.blocks.partitions()));
        let last = self.filling[partition];
        if self.blocks.has_room(last) && self.blocks.has_open_unit(last, stream) {
            return Ok(last);
        }
        let plane = self.propose_plane(address, loads)?;
        self.filling[partition] = plane;
        Ok(plane)
    }

    pub(crate) fn pad_units(&mut self, ops: &mut Vec<FlashOp>) -> FtlResult {
        for plane in self.geometry().all_planes() {
            for partition in 0..self.blocks.partitions() as u8 {
                while let Some(ppn) = self.blocks.pad(plane, Stream::host(partition)) {
                    self.order(FlashOp::new(OpKind::Program, ppn, NO_PPN, Cause::Padding), ops)?;
                }
            }
        }
        Ok(())
    }
}

impl Blocks {
    pub(crate) fn has_open_unit(&self, plane: Plane, stream: Stream) -> bool {
        let open = self.open_block(plane, stream);
        open.is_some_and(|block| !self.geometry.begins_unit(self.table.written(block)))
    }

    fn pad(&mut self, plane: Plane, stream: Stream) -> Option<Ppn> {
        let block = self.open_block(plane, stream)?;
        let written = self.table.written(block);
        if self.geometry.begins_unit(written) {
            return None;
        }
        self.table.words[block] += 1 << 16;
        if written + 1 == self.geometry.pages_per_block {
            self.close(plane, self.active_at(plane, stream));
        }
        Some(self.geometry.page_of_block(block, written))
    }
}
