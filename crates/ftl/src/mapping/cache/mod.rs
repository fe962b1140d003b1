//! Mapping tables that live on flash, with a cache of their pages in RAM, and their checkpoints.
//!
//! Source: RR-SSD paper III.B ("Storing Mapping Unit in RR-SSD": an LRU cache of the primary and the
//! secondary table, periodic checkpoints), after DFTL (Gupta et al., ASPLOS 2009): tables are cut into
//! translation pages; a directory in RAM says where each lies; an update is made to the page in RAM,
//! which is written back, to another place, when it gives way.

mod access;
mod layout;
mod lru;
mod translation;

use std::collections::VecDeque;

use flashtwin_nand::{Geometry, NO_PPN, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::blocks::is_page;
use crate::config::{FtlConfig, MappingForm};
pub(crate) use layout::Layout;
use lru::Lru;
use translation::PlanePool;

/// RAM for mapping tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CacheBytes {
    /// So many bytes, in whole pages of the device.
    Limited(u64),
    /// All tables are in RAM: written `"unlimited"`.
    #[default]
    #[serde(with = "crate::config::unlimited")]
    #[schemars(with = "String")]
    Unlimited,
}

/// Mapping tables on flash. Lists of twins and filters stay in RAM.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingCacheConfig {
    /// RAM for pages of the mapping tables (LPN -> PPN; LPN -> VPN and VPN -> PPNs): a number of
    /// bytes, or `"unlimited"`. What is not in RAM is read from flash before the host's page
    /// operation goes on, the least recently used page gives way and is written back if it was
    /// changed (RR-SSD paper III.B: 268435456; DFTL). Tables in two levels only.
    pub bytes: CacheBytes,
    /// Seconds of simulated time after which all changed pages of the mapping tables are written to
    /// flash, again and again. 0: never.
    pub checkpoint_s: f64,
    /// Whether the fingerprint store is on flash and in the same cache as well (RR-SSD paper III.B: the
    /// mapping unit's tables, the store among them), so that looking a written content up may wait for a page of
    /// it. Otherwise it is in RAM, and what does not fit there is dropped (`dedup.fingerprint_entries`; CA-SSD
    /// paper 4.1).
    pub fingerprints: bool,
}

impl MappingCacheConfig {
    /// Whether anything of the tables is ever on flash.
    pub(crate) fn is_on(&self) -> bool {
        self.bytes != CacheBytes::Unlimited || self.checkpoint_s > 0.0
    }

    /// Pages of the tables that fit in RAM.
    fn capacity(&self, geometry: &Geometry) -> u32 {
        match self.bytes {
            CacheBytes::Unlimited => u32::MAX,
            CacheBytes::Limited(bytes) => {
                (bytes / u64::from(geometry.page_bytes)).clamp(1, u64::from(u32::MAX)) as u32
            }
        }
    }
}

impl FtlConfig {
    /// Whether the fingerprint store is on flash.
    pub(crate) fn pages_fingerprints(&self) -> bool {
        self.mapping_cache.fingerprints && self.mapping_cache.is_on() && self.mapping == MappingForm::Content
    }

    /// Blocks of each plane that translation pages may take, at most: none while all tables are in
    /// RAM and never written.
    pub(crate) fn table_blocks(&self, geometry: &Geometry) -> u32 {
        match self.mapping_cache.is_on() {
            false => 0,
            true => PlanePool::blocks(Layout::most_pages(self, geometry), geometry),
        }
    }

    /// Blocks that a plane keeps back: one for each kind of data that does not share an active block,
    /// those of the translation pages, and one to collect with.
    pub fn reserved_blocks(&self, geometry: &Geometry) -> u32 {
        self.streams() + self.table_blocks(geometry) + 1
    }
}

/// A page of the mapping tables that a page operation of the host looked into, in the order in
/// which it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// Number of the page of the tables.
    pub page: u32,
    /// Where it is read from, if it was neither in RAM nor about to be.
    pub read: Option<Ppn>,
    /// Whether the operation waits for it. It does not for a page that only has a count changed.
    pub delays: bool,
}

/// The pages of the tables: which are in RAM, where the others lie, what is to be done about them.
pub(crate) struct Paging {
    layout: Layout,
    lru: Lru,
    limited: bool,
    /// Where each page of the tables lies; [`NO_PPN`] for one that was never written.
    directory: Vec<Ppn>,
    /// Blocks of the translation pages, by plane.
    pools: Vec<PlanePool>,
    pool_blocks: u32,
    /// What the last page operation of the host looked into.
    lookups: Vec<Lookup>,
    /// Pages with entries that were changed in the background, not looked up yet.
    touched: VecDeque<u32>,
    /// Pages that gave way and are to be written.
    write_outs: VecDeque<u32>,
    /// By plane: pages not in RAM with entries that collection of the victim under way changed.
    moved: Vec<Vec<u32>>,
    /// The same of victims that are done.
    ready: VecDeque<u32>,
}

impl Paging {
    /// The tables of a device that was never written to.
    pub(crate) fn new(config: &FtlConfig, geometry: &Geometry, layout: Layout) -> Self {
        let cache = &config.mapping_cache;
        let pages = layout.pages();
        Self {
            lru: Lru::new(pages, cache.capacity(geometry)),
            limited: cache.bytes != CacheBytes::Unlimited,
            directory: vec![NO_PPN; pages as usize],
            pools: (0..geometry.planes()).map(|_| PlanePool::default()).collect(),
            pool_blocks: PlanePool::blocks(u64::from(pages), geometry),
            lookups: Vec::new(),
            touched: VecDeque::new(),
            write_outs: VecDeque::new(),
            moved: vec![Vec::new(); geometry.planes() as usize],
            ready: VecDeque::new(),
            layout,
        }
    }

    /// Blocks of each plane that these tables may take.
    pub(crate) fn pool_blocks(&self) -> u32 {
        self.pool_blocks
    }

    /// Whether anything is to be done about pages of the tables.
    fn has_work(&self) -> bool {
        !(self.touched.is_empty() && self.write_outs.is_empty() && self.ready.is_empty())
    }

    /// Uses a page of the tables, taking it into RAM; where it must be read from, if at all.
    fn access(&mut self, page: u32) -> Option<Ppn> {
        if self.lru.touch(page) {
            return None;
        }
        let evicted = self.lru.insert(page);
        let reclaimed = self.write_outs.iter().position(|&other| other == page);
        if let Some((last, true)) = evicted {
            self.write_outs.push_back(last);
        }
        if let Some(at) = reclaimed {
            // It gave way a moment ago and is still there.
            self.write_outs.remove(at);
            self.lru.set_dirty(page, true);
            return None;
        }
        Some(self.directory[page as usize]).filter(|&ppn| is_page(ppn))
    }

    /// Collection of a plane's victim moved a page with an entry in `page`.
    fn note_moved(&mut self, page: u32, plane: u32) {
        if self.lru.is_cached(page) {
            self.lru.set_dirty(page, true);
        } else if !self.write_outs.contains(&page) {
            self.moved[plane as usize].push(page);
        }
    }

    /// A victim is erased: the changes it made to pages not in RAM are written, each page once.
    pub(crate) fn victim_done(&mut self, plane: u32) {
        let mut pages = std::mem::take(&mut self.moved[plane as usize]);
        pages.sort_unstable();
        pages.dedup();
        self.ready.extend(pages.drain(..));
        self.moved[plane as usize] = pages;
    }

    /// Whether changes to a page are in RAM only.
    fn is_behind(&self, page: u32) -> bool {
        self.lru.is_dirty(page)
            || [&self.touched, &self.write_outs, &self.ready].iter().any(|list| list.contains(&page))
            || self.moved.iter().any(|list| list.contains(&page))
    }

    fn bytes(&self) -> u64 {
        self.lru.bytes() + self.layout.bytes() + self.directory.len() as u64 * 4
    }
}

/// What a result says about the pages of the tables at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagingSizes {
    /// Pages that the tables have.
    pub pages: u64,
    /// Of these, pages that lie on flash.
    pub pages_on_flash: u64,
    /// Of these, pages in RAM.
    pub pages_cached: u64,
    /// Pages in RAM whose changes are not on flash.
    pub pages_dirty: u64,
    /// Bytes of the simulator's own lists.
    pub simulator_bytes: u64,
}
