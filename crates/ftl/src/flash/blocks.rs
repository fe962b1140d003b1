//! Physical pages and blocks: who owns them, where the next page of a stream goes.

use crate::ids::Owner;
use crate::sabotage::sabotaged;
use flashtwin_nand::{Block, Chip, Geometry, Plane, Ppn};

use super::block_table::{BlockState, BlockTable, ERASES_AT, METADATA, Retirement, Word};
use super::partition::PartitionConfig;
use super::victim::VictimSelection;
use super::wear::{FreeBlocks, Levelling, WearConfig, WearPolicy};
use flashtwin_bits::{By, HugeSlice};

/// Data that share an active block of a plane. Different kinds do not, because their programs reach the flash in
/// different queues and pages of a block must be programmed in order. Nor do partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stream(u8);

impl Stream {
    pub(crate) const REPLICA: Self = Self(0);
    /// Streams that do not depend on the number of partitions.
    const COMMON: u32 = 1;

    pub(crate) const fn host(partition: u8) -> Self {
        Self(Self::COMMON as u8 + 2 * partition)
    }

    pub(crate) const fn gc(partition: u8) -> Self {
        Self(Self::COMMON as u8 + 2 * partition + 1)
    }

    /// Pages of a partition that wear levelling moves: the last streams.
    pub(crate) const fn levelled(partition: u8, partitions: u32) -> Self {
        Self(Self::count(partitions, false) as u8 + partition)
    }

    /// Number of streams. `levels`: wear levelling may move data.
    pub(crate) const fn count(partitions: u32, levels: bool) -> u32 {
        Self::COMMON + 2 * partitions + if levels { partitions } else { 0 }
    }

    /// Streams that ever have an open block.
    pub(crate) fn in_use(partition: &PartitionConfig, levels: bool) -> u32 {
        Self::count(partition.count(), levels) - partition.collected_with_others()
    }

    fn levels(self, partitions: u32) -> bool {
        u32::from(self.0) >= Self::count(partitions, false)
    }

    /// The partition that collection moves the stream's pages to. Copies go with the coldest: nobody updates them.
    pub(crate) fn partition(self, partitions: u32) -> u8 {
        match u32::from(self.0).checked_sub(Self::COMMON) {
            Some(place) if place >= 2 * partitions => (place - 2 * partitions) as u8,
            Some(place) => (place / 2) as u8,
            None => (partitions - 1) as u8,
        }
    }
}

const NO_BLOCK: Block = Block::new(u32::MAX);

#[derive(Clone)]
pub(super) struct PlaneState {
    /// Blocks from this one on were never used.
    fresh: u32,
    pub(super) recycled: FreeBlocks,
    /// Retired blocks count as full.
    pub(super) valid_pages: u32,
}

#[derive(Clone)]
pub(crate) struct Blocks {
    pub(crate) geometry: Geometry,
    pub(crate) table: BlockTable,
    /// Owner of each page plus one (an LPN, a VPN or a content, by the mapping form); 0: not valid.
    owner: By<Ppn, HugeSlice<u32>>,
    pub(super) planes: By<Plane, Vec<PlaneState>>,
    /// The open block of each stream of each plane; a power of two of places a plane.
    active: Vec<Block>,
    active_shift: u32,
    partitions: u32,
    victims: Box<dyn VictimSelection>,
    wear: WearPolicy,
    /// Whether the driver says when an erase is carried out ([`Blocks::erased`]). Otherwise it is when it is ordered.
    erases_take_time: bool,
    /// Erases so far: the order of erased blocks where wear does not count.
    turn: u32,
    levelling: Option<Levelling>,
    chip_valid: By<Chip, Vec<u64>>,
    chip_erases: By<Chip, Vec<u64>>,
    chip_of_plane: By<Plane, Vec<Chip>>,
    /// Limit of a plane's valid host pages; with the rest, collection always finds an invalid page.
    plane_limit: u64,
    /// By plane: valid pages that are not data, in neither its count nor its chip's. Empty where there are none.
    valid_metadata: By<Plane, Vec<u32>>,
    /// Retired blocks, and those that will be once they are erased.
    pub(super) retirement: Retirement,
}

impl Blocks {
    pub(crate) fn new(
        geometry: &Geometry,
        partition: &PartitionConfig,
        wear: &WearConfig,
        victims: Box<dyn VictimSelection>,
    ) -> Self {
        let partitions = partition.count();
        let planes = (0..geometry.planes())
            .map(|_| PlaneState { fresh: 0, recycled: FreeBlocks::default(), valid_pages: 0 })
            .collect();
        let active_shift = Stream::count(partitions, wear.levels()).next_power_of_two().ilog2();
        Self {
            table: BlockTable { words: By::new(HugeSlice::zeroed(geometry.block_index_len())) },
            owner: By::new(HugeSlice::zeroed(geometry.page_index_len())),
            planes: By::new(planes),
            active: vec![NO_BLOCK; (geometry.planes() as usize) << active_shift],
            active_shift,
            partitions,
            victims,
            wear: wear.policy,
            erases_take_time: false,
            turn: 0,
            levelling: wear.levels().then(|| Levelling::new(wear, geometry)),
            chip_valid: By::new(vec![0; geometry.chips() as usize]),
            chip_erases: By::new(vec![0; geometry.chips() as usize]),
            chip_of_plane: By::new(
                geometry.all_planes().map(|plane| geometry.chip_of_plane(plane)).collect(),
            ),
            plane_limit: Self::plane_limit_of(geometry, Stream::in_use(partition, wear.levels())),
            valid_metadata: By::new(Vec::new()),
            retirement: Retirement::default(),
            geometry: geometry.clone(),
        }
    }

    /// Pages of valid data that one plane can hold beside an active block a stream and a free one for collection.
    pub(crate) fn plane_limit_of(geometry: &Geometry, streams: u32) -> u64 {
        u64::from(geometry.blocks_per_plane.saturating_sub(streams + 1)) * u64::from(geometry.pages_per_block)
    }

    /// Keeps blocks back for pages that are not data.
    pub(crate) fn reserve_metadata_blocks(&mut self, plane_limit: u64) {
        self.plane_limit = plane_limit;
        self.valid_metadata = By::new(vec![0; self.planes.len()]);
    }

    pub(crate) fn plane_limit(&self) -> u64 {
        self.plane_limit
    }

    pub(crate) fn has_room(&self, plane: Plane) -> bool {
        self.valid_pages(plane) < self.plane_limit
    }

    pub(crate) fn chip_has_room(&self, chip: Chip) -> bool {
        self.geometry.planes_of(chip).any(|plane| self.has_room(plane))
    }

    pub(crate) fn valid_pages(&self, plane: Plane) -> u64 {
        u64::from(self.planes[plane].valid_pages)
    }

    pub(crate) fn partitions(&self) -> u32 {
        self.partitions
    }

    #[inline]
    pub(super) fn active_at(&self, plane: Plane, stream: Stream) -> usize {
        plane.index() << self.active_shift | stream.0 as usize
    }

    pub(crate) fn free_blocks(&self, plane: Plane) -> u32 {
        let plane = &self.planes[plane];
        self.geometry.blocks_per_plane - plane.fresh + plane.recycled.len()
    }

    #[inline]
    pub(crate) fn chip_of(&self, plane: Plane) -> Chip {
        self.chip_of_plane[plane]
    }

    #[inline]
    pub(crate) fn chip_of_page(&self, ppn: Ppn) -> Chip {
        self.chip_of(self.geometry.plane(ppn))
    }

    pub(crate) fn chip_valid(&self) -> By<Chip, &[u64]> {
        By::new(&self.chip_valid)
    }

    pub(crate) fn chip_erases(&self) -> By<Chip, &[u64]> {
        By::new(&self.chip_erases)
    }

    #[inline]
    pub(crate) fn prefetch(&self, ppn: Ppn) {
        self.owner.prefetch(ppn);
        self.table.words.prefetch(self.geometry.block_index(ppn));
    }

    #[inline]
    pub(crate) fn prefetch_next(&self, plane: Plane, stream: Stream) -> Option<Ppn> {
        self.planes.prefetch(plane);
        let block = self.active[self.active_at(plane, stream)];
        if block == NO_BLOCK {
            return None;
        }
        let written = self.table.written(block);
        let ppn = self.geometry.page_of_block(block, written);
        self.owner.prefetch(ppn);
        Some(ppn)
    }

    #[inline]
    pub(crate) fn has_open_block(&self, plane: Plane, stream: Stream) -> bool {
        self.active[self.active_at(plane, stream)] != NO_BLOCK
    }

    #[inline]
    pub(crate) fn owner(&self, ppn: Ppn) -> Option<Owner> {
        self.owner[ppn].checked_sub(1).map(Owner::new)
    }

    /// A free block of a plane, the next one or the most `worn` one; [`NO_BLOCK`] if there is none.
    fn take_free(&mut self, plane: Plane, worn: bool) -> Block {
        let state = &mut self.planes[plane];
        let worn = if worn { state.recycled.take_last() } else { None };
        // A fresh block was erased less often than any recycled one.
        let block = match worn {
            Some(block) => block,
            None if state.fresh < self.geometry.blocks_per_plane => {
                state.fresh += 1;
                state.fresh - 1
            }
            None => match state.recycled.take_first() {
                Some(block) => block,
                None => return NO_BLOCK,
            },
        };
        self.geometry.block_index_of(plane, block)
    }

    #[cold]
    fn open(&mut self, plane: Plane, stream: Stream) -> Option<Block> {
        // Cold data are to lie still where wear is highest.
        let index = self.take_free(plane, stream.levels(self.partitions));
        if index == NO_BLOCK {
            return None;
        }
        let at = self.active_at(plane, stream);
        self.active[at] = index;
        self.table.open(index, stream.partition(self.partitions));
        Some(index)
    }

    #[cold]
    pub(super) fn close(&mut self, plane: Plane, active_at: usize) {
        let block = std::mem::replace(&mut self.active[active_at], NO_BLOCK);
        self.table.set_state(block, BlockState::Closed);
        self.note_closed(plane, block);
    }

    fn note_closed(&mut self, plane: Plane, block: Block) {
        self.victims.closed(block, self.table.valid(block));
        if let Some(levelling) = &mut self.levelling {
            levelling.closed(plane, block);
        }
    }

    /// The next page of `stream`, now owned by `owner`; `None` when a free block is needed and there is none.
    #[inline]
    pub(crate) fn program(&mut self, plane: Plane, stream: Stream, owner: Owner) -> Option<Ppn> {
        let at = self.active_at(plane, stream);
        let mut block = self.active[at];
        if block == NO_BLOCK {
            block = self.open(plane, stream)?;
        }
        let written = self.table.written(block);
        let ppn = self.geometry.page_of_block(block, written);
        self.owner[ppn] = owner.number() + 1;
        // Valid and written both grow by one.
        self.table.words[block] += 1 | 1 << 16;
        self.planes[plane].valid_pages += 1;
        self.chip_valid[self.chip_of_plane[plane]] += 1;
        if written + 1 == self.geometry.pages_per_block {
            self.close(plane, at);
        }
        Some(ppn)
    }

    #[inline]
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        if sabotaged!(SkippedInvalidate) {
            return;
        }
        debug_assert!(self.owner[ppn] != 0, "invalidated twice: {ppn}");
        self.owner[ppn] = 0;
        let block = self.geometry.block_index(ppn);
        self.table.words[block] -= 1;
        let plane = self.geometry.plane(ppn);
        self.planes[plane].valid_pages -= 1;
        self.chip_valid[self.chip_of_plane[plane]] -= 1;
        let word = self.table.word(block);
        if word.state() == BlockState::Closed {
            self.victims.invalidated(block, word.valid());
        }
    }

    /// The block whose data wear levelling moves now. Needs two free blocks: a collection may need the last one.
    pub(crate) fn choose_cold(&mut self, plane: Plane) -> Option<Block> {
        let levelling = self.levelling.as_ref().filter(|_| self.free_blocks(plane) >= 2)?;
        let block = levelling.due(plane, &self.table, &self.geometry)?;
        self.victims.withdrawn(block, self.table.valid(block));
        self.table.set_state(block, BlockState::Collecting);
        Some(block)
    }

    /// Opens a block for pages that are not data. It belongs to no stream, so no victim selection sees it.
    pub(crate) fn open_metadata_block(&mut self, plane: Plane) -> Option<Block> {
        let block = self.take_free(plane, false);
        if block == NO_BLOCK {
            return None;
        }
        self.table.open(block, METADATA);
        Some(block)
    }

    /// The next page of a metadata block, now owned by `owner`, and whether it was the last one.
    pub(crate) fn program_metadata(&mut self, block: Block, owner: Owner) -> (Ppn, bool) {
        let written = self.table.written(block);
        let ppn = self.geometry.page_of_block(block, written);
        self.owner[ppn] = owner.number() + 1;
        self.table.words[block] += 1 | 1 << 16;
        self.valid_metadata[self.geometry.plane(ppn)] += 1;
        (ppn, written + 1 == self.geometry.pages_per_block)
    }

    pub(crate) fn invalidate_metadata(&mut self, ppn: Ppn) {
        debug_assert!(self.owner[ppn] != 0, "invalidated twice: {ppn}");
        self.owner[ppn] = 0;
        self.table.words[self.geometry.block_index(ppn)] -= 1;
        self.valid_metadata[self.geometry.plane(ppn)] -= 1;
    }

    pub(crate) fn metadata_pages(&self) -> u64 {
        self.valid_metadata.iter().map(|&pages| u64::from(pages)).sum()
    }

    pub(crate) fn choose_victim(&mut self, plane: Plane) -> Option<Block> {
        let block = self.victims.choose(plane, &self.table)?;
        debug_assert_eq!(self.table.state(block), BlockState::Closed, "victim {block}");
        self.table.set_state(block, BlockState::Collecting);
        Some(block)
    }

    pub(crate) fn return_victim(&mut self, block: Block) {
        self.table.set_state(block, BlockState::Closed);
        self.victims.closed(block, self.table.valid(block));
    }

    /// Frees a block that holds nothing valid; `levelled`: it was moved on account of wear.
    pub(crate) fn erase(&mut self, block: Block, levelled: bool) {
        debug_assert_eq!(self.table.valid(block), 0);
        let plane = self.geometry.plane_of_block(block);
        match &mut self.levelling {
            Some(levelling) if levelled => levelling.moved(plane),
            Some(levelling) => levelling.collected(plane),
            None => {}
        }
        self.free(block, plane);
    }

    /// Erases a metadata block: wear levelling does not count it.
    pub(crate) fn erase_metadata_block(&mut self, block: Block) {
        debug_assert_eq!(self.table.valid(block), 0);
        self.free(block, self.geometry.plane_of_block(block));
    }

    fn free(&mut self, block: Block, plane: Plane) {
        let erases = self.table.erases(block) + 1;
        self.table.words[block] = u64::from(erases) << ERASES_AT;
        let number = self.geometry.block_in_plane(block);
        self.turn = self.turn.wrapping_add(1);
        let rank = if self.wear == WearPolicy::None { self.turn } else { erases };
        let free = &mut self.planes[plane].recycled;
        match self.erases_take_time {
            true => free.push_ordered(rank, number),
            false => free.push(rank, number),
        }
        self.chip_erases[self.chip_of_plane[plane]] += 1;
        self.retire_if_due(block);
    }

    pub(crate) fn erases_take_time(&mut self) {
        self.erases_take_time = true;
    }

    pub(crate) fn erased(&mut self, block: Block) {
        let plane = self.geometry.plane_of_block(block);
        self.planes[plane].recycled.erased(self.geometry.block_in_plane(block));
    }

    pub(super) fn open_block(&self, plane: Plane, stream: Stream) -> Option<Block> {
        Some(self.active[self.active_at(plane, stream)]).filter(|&block| block != NO_BLOCK)
    }

    /// Makes a block the open one of a stream; `false` where there is one already, or no such stream.
    pub(super) fn reopen(&mut self, plane: Plane, stream: Stream, block: Block) -> bool {
        let known = !stream.levels(self.partitions) || self.levelling.is_some();
        let at = self.active_at(plane, stream);
        let vacant = known && self.active[at] == NO_BLOCK;
        if vacant {
            self.active[at] = block;
        }
        vacant
    }

    /// Blocks of a plane from `fresh` on were never used; those before that are erased can be.
    pub(super) fn restore_free(&mut self, plane: Plane, fresh: u32) {
        self.planes[plane].fresh = fresh;
        for number in 0..fresh {
            let word = self.table.word(self.geometry.block_index_of(plane, number));
            if word.state() == BlockState::Free {
                let rank = if self.wear == WearPolicy::None { 0 } else { word.erases() };
                self.planes[plane].recycled.push(rank, number);
            }
        }
    }

    pub(super) fn add_erases(&mut self, plane: Plane, erases: u32) {
        self.chip_erases[self.chip_of_plane[plane]] += u64::from(erases);
    }

    pub(super) fn own(&mut self, ppn: Ppn, block: Block, owner: Owner) {
        self.owner[ppn] = owner.number() + 1;
        self.table.words[block] += 1;
        let plane = self.geometry.plane(ppn);
        self.planes[plane].valid_pages += 1;
        self.chip_valid[self.chip_of_plane[plane]] += 1;
    }

    /// All pages have their owners: blocks become victims, in the order in which they were closed.
    pub(crate) fn restored(&mut self, closed: &[Block]) {
        closed.iter().for_each(|&block| self.note_closed(self.geometry.plane_of_block(block), block));
    }

    pub(crate) fn reset_wear(&mut self) {
        for word in self.table.words.iter_mut().filter(|word| **word != 0) {
            *word &= (1 << ERASES_AT) - 1;
        }
        if self.wear != WearPolicy::None {
            self.planes.iter_mut().for_each(|plane| plane.recycled.level());
        }
        self.chip_erases.fill(0);
    }

    /// Erase counts of every block of the device: (count, blocks with it), ascending.
    pub(crate) fn wear(&self) -> Vec<(u32, u64)> {
        let (mut blocks, mut unused) = (vec![0], self.geometry.blocks());
        for &word in self.table.words.iter().filter(|word| **word != 0) {
            let erases = Word(word).erases() as usize;
            if erases >= blocks.len() {
                blocks.resize(erases + 1, 0);
            }
            blocks[erases] += 1;
            unused -= 1;
        }
        blocks[0] += unused;
        (0..).zip(blocks).filter(|&(_, blocks)| blocks > 0).collect()
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = (u8, u32)> {
        let words = self.table.words.iter().map(|&word| Word(word));
        words
            .filter(|word| word.written() > 0 && word.partition() != METADATA)
            .map(|word| (word.partition(), word.valid()))
    }

    pub(crate) fn audit(&self) -> Result<(), String> {
        let g = &self.geometry;
        for plane in g.all_planes() {
            let (mut plane_valid, mut free) = (0u32, 0u32);
            for block in 0..g.blocks_per_plane {
                let index = g.block_index_of(plane, block);
                free += u32::from(self.table.state(index) == BlockState::Free);
                if self.table.words[index] == 0 {
                    // Never opened; a device may have a thousand times more of these.
                    continue;
                }
                let first = g.page_of_block(index, 0);
                let page = |page| g.page_of_block(index, page);
                let owners: Vec<u32> = (0..g.pages_per_block).map(|at| self.owner[page(at)]).collect();
                let valid = owners.iter().filter(|&&owner| owner != 0).count() as u32;
                let written = self.table.written(index);
                if valid != self.table.valid(index) {
                    return Err(format!(
                        "{} counts {} valid pages, {valid} have owners",
                        g.describe(first),
                        self.table.valid(index)
                    ));
                }
                if owners[written as usize..].iter().any(|&owner| owner != 0) {
                    return Err(format!(
                        "{}: a page beyond the write pointer {written} is owned",
                        g.describe(first)
                    ));
                }
                plane_valid += valid;
            }
            if free != self.free_blocks(plane) {
                let listed = self.free_blocks(plane);
                return Err(format!("plane {plane} lists {listed} free blocks, {free} are erased"));
            }
            plane_valid += self.retirement.pages_in(plane, g);
            let metadata = self.valid_metadata.get(plane).copied().unwrap_or(0);
            let counted = self.planes[plane].valid_pages + metadata;
            if plane_valid != counted {
                return Err(format!("plane {plane} counts {counted} valid pages, {plane_valid} have owners"));
            }
        }
        Ok(())
    }

    pub(crate) fn pages_opened(&self) -> u64 {
        let opened: u64 = self.planes.iter().map(|plane| u64::from(plane.fresh)).sum();
        opened * u64::from(self.geometry.pages_per_block)
    }

    /// A word a block, an owner a page, two list links a block once armed.
    pub(crate) fn bytes(blocks: u64, pages: u64) -> u64 {
        blocks * (8 + 8) + pages * 4
    }

    /// Bytes of these tables that are in use (untouched zeroed memory not counted).
    pub(crate) fn bytes_in_use(&self) -> u64 {
        let pages = self.pages_opened();
        let opened = pages / u64::from(self.geometry.pages_per_block);
        let planes = self.planes.len() * size_of::<PlaneState>() + self.active.len() * 4;
        let levelling = self.levelling.as_ref().map_or(0, |levelling| levelling.bytes(opened));
        Self::bytes(opened, pages) + planes as u64 + levelling
    }
}

flashtwin_bits::state!(value PlaneState { fresh, recycled, valid_pages });
flashtwin_bits::state!(Blocks { table, owner, planes, active, victims, turn, levelling, chip_valid, chip_erases, valid_metadata } kept {
    geometry, active_shift, partitions, wear, erases_take_time, chip_of_plane, plane_limit, retirement
});

#[cfg(test)]
mod tests;
