//! The whole configuration of a run. Doc comments are the reference manual's text.

use flashtwin_ftl::{FtlConfig, foreign};
use flashtwin_nand::NandConfig;
use flashtwin_trace::ContentSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::history::History;

/// The JSON schema of the whole configuration; its descriptions are the reference text.
pub fn schema() -> Value {
    let generator =
        schemars::generate::SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    let schema = generator.into_generator().into_root_schema_for::<Config>();
    let mut schema = serde_json::to_value(schema).unwrap_or(Value::Null);
    name_choices(&mut schema);
    schema
}

/// Families that are open to policies from outside are choices like all others: their names exclude one another.
fn name_choices(node: &mut Value) {
    let Some(table) = node.as_object_mut() else { return };
    let is_open = |choices: &Value| {
        choices.as_array().into_iter().flatten().any(|one| one["pattern"] == format!("^{}", foreign::PREFIX))
    };
    if table.get("anyOf").is_some_and(is_open)
        && let Some(choices) = table.remove("anyOf")
    {
        table.insert("oneOf".into(), choices);
    }
    table.values_mut().for_each(name_choices);
}

/// A system under test on a device, and how a trace is replayed on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name of the system, the label of its results.
    #[schemars(extend("x-label" = true))]
    pub name: String,
    /// Short description, with the source of the design.
    #[schemars(extend("x-label" = true))]
    pub description: String,
    /// NAND device: a name from `flashtwin devices`, for example `tlc-2021`, or the path of a TOML
    /// file. It fills the table `nand`, whose keys you can also set one by one.
    #[schemars(extend("x-moves" = "reads and writes: geometry and timing are another drive's"))]
    pub device: String,
    /// Seed of every random choice. Same inputs and seed: same bytes. For example 7.
    pub seed: u64,
    /// Checks every step against a plain model of the data. Slow. For example `true` while you
    /// write a policy.
    #[schemars(extend("x-label" = true))]
    pub verify: bool,
    /// Policies of the controller.
    pub ftl: FtlConfig,
    /// Queues, buses and times.
    pub engine: EngineConfig,
    /// How the trace is replayed.
    pub replay: ReplayConfig,
    /// The flash array.
    pub nand: NandConfig,
}

/// Units that work in parallel inside a chip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Concurrency {
    /// One operation at a time per chip.
    Chip,
    /// Dies work in parallel; the chip's queue feeds them.
    #[default]
    Die,
    /// Planes work in parallel.
    Plane,
}

/// Measure of a chip's load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMeasure {
    /// Operations waiting and in service.
    #[default]
    QueueLength,
    /// Host reads waiting and in service.
    ReadsWaiting,
    /// Expected wait of a new read: the rest of the operation in service and the reads before it.
    /// The least loaded unit of the chip counts.
    ExpectedWait,
}

/// When a write completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCompletes {
    /// When the page is programmed (as in the papers).
    #[default]
    Programmed,
    /// When the page is in the chip's register (as in SSDsim).
    Transferred,
    /// When the controller has the page's hash and a place for it in RAM
    /// (`engine.write_buffer_pages`), as Table IV of the RR-SSD paper implies.
    Hashed,
    /// When the controller has a place for the page in RAM (`engine.write_buffer_pages`). No write
    /// waits for a hash or for the old page of a partial write.
    Buffered,
}

impl WriteCompletes {
    /// Whether RAM answers a write before its page is programmed.
    pub fn is_in_ram(self) -> bool {
        matches!(self, Self::Hashed | Self::Buffered)
    }
}

/// When a flush completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// At once; it is only counted.
    None,
    /// When all earlier writes are on flash or in power-protected RAM. A volatile write cache is
    /// written out first (NVMe Flush, T13 FLUSH CACHE).
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
    /// Those of one physical page (as in SSDsim).
    #[schemars(extend("x-traits" = ["merges-page-reads"]))]
    SamePage,
    /// Those of one physical page, and those of duplicate pages known to the controller (twins)
    /// (DS-FTL paper 4.3.2).
    #[schemars(extend("x-traits" = ["merges-page-reads", "merges-twin-reads"]))]
    SameContent,
}

/// Order in which submitted requests get a free slot of the controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// First submitted, first served.
    #[default]
    Fifo,
    /// Submission queues in turn (NVMe's round robin).
    RoundRobin,
}

/// Operations that a read may suspend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Suspend {
    /// None (as in the papers).
    #[default]
    None,
    /// Erases.
    Erase,
    /// Programs and erases.
    ProgramErase,
}

/// Operations of a die that are combined to one multi-plane command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// None (as in the papers).
    #[default]
    None,
    /// Operations of the same kind on different planes; reads and programs also need the same page
    /// number in their blocks (ONFI 4.0: multi-plane addresses differ in plane and block only).
    SamePage,
    /// Operations of the same kind on different planes, at any page of their blocks.
    AnyPage,
}

/// Queues, buses and times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineConfig {
    /// Units that work in parallel inside a chip: `chip`, `die` or `plane`.
    #[schemars(extend("x-moves" = "reads and writes: what works at the same time"))]
    pub concurrency: Concurrency,
    /// Measure of a chip's load, for allocation and redirection.
    #[schemars(extend("x-when" = "weighs-load", "x-moves" = "reads and writes: where those go that choose a chip"))]
    pub load: LoadMeasure,
    /// When a write completes: `programmed`, `transferred`, `hashed` or `buffered`.
    #[schemars(extend("x-moves" = "writes: when one is complete"))]
    pub write_completes: WriteCompletes,
    /// RAM for writes in pages, with `write_completes = "buffered"` or `"hashed"`. A page keeps its
    /// place until it is programmed, and a write without a place waits. 0: no limit. For example
    /// 4096: two program units of 48 pages, one filling and one under way, for each of 42 dies.
    /// Datasheets do not say it.
    #[schemars(extend("x-when" = "engine.write_completes = buffered|hashed", "x-moves" = "writes: how many of them are complete before they are programmed"))]
    pub write_buffer_pages: u32,
    /// Whether a flush waits for earlier writes (`writes`) or not (`none`).
    #[schemars(extend("x-moves" = "flushes: whether they wait for writes; reads and writes: whether they empty a volatile cache"))]
    pub flush: Flush,
    /// Reads overtake a waiting write this many times; then the write goes. 0: no limit. For
    /// example 16.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub reads_before_write: u32,
    /// Whether reads also overtake the collection that a plane without erased blocks waits for. If
    /// false, a read waits until a whole victim is collected; with large blocks this takes
    /// milliseconds. For example `true`.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub reads_before_urgent: bool,
    /// Whether collection and other internal work take turns with host programs, in order of
    /// arrival at the die. If false, they wait while the die has host programs, and collection
    /// comes in bursts when a plane runs out of erased blocks. For example `true`.
    #[schemars(extend("x-moves" = "reads and writes: which of them goes first"))]
    pub collection_in_turn: bool,
    /// Length of a batch of collection, in microseconds; 0: none. Collection waits until it takes
    /// half of that of all units. Then for that long all units collect, and host programs wait.
    /// Reads do not. For example 9700: a write waits for at most ten milliseconds or so. Batches
    /// are regular with `ftl.gc.step_pages = 0`. Reads of pages being programmed must come from RAM
    /// (`buffer_reads`), and nothing is collected in idle time (`ftl.gc.idle`).
    #[schemars(extend("x-moves" = "writes, once blocks are collected: how long they wait for collection"))]
    pub collection_batch_us: f64,
    /// How often collection begins to hold back the host's writes, in microseconds; 0: never. They
    /// wait in the controller's slots, reads go on. For example 26000. A hold takes
    /// `engine.hold_us` and a random time, exponentially distributed. Once no slot is free, a part
    /// of them passes (`engine.hold_pass_share`).
    #[schemars(extend("x-moves" = "writes: how long they wait for collection"))]
    pub hold_every_us: f64,
    /// Least length of a hold, in microseconds. For example 170.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0", "x-moves" = "writes: how long they wait for collection"))]
    pub hold_us: f64,
    /// Writes a second at which holds would take all the time; 0: none is longer than its least
    /// length. Of the time, holds take the square of the recent rate's share of this. For example
    /// 117000.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0", "x-moves" = "writes: how long they wait for collection"))]
    pub hold_full_writes_per_s: u32,
    /// Share of the recent rate of writes that passes a hold while no slot is free; 0 to 1. For
    /// example 0.8: requests of a host with many under way then wait for slots, reads as well.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0 and engine.slots != 0", "x-moves" = "reads and writes: how long they wait for collection"))]
    pub hold_pass_share: f64,
    /// Recent writes a second from which on collection is urgent; 0: never. Then holds have
    /// `engine.urgent_hold_every_us` and `engine.urgent_hold_us`, and every write passes while no
    /// slot is free. For example 65000.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0", "x-moves" = "reads and writes: how long they wait for collection"))]
    pub urgent_writes_per_s: u32,
    /// How often collection begins to hold back writes when it is urgent, in microseconds. For
    /// example 3000.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0 and engine.urgent_writes_per_s != 0", "x-moves" = "writes: how long they wait for collection"))]
    pub urgent_hold_every_us: f64,
    /// Least length of a hold when collection is urgent, in microseconds. For example 65.
    #[schemars(extend("x-when" = "engine.hold_every_us != 0.0 and engine.urgent_writes_per_s != 0", "x-moves" = "writes: how long they wait for collection"))]
    pub urgent_hold_us: f64,
    /// Whether waiting host reads of one chip share a flash read: `none`, `same-page` or
    /// `same-content` (DS-FTL paper 4.3.2).
    #[schemars(extend("x-moves" = "reads: those that wait for one page are served together, or each by itself"))]
    pub merge_reads: MergeReads,
    /// Whether controller RAM serves a host read of a page that is still being programmed. If
    /// false, the read waits for the program and reads the flash. For example `false`.
    #[schemars(extend("x-moves" = "reads: whether controller RAM serves those of a page being programmed"))]
    pub buffer_reads: bool,
    /// Waiting operations of a die that start together as one multi-plane command: `none`,
    /// `same-page` or `any-page`. Not with `concurrency = "plane"`, whose planes are independent
    /// anyway.
    #[schemars(extend("x-moves" = "reads and writes: what starts together"))]
    pub multi_plane: MultiPlane,
    /// Pages of a write-back cache in controller DRAM, for example 4096; 0: none. A write completes
    /// when its page has a place in the cache. Not with `write_completes = "hashed"` or
    /// `"buffered"`.
    #[schemars(extend("x-moves" = "reads and writes: what the DRAM of the controller takes"))]
    pub write_cache_pages: u32,
    /// Pages of a cache in controller DRAM for data that were read, for example 4096; 0: none. The
    /// least recently read page leaves. Pages that the tables know to hold the same data take one
    /// place: a content of a content-addressed drive, and duplicate pages of `ds-ftl`. A page read
    /// from there takes `engine.write_cache_us` and no flash read.
    #[schemars(extend("x-moves" = "reads: whether controller DRAM serves those of pages that were read before"))]
    pub read_cache_pages: u32,
    /// Time of DRAM and link for a page that RAM takes, in microseconds: a delay in both caches,
    /// and the least time of a write with `write_completes = "buffered"` or `"hashed"`. For example
    /// 8; four data-centre drives take 8 to 10 for a buffered write at light load, as a median
    /// (SSD-iq, PVLDB 18(11), 2025). 0 only where `engine.controller_us` has it, because no write
    /// is free.
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0 or engine.read_cache_pages != 0 or engine.write_completes = buffered|hashed", "x-moves" = "reads and writes: how long the DRAM of the controller takes"))]
    pub write_cache_us: f64,
    /// Mean of a random time beside `engine.write_cache_us`, in microseconds, with
    /// `write_completes = "buffered"` or `"hashed"`; 0: none. For example 0.8: data-centre drives
    /// answer one buffered write of a thousand about 5 us after the median (SSD-iq).
    /// Exponentially distributed, at most ten means.
    #[schemars(extend("x-when" = "engine.write_completes = buffered|hashed", "x-moves" = "writes: how much the time of the controller's DRAM varies"))]
    pub write_cache_spread_us: f64,
    /// Share of the cache that may be dirty before the least recently written pages go to the
    /// flash; above 0, up to 1. For example 0.9.
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0", "x-moves" = "reads and writes: what the DRAM of the controller takes"))]
    pub write_cache_dirty: f64,
    /// Whether the RAM of the write cache, or of buffered and hashed writes, survives a power cut,
    /// by capacitors (PLP). If not, a flush waits for the programs of its pages, and a write with
    /// FUA for its own. For example `true` for most data-centre drives.
    #[schemars(extend("x-when" = "engine.write_cache_pages != 0 or engine.write_completes = buffered|hashed", "x-moves" = "reads and writes: whether a flush writes the DRAM of the controller out"))]
    pub write_cache_protected: bool,
    /// Operations that a read may suspend: `none`, `erase` or `program-erase` (Wu and He, FAST
    /// '12).
    #[schemars(extend("x-moves" = "reads and writes: whether programs and erases make way for reads"))]
    pub suspend: Suspend,
    /// Time to suspend a program or erase, in microseconds. For example 5.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_us: f64,
    /// Mean time until a program or erase reaches a point at which it can be suspended (the rest of
    /// an array pulse), in microseconds, before `engine.suspend_us`. For example 100. Exponentially
    /// distributed, at most five means. An operation that ends sooner is not suspended. 0: at any
    /// moment.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_slice_us: f64,
    /// Time to resume, in microseconds, in which a read may suspend it again. For example 2.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub resume_us: f64,
    /// Most suspensions of one operation. 0: no limit. For example 1.
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_times: u32,
    /// Most reads served during one suspension. For example 4.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-when" = "engine.suspend != none", "x-moves" = "reads and writes: what an interruption costs each of them"))]
    pub suspend_reads: u32,
    /// Idle time of a unit before a background job's operation begins on it, in microseconds
    /// (Golding et al., USENIX 1995: a fixed timer). 0: at once. For example 100.
    #[schemars(extend("x-when" = "background-jobs or collects-in-idle-time", "x-moves" = "reads and writes: when work in idle time meets them"))]
    pub idle_us: f64,
    /// Controller time per request, in microseconds. For example 1.5.
    #[schemars(extend("x-moves" = "reads and writes: a time added to each"))]
    pub controller_us: f64,
    /// Most requests in the controller; 0: no limit. A submitted request waits in its queue for a
    /// slot and frees it with its answer. For example 512 for a drive whose reads wait behind
    /// stalled writes.
    #[schemars(extend("x-moves" = "reads and writes: how many of them the controller works on"))]
    pub slots: u32,
    /// Order in which submitted requests get a free slot: `fifo` or `round-robin`.
    #[schemars(extend("x-when" = "engine.slots != 0", "x-moves" = "reads and writes: which of them the controller works on"))]
    pub arbitration: Arbitration,
    /// Requests that a submission queue may send in its turn (NVMe base specification 2.0, 3.4.4:
    /// arbitration burst). For example 8.
    #[schemars(range(min = 1))]
    #[schemars(extend("x-when" = "engine.slots != 0 and engine.arbitration = round-robin", "x-moves" = "reads and writes: how long they wait for the turn of their queue"))]
    pub arbitration_burst: u32,
    /// The host link's bandwidth in MB/s (10^6 bytes), for each direction; 0: transfers take no
    /// time. Write data arrive before the controller takes the write; read data leave before the
    /// answer. For example 7000: PCIe 4.0 x4. Parts of pages count as whole pages.
    #[schemars(extend("x-moves" = "reads and writes: how long their data take between host and drive"))]
    pub link_mb_s: f64,
    /// Hashing time per page, in microseconds (RR-SSD paper, Table II: 12; CA-SSD paper 5.1: 32).
    /// Only content-addressed systems hash. For example 1: a hash unit in hardware.
    #[schemars(extend("x-when" = "deduplicates", "x-moves" = "writes: how long each page is hashed, and waits for it"))]
    pub hash_us: f64,
    /// Pages hashed in parallel. 0: a pipelined unit in which no page waits for another. For
    /// example 4.
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
            write_buffer_pages: 4096,
            flush: Flush::Writes,
            reads_before_write: 0,
            reads_before_urgent: false,
            collection_in_turn: false,
            collection_batch_us: 0.0,
            hold_every_us: 0.0,
            hold_us: 0.0,
            hold_full_writes_per_s: 0,
            hold_pass_share: 1.0,
            urgent_writes_per_s: 0,
            urgent_hold_every_us: 1000.0,
            urgent_hold_us: 0.0,
            merge_reads: MergeReads::None,
            buffer_reads: true,
            multi_plane: MultiPlane::None,
            write_cache_pages: 0,
            read_cache_pages: 0,
            write_cache_us: 9.0,
            write_cache_spread_us: 0.0,
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

    pub(crate) fn write_cache_ns(&self) -> u64 {
        (self.write_cache_us * 1000.0).round() as u64
    }

    /// Mean of the random time beside `write_cache_ns`.
    pub fn write_cache_spread_ns(&self) -> u64 {
        (self.write_cache_spread_us * 1000.0).round() as u64
    }

    /// Whether a write may be answered while RAM has its page: by a write cache, or by the rule of completion.
    pub fn answers_from_ram(&self) -> bool {
        self.write_cache_pages > 0 || self.write_completes.is_in_ram()
    }

    /// Idle time that background jobs wait for.
    pub fn idle_ns(&self) -> u64 {
        (self.idle_us * 1000.0).round() as u64
    }

    pub(crate) fn collection_batch_ns(&self) -> u64 {
        (self.collection_batch_us * 1000.0).round() as u64
    }

    /// Controller time per request.
    pub fn controller_ns(&self) -> u64 {
        (self.controller_us * 1000.0).round() as u64
    }
}

/// Preloading: the drive's state before the trace begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preload {
    /// Writes pages whose first access is a read (or a partial write), with that content.
    #[default]
    FirstReads,
    /// Writes every page of the footprint, then overwrites pages at random until garbage collection
    /// reaches its steady state.
    Footprint,
    /// The drive is empty.
    None,
}

/// Preloaded contents of pages whose old content is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreloadContents {
    /// A different content in each page: deduplication begins without duplicates there.
    #[default]
    Own,
    /// A random page operation's content from the trace: duplicates are as common as there.
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

/// Drive that answers the host during a replication pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mirror {
    /// None: a pass takes no time.
    #[default]
    None,
    /// A page-mapped drive on the same device, which ignores contents and gets the same requests.
    Conventional,
}

/// How the trace is replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayConfig {
    /// Speed-up of the trace's clock. For example 2: requests arrive twice as fast.
    #[schemars(extend("x-moves" = "reads and writes: how fast requests arrive"))]
    pub speed: f64,
    /// Requests kept under way (closed loop); 0: requests arrive at the trace's times (open loop).
    /// For example 32.
    #[schemars(extend("x-moves" = "reads and writes: how many requests are under way"))]
    pub queue_depth: u32,
    /// With the trace's times: most requests of each submission queue (the trace's column `queue`)
    /// under way; 0: no limit. A request that finds its queue full is submitted when one of the
    /// queue is answered, and its response time begins then (as with fio's `iodepth` and a rate).
    /// Not with `queue_depth`. For example 64.
    #[schemars(extend("x-when" = "replay.queue_depth = 0", "x-moves" = "reads and writes: how many requests are under way"))]
    pub queue_limit: u32,
    /// Length of a profiling period, in seconds of the trace's own clock. For example 3600: an hour.
    /// The RR-SSD paper has a day.
    #[schemars(extend("x-moves" = "reads and writes: how often copies are made"))]
    pub period_s: f64,
    /// Drive that answers requests which arrive during a replication pass: `none`, because a pass
    /// takes no time, or `conventional` (RR-SSD paper III.B: the Mirror SSD). Not with
    /// `queue_depth` or `queue_limit`.
    #[schemars(extend("x-when" = "copies-at-period-ends", "x-moves" = "reads and writes: which drive answers those that arrive during a pass"))]
    pub mirror: Mirror,
    /// Seconds of the trace's own clock after which figures count: requests that arrive from then
    /// on, and operations ordered from then on. The drive goes on as it is. For example 600: ten
    /// minutes.
    #[schemars(extend("x-moves" = "reads and writes: which of them count"))]
    pub warm_up_s: f64,
    /// Preloading: the drive's state before the trace begins. It takes no simulated time and is not
    /// counted. A known hole that is read before it is written stays empty.
    #[schemars(extend("x-moves" = "reads and writes: what the drive holds before the trace"))]
    pub preload: Preload,
    /// For `preload = "footprint"`: contents of pages that the trace writes before it reads them:
    /// `own` or `trace`.
    #[schemars(extend("x-when" = "replay.preload = footprint and looks-at-contents", "x-moves" = "writes: what of the drive's contents before the trace is duplicate"))]
    pub preload_contents: PreloadContents,
    /// For `preload = "footprint"`: the drive's write history, as steps over the pages of the
    /// footprint: `in-order`, `shuffled`, `uniform(TIMES)`, `zipf(EXPONENT,TIMES)` and
    /// `hot-cold(PAGES,WRITES,TIMES)`. For example `"in-order zipf(0.8,4)"` fills the drive in
    /// order of addresses, then writes four times as many pages by popularity. Empty: random
    /// overwrites until garbage collection reaches its steady state.
    #[schemars(with = "String")]
    #[schemars(extend("x-when" = "replay.preload = footprint", "x-moves" = "reads and writes: what the drive holds before the trace"))]
    pub history: History,
    /// Whether a partial write reads the old page first: `read-modify-write` or `ignore`.
    #[schemars(extend("x-moves" = "writes: whether part of a page costs a read"))]
    pub partial_write: PartialWrite,
    /// Source of contents. `recorded`: from the trace. `unique`: every page write brings a new one.
    /// `zipf(EXPONENT,VALUES)` or `zipf(EXPONENT,VALUES,SEED)`, for example `zipf(0.8,100000)`:
    /// every page write draws one of VALUES values by popularity, value i with a probability
    /// proportional to i^-EXPONENT (CA-SSD paper 5.3); the default seed is the run's.
    /// `same-as-address`: each page always holds the same content, and no other page does.
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
            mirror: Mirror::None,
            warm_up_s: 0.0,
            preload: Preload::FirstReads,
            preload_contents: PreloadContents::Own,
            history: History::default(),
            partial_write: PartialWrite::ReadModifyWrite,
            content: ContentSource::Recorded,
        }
    }
}
