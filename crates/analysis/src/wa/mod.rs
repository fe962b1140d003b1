//! Write amplification on SSDs with partitions of similar temperature (SWC paper, sections 3.2, 3.3 and 4.2).
//! Partitions are known before the first write, so an FTL that has to learn them causes more.

mod grid;
mod min_set;
mod options;
mod simulator;
mod victims;

use arrow_array::RecordBatch;
use flashtwin_trace::{Progress, Trace};
use schemars::JsonSchema;
use serde::Serialize;

pub use grid::{Stop, WaCell, physical_blocks, simulate};
pub use options::WaOptions;
pub use simulator::{WaBlockRole, WaCounts, WaDevice, WaError, WaSimulator};

use crate::rows::batch_of;
use crate::temperature::{PageWrites, page_writes};

/// Fewest page writes of a workload that enters cross-workload statistics (SWC paper, section 3.2).
const STATISTICS_PAGE_WRITES: u64 = 100_000;
/// Fewest writes of each sector that is written, on average, that it needs.
const STATISTICS_WRITES_PER_SECTOR: u64 = 4;

/// Write amplification of a workload (SWC paper, sections 3.3 and 4.2). Figures are those of the
/// whole grid's page size, the first over-provisioning and the first block size; all others are in
/// the table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WriteAmplification {
    /// Page size of these figures, in bytes.
    pub page_bytes: u32,
    /// Pages written at least once: the logical capacity of the simulated SSDs.
    pub pages_written: u64,
    /// Page writes.
    pub page_writes: u64,
    /// Page writes / pages written.
    pub writes_per_page_mean: Option<f64>,
    /// Sector writes / sectors written, a sector being of the trace's granularity.
    pub writes_per_sector_mean: Option<f64>,
    /// Whether the workload enters cross-workload statistics: at least 100,000 page writes, and
    /// "each of the sectors in the working set" written at least 4 times on average (SWC paper,
    /// section 3.2). Sectors count, as a page is written more often than its sectors.
    pub enters_statistics: bool,
    /// Write amplification with one partition.
    pub write_amplification_1: Option<f64>,
    /// With the partitions that f_r <= 2 needs.
    pub write_amplification_for_ratio_2: Option<f64>,
    /// With the partitions that f_r <= 3 needs.
    pub write_amplification_for_ratio_3: Option<f64>,
    /// Every simulated SSD, by page size, block size, over-provisioning and partitions.
    #[serde(skip)]
    pub cells: Vec<WaCell>,
    /// The same as a table.
    #[serde(skip)]
    pub table: RecordBatch,
}

/// Computes [`WriteAmplification`] for a trace of this granularity. Fails only with [`WaError::Cancelled`].
pub fn write_amplification(
    trace: &Trace,
    sector_bytes: u32,
    options: &WaOptions,
    progress: &dyn Progress,
) -> Result<WriteAmplification, WaError> {
    let mut builder = WaBuilder::new(options);
    builder.sectors(&page_writes(trace, sector_bytes, false));
    for page_bytes in options.page_sizes(sector_bytes) {
        builder.add(&page_writes(trace, page_bytes, true), progress)?;
    }
    Ok(builder.finish())
}

/// From one page size after another, so that not all need to be in memory at once.
pub(crate) struct WaBuilder<'a> {
    options: &'a WaOptions,
    enough_sector_writes: bool,
    writes_per_sector_mean: Option<f64>,
    /// Of the whole grid's page size: pages written, page writes, and writes a page.
    pages: (u64, u64, Option<f64>),
    cells: Vec<WaCell>,
}

impl<'a> WaBuilder<'a> {
    pub(crate) fn new(options: &'a WaOptions) -> WaBuilder<'a> {
        WaBuilder {
            options,
            enough_sector_writes: false,
            writes_per_sector_mean: None,
            pages: (0, 0, None),
            cells: Vec::new(),
        }
    }

    pub(crate) fn sectors(&mut self, writes: &PageWrites) {
        let sectors = writes.writes.len() as u64;
        self.enough_sector_writes = writes.page_writes >= STATISTICS_WRITES_PER_SECTOR * sectors;
        self.writes_per_sector_mean = writes.per_page();
    }

    /// The writes must have been kept in order.
    pub(crate) fn add(&mut self, writes: &PageWrites, progress: &dyn Progress) -> Result<(), WaError> {
        if writes.page_bytes == self.options.page_bytes {
            self.pages = (writes.writes.len() as u64, writes.page_writes, writes.per_page());
        }
        self.cells.extend(grid::cells(writes, self.options, progress)?);
        Ok(())
    }

    pub(crate) fn finish(self) -> WriteAmplification {
        let page_bytes = self.options.page_bytes;
        let (pages_written, page_writes, writes_per_page_mean) = self.pages;
        let of_grid = self.cells.iter().filter(|cell| cell.page_bytes == page_bytes);
        let first = |wanted: &dyn Fn(&&WaCell) -> bool| of_grid.clone().find(wanted)?.write_amplification;
        WriteAmplification {
            page_bytes,
            pages_written,
            page_writes,
            writes_per_page_mean,
            writes_per_sector_mean: self.writes_per_sector_mean,
            enters_statistics: self.enough_sector_writes && page_writes >= STATISTICS_PAGE_WRITES,
            write_amplification_1: first(&|cell| cell.purpose == "grid" && cell.partitions_asked == 1),
            write_amplification_for_ratio_2: first(&|cell| cell.purpose == "f_r<=2"),
            write_amplification_for_ratio_3: first(&|cell| cell.purpose == "f_r<=3"),
            table: batch_of(&self.cells),
            cells: self.cells,
        }
    }
}
