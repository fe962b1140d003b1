//! The state of a drive when power failed, as checkpoint and log record it: logical pages, their flash pages, and the
//! blocks. It knows no policy and trusts no number.

use std::collections::{BTreeSet, HashMap};

use flashtwin_ftl::{BlockImage, BlockUse, OpenFor};
use flashtwin_nand::{Geometry, Plane, Ppn};

use super::layout::Layout;
use super::record::{Digest, Record};
use super::replaced::Replaced;

/// No slot, where slots are stored plus one.
const NONE: u32 = 0;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) home: Ppn,
    pub(crate) references: u32,
    /// Of a system that ignores contents, only the first 8 bytes.
    pub(crate) digest: Digest,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockState {
    pub(crate) erases: u32,
    pub(crate) written: u32,
    pub(crate) open: Option<OpenFor>,
    pub(crate) last_program: u64,
    /// Its pages are being moved; on account of wear?
    pub(crate) collected: Option<bool>,
    pub(crate) retired: bool,
}

/// While a drive is being opened: 4 bytes a logical page, 4 a flash page and 24 for each page's content.
pub(crate) struct Image {
    layout: Layout,
    blocks: Vec<BlockState>,
    lpns: Vec<u32>,
    slots: Vec<Slot>,
    pages: Vec<u32>,
    copies: HashMap<u32, Vec<Ppn>>,
    /// Numbers of pages whose data were lost before they were programmed.
    lost: BTreeSet<u32>,
    replaced: Replaced,
}

impl Image {
    pub(crate) fn new(layout: &Layout) -> Self {
        let geometry = &layout.geometry;
        Self {
            blocks: vec![BlockState::default(); geometry.blocks() as usize],
            lpns: vec![NONE; layout.logical_pages as usize],
            slots: Vec::new(),
            pages: vec![NONE; geometry.pages() as usize],
            copies: HashMap::new(),
            lost: BTreeSet::new(),
            replaced: Replaced::default(),
            layout: layout.clone(),
        }
    }

    fn geometry(&self) -> &Geometry {
        &self.layout.geometry
    }

    fn describe(&self, ppn: Ppn) -> String {
        self.geometry().describe(ppn)
    }

    fn number(&self, ppn: Ppn) -> Result<usize, String> {
        let geometry = self.geometry();
        let there = geometry.plane(ppn).number() < geometry.planes()
            && geometry.block_in_plane(geometry.block_index(ppn)) < geometry.blocks_per_plane
            && geometry.page_in_block(ppn) < geometry.pages_per_block;
        if there { Ok(self.layout.page_number(ppn)) } else { Err(format!("there is no page {ppn}")) }
    }

    fn block_of(&mut self, number: usize) -> &mut BlockState {
        let per_block = self.layout.geometry.pages_per_block as usize;
        &mut self.blocks[number / per_block]
    }

    /// The content of a programmed page; `None` if no logical page points to it.
    fn slot_of(&mut self, ppn: Ppn) -> Result<Option<u32>, String> {
        let number = self.number(ppn)?;
        if self.geometry().page_in_block(ppn) >= self.block_of(number).written {
            return Err(format!("{} is read before it is programmed", self.describe(ppn)));
        }
        let slot = self.pages[number].checked_sub(1);
        Ok(slot.filter(|&slot| self.slots[slot as usize].references > 0))
    }

    fn point(&mut self, lpn: u32, slot: Option<u32>) -> Result<(), String> {
        let pages = self.lpns.len();
        let Some(entry) = self.lpns.get_mut(lpn as usize) else {
            return Err(format!("there is no logical page {lpn}: the drive has {pages}"));
        };
        let old = std::mem::replace(entry, slot.map_or(NONE, |slot| slot + 1));
        if let Some(slot) = slot {
            self.slots[slot as usize].references += 1;
        }
        if let Some(old) = old.checked_sub(1) {
            self.slots[old as usize].references -= 1;
        }
        Ok(())
    }

    fn program(&mut self, ppn: Ppn, kind: OpenFor, sequence: u64) -> Result<usize, String> {
        let number = self.number(ppn)?;
        let (page, full) = (self.geometry().page_in_block(ppn), self.geometry().pages_per_block);
        let block = self.block_of(number);
        let fits = if page == 0 { block.open.is_none() } else { block.open == Some(kind) };
        if page != block.written || !fits || block.retired {
            let text = format!("with {} pages written for {:?}", block.written, block.open);
            return Err(format!("{} is programmed for {kind:?} {text}", self.describe(ppn)));
        }
        block.written += 1;
        block.last_program = sequence;
        block.open = (block.written < full).then_some(kind);
        Ok(number)
    }

    fn add_slot(&mut self, home: Ppn, number: usize, digest: Digest) -> u32 {
        self.slots.push(Slot { home, references: 0, digest });
        self.pages[number] = self.slots.len() as u32;
        self.slots.len() as u32 - 1
    }

    /// `sequence` is that of the record's program.
    pub(crate) fn apply(&mut self, record: &Record, sequence: u64) -> Result<(), String> {
        match *record {
            Record::Program { lpn, ppn, digest } => {
                let number = self.program(ppn, OpenFor::Host, sequence)?;
                let slot = self.add_slot(ppn, number, digest);
                self.point(lpn, Some(slot))
            }
            Record::Share { lpn, ppn } => match self.slot_of(ppn)? {
                Some(slot) if self.layout.aware => self.point(lpn, Some(slot)),
                _ => Err(format!("logical page {lpn} shares {}, which holds nothing", self.describe(ppn))),
            },
            Record::Trim { lpn } => self.point(lpn, None),
            Record::Moved { from, to, levelled, lost } => {
                let number = self.move_page(from, to, levelled, sequence)?;
                self.lose(number, lost);
                Ok(())
            }
            Record::Copied { from, to, lost } => {
                let slot = self.slot_of(from)?;
                let number = self.program(to, OpenFor::Replicas, sequence)?;
                self.lose(number, lost);
                if let Some(slot) = slot {
                    self.pages[number] = slot + 1;
                    self.copies.entry(slot).or_default().push(to);
                }
                Ok(())
            }
            Record::Erase { first } => self.erase(first),
            Record::Retire { first } => self.retire(first),
            Record::Replaced { ppn, slot } => self.replace(self.number(ppn)? as u32, slot),
        }
    }

    fn lose(&mut self, number: usize, lost: bool) {
        if lost {
            self.lost.insert(number as u32);
        }
    }

    fn move_page(&mut self, from: Ppn, to: Ppn, levelled: bool, sequence: u64) -> Result<usize, String> {
        let slot = self.slot_of(from)?;
        let kind = if levelled { OpenFor::Levelling } else { OpenFor::Collection };
        let number = self.program(to, kind, sequence)?;
        let old = self.number(from)?;
        self.block_of(old).collected = Some(levelled);
        let Some(slot) = slot else { return Ok(number) };
        self.pages[old] = NONE;
        self.pages[number] = slot + 1;
        let held = &mut self.slots[slot as usize];
        if held.home == from {
            held.home = to;
        } else if let Some(copy) =
            self.copies.get_mut(&slot).and_then(|copies| copies.iter_mut().find(|copy| **copy == from))
        {
            *copy = to;
        }
        Ok(number)
    }

    fn erase(&mut self, first: Ppn) -> Result<(), String> {
        let number = self.number(first)?;
        let full = self.geometry().pages_per_block as usize;
        let written = self.block_of(number).written as usize;
        if written != full || !number.is_multiple_of(full) {
            return Err(format!("{} is erased with {written} pages written", self.describe(first)));
        }
        for page in number..number + full {
            let Some(slot) = std::mem::replace(&mut self.pages[page], NONE).checked_sub(1) else { continue };
            let held = self.slots[slot as usize];
            let Some(ppn) = self.layout.page(page as u32) else { continue };
            if held.home != ppn {
                self.drop_copy(slot, ppn);
            } else if held.references > 0 {
                return Err(format!("{} is erased, and is pointed to", self.describe(ppn)));
            }
        }
        self.lost.retain(|&page| !(number..number + full).contains(&(page as usize)));
        self.replaced.remove(number as u32..(number + full) as u32);
        let block = self.block_of(number);
        *block = BlockState { erases: block.erases + 1, ..BlockState::default() };
        Ok(())
    }

    fn retire(&mut self, first: Ppn) -> Result<(), String> {
        let number = self.number(first)?;
        let block = self.block_of(number);
        if block.written > 0 || block.retired {
            let block = *block;
            return Err(format!("{} is retired, and is {block:?}", self.describe(first)));
        }
        block.retired = true;
        Ok(())
    }

    fn drop_copy(&mut self, slot: u32, ppn: Ppn) {
        if let Some(copies) = self.copies.get_mut(&slot) {
            copies.retain(|&copy| copy != ppn);
        }
    }

    pub(crate) fn restore_block(&mut self, number: u32, state: BlockState) -> Result<(), String> {
        let full = self.geometry().pages_per_block;
        let fits = state.written <= full && !(state.retired && state.written > 0);
        match self.blocks.get_mut(number as usize) {
            Some(block) if fits && block.written == 0 && block.erases == 0 => {
                *block = state;
                Ok(())
            }
            _ => Err(format!("block {number} with {} pages written", state.written)),
        }
    }

    pub(crate) fn restore_lpn(&mut self, lpn: u32, number: u32) -> Result<bool, String> {
        let Some(ppn) = self.layout.page(number) else { return Err(format!("there is no page {number}")) };
        let written = self.block_of(number as usize).written;
        if self.geometry().page_in_block(ppn) >= written {
            return Err(format!("logical page {lpn} lies at {}, not programmed", self.describe(ppn)));
        }
        let slot = self.pages[number as usize].checked_sub(1);
        if slot.is_some() && !self.layout.aware {
            return Err(format!("logical page {lpn} shares {}", self.describe(ppn)));
        }
        let first = slot.is_none();
        let slot = slot.unwrap_or_else(|| self.add_slot(ppn, number as usize, [0; 16]));
        self.point(lpn, Some(slot))?;
        Ok(first)
    }

    pub(crate) fn slots_restored(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn restore_digest(&mut self, slot: u32, digest: Digest) {
        self.slots[slot as usize].digest = digest;
    }

    pub(crate) fn restore_copy(&mut self, slot: u32, number: u32) -> Result<(), String> {
        let Some(ppn) = self.layout.page(number) else { return Err(format!("there is no page {number}")) };
        let written = self.block_of(number as usize).written;
        if self.pages[number as usize] != NONE || self.geometry().page_in_block(ppn) >= written {
            return Err(format!("{} as a copy", self.describe(ppn)));
        }
        self.pages[number as usize] = slot + 1;
        self.copies.entry(slot).or_default().push(ppn);
        Ok(())
    }

    pub(crate) fn restore_lost(&mut self, number: u32) -> Result<(), String> {
        if self.pages.get(number as usize).is_none_or(|&slot| slot == NONE) {
            return Err(format!("page {number} is lost, and holds nothing"));
        }
        self.lost.insert(number);
        Ok(())
    }

    pub(crate) fn replace(&mut self, number: u32, slot: u32) -> Result<(), String> {
        if self.pages.get(number as usize).is_none() || self.layout.slot(slot).is_none() {
            return Err(format!("page {number} lies in slot {slot}, which is not there"));
        }
        self.replaced.insert(number, slot);
        Ok(())
    }

    pub(crate) fn replaced(&self) -> &Replaced {
        &self.replaced
    }

    pub(crate) fn mapped(&self) -> impl Iterator<Item = (u32, u32, Slot)> {
        let lpns = self.lpns.iter().enumerate();
        lpns.filter_map(|(lpn, &slot)| {
            let slot = slot.checked_sub(1)?;
            Some((lpn as u32, slot, self.slots[slot as usize]))
        })
    }

    pub(crate) fn lost(&self) -> &BTreeSet<u32> {
        &self.lost
    }

    pub(crate) fn copies(&self, slot: u32) -> &[Ppn] {
        self.copies.get(&slot).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn block_states(&self) -> &[BlockState] {
        &self.blocks
    }

    /// The blocks that were ever used, in the order of their last programs.
    pub(crate) fn block_images(&self) -> Result<Vec<BlockImage>, String> {
        let full = self.geometry().pages_per_block;
        let mut images = Vec::new();
        for (number, state) in self.blocks.iter().enumerate() {
            let Some(block) = self.layout.block(number as u32) else { continue };
            let used = match (state.written, state.open, state.collected) {
                (0, None, _) if state.retired => BlockUse::Retired,
                (0, None, _) if state.erases == 0 => continue,
                (0, None, _) => BlockUse::Free,
                (written, Some(kind), None) if written < full => BlockUse::Open(kind),
                (written, None, None) if written == full => BlockUse::Closed,
                (written, None, Some(levelled)) if written == full => BlockUse::Collected { levelled },
                _ => return Err(format!("block {number} is {state:?}")),
            };
            let image = BlockImage { block, erases: state.erases, written: state.written, used };
            images.push((state.last_program, image));
        }
        images.sort_by_key(|(last, image)| (*last, image.block));
        Ok(images.into_iter().map(|(_, image)| image).collect())
    }

    /// Drops copies that a controller would not have together, because the log does not record dropped ones. Copies of
    /// a content lie on different chips, the latest counts. Limits: `plane_limit` pages a plane, `budget` in all.
    pub(crate) fn drop_surplus_copies(&mut self, plane_limit: u64, budget: u64) {
        let mut copies = std::mem::take(&mut self.copies);
        let geometry = self.layout.geometry.clone();
        let mut held = vec![0u64; geometry.planes() as usize];
        let mut pages = 0;
        for (number, _) in self.blocks.iter().enumerate().filter(|(_, block)| block.retired) {
            // It takes none, as a full one.
            held[number / geometry.blocks_per_plane as usize] += u64::from(geometry.pages_per_block);
        }
        let room = (plane_limit * held.len() as u64).saturating_sub(held.iter().sum::<u64>() + 1);
        let budget = budget.min(room);
        for slot in self.slots.iter().filter(|slot| slot.references > 0) {
            held[geometry.plane(slot.home).index()] += 1;
            pages += 1;
        }
        let chip = |ppn: Ppn| geometry.chip_of_plane(geometry.plane(ppn));
        let mut slots: Vec<u32> = copies.keys().copied().collect();
        slots.sort_unstable();
        for slot in slots {
            let Slot { home, references, .. } = self.slots[slot as usize];
            let Some(list) = copies.get_mut(&slot).filter(|_| references > 0) else { continue };
            let mut kept: Vec<Ppn> = Vec::new();
            for &ppn in list.iter().rev() {
                let plane: Plane = geometry.plane(ppn);
                let apart = chip(ppn) != chip(home) && kept.iter().all(|&other| chip(other) != chip(ppn));
                if apart && held[plane.index()] < plane_limit && pages < budget {
                    held[plane.index()] += 1;
                    pages += 1;
                    kept.push(ppn);
                }
            }
            kept.reverse();
            self.copies.insert(slot, kept);
        }
    }
}
