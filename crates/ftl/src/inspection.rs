//! The controller's tables and counters, and their audit.

use flashtwin_bits::By;
use flashtwin_nand::{Chip, Plane};

use crate::error::{FtlError, FtlResult};
use crate::flash::counters::{Counters, PartitionSize, Peak, PlaneContents, PlaneWrites, TableSizes};
use crate::ftl::{Ftl, Scheme, with_tables};
use crate::ids::Content;
use crate::op::PagingSizes;
use crate::scheme::MappingScheme;

impl Ftl {
    /// Counters since [`Ftl::end_preload`].
    pub fn counters(&self) -> &Counters {
        &self.flash.counters
    }

    /// Valid pages that victims held when they were chosen: victims by number of pages.
    pub fn victim_pages(&self) -> &[u64] {
        self.flash.victim_pages()
    }

    /// Erase counts of all blocks: (count, blocks with it), ascending.
    pub fn wear(&self) -> Vec<(u32, u64)> {
        self.flash.blocks.wear()
    }

    /// Erases per chip.
    pub fn chip_erases(&self) -> By<Chip, &[u64]> {
        self.flash.blocks.chip_erases()
    }

    /// Valid pages per chip.
    pub fn chip_valid_pages(&self) -> By<Chip, &[u64]> {
        self.flash.blocks.chip_valid()
    }

    /// Valid pages per plane.
    pub fn plane_valid_pages(&self) -> By<Plane, Vec<u64>> {
        let blocks = &self.flash.blocks;
        By::new(blocks.geometry.all_planes().map(|plane| blocks.valid_pages(plane)).collect())
    }

    /// Physical pages that hold valid data.
    pub fn pages_in_use(&self) -> u64 {
        with_tables!(&self.tables, scheme => scheme.pages_in_use())
    }

    /// Replicas on flash.
    pub fn replica_pages(&self) -> u64 {
        with_tables!(&self.tables, scheme => scheme.replica_pages())
    }

    /// The most that was held at once since preloading ended.
    pub fn peak(&self) -> Peak {
        self.flash.peak
    }

    /// Pages that first copies and replicas may occupy together; `None` without replication.
    pub fn budget_pages(&self) -> Option<u64> {
        with_tables!(&self.tables, scheme => scheme.budget_pages())
    }

    /// Pages written without a fingerprint that wait to be read.
    pub fn unhashed_pages(&self) -> u64 {
        with_tables!(&self.tables, scheme => scheme.unhashed_pages())
    }

    /// Statistics of table pages; `None` where all tables are in RAM and never written.
    pub fn paging_sizes(&self) -> Option<PagingSizes> {
        with_tables!(&self.tables, scheme => scheme.tables.paging_sizes(&self.flash))
    }

    /// The partitions, hottest first; none where the host's data are not told apart.
    pub fn partition_sizes(&self) -> Vec<PartitionSize> {
        let partitions = &self.flash.partitions;
        let told_apart = |(&pages_written, &pages_moved)| PartitionSize {
            pages_written,
            pages_moved,
            ..PartitionSize::default()
        };
        let counts = partitions.writes().iter().zip(partitions.moves());
        let mut sizes: Vec<PartitionSize> = counts.map(told_apart).collect();
        if !sizes.is_empty() {
            for (partition, valid) in self.flash.blocks.held() {
                let size = &mut sizes[usize::from(partition)];
                size.blocks += 1;
                size.valid_pages += u64::from(valid);
            }
        }
        sizes
    }

    /// Entries in each table.
    pub fn table_sizes(&self) -> TableSizes {
        let (partition_bytes, bytes) = self.flash.partitions.bytes();
        let sizes = with_tables!(&self.tables, scheme => scheme.table_sizes(&self.flash));
        TableSizes { partition_bytes, page_table_bytes: sizes.page_table_bytes + bytes, ..sizes }
    }

    /// Contents on flash by number of physical copies: index = copies (0 unused).
    pub fn copies(&self) -> Vec<u64> {
        with_tables!(&self.tables, scheme => scheme.copies())
    }

    /// Replicas per chip.
    pub fn chip_replica_pages(&self) -> By<Chip, Vec<u64>> {
        let mut pages = By::<Chip, _>::new(vec![0; self.flash.geometry().chips() as usize]);
        for ppn in with_tables!(&self.tables, scheme => scheme.replica_ppns()) {
            pages[self.flash.blocks.chip_of_page(ppn)] += 1;
        }
        pages
    }

    /// Valid pages of each plane and the distinct contents in them; `None` where contents are not known.
    pub fn plane_contents(&self) -> Option<By<Plane, Vec<PlaneContents>>> {
        let pages = with_tables!(&self.tables, scheme => scheme.contents_on_flash(&self.flash))?;
        let geometry = self.flash.geometry();
        let mut held = By::<Plane, _>::new(vec![Vec::new(); geometry.planes() as usize]);
        for (ppn, content) in pages {
            held[geometry.plane(ppn)].push(content);
        }
        // By content, the last plane that had it.
        let last = held.iter().flatten().map(|content| content.index()).max();
        let mut seen = vec![u32::MAX; last.map_or(0, |last| last + 1)];
        let count = |(plane, held): (u32, &Vec<Content>)| {
            let is_new = |content: &&Content| std::mem::replace(&mut seen[content.index()], plane) != plane;
            PlaneContents { pages: held.len() as u64, contents: held.iter().filter(is_new).count() as u64 }
        };
        Some(By::new((0..).zip(held.iter()).map(count).collect()))
    }

    /// Page writes of known contents that the host made to each plane since preloading ended, and the distinct contents
    /// among them; `None` unless `ftl.spread.count_written` is on.
    pub fn plane_writes(&self) -> Option<By<Plane, Vec<PlaneWrites>>> {
        with_tables!(&self.tables, scheme => scheme.contents_written())
    }

    /// Compares all tables with one another and, with verification on, with the plain model. Costs a pass over the
    /// device.
    pub fn audit(&self) -> FtlResult {
        self.flash.blocks.audit().map_err(FtlError::Broken)?;
        with_tables!(&self.tables, scheme => scheme.audit(&self.flash))?;
        self.flash.audit_partitions().map_err(FtlError::Broken)?;
        let valid: u64 = self.chip_valid_pages().iter().sum();
        let used = self.pages_in_use();
        if valid != used {
            return Err(FtlError::Broken(format!("{valid} pages are valid, the maps use {used}")));
        }
        Ok(())
    }
}
