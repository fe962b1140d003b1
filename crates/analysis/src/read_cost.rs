//! Flash time of reads by page size, with full and with partial reads.

use arrow_array::RecordBatch;
use flashtwin_trace::{Op, Requests, Trace};
use schemars::JsonSchema;
use serde::Serialize;

use crate::input::Accumulator;
use crate::metric::{FirstPass, Metric, Table};
use crate::read_amplification::{SECTOR_BYTES, Segment, page_sizes};
use crate::rows::batch_of;

const TLC_PAGE_BYTES: u32 = 32 * SECTOR_BYTES;

/// Parameters of a chip (SWC paper, Table 2).
#[derive(Clone, Copy, Debug)]
struct Chip {
    /// Sensing, including the decoding of the error correction code; ns.
    sense_ns: u64,
    /// Transfer of a sector with its code; ns.
    sector_ns: u64,
}

/// Picoseconds: of half a byte of code, too, they are a whole number.
const fn sector_ns(half_bytes_of_code: u64, ps_per_byte: u64) -> u64 {
    (SECTOR_BYTES as u64 * 2 + half_bytes_of_code) * ps_per_byte / 2 / 1000
}

/// SLC and MLC chips with pages of 1 to 8 sectors.
const SMALL_PAGES: Chip = Chip { sense_ns: 25_000, sector_ns: sector_ns(2 * 16, 25_000) };
/// SLC and MLC chips with pages of 16 to 128 sectors.
const LARGE_PAGES: Chip = Chip { sense_ns: 45_000, sector_ns: sector_ns(2 * 64, 25_000) };
/// A TLC chip with pages of 32 sectors; 120 bits of code per KB.
const TLC: Chip = Chip { sense_ns: 91_000, sector_ns: sector_ns(15, 20_000) };

/// Flash time of all reads (SWC paper, section 4.4).
///
/// Reading S sectors of 512 bytes from a page takes tR + S x (512 + S_ECC) x T_serial. Reads are
/// split at page boundaries and go through a buffer of one page. Pages begin at one sector for
/// every trace: a trace of 4 KB pages reads eight sectors for each of its own.
///
/// * *Full reads* read every page whole. The buffer holds the page read or written last.
/// * *Partial reads* transfer only the requested sectors of a request's first and last page. The
///   buffer holds only the sectors of the last segment read or written. A segment is served from it
///   if all its sectors are there, otherwise all of them are read. (In the paper, successive
///   requests of 4 KB within one page cost as much as if they were apart, so the buffer can hold
///   only requested sectors.)
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReadCost {
    /// Read requests.
    pub reads: u64,
    /// The page size with the cheapest full reads on SLC/MLC chips; the smallest of several.
    pub cheapest_full_page_bytes: Option<u32>,
    /// The page size with the cheapest partial reads on SLC/MLC chips; the smallest of several.
    pub cheapest_partial_page_bytes: Option<u32>,
    /// Cost of partial reads from pages of 16 KB / cost of full reads; percent, SLC/MLC.
    pub partial_cost_percent_16_kb: Option<f64>,
    /// The same on the TLC chip.
    pub partial_cost_percent_16_kb_tlc: Option<f64>,
    /// The table of `CostRow`.
    #[serde(skip)]
    pub table: RecordBatch,
}

/// For pages of 1, 2, 4, ... 128 sectors. Exact; one pass.
pub fn read_cost(trace: &Trace) -> ReadCost {
    crate::input::whole(ReadCostMeter::new(), trace).finish()
}

/// Memory does not depend on the trace.
pub(crate) struct ReadCostMeter {
    reads: u64,
    page_sizes: Vec<PageSize>,
}

impl ReadCostMeter {
    pub(crate) fn new() -> ReadCostMeter {
        ReadCostMeter { reads: 0, page_sizes: page_sizes().map(PageSize::new).collect() }
    }

    fn rows(&self) -> Vec<CostRow> {
        let slc_mlc = self.page_sizes.iter().map(|size| {
            let large = size.sectors >= 16;
            size.row("slc-mlc", if large { LARGE_PAGES } else { SMALL_PAGES })
        });
        let of_tlc = self.page_sizes.iter().filter(|size| size.bytes() == TLC_PAGE_BYTES);
        slc_mlc.chain(of_tlc.map(|size| size.row("tlc", TLC))).collect()
    }
}

impl Metric for ReadCostMeter {
    type Figures = ReadCost;
    const TABLES: &'static [Table<Self::Figures>] =
        &[Table::of::<CostRow>(|figures| Some(figures.table.clone()))];

    fn begin(_: &mut FirstPass<'_>) -> Self {
        ReadCostMeter::new()
    }

    fn finish(self) -> ReadCost {
        let rows = self.rows();
        let of = |chip: &str, bytes: u32| rows.iter().find(|row| row.chip == chip && row.page_bytes == bytes);
        let partial = |chip: &str| {
            let row = of(chip, TLC_PAGE_BYTES).filter(|row| row.full_ns > 0)?;
            Some(row.partial_ns as f64 / row.full_ns as f64 * 100.0)
        };
        let cheapest = |cost: fn(&CostRow) -> u64| {
            let slc_mlc = rows.iter().filter(|row| row.chip == "slc-mlc" && self.reads > 0);
            slc_mlc.min_by_key(|row| cost(row)).map(|row| row.page_bytes)
        };
        ReadCost {
            reads: self.reads,
            cheapest_full_page_bytes: cheapest(|row| row.full_ns),
            cheapest_partial_page_bytes: cheapest(|row| row.partial_ns),
            partial_cost_percent_16_kb: partial("slc-mlc"),
            partial_cost_percent_16_kb_tlc: partial("tlc"),
            table: batch_of(&rows),
        }
    }
}

impl Accumulator for ReadCostMeter {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            let op = requests.op[index];
            if !op.moves_data() {
                continue;
            }
            self.reads += u64::from(op == Op::Read);
            let sectors = Segment::of(requests, index);
            for size in &mut self.page_sizes {
                match op {
                    Op::Read => size.read(sectors),
                    _ => size.hold(sectors),
                }
            }
        }
    }
}

impl Segment {
    fn holds(&self, other: Segment) -> bool {
        self.volume == other.volume && self.first <= other.first && other.last <= self.last
    }
}

struct PageSize {
    /// Sectors a page, a power of two.
    sectors: u64,
    buffer: Option<Segment>,
    full_reads: u64,
    partial_reads: u64,
    partial_sectors: u64,
}

impl PageSize {
    fn new(bytes: u32) -> PageSize {
        let sectors = u64::from(bytes / SECTOR_BYTES);
        PageSize { sectors, buffer: None, full_reads: 0, partial_reads: 0, partial_sectors: 0 }
    }

    fn bytes(&self) -> u32 {
        self.sectors as u32 * SECTOR_BYTES
    }

    /// Pages have ascending numbers, so only the first can be in the buffer.
    #[inline]
    fn read(&mut self, wanted: Segment) {
        let shift = self.sectors.trailing_zeros();
        let (first_page, last_page) = (wanted.first >> shift, wanted.last >> shift);
        let pages = last_page - first_page + 1;
        let first = Segment { last: wanted.last.min(wanted.first | (self.sectors - 1)), ..wanted };
        let in_page = self
            .buffer
            .is_some_and(|buffer| buffer.volume == wanted.volume && buffer.first >> shift == first_page);
        self.full_reads += pages - u64::from(in_page);
        // The page is the same wherever the sectors are.
        let in_buffer = in_page && self.buffer.is_some_and(|buffer| buffer.holds(first));
        self.partial_reads += pages - u64::from(in_buffer);
        self.partial_sectors += wanted.sectors() - if in_buffer { first.sectors() } else { 0 };
        if pages > 1 || !in_buffer {
            self.hold(wanted);
        }
    }

    /// The last segment of a request is in the buffer afterwards.
    #[inline]
    fn hold(&mut self, request: Segment) {
        let first = request.first.max(request.last & !(self.sectors - 1));
        self.buffer = Some(Segment { first, ..request });
    }

    fn row(&self, chip: &'static str, of: Chip) -> CostRow {
        let time = |reads: u64, sectors: u64| reads * of.sense_ns + sectors * of.sector_ns;
        CostRow {
            chip,
            page_bytes: self.bytes(),
            full_reads: self.full_reads,
            full_ns: time(self.full_reads, self.full_reads * self.sectors),
            partial_ns: time(self.partial_reads, self.partial_sectors),
            partial_reads: self.partial_reads,
        }
    }
}

crate::rows! {
    /// One row a chip and page size.
    pub(crate) struct CostRow in "read_cost" {
        /// `slc-mlc`, or `tlc`, whose parameters are known for 16 KB only.
        chip: &'static str,
        /// Size of a page.
        page_bytes: u32,
        /// Flash reads with full reads.
        full_reads: u64,
        /// Time of `full_reads`.
        full_ns: u64,
        /// Flash time with partial reads.
        partial_ns: u64,
        /// Flash reads with partial reads, those of whole pages included.
        partial_reads: u64,
    }
}
