//! What the controller's tables hold, counted for results.

use crate::blocks::is_page;
use crate::counters::TableSizes;
use crate::ftl::{Ftl, Map};
use crate::mapping::NO_CONTENT;
use crate::replication::PriorityLru;

/// What the valid pages of a plane hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaneContents {
    /// Valid pages whose content is known.
    pub pages: u64,
    /// Distinct contents among them.
    pub contents: u64,
}

/// One partition of the host's data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartitionSize {
    /// Page writes of the host that went to it since preloading ended, duplicates included.
    pub pages_written: u64,
    /// Blocks that hold pages of it, open ones included.
    pub blocks: u64,
    /// Valid pages in them.
    pub valid_pages: u64,
}

impl Ftl {
    /// The partitions, hottest first; none where the host's data are not told apart.
    pub fn partition_sizes(&self) -> Vec<PartitionSize> {
        let mut sizes: Vec<PartitionSize> = self
            .partition_writes
            .iter()
            .map(|&pages_written| PartitionSize { pages_written, ..PartitionSize::default() })
            .collect();
        if !sizes.is_empty() {
            for (partition, valid) in self.blocks.held() {
                let size = &mut sizes[usize::from(partition)];
                size.blocks += 1;
                size.valid_pages += u64::from(valid);
            }
        }
        sizes
    }

    /// Entries in each table.
    pub fn table_sizes(&self) -> TableSizes {
        let told_apart = self.partitioning.as_ref().map_or((0, 0), |p| (p.ram_bytes(), p.bytes()));
        let sizes = self.map_sizes();
        TableSizes {
            partition_bytes: told_apart.0,
            page_table_bytes: sizes.page_table_bytes + told_apart.1,
            ..sizes
        }
    }

    fn map_sizes(&self) -> TableSizes {
        let blocks = self.blocks.bytes_in_use();
        match &self.map {
            Map::Page(map) => TableSizes {
                mapped_lpns: map.mapped(),
                page_table_bytes: blocks + map.bytes(),
                twin_lists: self.spreader.as_ref().map_or(0, |s| s.twin_lists()),
                twin_pages: self.spreader.as_ref().map_or(0, |s| s.twin_pages()),
                filter_bytes: self.spreader.as_ref().map_or(0, |s| s.filter_bytes()),
                content_table_bytes: self.spreader.as_ref().map_or(0, |s| s.bytes()),
                ..TableSizes::default()
            },
            Map::Content(map) => TableSizes {
                mapped_lpns: map.mapped(),
                vpns: map.live_vpns(),
                fingerprints: map.fingerprints.entries(),
                replicas: map.replicas.pages(),
                replicated_contents: map.replicas.len(),
                page_table_bytes: blocks + map.page_bytes(),
                listed_pages: self.listed_pages(),
                content_table_bytes: map.content_bytes()
                    + self.out_of_line.as_ref().map_or(0, |o| o.bytes())
                    + self.recency().map_or(0, PriorityLru::bytes),
                ..TableSizes::default()
            },
            Map::Inverted(map) => TableSizes {
                mapped_lpns: map.mapped(),
                vpns: map.live(),
                fingerprints: map.hashes.entries(),
                page_table_bytes: blocks + map.page_bytes(self.blocks.pages_opened()),
                content_table_bytes: map.content_bytes(),
                ..TableSizes::default()
            },
        }
    }

    /// Contents on flash by number of physical copies: index = copies (0 unused).
    pub fn copies(&self) -> Vec<u64> {
        let mut contents = Vec::new();
        if let Map::Inverted(map) = &self.map {
            contents = if map.live() > 0 { vec![0, map.live()] } else { contents };
        }
        if let Map::Content(map) = &self.map {
            for vpn in (0..map.vpn_slots()).filter(|&vpn| map.is_live(vpn)) {
                let copies = 1 + map.replica_ppns(vpn).len();
                if contents.len() <= copies {
                    contents.resize(copies + 1, 0);
                }
                contents[copies] += 1;
            }
        }
        contents
    }

    /// Replicas per chip.
    pub fn chip_replica_pages(&self) -> Vec<u64> {
        let mut pages = vec![0; self.blocks.geometry.chips() as usize];
        if let Map::Content(map) = &self.map {
            for (vpn, _) in map.replicas.live() {
                for &ppn in map.replica_ppns(vpn) {
                    pages[self.blocks.chip_of_page(ppn) as usize] += 1;
                }
            }
        }
        pages
    }

    /// Valid pages of each plane and the distinct contents in them; `None` where contents are not
    /// known. Costs a sort of all pages.
    pub fn plane_contents(&self) -> Option<Vec<PlaneContents>> {
        let plane = |ppn| u64::from(self.blocks.geometry.plane(ppn));
        let mut held: Vec<u64> = match &self.map {
            Map::Page(map) if map.contents() == 0 => return None,
            Map::Page(map) => (0..map.len())
                .filter(|&lpn| map.content(lpn) != NO_CONTENT)
                .map(|lpn| plane(map.get(lpn)) << 32 | u64::from(map.content(lpn)))
                .collect(),
            Map::Inverted(map) => {
                let mut pages: Vec<u32> =
                    (0..map.lpns()).map(|lpn| map.get(lpn)).filter(|&ppn| is_page(ppn)).collect();
                pages.sort_unstable();
                pages.dedup();
                let content = |&ppn: &u32| Some(plane(ppn) << 32 | u64::from(self.blocks.owner(ppn)?));
                pages.iter().filter_map(content).collect()
            }
            Map::Content(map) => (0..map.vpn_slots())
                .filter(|&vpn| map.is_live(vpn))
                .flat_map(|vpn| {
                    let content = u64::from(map.content(vpn));
                    let pages = map.replica_ppns(vpn).iter().copied().chain([map.home(vpn)]);
                    pages.map(move |ppn| plane(ppn) << 32 | content)
                })
                .collect(),
        };
        held.sort_unstable();
        let mut planes = vec![PlaneContents::default(); self.blocks.geometry.planes() as usize];
        let mut before = None;
        for page in held {
            let counts = &mut planes[(page >> 32) as usize];
            counts.pages += 1;
            counts.contents += u64::from(before != Some(page));
            before = Some(page);
        }
        Some(planes)
    }
}
