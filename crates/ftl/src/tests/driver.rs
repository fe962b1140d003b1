//! Shared by the controller's tests: tiny devices, random options, an untimed driver.

use crate::controller::Controller;
use flashtwin_bits::{Loader, Saver, State};
use flashtwin_nand::{Chip, Geometry, Plane, Ppn};

use super::reach::Map;
use crate::content::ContentMap;
use crate::content::replication::degree::DegreePolicy;
use crate::content::replication::placement::{Equals, PlacementPolicy, ScorePopularity, ScoreTies};
use crate::dedup::{EvictionPolicy, OutOfLinePolicy, TableKind};
use crate::flash::allocation::{AllocationPolicy, Order};
use crate::flash::partition::{Isolation, PartitionPolicy};
use crate::flash::victim::VictimPolicy;
use crate::page::spread::{PlacePolicy, SpreadConfig, SpreadPolicy};
use crate::redirection::{RedirectionPolicy, TieRule};
use crate::{
    CacheBytes, Content, Entries, FlashOp, Ftl, FtlConfig, FtlResult, Host, LoadView, Lookup, Lpn, Mapping,
    MappingCacheConfig, NO_JOB, ReplicationPolicy, Rng, WearPolicy, WriteOutcome,
};

/// Channels, chips a channel, dies a chip, planes a die, blocks a plane, pages a block.
pub(crate) type Levels = [u32; 6];

pub(crate) fn geometry(levels: Levels) -> Geometry {
    let [channels, chips, dies, planes, blocks, pages] = levels;
    // Few entries a page of the tables.
    Geometry::new([channels, chips, dies, planes, blocks, pages, 64]).unwrap()
}

pub(crate) fn reload<T: State>(saved: &T, into: &mut T) {
    let mut bytes = Vec::new();
    let mut to = Saver::new(&mut bytes);
    saved.save(&mut to).unwrap();
    to.finish().unwrap();
    let mut bytes = bytes.as_slice();
    let mut from = Loader::new(&mut bytes);
    into.load(&mut from).unwrap();
    from.finish().unwrap();
}

/// Eight channels of two chips of two dies of two planes.
pub(crate) fn ds_ftl() -> Geometry {
    flashtwin_nand::NandDevice::from_toml(flashtwin_nand::device_toml("ds-ftl").unwrap()).unwrap().geometry
}

#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) levels: Levels,
    pub(super) config: FtlConfig,
    pub(super) footprint: u32,
    pub(super) contents: u32,
    pub(super) steps: u32,
    pub(super) trim_percent: u32,
    pub(super) read_percent: u32,
    pub(super) partial_percent: u32,
    pub(super) hot_percent: u32,
    pub(super) audit_every: u32,
    pub(super) checkpoint_every: u32,
    pub(super) period_every: u32,
    pub(super) units_per_chip: u32,
}

/// A value of a list: extremes, usual values and thresholds. What is listed twice is drawn twice as often.
fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len() as u32) as usize]
}

impl Options {
    /// The options of a seed. Sizes are tiny, so that full devices and collection are common.
    pub(super) fn draw(seed: u64) -> Self {
        let mut rng = Rng::stream(seed, "options");
        let mut levels = [
            1 + rng.below(3),
            1 + rng.below(3),
            1 + rng.below(2),
            1 + rng.below(2),
            5 + rng.below(12),
            1 + rng.below(9),
        ];
        let mut config = config(&mut rng);
        partition(&mut config, &mut Rng::stream(seed, "partition"));
        wear(&mut config, &mut Rng::stream(seed, "wear"));
        placing(&mut config, &mut Rng::stream(seed, "placing"));
        copies(&mut config, levels[0] * levels[1], &mut Rng::stream(seed, "copies"));
        // Every number of partitions leaves the same space of a plane.
        levels[4] += config.streams() - FtlConfig::default().streams();
        let checkpoint_every = tables(&mut Rng::stream(seed, "tables"), &mut config, &mut levels);
        let holds = |levels| Ftl::capacity_pages(&config, &geometry(levels)) as u32;
        // One plane of one-page blocks may keep all of them to itself.
        while holds(levels) == 0 {
            levels[4] += 1;
        }
        let fullest = holds(levels);
        let footprint = pick(&mut rng, &[fullest, fullest * 9 / 10, fullest / 2, fullest / 5, 1]).max(1);
        let contents = pick(&mut rng, &[footprint * 4, footprint, footprint / 3 + 1, 3]);
        Self {
            seed,
            levels,
            config,
            footprint,
            contents,
            steps: 400 + 4 * footprint.min(400),
            trim_percent: pick(&mut rng, &[0, 0, 5, 25]),
            read_percent: pick(&mut rng, &[0, 20, 50, 90]),
            partial_percent: pick(&mut rng, &[0, 10, 50]),
            hot_percent: pick(&mut rng, &[10, 50, 90]),
            checkpoint_every,
            audit_every: pick(&mut rng, &[1, 17, 101]),
            period_every: pick(&mut rng, &[20, 100, 1000]),
            units_per_chip: pick(&mut rng, &[1, levels[2], levels[2] * levels[3]]),
        }
    }
}

/// Collects the block that was closed first, as late as possible.
pub(super) fn late_fifo(mut config: FtlConfig) -> FtlConfig {
    config.gc.victim = VictimPolicy::Fifo;
    (config.gc.start, config.gc.stop) = (0.0, 0.0);
    config
}

impl Options {
    /// A system on a device, nothing of them drawn.
    pub(super) fn of(levels: Levels, config: FtlConfig, footprint: u32, contents: u32) -> Self {
        Self { levels, config, footprint, contents, units_per_chip: 1, ..Self::draw(0) }
    }

    /// A partition for each page, at random; a tenth of the pages is left to the coldest.
    fn partitions(&self) -> Vec<u8> {
        let mut rng = Rng::stream(self.seed, "partitions");
        let known = self.footprint - self.footprint / 10;
        (0..known).map(|_| rng.below(self.config.partition.partitions) as u8).collect()
    }

    /// A system of contents with the tables and the deduplication that everything else goes with.
    pub(super) fn plain_dedup(&mut self) {
        self.config.mapping = Mapping::Content;
        self.config.mapping_cache = MappingCacheConfig::default();
        self.config.spread = SpreadConfig::default();
        let fingerprint_entries = self.config.dedup.fingerprint_entries;
        self.config.dedup = crate::DedupConfig { fingerprint_entries, ..crate::DedupConfig::default() };
    }

    /// `score` in place of a placement that the reference models of copies lack, such as `random`.
    pub(super) fn modelled_placement(&mut self) {
        use PlacementPolicy::{EvenScore, Score, Static};
        let placement = &mut self.config.replication.placement;
        if ![Score, EvenScore, Static].contains(placement) {
            *placement = Score;
        }
    }
}

fn config(rng: &mut Rng) -> FtlConfig {
    let mut config = FtlConfig::default();
    if rng.below(3) > 0 {
        config.mapping = Mapping::Content;
        let [one, few] = [1, 20].map(Entries::Limited);
        config.dedup.fingerprint_entries = pick(rng, &[Entries::Unlimited, Entries::Unlimited, one, few]);
        config.replication.policy = pick(rng, &ReplicationPolicy::ALL);
    }
    if config.mapping == Mapping::Page && rng.below(4) > 0 {
        config.spread = spread(rng);
    }
    config.background.jobs = pick(rng, &[1, 5, 4096]);
    dedup(rng, &mut config);
    let replication = &mut config.replication;
    replication.alpha = pick(rng, &[0.0, 0.1, 1.0, 30.0]);
    replication.degree = pick(rng, &DegreePolicy::ALL);
    replication.placement = pick(rng, &PlacementPolicy::ALL);
    replication.few_copies = 1 + rng.below(3);
    replication.adjust_every = pick(rng, &[1, 2, 7]);
    replication.class_pages = pick(rng, &[1, 4, 4096]);
    config.allocation.policy = pick(rng, &AllocationPolicy::ALL);
    config.allocation.order =
        Order::try_from(pick(rng, &["CWDP", "PDWC", "DPCW", "WCPD"]).to_owned()).unwrap();
    let choices = RedirectionPolicy::ALL.map(|policy| TieRule::ALL.map(|ties| (policy, ties)));
    (config.redirection.policy, config.redirection.ties) = pick(rng, &choices.concat());
    config.gc.victim = pick(rng, &VictimPolicy::ALL);
    config.gc.choices = 1 + rng.below(4);
    config.gc.start = pick(rng, &[0.0, 0.05, 0.5, 0.95]);
    config.gc.stop = pick(rng, &[0.0, 0.3]);
    config.gc.urgent = pick(rng, &[1, 2, 40]);
    config.gc.step_pages = pick(rng, &[0, 1, 3, 8, 1000]);
    config
}

fn partition(config: &mut FtlConfig, rng: &mut Rng) {
    let partition = &mut config.partition;
    partition.policy = pick(rng, &PartitionPolicy::ALL);
    partition.partitions = match partition.policy {
        told if told.is_told() => pick(rng, &[1, 2, 3, 5]),
        _ => 2,
    };
    partition.window = pick(rng, &[0.01, 0.25, 3.0]);
    partition.filter_bits = pick(rng, &[1, 8, 64]);
    // No further draw, so that the others stay as they are.
    partition.isolation = if partition.filter_bits == 8 { Isolation::Initial } else { Isolation::Persistent };
    partition.ranges = (1..partition.partitions).map(|at| format!("{at}G")).collect::<Vec<_>>().join(", ");
    partition.sizes.clone_from(&partition.ranges);
}

fn wear(config: &mut FtlConfig, rng: &mut Rng) {
    let wear = &mut config.wear;
    wear.policy = pick(rng, &WearPolicy::ALL);
    (wear.threshold, wear.every) = (pick(rng, &[1, 2, 16]), pick(rng, &[1, 1, 7]));
}

fn placing(config: &mut FtlConfig, rng: &mut Rng) {
    config.allocation.hipa_threshold = pick(rng, &[1.0, 1.5, 1000.0]);
    config.allocation.hipa_weight = pick(rng, &[0.001, 0.25, 1.0]);
    config.allocation.hipa_sample_us = pick(rng, &[0.001, 30.0, 100.0, 1e9]);
    config.spread.own_copy_counts = rng.below(3) > 0;
    config.spread.place = pick(rng, &PlacePolicy::ALL);
}

fn copies(config: &mut FtlConfig, chips: u32, rng: &mut Rng) {
    let replication = &mut config.replication;
    replication.score_popularity = pick(rng, &ScorePopularity::ALL);
    replication.score_ties = pick(rng, &ScoreTies::ALL);
    replication.equals = pick(rng, &Equals::ALL);
    replication.copies_per_read = pick(rng, &[1.0, 1.0, 1.0, 0.1, 0.25, 2.5]);
    replication.most_copies = pick(rng, &[256, 256, 256, 256, 2, 3, 1]);
    replication.least_popularity = pick(rng, &[1, 1, 1, 2, 3]).min(chips.max(2) - 1);
}

/// Puts the tables of some systems on flash. Returns the steps between checkpoints; 0: there are none.
fn tables(rng: &mut Rng, config: &mut FtlConfig, levels: &mut Levels) -> u32 {
    if config.dedup.tables == TableKind::Inverted || rng.below(2) == 0 {
        return 0;
    }
    let checkpoint_every = pick(rng, &[0, 0, 3, 50]);
    config.mapping_cache.checkpoint_s = if checkpoint_every > 0 { 1.0 } else { 0.0 };
    // A page (of 64 bytes), two, five and a part, many.
    let sizes = [64, 64, 2 * 64, 5 * 64 + 63, 20 * 64].map(CacheBytes::Limited);
    config.mapping_cache.bytes = match rng.below(6) as usize {
        unlimited if unlimited == sizes.len() => CacheBytes::Unlimited,
        size => sizes[size],
    };
    let is_on = checkpoint_every > 0 || config.mapping_cache.bytes != CacheBytes::Unlimited;
    // Two fingerprints fill a page: with room for all contents the store would take more than the device.
    let store_is_small = config.dedup.fingerprint_entries != Entries::Unlimited;
    let content = config.mapping == Mapping::Content;
    config.mapping_cache.fingerprints = is_on && store_is_small && content && rng.below(2) == 0;
    while levels[4] < config.reserved_blocks(&geometry(*levels)) + 2 {
        levels[4] += 1;
    }
    checkpoint_every
}

pub(super) fn spread(rng: &mut Rng) -> SpreadConfig {
    SpreadConfig {
        policy: SpreadPolicy::Duplicates,
        bloom_bits_per_page: pick(rng, &[1, 3, 10]),
        bloom_hashes: pick(rng, &[1, 2, 7]),
        bloom_rebuild: pick(rng, &[0.1, 0.5, 1.0]),
        verify: rng.below(4) > 0,
        candidates: pick(rng, &[1, 2, 16]),
        ..SpreadConfig::default()
    }
}

fn dedup(rng: &mut Rng, config: &mut FtlConfig) {
    let dedup = &mut config.dedup;
    dedup.sampling_pages = pick(rng, &[1, 1, 3, 8]);
    let free = config.replication.policy == ReplicationPolicy::None;
    if free && rng.below(3) == 0 {
        dedup.tables = TableKind::Inverted;
        return;
    }
    dedup.eviction = pick(rng, &EvictionPolicy::ALL);
    dedup.out_of_line = pick(rng, &[OutOfLinePolicy::None, OutOfLinePolicy::Unhashed]);
}

/// A controller without a clock, verified, and the loads that it is shown.
pub(super) struct Driver {
    pub(super) ftl: Ftl,
    pub(super) ops: Vec<FlashOp>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) chip: Vec<u32>,
    pub(super) unit: Vec<u32>,
    pub(super) now_ns: u64,
    pub(super) cache_pages: u64,
    /// Jobs of operations that are ordered and not yet done, in order, up to how many of `ops`.
    jobs: Vec<u32>,
    looked_at: usize,
    /// Of a run of writes that share a sample: how many are to come, and whether they are fingerprinted, once known.
    run: (u32, Option<bool>),
}

impl Driver {
    pub(super) fn new(options: &Options) -> Self {
        let geometry = geometry(options.levels);
        options.config.check(&geometry).unwrap();
        let mut ftl = Ftl::new(&options.config, &geometry, options.footprint, options.contents, options.seed);
        ftl.verify();
        if options.config.partition.policy.is_told() {
            ftl.assign_partitions(options.partitions());
        }
        let chips = geometry.chips() as usize;
        let units = chips * options.units_per_chip as usize;
        Self {
            ftl,
            ops: Vec::new(),
            lookups: Vec::new(),
            chip: vec![0; chips],
            unit: vec![0; units],
            now_ns: 0,
            cache_pages: match options.config.mapping_cache.bytes {
                CacheBytes::Limited(bytes) => bytes / 64,
                CacheBytes::Unlimited => u64::MAX,
            },
            jobs: Vec::new(),
            looked_at: 0,
            run: (0, None),
        }
    }

    pub(super) fn of(levels: Levels, config: FtlConfig, footprint: u32, contents: u32) -> Self {
        Self::new(&Options::of(levels, config, footprint, contents))
    }

    pub(super) fn geometry(&self) -> &Geometry {
        self.ftl.flash.geometry()
    }

    pub(super) fn page(&self, block: u32, page: u32) -> Ppn {
        self.geometry().ppn(Plane::new(0), block, page)
    }

    pub(super) fn place(&self, ppn: Ppn) -> (u32, u32) {
        let geometry = self.geometry();
        (geometry.block_in_plane(geometry.block_index(ppn)), geometry.page_in_block(ppn))
    }

    pub(super) fn chip_of(&self, ppn: Ppn) -> Chip {
        self.ftl.flash.blocks.chip_of_page(ppn)
    }

    /// The first copy of a logical page that is mapped.
    pub(super) fn home(&self, lpn: u32) -> Ppn {
        self.ftl.copies_of(Lpn::new(lpn)).unwrap().0
    }

    pub(super) fn shake_loads(&mut self, rng: &mut Rng) {
        self.now_ns += 30_000;
        self.unit.iter_mut().for_each(|load| *load = rng.below(4));
        let per_chip = self.unit.len() / self.chip.len();
        for (chip, load) in self.chip.iter_mut().enumerate() {
            *load = self.unit[chip * per_chip..(chip + 1) * per_chip].iter().sum();
        }
    }

    /// Some operations of background jobs are done, in any order; without `rng` all of them.
    pub(super) fn idle(&mut self, mut rng: Option<&mut Rng>) -> FtlResult {
        loop {
            let ordered = self.ops[self.looked_at..].iter().map(|op| op.job);
            self.jobs.extend(ordered.filter(|&job| job != NO_JOB));
            self.looked_at = self.ops.len();
            let next = rng.as_mut().map_or(0, |rng| rng.below(self.jobs.len() as u32 + 1));
            if self.jobs.is_empty() || next as usize == self.jobs.len() {
                return Ok(());
            }
            let job = self.jobs.swap_remove(next as usize);
            self.job_done(job)?;
        }
    }

    pub(super) fn job_done(&mut self, job: u32) -> FtlResult {
        let loads = LoadView::new(&self.chip, &self.unit).at(self.now_ns);
        self.ftl.job_done(job, &loads, &mut self.ops)
    }

    pub(super) fn contents(&self) -> &ContentMap {
        match self.ftl.map() {
            Map::Content(map) => map,
            _ => unreachable!("the options say content"),
        }
    }

    /// The next writes share a sample, which is the first of them.
    pub(super) fn begin_run(&mut self, writes: u32) {
        self.run = (writes, None);
    }

    pub(super) fn fingerprints(&self) -> bool {
        !matches!(self.ftl.map(), Map::Page(_)) && (self.run.0 == 0 || self.run.1.unwrap_or(true))
    }

    pub(super) fn write(&mut self, lpn: u32, content: u32, partial: bool) -> FtlResult<WriteOutcome> {
        let address = u64::from(lpn) * 3 / 2;
        let (lpn, content) = (Lpn::new(lpn), Content::new(content));
        let loads = LoadView::new(&self.chip, &self.unit).at(self.now_ns);
        let page = Host { lpn, address, content };
        let fingerprinted = self.fingerprints();
        self.ftl.prepare_write(lpn, partial, &loads)?;
        self.ftl.take_lookups(&mut self.lookups);
        if fingerprinted {
            self.ftl.look_up_fingerprint(content)?;
            self.ftl.take_lookups(&mut self.lookups);
        }
        self.ftl.direct((lpn.number() % 6) as u8);
        let outcome = self.ftl.write(page, fingerprinted, &loads, &mut self.ops)?;
        self.ftl.take_lookups(&mut self.lookups);
        if self.run.0 > 0 {
            self.run.0 -= 1;
            self.run.1.get_or_insert(outcome.program.is_none());
        }
        Ok(outcome)
    }

    pub(super) fn rewrite(&mut self, lpn: u32) -> FtlResult<Option<Ppn>> {
        let loads = LoadView::new(&self.chip, &self.unit).at(self.now_ns);
        self.ftl.rewrite(Lpn::new(lpn), u64::from(lpn) * 3 / 2, &loads, &mut self.ops)
    }

    pub(super) fn read(&mut self, lpn: u32) -> FtlResult<crate::ReadOutcome> {
        let loads = LoadView::new(&self.chip, &self.unit).at(self.now_ns);
        let outcome = self.ftl.read(Lpn::new(lpn), &loads)?;
        self.ftl.take_lookups(&mut self.lookups);
        self.ftl.begin_jobs(&mut self.ops)?;
        Ok(outcome)
    }

    pub(super) fn trim(&mut self, lpn: u32) {
        self.ftl.trim(Lpn::new(lpn));
    }

    /// Writes pages with their contents. Returns where each was programmed.
    pub(super) fn write_all(&mut self, pages: &[(u32, u32)]) -> Vec<Option<Ppn>> {
        let written = |&(lpn, content): &(u32, u32)| self.write(lpn, content, false).unwrap().program;
        pages.iter().map(written).map(|program| program.map(|(ppn, _)| ppn)).collect()
    }

    pub(super) fn serve(&mut self, step: Step) -> FtlResult {
        match step {
            Step::Read { lpn } => self.read(lpn).map(drop),
            Step::Write { lpn, content, partial } => self.write(lpn, content, partial).map(drop),
            Step::Trim { lpn } => {
                self.trim(lpn);
                Ok(())
            }
            Step::EndPeriod => self.end_period(),
        }
    }

    /// Serves a step. What came of it, to be compared with another driver's.
    pub(super) fn outcome(&mut self, step: Step) -> String {
        match step {
            Step::Read { lpn } => format!("{:?}", self.read(lpn).unwrap()),
            Step::Write { lpn, content, partial } => {
                format!("{:?}", self.write(lpn, content, partial).unwrap())
            }
            Step::Trim { .. } | Step::EndPeriod => format!("{:?}", self.serve(step).unwrap()),
        }
    }

    pub(super) fn checkpoint(&mut self) -> FtlResult {
        self.ftl.checkpoint(&mut self.ops)
    }

    pub(super) fn end_period(&mut self) -> FtlResult {
        self.ftl.end_period(&mut self.ops)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Read { lpn: u32 },
    Write { lpn: u32, content: u32, partial: bool },
    Trim { lpn: u32 },
    EndPeriod,
}

pub(super) struct Workload {
    options: Options,
    pub(super) rng: Rng,
}

impl Workload {
    pub(super) fn new(options: &Options) -> Self {
        Self { options: options.clone(), rng: Rng::stream(options.seed, "workload") }
    }

    pub(super) fn next(&mut self) -> Step {
        let Options { footprint, contents, .. } = self.options;
        let rng = &mut self.rng;
        if rng.below(self.options.period_every) == 0 {
            return Step::EndPeriod;
        }
        let hot = footprint / 10 + 1;
        let lpn = match rng.below(100) < self.options.hot_percent {
            true => rng.below(hot.min(footprint)),
            false => rng.below(footprint),
        };
        let kind = rng.below(100);
        if kind < self.options.read_percent {
            return Step::Read { lpn };
        }
        if rng.below(100) < self.options.trim_percent {
            return Step::Trim { lpn };
        }
        // Half of the writes bring one of a few contents.
        let few = (contents / 8).max(1);
        let content = if rng.below(2) == 0 { rng.below(few) } else { rng.below(contents) };
        Step::Write { lpn, content, partial: rng.below(100) < self.options.partial_percent }
    }
}
