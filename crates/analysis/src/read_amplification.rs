//! Read amplification of larger pages: `read-simulator`.

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::input::Accumulator;
use crate::logical_locality::LogicalLocality;
use crate::metric::{FirstPass, Metric, Table};
use crate::rows::batch_of;

/// Sector size of the SWC paper from section 4.2 on, for every trace.
pub(crate) const SECTOR_BYTES: u32 = 512;
const CACHE_PAGES: [usize; 6] = [0, 1, 2, 4, 8, 16];
const DEPTH: usize = 16;
const PAGE_BYTES_MAX: u32 = 65_536;
/// Requests of this many pages or more are faster to handle as a run.
const RUN_PAGES: u64 = 4;
/// Workloads with fewer read requests are left out of the SWC paper's statistics (section 4.3).
const READS_MIN: u64 = 5_000;

/// Read amplification by page size and cache size (SWC paper, sections 4.3 and 5.2).
///
/// Sectors have 512 bytes for every trace, and one touched in part counts. Requests are aligned to
/// pages. The pages of a request go in ascending order through an LRU cache, and all sectors of
/// those that miss are read. Pages of writes enter the cache and are not counted; trims have no
/// effect.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReadAmplification {
    /// Bytes of a sector: 512.
    pub sector_bytes: u32,
    /// Read requests.
    pub reads: u64,
    /// Whether the read requests suffice (5,000) for the paper's statistics.
    pub enough_reads: bool,
    /// Sectors requested by reads.
    pub sectors_asked: u64,
    /// Sectors read / sectors requested, with a buffer of one page and pages of 16 KB.
    pub read_amplification_16_kb: Option<f64>,
    /// Read amplification with a buffer of one page / page size in sectors of 512 bytes, the
    /// highest of all pages of 4 KB and more; percent. (For a page of two sectors 50 % is no
    /// amplification at all.)
    pub highest_percent_of_page: Option<f64>,
    /// Whether that is at most 50, as in all workloads of the paper.
    pub within_half_page: Option<bool>,
    #[serde(skip)]
    rows: Vec<ReadAmplificationRow>,
}

impl ReadAmplification {
    /// The table of `ReadAmplificationRow`.
    pub fn table(&self) -> RecordBatch {
        batch_of(&self.rows)
    }

    /// `locality` is that of the same trace.
    pub(crate) fn discount(&mut self, locality: &LogicalLocality) {
        for row in &mut self.rows {
            // Between pages of 4 KB, 1 to 8 sectors of distance lead to the same neighbours, and so on.
            let distance = row.page_bytes.div_ceil(locality.options.sector_bytes);
            let near = || locality.read.probability(distance, row.cache_pages);
            row.locality_discount = row.estimated.and_then(|estimated| Some(estimated * near()?));
        }
    }
}

crate::rows! {
    /// One row a page size (1, 2, 4, ... 128 sectors) and cache size (0, 1, 2, 4, 8, 16 pages; 1 is the one-page
    /// buffer of SWC 4.3).
    #[derive(PartialEq)]
    pub(crate) struct ReadAmplificationRow in "read_amplification" {
        /// Size of a page.
        page_bytes: u32,
        /// Size of the cache.
        cache_pages: u32,
        /// Sectors requested by reads.
        sectors_asked: u64,
        /// Sectors read from flash.
        sectors_missed: u64,
        /// `sectors_missed` / `sectors_asked`.
        read_amplification: Option<f64>,
        /// Relative to one-sector pages with the same cache (SWC 5.2).
        normalised: Option<f64>,
        /// RA_estimated = (requests smaller than a page x page + sectors of the others) / sectors
        /// requested.
        estimated: Option<f64>,
        /// RA_estimated x P(D, T) of logical locality of reads with D the page size in sectors and T the cache size,
        /// which is 0 without a cache. Where locality was measured on pages of 4 KB, to which the trace keeps, D in
        /// such pages says the same.
        locality_discount: Option<f64>,
    }
}

/// `locality` is that of the same trace. Exact; one pass.
pub fn read_amplification(trace: &Trace, locality: &LogicalLocality) -> ReadAmplification {
    let mut found = crate::input::whole(ReadSimulator::new(), trace).finish();
    found.discount(locality);
    found
}

/// Memory does not depend on the trace.
pub(crate) struct ReadSimulator {
    reads: u64,
    sectors_asked: u64,
    page_sizes: Vec<PageSize>,
}

impl ReadSimulator {
    pub(crate) fn new() -> ReadSimulator {
        let page_sizes = page_sizes().map(|bytes| PageSize::new(bytes / SECTOR_BYTES));
        ReadSimulator { reads: 0, sectors_asked: 0, page_sizes: page_sizes.collect() }
    }

    fn rows(&self) -> Vec<ReadAmplificationRow> {
        let ratio = |sectors: u64| self.per_sector_asked(sectors);
        let sizes = self.page_sizes.iter();
        let cells = sizes.flat_map(|size| CACHE_PAGES.into_iter().map(move |cache| (size, cache)));
        let row = |(size, cache): (&PageSize, usize)| {
            let (missed, estimated) = (size.sectors_missed(cache), ratio(size.sectors_estimated));
            let of_sectors = self.page_sizes.first().map_or(0, |sectors| sectors.sectors_missed(cache));
            ReadAmplificationRow {
                page_bytes: size.bytes(),
                cache_pages: cache as u32,
                sectors_asked: self.sectors_asked,
                sectors_missed: missed,
                read_amplification: ratio(missed),
                normalised: (of_sectors > 0).then(|| missed as f64 / of_sectors as f64),
                estimated,
                locality_discount: None,
            }
        };
        cells.map(row).collect()
    }

    fn per_sector_asked(&self, sectors: u64) -> Option<f64> {
        (self.sectors_asked > 0).then(|| sectors as f64 / self.sectors_asked as f64)
    }
}

impl Metric for ReadSimulator {
    type Figures = ReadAmplification;
    const TABLES: &'static [Table<Self::Figures>] =
        &[Table::of::<ReadAmplificationRow>(|figures| Some(figures.table()))];

    fn begin(_: &mut FirstPass<'_>) -> Self {
        ReadSimulator::new()
    }

    fn finish(self) -> ReadAmplification {
        let buffered = |size: &PageSize| self.per_sector_asked(size.sectors_missed(1));
        let at_16_kb = self.page_sizes.iter().find(|size| size.bytes() == 16_384);
        let large = self.page_sizes.iter().filter(|size| size.bytes() >= 4096);
        let percents = large.filter_map(|size| Some(buffered(size)? / f64::from(size.sectors) * 100.0));
        let highest = percents.max_by(f64::total_cmp);
        ReadAmplification {
            sector_bytes: SECTOR_BYTES,
            reads: self.reads,
            enough_reads: self.reads >= READS_MIN,
            sectors_asked: self.sectors_asked,
            read_amplification_16_kb: at_16_kb.and_then(buffered),
            highest_percent_of_page: highest,
            within_half_page: highest.map(|percent| percent <= 50.0),
            rows: self.rows(),
        }
    }
}

/// Consecutive sectors of a volume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) volume: u32,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Segment {
    /// As in the trace, not on the grid of contents: all page sizes see the same sectors.
    #[inline]
    pub(crate) fn of(requests: &Requests<'_>, index: usize) -> Segment {
        let sector = u64::from(SECTOR_BYTES);
        let (volume, start) = (requests.volume[index], requests.offset_bytes[index]);
        let end = start + u64::from(requests.length_bytes[index]);
        Segment { volume, first: start / sector, last: (end - 1) / sector }
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.last - self.first + 1
    }
}

pub(crate) fn page_sizes() -> impl Iterator<Item = u32> {
    std::iter::successors(Some(SECTOR_BYTES), |&bytes| (bytes < PAGE_BYTES_MAX).then_some(bytes * 2))
}

impl Accumulator for ReadSimulator {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            let op = requests.op[index];
            if !op.moves_data() {
                continue;
            }
            let segment = Segment::of(requests, index);
            let sectors = segment.sectors();
            if op == Op::Read {
                self.reads += 1;
                self.sectors_asked += sectors;
            }
            for size in &mut self.page_sizes {
                if op == Op::Read {
                    size.sectors_estimated += sectors.max(u64::from(size.sectors));
                }
                size.request(segment, op == Op::Read);
            }
        }
    }
}

struct PageSize {
    /// Sectors a page, a power of two.
    sectors: u32,
    cache: Cache,
    /// By the place in the LRU list at which the page was found; the last for those that were not in it.
    found: [u64; DEPTH + 1],
    /// Sectors read if every request smaller than a page took one page and the others no more than asked.
    sectors_estimated: u64,
}

impl PageSize {
    fn new(sectors: u32) -> PageSize {
        PageSize { sectors, cache: Cache::new(), found: [0; DEPTH + 1], sectors_estimated: 0 }
    }

    fn bytes(&self) -> u32 {
        self.sectors * SECTOR_BYTES
    }

    fn sectors_missed(&self, cache_pages: usize) -> u64 {
        self.found[cache_pages..].iter().sum::<u64>() * u64::from(self.sectors)
    }

    #[inline]
    fn request(&mut self, segment: Segment, read: bool) {
        let shift = self.sectors.trailing_zeros();
        let (volume, first, last) = (segment.volume, segment.first >> shift, segment.last >> shift);
        let found = if read { &mut self.found } else { &mut [0; DEPTH + 1] };
        if last - first < RUN_PAGES {
            for page in first..=last {
                found[self.cache.access(volume, page)] += 1;
            }
        } else {
            self.cache.access_run(volume, first, last, found);
        }
    }
}

/// Latest first: the first C of them are the contents of an LRU cache of C pages.
struct Cache {
    pages: [(u32, u64); DEPTH],
}

impl Cache {
    fn new() -> Cache {
        // No page has this number, as a trace ends below 2^63 bytes.
        Cache { pages: [(0, u64::MAX); DEPTH] }
    }

    /// Returns where the page was; [`DEPTH`] when it was not there.
    #[inline]
    fn access(&mut self, volume: u32, page: u64) -> usize {
        let mut moving = (volume, page);
        for (place, held) in self.pages.iter_mut().enumerate() {
            std::mem::swap(&mut moving, held);
            if moving == (volume, page) {
                return place;
            }
        }
        DEPTH
    }

    /// Accesses pages `first` to `last`; counts at which place each was found.
    fn access_run(&mut self, volume: u32, first: u64, last: u64, found: &mut [u64; DEPTH + 1]) {
        let before = self.pages;
        let within = |held: (u32, u64), end: u64| held.0 == volume && (first..end).contains(&held.1);
        let mut missing = last - first + 1;
        for (place, &held) in before.iter().enumerate().filter(|(_, held)| within(**held, last + 1)) {
            // When its turn comes, the run's pages below it and the others that were in front of it are in front.
            let others = before[..place].iter().filter(|other| !within(**other, held.1)).count();
            let place = held.1 - first + others as u64;
            found[place.min(DEPTH as u64) as usize] += 1;
            missing -= 1;
        }
        found[DEPTH] += missing;
        let ahead = (last - first + 1).min(DEPTH as u64) as usize;
        let mut others = ahead;
        for &held in &before {
            if others < DEPTH && !within(held, last + 1) {
                self.pages[others] = held;
                others += 1;
            }
        }
        for (held, page) in self.pages[..ahead].iter_mut().zip((first..=last).rev()) {
            *held = (volume, page);
        }
    }
}
