//! The whole configuration of a run. Doc comments are the reference manual's text.

use flashtwin_ftl::FtlConfig;
use flashtwin_nand::NandConfig;
use flashtwin_trace::ContentSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::history::History;

/// A system under test on a device, and how a trace is replayed on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the system, as results are labelled.
    #[schemars(extend("x-label" = true))]
    pub name: String,
    /// What the system is and where it is described.
    #[schemars(extend("x-label" = true))]
    pub description: String,
    /// The NAND device: a name from `flashtwin devices`, or a path to a TOML file. Its
    /// numbers fill `nand`, where single ones can be set.
    #[schemars(extend("x-moves" = "reads and writes: geometry and timing are another drive's"))]
    pub device: String,
    /// Seed of every random choice. Same inputs and seed: same bytes.
    pub seed: u64,
    /// Keeps the plain truth beside the tables and compares each step with it. Slow.
    #[schemars(extend("x-label" = true))]
    pub verify: bool,
    /// What the controller decides.
    pub ftl: FtlConfig,
    /// When things happen.
    pub engine: EngineConfig,
    /// How the trace is replayed.
    pub replay: ReplayConfig,
    /// The flash array.
    pub nand: NandConfig,
}

/// What works on its own inside a chip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// One operation at a time per chip: the simplest reading of "chip-level queue".
    Chip,
    /// Each die works on its own; the chip's queue feeds them.
    #[default]
    Die,
    /// Each plane works on its own.
    Plane,
}

/// What counts as a chip's load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMeasure {
    /// Operations waiting and in service.
    #[default]
    QueueLength,
    /// Host reads waiting and in service.
    ReadsWaiting,
    /// How long a new read would wait: the rest of the operation in service and the reads before it.
    /// The die (unit) decides, not the chip.
    ExpectedWait,
}

/// When the host hears that its write is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCompletes {
    /// When the page is programmed (the papers' way).
    #[default]
    Programmed,
    /// When the page is in the chip's register (SSDsim's way).
    Transferred,
    /// When the controller has the page's hash and a place for the page in power-protected RAM
    /// (`engine.write_buffer_pages`). What Table IV of the RR-SSD paper implies.
    Hashed,
    /// When the controller has it: power-protected DRAM without a limit. Nobody waits for a hash or for the
    /// old page of a partial write then.
    Buffered,
}

/// What a flush of the host's waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// Nothing: it is answered at once, and counted.
    None,
    /// Every write that came before it, until its pages are on flash or in controller RAM that is power-protected. Where
    /// RAM is not, a write cache writes out all that is dirty (NVMe Flush, T13 FLUSH CACHE).
    #[default]
    Writes,
}

/// Which reads that wait at a chip share one flash read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeReads {
    /// None.
    #[default]
    None,
    /// Those of one physical page (as SSDsim does for every scheme: a sub-request that waits for the same
    /// physical page is complete with the first).
    #[schemars(extend("x-traits" = ["merges-page-reads"]))]
    SamePage,
    /// Those also of pages that the controller knows to hold the same: twins (DS-FTL paper 4.3.2).
    #[schemars(extend("x-traits" = ["merges-page-reads", "merges-twin-reads"]))]
    SameContent,
}

/// Which submitted request gets a free slot of the controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// The one submitted first of all.
    #[default]
    Fifo,
    /// The first of the next submission queue in turn (NVMe's round robin).
    RoundRobin,
}

/// What the array stops for a read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// Nothing (the papers' way).
    #[default]
    None,
    /// Erases.
    Erase,
    /// Programs and erases.
    ProgramErase,
}

/// Which operations of a die go together as one multi-plane command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// None (the papers' way).
    #[default]
    None,
    /// Those of the same kind on different planes, reads and programs on pages of the same number in
    /// their blocks (ONFI 4.0: multi-plane addresses differ in plane and block only).
    SamePage,
    /// Those of the same kind on different planes, wherever they lie in their blocks.
    AnyPage,
}

/// The device's clockwork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// What works on its own inside a chip: `chip`, `die` or `plane`.
    #[schemars(extend("x-moves" = "reads and writes: what works at the same time"))]
    pub concurrency: Concurrency,
    /// Chip load as allocation and redirection see it.
    #[schemars(extend("x-when" = "weighs-load", "x-moves" = "reads and writes: where those go that choose a chip"))]
    pub load: LoadMeasure,
    /// When a write is complete: `programmed`, `transferred`, `hashed` or `buffered`.
    #[schemars(extend("x-moves" = "writes: when one is complete"))]
    pub write_completes: WriteCompletes,
    /// For `write_completes = "hashed"`: pages of power-protected RAM, in which a page has its place until it is
    /// programmed. 0: no bound.
    #[schemars(extend("x-when" = "engine.write_completes = hashed", "x-moves" = "writes: how many of them are complete before they are programmed"))]
    pub write_buffer_pages: u32,
    /// What a flush waits for: `none` or `writes`.
    #[schemars(extend("x-moves" = "flushes: whether they wait for writes; reads and writes: whether they empty a volatile cache"))]
    pub flush: Flush,
    /// Reads go first; after this many have overtaken a write that could start, the write
    /// goes. 0: no limit.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub reads_before_write: u32,
    /// Whether reads also go before collection that a plane out of erased blocks waits for. If not, such collection goes
    /// before all else, and a read of its die waits for a whole victim: with large blocks, milliseconds.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub reads_before_urgent: bool,
    /// Whether collection and other work of the controller take turns with programs of the host, in the order in which they
    /// came to the die. If not, they wait while the die has programs of the host: under load collection then comes in
    /// lumps, when a plane is out of erased blocks.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub collection_in_turn: bool,
    /// Whether a host read that asks for what another read waits for in the queue of the same chip
    /// is served by that one: `none`, `same-page` or `same-content` (DS-FTL paper 4.3.2).
    #[schemars(extend("x-moves" = "reads: those that wait for one page are served together, or each by itself"))]
    pub merge_reads: MergeReads,
    /// Whether a host read of a page whose program has not finished is served from controller RAM. If
    /// not, it waits at the chip for the program and is then read from the flash.
    #[schemars(extend("x-moves" = "reads: whether controller RAM serves those of a page being programmed"))]
    pub buffer_reads: bool,
    /// Which waiting operations of a die start together, as one command that works on several planes:
    /// `none`, `same-page` or `any-page`. Not with `concurrency = "plane"`, whose planes work on their
    /// own anyway.
    #[schemars(extend("x-moves" = "reads and writes: what starts together"))]
    pub multi_plane: MultiPlane,
    /// Pages of a write-back cache in controller DRAM; 0: none. A write is complete when its page has a
    /// place there, and reaches the flash when its turn comes. Not with `write_completes = "hashed"` or `"buffered"`.
    #[schemars(extend("x-moves" = "reads and writes: what the DRAM of the controller takes"))]
    pub write_cache_pages: u32,
    /// Time of DRAM and link for a page that the write cache takes or serves, in microseconds. 9: the median of a
    /// buffered write on four data-centre drives at light load is 8 to 10 (SSD-iq, PVLDB 18(11), 2025).
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0", "x-moves" = "reads and writes: how long the DRAM of the controller takes"))]
    pub write_cache_us: f64,
    /// Share of the cache that may be dirty before its least recently written pages go to the flash;
    /// above 0, up to 1.
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0", "x-moves" = "reads and writes: what the DRAM of the controller takes"))]
    pub write_cache_dirty: f64,
    /// Whether the cache survives a power cut, as in drives with capacitors for it (PLP): then a flush need not write it
    /// out.
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0 and engine.flush = writes", "x-moves" = "reads and writes: whether a flush writes the DRAM of the controller out"))]
    pub write_cache_protected: bool,
    /// What a read may interrupt: `none`, `erase` or `program-erase` (Wu and He, FAST '12).
    #[schemars(extend("x-moves" = "reads and writes: whether programs and erases make way for reads"))]
    pub suspend: Suspend,
    /// Time until an interrupted program or erase stands still, in microseconds.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_us: f64,
    /// Mean time until an interrupted program or erase can be stopped at all, in microseconds: the rest of a slice (a pulse
    /// of the array), before `engine.suspend_us`. Exponentially distributed, at most five means; drawn by `seed`. For
    /// example 100. An operation that ends with its slice is not stopped. 0: at any moment.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_slice_us: f64,
    /// Time until it goes on, in microseconds.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub resume_us: f64,
    /// How often one operation may be interrupted. 0: as often as reads come.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_times: u32,
    /// How many reads may go before an interrupted operation goes on.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_reads: u32,
    /// How long a unit must have had nothing else to do before an operation of a background job begins
    /// on it, in microseconds (Golding et al., USENIX 1995: a fixed timer). 0: at once.
    #[schemars(extend("x-when" = "background-jobs or collects-in-idle-time", "x-moves" = "reads and writes: when work in idle time meets them"))]
    pub idle_us: f64,
    /// Time of the controller itself per request, in microseconds.
    #[schemars(extend("x-moves" = "reads and writes: a time added to each"))]
    pub controller_us: f64,
    /// Requests that the controller has in hand at once; 0: no limit. A submitted request waits in its queue for a slot,
    /// and gives it back with its answer. For example 512 on a drive whose reads wait behind stalled writes.
    #[schemars(extend("x-moves" = "reads and writes: how many of them the controller works on"))]
    pub slots: u32,
    /// Which submitted request gets a free slot: `fifo` or `round-robin`.
    #[schemars(extend("x-when" = "engine.slots != 0", "x-moves" = "reads and writes: which of them the controller works on"))]
    pub arbitration: Arbitration,
    /// Requests that a submission queue may send in a turn (NVMe base specification 2.0, 3.4.4: arbitration burst).
    #[schemars(range(min = 1))]
    #[schemars(extend("x-when" = "engine.slots != 0 and engine.arbitration = round-robin", "x-moves" = "reads and writes: how long they wait for the turn of their queue"))]
    pub arbitration_burst: u32,
    /// The host's link in MB/s (10^6 bytes) in each direction; 0: data take no time there. Data of a write come in over it
    /// before the controller has the write, data of a read go out over it before the answer. For example 7000: PCIe 4.0
    /// x4. Parts of pages count as whole pages.
    #[schemars(extend("x-moves" = "reads and writes: how long their data take between host and drive"))]
    pub link_mb_s: f64,
    /// Hashing time per page in microseconds (RR-SSD paper, Table II: 12; CA-SSD paper 5.1:
    /// 32). Only content-addressed systems hash.
    #[schemars(extend("x-when" = "deduplicates", "x-moves" = "writes: how long each page is hashed, and waits for it"))]
    pub hash_us: f64,
    /// Pages hashed at the same time. 0: a pipelined unit, in which every page takes its time and waits for no other.
    #[schemars(range(min = 0, max = 65_536))]
    #[schemars(extend("x-when" = "deduplicates", "x-moves" = "writes: how long each page waits to be hashed"))]
    pub hash_lanes: u32,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            concurrency: Concurrency::Die,
            load: LoadMeasure::QueueLength,
            write_completes: WriteCompletes::Programmed,
            write_buffer_pages: 0,
            flush: Flush::Writes,
            reads_before_write: 0,
            reads_before_urgent: false,
            collection_in_turn: false,
            merge_reads: MergeReads::None,
            buffer_reads: true,
            multi_plane: MultiPlane::None,
            write_cache_pages: 0,
            write_cache_us: 9.0,
            write_cache_dirty: 0.5,
            write_cache_protected: false,
            suspend: Suspend::None,
            suspend_us: 20.0,
            suspend_slice_us: 0.0,
            resume_us: 5.0,
            suspend_times: 4,
            suspend_reads: 16,
            idle_us: 1000.0,
            controller_us: 0.0,
            slots: 0,
            arbitration: Arbitration::Fifo,
            arbitration_burst: 1,
            link_mb_s: 0.0,
            hash_us: 12.0,
            hash_lanes: 1,
        }
    }
}

impl EngineConfig {
    /// Hashing time per page.
    pub fn hash_ns(&self) -> u64 {
        (self.hash_us * 1000.0).round() as u64
    }

    /// Time of DRAM and link for a page of the write cache.
    pub fn write_cache_ns(&self) -> u64 {
        (self.write_cache_us * 1000.0).round() as u64
    }

    /// Idle time that background jobs wait for.
    pub fn idle_ns(&self) -> u64 {
        (self.idle_us * 1000.0).round() as u64
    }

    /// Controller time per request.
    pub fn controller_ns(&self) -> u64 {
        (self.controller_us * 1000.0).round() as u64
    }
}

/// What the device holds before the trace begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preload {
    /// Pages whose first access is a read (or a write of a part), with that content.
    #[default]
    FirstReads,
    /// Every page of the footprint, then random overwrites until garbage collection has
    /// reached its steady state.
    Footprint,
    /// Nothing.
    None,
}

/// What pages held of which nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreloadContents {
    /// A content of its own each: a system that deduplicates begins without duplicates there.
    #[default]
    Own,
    /// That of a page operation of the trace, each as likely: duplicates are as common as there.
    Trace,
}

/// Writes of part of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialWrite {
    /// The old page is read first.
    #[default]
    ReadModifyWrite,
    /// Treated as a write of the whole page.
    Ignore,
}

/// How the trace is replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// The trace's clock runs this many times faster.
    #[schemars(extend("x-moves" = "reads and writes: how fast requests arrive"))]
    pub speed: f64,
    /// Requests kept under way; 0: requests arrive when the trace says (open loop).
    #[schemars(extend("x-moves" = "reads and writes: how many requests are under way"))]
    pub queue_depth: u32,
    /// Most requests of each submission queue (the trace's column `queue`) that are under way while requests arrive when the
    /// trace says; 0: any number. One that finds its queue full is submitted, and its response time begins, when one of
    /// the queue is answered (fio's `iodepth` with a rate). Not with `queue_depth`.
    #[schemars(extend("x-when" = "replay.queue_depth = 0", "x-moves" = "reads and writes: how many requests are under way"))]
    pub queue_limit: u32,
    /// Length of a profiling period in seconds of the trace's own clock (a day in the
    /// RR-SSD paper).
    #[schemars(extend("x-moves" = "reads and writes: how often copies are made"))]
    pub period_s: f64,
    /// What the device holds before the trace begins; costs no time, is not in the counts. A page that is known to be a
    /// hole, and read before it is written, holds nothing.
    #[schemars(extend("x-moves" = "reads and writes: what the drive holds before the trace"))]
    pub preload: Preload,
    /// For `preload = "footprint"`: what pages held of which nobody knows, since the trace writes to them
    /// first: `own` or `trace`.
    #[schemars(extend("x-when" = "replay.preload = footprint and looks-at-contents", "x-moves" = "writes: what of the drive's contents before the trace is duplicate"))]
    pub preload_contents: PreloadContents,
    /// For `preload = "footprint"`: what the drive went through, as words of `in-order`, `shuffled`, `uniform(TIMES)`,
    /// `zipf(EXPONENT,TIMES)` and `hot-cold(PAGES,WRITES,TIMES)`, one step after the other over the pages of the footprint:
    /// `"in-order zipf(0.8,4)"` fills the drive in order of addresses, then writes four times as many pages by
    /// popularity. Empty: random overwrites until collection has settled.
    #[schemars(with = "String")]
    #[schemars(extend("x-when" = "replay.preload = footprint", "x-moves" = "reads and writes: what the drive holds before the trace"))]
    pub history: History,
    /// What a write of part of a page costs.
    #[schemars(extend("x-moves" = "writes: whether part of a page costs a read"))]
    pub partial_write: PartialWrite,
    /// Where contents come from. `recorded`: as the trace recorded them. `unique`: every page write
    /// brings one of its own. `zipf(EXPONENT,VALUES)` or `zipf(EXPONENT,VALUES,SEED)`: every page write
    /// brings a value drawn by popularity, value i of VALUES with a probability proportional to
    /// i^-EXPONENT (CA-SSD paper 5.3); without a seed of its own, by the seed above.
    /// `same-as-address`: a page always holds the same content, and no other page does.
    #[schemars(with = "String", regex(pattern = r"^(recorded|unique|same-as-address|zipf\(.*\))$"))]
    #[schemars(extend("x-when" = "looks-at-contents", "x-moves" = "reads and writes: what pages contain"))]
    pub content: ContentSource,
}

impl Default for ReplayConfig {
    fn default() -> Self {
        Self {
            speed: 1.0,
            queue_depth: 0,
            queue_limit: 0,
            period_s: 86_400.0,
            preload: Preload::FirstReads,
            preload_contents: PreloadContents::Own,
            history: History::default(),
            partial_write: PartialWrite::ReadModifyWrite,
            content: ContentSource::Recorded,
        }
    }
}
