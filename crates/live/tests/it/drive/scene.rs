//! Small drives, random host operations, and a plain model of the expected data.

use std::collections::BTreeSet;
use std::sync::Arc;

use flashtwin_bits::SplitMix64;
use flashtwin_live::drive::{CreateOptions, Drive, DriveOptions, Plan};
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Export, Writing};

/// Every system that can be served, with small tables where tables are small.
pub(crate) const SYSTEMS: [&str; 12] = [
    "conventional",
    "static",
    "dynamic",
    "hipa",
    "modern",
    "ca-ssd",
    "ca-ssd-inverted",
    "caftl",
    "rr-ssd",
    "rr-ssd-online",
    "pblru",
    "ds-ftl",
];

/// Small flash arrays: planes' levels, blocks of a plane, pages of a block, bytes of a page, logical pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) levels: [u32; 4],
    pub(crate) blocks: u32,
    pub(crate) pages: u32,
    pub(crate) page_bytes: u32,
    pub(crate) logical: u32,
}

/// A few planes with hardly any room beside the logical pages.
pub(crate) const TIGHT: Shape =
    Shape { levels: [2, 2, 1, 1], blocks: 7, pages: 4, page_bytes: 1024, logical: 46 };
/// One plane, one page a sector.
pub(crate) const SINGLE: Shape =
    Shape { levels: [1, 1, 1, 1], blocks: 9, pages: 8, page_bytes: 512, logical: 39 };
/// More of everything.
pub(crate) const WIDE: Shape =
    Shape { levels: [2, 2, 2, 1], blocks: 9, pages: 8, page_bytes: 4096, logical: 250 };

impl Shape {
    pub(crate) fn size_bytes(&self) -> u64 {
        u64::from(self.logical) * u64::from(self.page_bytes)
    }

    pub(crate) fn sets(&self, system: &str) -> Vec<(String, String)> {
        let [channels, chips, dies, planes] = self.levels;
        let mut sets: Vec<(String, String)> = [
            ("nand.channels", channels),
            ("nand.chips_per_channel", chips),
            ("nand.dies_per_chip", dies),
            ("nand.planes_per_die", planes),
            ("nand.blocks_per_plane", self.blocks),
            ("nand.pages_per_block", self.pages),
            ("nand.page_bytes", self.page_bytes),
            ("nand.metadata_bytes", 16),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_string()))
        .into();
        // Other choices of victims, and blocks moved on account of wear.
        let victims = [
            ("static", "d-choices"),
            ("dynamic", "fifo"),
            ("modern", "cost-benefit"),
            ("rr-ssd-online", "fifo"),
        ];
        if let Some((_, victim)) = victims.iter().find(|(name, _)| *name == system) {
            sets.push(("ftl.gc.victim".into(), (*victim).into()));
        }
        if ["conventional", "dynamic", "ca-ssd-inverted", "rr-ssd-online"].contains(&system) {
            // Blocks are left half collected.
            sets.push(("ftl.gc.step_pages".into(), "1".into()));
        }
        if system == "hipa" {
            for (key, value) in [("policy", "static"), ("threshold", "1"), ("every", "1")] {
                sets.push((format!("ftl.wear.{key}"), value.into()));
            }
            // It keeps one more block back.
            sets.push(("nand.blocks_per_plane".into(), (self.blocks + 1).to_string()));
        }
        if system == "caftl" {
            sets.push(("ftl.dedup.fingerprint_entries".into(), "6".into()));
            sets.push(("ftl.dedup.sampling_pages".into(), "4".into()));
        }
        if system == "pblru" {
            sets.push(("ftl.replication.class_pages".into(), "5".into()));
        }
        if system.starts_with("rr-ssd") {
            sets.push(("ftl.replication.alpha".into(), "0.2".into()));
            sets.push(("ftl.replication.adjust_every".into(), "2".into()));
        }
        sets
    }

    /// The image of a new drive.
    pub(crate) fn image(&self, system: &str) -> Vec<u8> {
        let sets = self.sets(system);
        let options =
            CreateOptions { sets, log_bytes: Some(64 << 10), spare_share: None, uuid: Some([7; 16]) };
        let plan = Plan::new(system, self.size_bytes(), &options).unwrap();
        let medium = FaultMedium::new(plan.medium_bytes() as usize);
        plan.write(&medium).unwrap();
        medium.bytes()
    }
}

/// The data that each page may have: those at the last answered flush, and later writes.
#[derive(Clone)]
pub(crate) struct Truth {
    pub(crate) page_bytes: usize,
    pub(crate) now: Vec<u8>,
    maybe: Vec<BTreeSet<Vec<u8>>>,
}

impl Truth {
    pub(crate) fn zeroes(shape: &Shape) -> Self {
        Self::of(vec![0; shape.size_bytes() as usize], shape.page_bytes as usize)
    }

    pub(crate) fn of(now: Vec<u8>, page_bytes: usize) -> Self {
        let maybe = now.chunks(page_bytes).map(|page| BTreeSet::from([page.to_vec()])).collect();
        Self { page_bytes, now, maybe }
    }

    fn change(&mut self, offset: usize, bytes: &[u8]) {
        self.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        for page in offset / self.page_bytes..(offset + bytes.len()).div_ceil(self.page_bytes) {
            let value = &self.now[page * self.page_bytes..][..self.page_bytes];
            self.maybe[page].insert(value.to_vec());
        }
    }

    fn flushed(&mut self) {
        *self = Self::of(std::mem::take(&mut self.now), self.page_bytes);
    }

    /// Whether a page may read so.
    pub(crate) fn allows(&self, page: usize, value: &[u8]) -> bool {
        self.maybe[page].contains(value)
    }
}

/// Random host operations.
pub(crate) struct Host {
    pub(crate) random: SplitMix64,
    /// One in this many operations is a flush.
    pub(crate) flush_every: u64,
    /// Different values of pages, as against one that is never repeated.
    pub(crate) values: u64,
    fresh: u64,
}

impl Host {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SplitMix64(seed);
        let flush_every = [3, 9, 40][random.next() as usize % 3];
        let values = [6, 40][random.next() as usize % 2];
        Self { random, flush_every, values, fresh: 0 }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next() % limit
    }

    fn page(&mut self, page_bytes: usize) -> Vec<u8> {
        let value = match self.below(4) {
            0 => {
                self.fresh += 1;
                1_000 + self.fresh
            }
            _ => self.below(self.values),
        };
        let mut random = SplitMix64(value);
        (0..page_bytes).map(|_| random.next() as u8 & 3).collect()
    }

    /// One operation on the drive and on the model. An error means that the power is gone; the
    /// operation may or may not have happened.
    pub(crate) fn step(&mut self, drive: &Drive, truth: &mut Truth) -> Result<(), String> {
        let page_bytes = truth.page_bytes;
        let pages = (truth.now.len() / page_bytes) as u64;
        let told = |error: std::io::Error| error.to_string();
        if self.below(self.flush_every) == 0 {
            drive.flush().map_err(told)?;
            truth.flushed();
            return Ok(());
        }
        // Mostly the first quarter: hot pages, and victims with little in them.
        let first = if self.below(3) > 0 { self.below(pages / 4) } else { self.below(pages) };
        let count = (1 + self.below(4)).min(pages - first);
        let (mut offset, mut length) = (first as usize * page_bytes, count as usize * page_bytes);
        if self.below(5) == 0 {
            offset += 512 * self.below(page_bytes as u64 / 512) as usize;
            length = (512 * (1 + self.below(5)) as usize).min(truth.now.len() - offset);
        }
        let durable = self.below(12) == 0;
        let how = Writing { durable, ..Writing::default() };
        match self.below(12) {
            0 => {
                let first = offset.div_ceil(page_bytes) * page_bytes;
                let last = (offset + length) / page_bytes * page_bytes;
                if first < last {
                    truth.change(first, &vec![0; last - first]);
                }
                drive.trim(offset as u64, length as u64, how, &()).map_err(told)?;
            }
            1 => {
                truth.change(offset, &vec![0; length]);
                let keep_room = self.below(2) == 0;
                let how = Writing { keep_room, ..how };
                drive.write_zeroes(offset as u64, length as u64, how, &()).map_err(told)?;
            }
            2..4 => {
                let mut bytes = vec![1; length];
                drive.read(offset as u64, &mut bytes, &()).map_err(told)?;
                if bytes != truth.now[offset..offset + length] {
                    return Err(format!("WRONG: {length} bytes at {offset} read wrong"));
                }
                return Ok(());
            }
            _ => {
                let bytes: Vec<u8> = (0..length.div_ceil(page_bytes))
                    .flat_map(|_| self.page(page_bytes))
                    .take(length)
                    .collect();
                truth.change(offset, &bytes);
                drive.write(offset as u64, &bytes, how, &()).map_err(told)?;
            }
        }
        if durable {
            truth.flushed();
        }
        if self.below(25) == 0 {
            drive.end_period().map_err(told)?;
        }
        Ok(())
    }
}

pub(crate) fn open(bytes: Vec<u8>, options: &DriveOptions) -> Result<(Drive, Arc<FaultMedium>), String> {
    let medium = Arc::new(FaultMedium::of(bytes));
    let drive = Drive::open_on(medium.clone(), options).map_err(|error| error.to_string())?;
    Ok((drive, medium))
}

/// Reads all pages; each must have allowed data, which become the model's.
pub(crate) fn read_all(drive: &Drive, truth: &Truth) -> Result<Truth, String> {
    let mut bytes = vec![1; truth.now.len()];
    drive.read(0, &mut bytes, &()).map_err(|error| format!("reading all: {error}"))?;
    for (page, value) in bytes.chunks(truth.page_bytes).enumerate() {
        if !truth.allows(page, value) {
            return Err(format!("page {page} reads as what it was not given since the last flush"));
        }
    }
    Ok(Truth::of(bytes, truth.page_bytes))
}

/// No problem is found, and the tables agree.
pub(crate) fn check(bytes: Vec<u8>) -> Result<(), String> {
    let report =
        Drive::check_on(Arc::new(FaultMedium::of(bytes)), true).map_err(|error| error.to_string())?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(format!("{} problems: {problem}", report.problems.len())),
    }
}
