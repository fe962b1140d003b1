use flashtwin_nand::{Block, Geometry, Ppn};

pub(crate) const SUPERBLOCK_BYTES: u64 = 64 << 10;
/// No sector that a disk may write as a whole holds bytes of two regions, checkpoints or batches of the log.
pub(crate) const ALIGN: u64 = 4096;
/// Bytes that a page has beside its data ([`super::spare`]).
pub(crate) const SPARE_BYTES: u64 = 32;
pub const LEAST_LOG_BYTES: u64 = 64 << 10;
const DATA_ALIGN: u64 = 1 << 20;

/// In this order: two superblocks, two places for checkpoints, two halves of the log and their copies, the spare
/// bytes of all blocks, their data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) geometry: Geometry,
    pub(crate) logical_pages: u32,
    pub(crate) aware: bool,
    pub(crate) log_bytes: u64,
    pub(crate) checkpoint_bytes: u64,
    spare_block_bytes: u64,
    spare_at: u64,
    slots_at: u64,
    data_at: u64,
    pub(crate) size_bytes: u64,
}

fn up(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to) * to
}

impl Layout {
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32, aware: bool, log_bytes: u64) -> Self {
        let (blocks, pages) = (geometry.blocks(), geometry.pages());
        // Header; blocks; logical pages; a digest a page, and each page once as a copy with a number of copies each;
        // each page once as lost.
        let checkpoint =
            ALIGN + 4 + blocks * 21 + 4 + u64::from(logical_pages) * 4 + pages * (16 + 1 + 4) + 4 + pages * 4;
        let checkpoint_bytes = up(checkpoint, ALIGN);
        let spare_block_bytes = up(u64::from(geometry.pages_per_block) * SPARE_BYTES, ALIGN);
        let spare_at = 2 * (SUPERBLOCK_BYTES + checkpoint_bytes + 2 * log_bytes);
        let slots_at = spare_at + blocks * spare_block_bytes;
        let data_at = up(slots_at, DATA_ALIGN);
        Self {
            geometry: geometry.clone(),
            logical_pages,
            aware,
            log_bytes,
            checkpoint_bytes,
            spare_block_bytes,
            spare_at,
            slots_at,
            data_at,
            size_bytes: data_at + pages * u64::from(geometry.page_bytes),
        }
    }

    /// Records for as many pages as the device has.
    pub(crate) fn usual_log_bytes(geometry: &Geometry) -> u64 {
        up((geometry.pages() * 32).max(1 << 20), ALIGN)
    }

    pub(crate) fn superblock(copy: u64) -> u64 {
        copy * SUPERBLOCK_BYTES
    }

    pub(crate) fn checkpoint(&self, epoch: u64) -> u64 {
        2 * SUPERBLOCK_BYTES + (epoch % 2) * self.checkpoint_bytes
    }

    /// Both copies, far apart.
    pub(crate) fn log(&self, epoch: u64) -> [u64; 2] {
        let first = 2 * (SUPERBLOCK_BYTES + self.checkpoint_bytes) + (epoch % 2) * self.log_bytes;
        [first, first + 2 * self.log_bytes]
    }

    pub(crate) fn block_number(&self, block: Block) -> usize {
        let plane = self.geometry.plane_of_block(block).index();
        plane * self.geometry.blocks_per_plane as usize + self.geometry.block_in_plane(block) as usize
    }

    pub(crate) fn block(&self, number: u32) -> Option<Block> {
        let per_plane = self.geometry.blocks_per_plane;
        let plane = flashtwin_nand::Plane::new(number / per_plane);
        let there = u64::from(number) < self.geometry.blocks();
        there.then(|| self.geometry.block_index_of(plane, number % per_plane))
    }

    /// Pages of a block are neighbours.
    #[inline]
    pub(crate) fn page_number(&self, ppn: Ppn) -> usize {
        let block = self.block_number(self.geometry.block_index(ppn));
        block * self.geometry.pages_per_block as usize + self.geometry.page_in_block(ppn) as usize
    }

    pub(crate) fn page(&self, number: u32) -> Option<Ppn> {
        let per_block = self.geometry.pages_per_block;
        let block = self.block(number / per_block)?;
        Some(self.geometry.page_of_block(block, number % per_block))
    }

    #[inline]
    pub(crate) fn data(&self, ppn: Ppn) -> u64 {
        self.data_at + self.page_number(ppn) as u64 * u64::from(self.geometry.page_bytes)
    }

    /// A place for a page whose own is bad; `None` behind the last one.
    pub(crate) fn slot(&self, slot: u32) -> Option<u64> {
        let bytes = u64::from(self.geometry.page_bytes);
        let offset = self.slots_at + u64::from(slot) * bytes;
        (offset + bytes <= self.data_at).then_some(offset)
    }

    pub(crate) fn spare(&self, block: Block) -> u64 {
        self.spare_at + self.block_number(block) as u64 * self.spare_block_bytes
    }
}
