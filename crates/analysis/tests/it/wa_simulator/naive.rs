//! Algorithms 1 and 2 of the SWC paper, line by line, slow and obvious.

use std::collections::{BTreeMap, HashMap};

use flashtwin_analysis::{WaBlockRole, WaCounts, WaDevice};

/// One block.
#[derive(Clone, Default)]
pub(crate) struct Block {
    /// Pages written so far: the logical page if it is valid.
    pub(crate) pages: Vec<Option<u32>>,
    partition: u8,
    /// When it became full.
    closed: Option<u64>,
}

impl Block {
    fn valid(&self) -> Vec<u32> {
        self.pages.iter().copied().flatten().collect()
    }
}

/// The simulator as the paper writes it.
pub(crate) struct Naive {
    pub(crate) blocks: Vec<Block>,
    pub(crate) counts: WaCounts,
    /// How often lines were reached.
    pub(crate) branches: BTreeMap<&'static str, u64>,
    block_pages: usize,
    of_page: Vec<u8>,
    map: HashMap<u32, (usize, usize)>,
    active: Vec<usize>,
    standby: Option<usize>,
    clean: Vec<usize>,
    closings: u64,
}

impl Naive {
    /// `None` when there are too few blocks.
    pub(crate) fn new(device: WaDevice, of_page: &[u8]) -> Option<Naive> {
        let (blocks, partitions) = (device.physical_blocks as usize, device.partitions as usize);
        if blocks < partitions + 1 {
            return None;
        }
        let mut naive = Naive {
            blocks: vec![Block::default(); blocks],
            counts: WaCounts::default(),
            branches: BTreeMap::new(),
            block_pages: device.block_pages as usize,
            of_page: of_page.to_vec(),
            map: HashMap::new(),
            active: (0..partitions).collect(),
            standby: Some(partitions),
            clean: (partitions + 1..blocks).rev().collect(),
            closings: 0,
        };
        (0..partitions).for_each(|partition| naive.blocks[partition].partition = partition as u8);
        Some(naive)
    }

    pub(crate) fn role(&self, block: u32) -> WaBlockRole {
        let (block, partition) = (block as usize, self.blocks[block as usize].partition);
        if self.standby == Some(block) {
            WaBlockRole::Standby
        } else if self.clean.contains(&block) {
            WaBlockRole::Clean
        } else if self.active.contains(&block) {
            WaBlockRole::Active { partition }
        } else {
            WaBlockRole::Closed { partition }
        }
    }

    fn reached(&mut self, branch: &'static str, is_reached: bool) {
        *self.branches.entry(branch).or_default() += u64::from(is_reached);
    }

    /// Algorithm 1; false when a victim holds valid pages only.
    pub(crate) fn write(&mut self, page: u32) -> bool {
        let partition = self.of_page[page as usize];
        self.counts.page_writes += 1;
        self.program(page, self.active[partition as usize]);
        !self.is_full(partition) || self.collect(partition)
    }

    /// Invalidates a page's old place and writes it to the next page of a block.
    fn program(&mut self, page: u32, block: usize) {
        // A page that is being written back has no old place: its block is erased.
        if let Some(&(block, at)) = self.map.get(&page)
            && let Some(old) = self.blocks[block].pages.get_mut(at).filter(|old| **old == Some(page))
        {
            *old = None;
        }
        self.map.insert(page, (block, self.blocks[block].pages.len()));
        self.blocks[block].pages.push(Some(page));
        self.counts.pages_programmed += 1;
        if self.blocks[block].pages.len() == self.block_pages {
            self.closings += 1;
            self.blocks[block].closed = Some(self.closings);
        }
    }

    fn is_full(&self, partition: u8) -> bool {
        self.blocks[self.active[partition as usize]].closed.is_some()
    }

    fn erase(&mut self, block: usize) {
        self.blocks[block].pages.clear();
        self.blocks[block].closed = None;
        self.counts.erases += 1;
    }

    fn victim(&self) -> Option<usize> {
        let closed = (0..self.blocks.len()).filter(|&block| self.blocks[block].closed.is_some());
        let victim = closed.min_by_key(|&b| (self.blocks[b].valid().len(), self.blocks[b].closed))?;
        (self.blocks[victim].valid().len() < self.block_pages).then_some(victim)
    }

    /// Copies valid pages to the active block of a partition until all are copied or it is full.
    fn copy(&mut self, from: usize, partition: u8) {
        for page in self.blocks[from].valid() {
            if self.is_full(partition) {
                break;
            }
            self.program(page, self.active[partition as usize]);
        }
    }

    fn rewrite(&mut self, block: usize) {
        let pages = self.blocks[block].valid();
        self.erase(block);
        pages.into_iter().for_each(|page| self.program(page, block));
    }

    /// Algorithm 2.
    fn collect(&mut self, current: u8) -> bool {
        if let Some(clean) = self.clean.pop() {
            self.reached("clean", true);
            self.blocks[clean].partition = current;
            self.active[current as usize] = clean;
            return true;
        }
        let Some(victim) = self.victim() else { return false };
        // The block whose filling started the collection is its victim.
        self.reached("own block", victim == self.active[current as usize]);
        let owner = self.blocks[victim].partition;
        if owner == current {
            self.reached("same partition", true);
            self.rewrite(victim);
            self.active[current as usize] = victim;
            return true;
        }
        self.reached("other partition", true);
        self.copy(victim, owner);
        if self.is_full(owner) {
            let left = !self.blocks[victim].valid().is_empty();
            self.reached("full before the end", left);
            self.reached("full exactly", !left);
            let standby = self.standby.take().unwrap();
            self.blocks[standby].partition = owner;
            self.active[owner as usize] = standby;
            self.copy(victim, owner);
        }
        self.erase(victim);
        self.blocks[victim].partition = current;
        self.active[current as usize] = victim;
        self.ensure_clean_block()
    }

    fn ensure_clean_block(&mut self) -> bool {
        while self.standby.is_none() {
            let Some(victim) = self.victim() else { return false };
            let owner = self.blocks[victim].partition;
            self.copy(victim, owner);
            if self.is_full(owner) {
                self.reached("standby rewritten", true);
                self.rewrite(victim);
                self.active[owner as usize] = victim;
            } else {
                self.reached("standby found", true);
                self.erase(victim);
                self.standby = Some(victim);
            }
        }
        true
    }
}
