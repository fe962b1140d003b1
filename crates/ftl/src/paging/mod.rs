//! Mapping tables that live on flash, with a cache of their pages in RAM, and their checkpoints.
//!
//! Source: RR-SSD paper III.B (an LRU cache of both tables, periodic checkpoints), after DFTL (Gupta et al., ASPLOS
//! 2009). A directory in RAM finds translation pages. A changed page is written to another flash page on eviction.

mod access;
mod layout;
mod lru;
mod tables;
mod translation;

use flashtwin_bits::By;
use std::collections::VecDeque;

use flashtwin_nand::{Geometry, NO_PPN, Plane, Ppn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::RangeError;
use crate::ids::{Content, TablePage};
use crate::op::{Lookup, is_page};
use layout::PlanePool;
pub(crate) use layout::{EntriesOf, Layout, Shape};
use lru::Lru;
pub(crate) use tables::{Map, Tables};

/// RAM for mapping tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CacheBytes {
    /// A number of bytes, in whole pages of the device.
    Limited(u64),
    /// All tables are in RAM: written `"unlimited"`.
    #[default]
    #[serde(with = "crate::dedup::unlimited")]
    #[schemars(with = "String")]
    Unlimited,
}

/// Mapping tables on flash. Lists of duplicate pages and filters stay in RAM.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MappingCacheConfig {
    /// RAM for pages of the mapping tables (LPN -> PPN; LPN -> VPN and VPN -> PPNs), in bytes, for
    /// example 268435456 (RR-SSD paper III.B), or `"unlimited"`. A host operation waits until
    /// missing pages are read from flash. The least recently used page is evicted, and written back
    /// if it was changed (as in DFTL). Two-level tables only.
    #[schemars(extend("x-moves" = "reads and writes: they wait for mapping tables on flash"))]
    pub bytes: CacheBytes,
    /// Interval of checkpoints, which write all changed pages of the mapping tables to flash, in
    /// seconds of simulated time. 0: never. For example 60: at most a minute of changes is lost
    /// with the power.
    #[schemars(extend("x-moves" = "reads and writes: they wait for mapping tables on flash"))]
    pub checkpoint_s: f64,
    /// Whether the fingerprint store is on flash and in the same cache as well, as in the RR-SSD
    /// paper (III.B); a lookup may then wait for a page of it. If false, it is in RAM, limited by
    /// `dedup.fingerprint_entries` (CA-SSD paper 4.1). For example `true` for a store larger than
    /// RAM.
    #[schemars(extend("x-when" = "deduplicates and ftl.mapping_cache.bytes != unlimited or deduplicates and ftl.mapping_cache.checkpoint_s != 0.0", "x-moves" = "reads and writes: they wait for mapping tables on flash"))]
    pub fingerprints: bool,
}

impl MappingCacheConfig {
    /// Whether anything of the tables is ever on flash.
    pub fn is_on(&self) -> bool {
        self.bytes != CacheBytes::Unlimited || self.checkpoint_s > 0.0
    }

    pub(crate) fn check(&self, geometry: &Geometry) -> Result<(), RangeError> {
        // Up to a century, so that it is a number of nanoseconds.
        if !(0.0..=3.2e9).contains(&self.checkpoint_s) {
            return Err((
                "mapping_cache.checkpoint_s",
                self.checkpoint_s.to_string(),
                "0 (never) or a number of seconds up to 3.2e9",
            ));
        }
        match self.bytes {
            CacheBytes::Limited(few) if few < u64::from(geometry.page_bytes) => Err((
                "mapping_cache.bytes",
                few.to_string(),
                "at least one page of the device (nand.page_bytes), or \"unlimited\"",
            )),
            _ => Ok(()),
        }
    }

    fn capacity(&self, geometry: &Geometry) -> u32 {
        match self.bytes {
            CacheBytes::Unlimited => u32::MAX,
            CacheBytes::Limited(bytes) => {
                (bytes / u64::from(geometry.page_bytes)).clamp(1, u64::from(u32::MAX)) as u32
            }
        }
    }
}

#[derive(Clone)]
pub(crate) struct Paging {
    layout: Layout,
    lru: Lru,
    limited: bool,
    /// Where each page of the tables lies; [`NO_PPN`] for one that was never written.
    directory: By<TablePage, Vec<Ppn>>,
    pools: By<Plane, Vec<PlanePool>>,
    pool_blocks: u32,
    /// Table pages that the host's last page operation looked up.
    lookups: Vec<Lookup>,
    /// Pages with entries that were changed in the background, not looked up yet.
    touched: VecDeque<TablePage>,
    /// Pages that gave way and are to be written.
    write_outs: VecDeque<TablePage>,
    /// By plane: pages not in RAM with entries that collection of the victim under way changed.
    moved: By<Plane, Vec<Vec<TablePage>>>,
    /// Pages not in RAM with entries that collection of earlier victims changed: to be read, changed and written.
    ready: VecDeque<TablePage>,
}

impl Paging {
    pub(crate) fn new(cache: &MappingCacheConfig, geometry: &Geometry, layout: Layout) -> Self {
        let pages = layout.pages();
        Self {
            lru: Lru::new(pages, cache.capacity(geometry)),
            limited: cache.bytes != CacheBytes::Unlimited,
            directory: By::new(vec![NO_PPN; pages as usize]),
            pools: By::new(geometry.all_planes().map(|_| PlanePool::default()).collect()),
            pool_blocks: PlanePool::blocks(u64::from(pages), geometry),
            lookups: Vec::new(),
            touched: VecDeque::new(),
            write_outs: VecDeque::new(),
            moved: By::new(vec![Vec::new(); geometry.planes() as usize]),
            ready: VecDeque::new(),
            layout,
        }
    }

    pub(crate) fn pool_blocks(&self) -> u32 {
        self.pool_blocks
    }

    pub(crate) fn has_fingerprints(&self) -> bool {
        self.layout.of_fingerprint(Content::new(0)).is_some()
    }

    fn has_work(&self) -> bool {
        !(self.touched.is_empty() && self.write_outs.is_empty() && self.ready.is_empty())
    }

    /// Uses a page of the tables, taking it into RAM; where it must be read from, if at all.
    fn access(&mut self, page: TablePage) -> Option<Ppn> {
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
        Some(self.directory[page]).filter(|&ppn| is_page(ppn))
    }

    fn note_moved(&mut self, page: TablePage, plane: Plane) {
        if self.lru.is_cached(page) {
            self.lru.set_dirty(page, true);
        } else if !self.write_outs.contains(&page) {
            self.moved[plane].push(page);
        }
    }

    /// A victim is erased: the changes it made to pages not in RAM are written, each page once.
    fn victim_done(&mut self, plane: Plane) {
        let mut pages = std::mem::take(&mut self.moved[plane]);
        pages.sort_unstable();
        pages.dedup();
        self.ready.extend(pages.drain(..));
        self.moved[plane] = pages;
    }

    /// Whether changes to a page are in RAM only.
    fn is_behind(&self, page: TablePage) -> bool {
        self.lru.is_dirty(page)
            || [&self.touched, &self.write_outs, &self.ready].iter().any(|list| list.contains(&page))
            || self.moved.iter().any(|list| list.contains(&page))
    }

    fn bytes(&self) -> u64 {
        self.lru.bytes() + self.layout.bytes() + self.directory.len() as u64 * 4
    }
}

flashtwin_bits::state!(Paging { lru, directory, pools, lookups, touched, write_outs, moved, ready } kept {
    layout, limited, pool_blocks
});
