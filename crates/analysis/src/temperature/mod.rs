//! Temperature ranges: the spread of update frequencies, and the number of partitions that it needs.
//!
//! SWC paper, sections 3.1 and 4.1 (page sizes).

mod frequencies;
mod order;
mod writes;

use arrow_array::RecordBatch;
use flashtwin_trace::Trace;
use schemars::JsonSchema;
use serde::Serialize;

pub use frequencies::{Frequencies, Partitioning, Ratio};
pub use order::{OrderError, WriteOrder};
pub(crate) use writes::CountWrites;
pub use writes::PageWrites;

use crate::input::Accumulator;
use crate::rows::batch_of;
use crate::sample::Sample;

/// Limits of f_r that are always counted (SWC paper, Fig. 1 and section 4.2), exact as binary fractions.
const RATIOS: [f64; 5] = [1.5, 2.0, 2.5, 3.0, 5.0];
/// Numbers of partitions for which the lowest ratio is sought (SWC paper, Fig. 1c).
const PARTITIONS: std::ops::RangeInclusive<u32> = 2..=32;
const PAGE_BYTES_MAX: u32 = 65_536;

/// Page sizes: the sector times 1, 2, 4, ... up to 65,536 bytes (SWC paper, section 4.1).
pub(crate) fn page_sizes(sector_bytes: u32) -> Vec<u32> {
    let doubled = |size: &u32| size.checked_mul(2);
    std::iter::successors(Some(sector_bytes.max(1)), doubled).take_while(|&s| s <= PAGE_BYTES_MAX).collect()
}

/// Temperature ranges of a workload (SWC paper, sections 3.1 and 4.1). The figures are those of one-sector
/// pages, the tables have all page sizes. Exact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Temperature {
    /// Size of the smallest pages, in bytes.
    pub sector_bytes: u32,
    /// Sectors written at least once.
    pub sectors_written: u64,
    /// Writes of sectors.
    pub sector_writes: u64,
    /// Sector writes / sectors written.
    pub writes_per_sector_mean: Option<f64>,
    /// Writes of the hottest sector.
    pub writes_per_sector_max: Option<u32>,
    /// Partitions needed for an update frequency ratio of at most 1.5.
    pub partitions_for_ratio_1_5: u64,
    /// Partitions needed for an update frequency ratio of at most 2.
    pub partitions_for_ratio_2: u64,
    /// Partitions needed for an update frequency ratio of at most 3.
    pub partitions_for_ratio_3: u64,
    /// Lowest ratio that two partitions can keep; missing beyond 1,000.
    pub f_min_2: Option<f64>,
    /// Lowest ratio that four partitions can keep; missing beyond 1,000.
    pub f_min_4: Option<f64>,
    /// Lowest ratio that eight partitions can keep; missing beyond 1,000.
    pub f_min_8: Option<f64>,
    /// The table of `FrequencyRow`.
    #[serde(skip)]
    pub frequencies: RecordBatch,
    /// The table of `PartitionsRow`.
    #[serde(skip)]
    pub partitions: RecordBatch,
    /// The table of `FMinRow`.
    #[serde(skip)]
    pub f_min: RecordBatch,
}

crate::rows! {
    /// Pages by number of writes.
    pub(crate) struct FrequencyRow in "temperature" {
        /// Size of a page.
        page_bytes: u32,
        /// Writes of a page.
        writes_per_page: u32,
        /// Number of such pages.
        pages: u64,
    }
}

crate::rows! {
    /// Greedy partitions needed for f_r <= 1.5, 2, 2.5, 3 and 5, and for the limits in the options.
    pub(crate) struct PartitionsRow in "partitions" {
        /// Size of a page.
        page_bytes: u32,
        /// The limit of f_r.
        frequency_ratio: f64,
        /// Partitions needed.
        partitions: u64,
    }
}

crate::rows! {
    /// The lowest f_r for which 2 to 32 partitions suffice.
    pub(crate) struct FMinRow in "f_min" {
        /// Size of a page.
        page_bytes: u32,
        /// Number of partitions.
        partitions: u32,
        /// The lowest f_r; missing beyond 1,000 and without writes.
        f_min: Option<f64>,
    }
}

/// With sectors of `sector_bytes`. One pass over the requests a page size.
pub fn temperature(trace: &Trace, sector_bytes: u32) -> Temperature {
    let mut builder = TemperatureBuilder::new(sector_bytes, &[]);
    for page_bytes in page_sizes(sector_bytes) {
        builder.add(&page_writes(trace, page_bytes, false));
    }
    builder.finish()
}

/// Keeps the order of writes if asked to.
pub fn page_writes(trace: &Trace, page_bytes: u32, in_order: bool) -> PageWrites {
    let mut count = CountWrites::new(page_bytes, in_order, Sample::ALL);
    count.add(&trace.requests(0..trace.len()));
    count.finish()
}

/// From one page size after another, so that not all need to be in memory at once.
pub(crate) struct TemperatureBuilder {
    sector_bytes: u32,
    /// Ascending.
    ratios: Vec<f64>,
    /// Pages written, page writes and writes a page, of pages of a sector.
    sectors: (u64, u64, Option<f64>),
    of_sectors: Frequencies,
    frequencies: Vec<FrequencyRow>,
    partitions: Vec<PartitionsRow>,
    f_min: Vec<FMinRow>,
}

impl TemperatureBuilder {
    /// `further` are limits of the update frequency ratio beyond the usual ones.
    pub(crate) fn new(sector_bytes: u32, further: &[f64]) -> TemperatureBuilder {
        let mut ratios = [&RATIOS, further].concat();
        ratios.sort_by(f64::total_cmp);
        ratios.dedup();
        let (frequencies, partitions, f_min) = (Vec::new(), Vec::new(), Vec::new());
        let (sectors, of_sectors) = ((0, 0, None), Frequencies::of(&[]));
        TemperatureBuilder { sector_bytes, ratios, sectors, of_sectors, frequencies, partitions, f_min }
    }

    pub(crate) fn add(&mut self, writes: &PageWrites) {
        let page_bytes = writes.page_bytes;
        let frequencies = Frequencies::of(&writes.writes);
        for &(frequency, pages) in frequencies.levels().iter().rev() {
            self.frequencies.push(FrequencyRow { page_bytes, writes_per_page: frequency, pages });
        }
        for &frequency_ratio in &self.ratios {
            let partitions = partitions_for(&frequencies, frequency_ratio);
            self.partitions.push(PartitionsRow { page_bytes, frequency_ratio, partitions });
        }
        for partitions in PARTITIONS {
            self.f_min.push(FMinRow { page_bytes, partitions, f_min: frequencies.f_min(partitions) });
        }
        if page_bytes == self.sector_bytes {
            self.sectors = (writes.writes.len() as u64, writes.page_writes, writes.per_page());
            self.of_sectors = frequencies;
        }
    }

    pub(crate) fn finish(self) -> Temperature {
        let (sectors_written, sector_writes, writes_per_sector_mean) = self.sectors;
        let of_sectors = &self.of_sectors;
        Temperature {
            sector_bytes: self.sector_bytes,
            sectors_written,
            sector_writes,
            writes_per_sector_mean,
            writes_per_sector_max: of_sectors.levels().first().map(|&(frequency, _)| frequency),
            partitions_for_ratio_1_5: partitions_for(of_sectors, 1.5),
            partitions_for_ratio_2: partitions_for(of_sectors, 2.0),
            partitions_for_ratio_3: partitions_for(of_sectors, 3.0),
            f_min_2: of_sectors.f_min(2),
            f_min_4: of_sectors.f_min(4),
            f_min_8: of_sectors.f_min(8),
            frequencies: batch_of(&self.frequencies),
            partitions: batch_of(&self.partitions),
            f_min: batch_of(&self.f_min),
        }
    }
}

fn partitions_for(frequencies: &Frequencies, ratio: f64) -> u64 {
    Ratio::new(ratio).map_or(0, |ratio| frequencies.partitions(ratio).len() as u64)
}
