//! Memory needs of a characterization, estimated before it starts.
//!
//! Tables grow with distinct pages, and requests of gigabytes address millions of pages in a line of text.

use std::collections::VecDeque;

use flashtwin_trace::{
    ErrorCause, Holes as SectorRuns, Op, Progress, Requests, TraceError, bytes_in_words, memory_allowed_bytes,
};

use crate::input::{About, Accumulator, Asked, Input, pass};
use crate::logical_locality::LogicalLocalityMeter;
use crate::options::Options;
use crate::page_ops::PAGE_BYTES;
use crate::pages::PageTable;
use crate::temperature::CountWrites;
use crate::value_locality::StackDistances;
use crate::wa::WaSimulator;

/// Bytes of a page beside its number: the content that it holds.
const CONTENT_BYTES: f64 = 4.0;
/// Distinct pages that 32 bits number, without a few for the stack of reuse distances.
const PAGES_MAX: f64 = (u32::MAX - 511) as f64;
/// Pages of a chunk of logical locality.
const CHUNK_PAGES: f64 = 1024.0;

/// Bytes that requests address, and the runs of neighbours that they form; both at most.
#[derive(Clone, Copy, Debug)]
struct Touched {
    bytes: f64,
    runs: f64,
}

impl Touched {
    fn at_most(asked: &[Asked]) -> Touched {
        let bytes = asked.iter().map(|of| of.bytes as f64).sum();
        Touched { bytes, runs: asked.iter().map(|of| of.requests as f64).sum() }
    }

    fn pages(self, page_bytes: u32) -> f64 {
        // A run may begin and end within a page.
        self.bytes / f64::from(page_bytes) + 2.0 * self.runs
    }

    /// A table of these pages, with `more` bytes for each.
    fn table_bytes(self, page_bytes: u32, more: f64) -> f64 {
        let pages = self.pages(page_bytes);
        PageTable::bytes(pages, self.runs) + pages * more
    }
}

#[derive(Clone, Copy, Debug)]
struct Need {
    accessed: Touched,
    written: Touched,
    /// Chunks in the windows of logical locality.
    chunks: f64,
}

impl Need {
    /// Known from sums alone: nothing addressed twice, and all requests within one window.
    fn at_most(about: &About) -> Need {
        let [read, write, ..] = about.asked;
        let chunk_bytes = f64::from(about.sector_bytes) * CHUNK_PAGES;
        let chunks = |of: Asked| of.bytes as f64 / chunk_bytes + 2.0 * of.requests as f64;
        Need {
            accessed: Touched::at_most(&about.asked),
            written: Touched::at_most(&[write]),
            chunks: chunks(read) + chunks(write),
        }
    }

    /// Distinct pages of the longest table.
    fn pages(&self, about: &About, options: &Options) -> f64 {
        let sizes = options.page_sizes(about.sector_bytes).into_iter();
        sizes.map(|bytes| self.written.pages(bytes)).fold(self.accessed.pages(PAGE_BYTES), f64::max)
    }

    /// Bytes that grow with pages, of which a sample keeps a share; and bytes of logical locality.
    fn bytes(&self, about: &About, options: &Options, in_memory: bool) -> (f64, f64) {
        let stacks = self.accessed.table_bytes(PAGE_BYTES, StackDistances::ITEM_BYTES);
        let contents = match about.has_content {
            true => self.accessed.table_bytes(PAGE_BYTES, CONTENT_BYTES),
            false => 0.0,
        };
        let sizes = options.page_sizes(about.sector_bytes);
        let counts = sizes.iter().map(|&bytes| self.written.table_bytes(bytes, CountWrites::PAGE_BYTES));
        // In memory one page size after another, in a stream all at once.
        let writes = if in_memory { counts.fold(0.0, f64::max) } else { counts.sum() };
        let threads = rayon::current_num_threads() as f64;
        let simulated = options.wa.page_sizes(about.sector_bytes).into_iter();
        let simulated = simulated.map(|bytes| self.written.pages(bytes) * WaSimulator::PAGE_BYTES * threads);
        let pages = (stacks + contents).max(writes + simulated.fold(0.0, f64::max));
        (pages, self.chunks * LogicalLocalityMeter::CHUNK_BYTES)
    }
}

pub(crate) fn pages_can_be_followed(about: &About) -> bool {
    let needed = Touched::at_most(&about.asked).table_bytes(PAGE_BYTES, 2.0 * CONTENT_BYTES);
    needed <= memory_allowed_bytes(about.requests) as f64
}

/// Refuses a trace whose characterization would take too much memory ([`ErrorCause::TooLarge`]). Sums clear nearly all
/// traces. The others are gone through once more, to count distinct pages.
pub(crate) fn check(
    input: &mut (dyn Input + Send),
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), TraceError> {
    let (about, in_memory) = (input.about().clone(), input.is_in_memory());
    let allowed = match options.memory_gb > 0.0 {
        true => options.memory_gb * 1e9,
        false => memory_allowed_bytes(about.requests) as f64,
    };
    let rate = options.sample_rate.min(1.0);
    let fits = |need: &Need| {
        let (pages, locality) = need.bytes(&about, options, in_memory);
        pages * rate + locality <= allowed && need.pages(&about, options) * rate <= PAGES_MAX
    };
    if fits(&Need::at_most(&about)) {
        return Ok(());
    }
    let mut exact = Exact::new(about.sector_bytes, options.locality.time_max as usize);
    pass(input, progress, &mut [&mut exact])?;
    let need = exact.need();
    if fits(&need) { Ok(()) } else { Err(too_large(&about, &need, options, in_memory, allowed)) }
}

fn too_large(about: &About, need: &Need, options: &Options, in_memory: bool, allowed: f64) -> TraceError {
    let (pages, locality) = need.bytes(about, options, in_memory);
    let needed = pages * options.sample_rate.min(1.0) + locality;
    let words = |bytes: f64| bytes_in_words(bytes as u64);
    let numbered = need.pages(about, options);
    if needed <= allowed {
        let what =
            format!("it addresses about {numbered:.0} distinct pages, and {PAGES_MAX:.0} can be numbered");
        let share = share(PAGES_MAX / numbered);
        let cure =
            format!("look at a share of them with `characterize --sample {share}`, or at a span of its time");
        return TraceError::new(ErrorCause::TooLarge, &about.name, what, cure);
    }
    let what = format!(
        "its {} requests address {} of distinct data, for which a characterization takes about {} of memory ({} for \
         distinct pages, {} for logical locality), {} is allowed",
        about.requests,
        words(need.accessed.bytes),
        words(needed),
        words(needed - locality),
        words(locality),
        words(allowed)
    );
    let mut cures = vec!["check the unit of sizes (the format)".to_owned()];
    if locality > allowed / 2.0 {
        let time_max = (f64::from(options.locality.time_max) * allowed / locality / 2.0).max(1.0);
        cures.push(format!("look less far with `characterize --set time_max={time_max:.0}`"));
    }
    if pages * options.sample_rate > allowed / 2.0 {
        cures.push(format!(
            "look at a share of the pages with `characterize --sample {}`",
            share(allowed / 2.0 / pages)
        ));
    }
    cures.push(format!("or allow more with `characterize --set memory_gb={:.0}`", (needed / 1e9).ceil()));
    TraceError::new(ErrorCause::TooLarge, &about.name, what, cures.join(", "))
}

/// A share rounded down to one digit.
fn share(of: f64) -> f64 {
    let unit = 10f64.powf(of.log10().floor());
    (of / unit).floor().max(1.0) * unit
}

struct Exact {
    sector_bytes: u32,
    accessed: SectorRuns,
    written: SectorRuns,
    windows: [Window; 2],
}

impl Exact {
    fn new(sector_bytes: u32, time_max: usize) -> Exact {
        let window = || Window { time_max, chunks: VecDeque::new(), sum: 0, most: 0 };
        let (accessed, written) = (SectorRuns::default(), SectorRuns::default());
        Exact { sector_bytes, accessed, written, windows: [window(), window()] }
    }

    fn need(&self) -> Need {
        let touched = |sectors: &SectorRuns| Touched {
            bytes: sectors.bytes() as f64 * f64::from(self.sector_bytes),
            runs: sectors.len() as f64,
        };
        Need {
            accessed: touched(&self.accessed),
            written: touched(&self.written),
            chunks: self.windows.iter().map(|window| window.most as f64).sum(),
        }
    }
}

impl Accumulator for Exact {
    fn add(&mut self, requests: &Requests<'_>) {
        for index in 0..requests.len() {
            let (volume, op) = (requests.volume[index], requests.op[index]);
            if op == Op::Flush {
                continue;
            }
            let sectors = requests.pages(index, self.sector_bytes);
            if op == Op::Write {
                self.written.add(volume, sectors.clone());
            }
            if op.moves_data() {
                let chunks = CHUNK_PAGES as u64;
                self.windows[op as usize].add((sectors.end - 1) / chunks - sectors.start / chunks + 1);
            }
            self.accessed.add(volume, sectors);
        }
    }
}

struct Window {
    time_max: usize,
    chunks: VecDeque<u64>,
    sum: u64,
    most: u64,
}

impl Window {
    fn add(&mut self, chunks: u64) {
        self.chunks.push_back(chunks);
        self.sum += chunks;
        if self.chunks.len() > self.time_max + 1 {
            self.sum -= self.chunks.pop_front().unwrap_or(0);
        }
        self.most = self.most.max(self.sum);
    }
}
