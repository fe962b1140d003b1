use std::sync::Arc;

use flashtwin_live::drive::{CreateOptions, Drive, DriveOptions, Plan};
use flashtwin_live::store::fault::FaultMedium;

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
pub(crate) const SINGLE: Shape =
    Shape { levels: [1, 1, 1, 1], blocks: 9, pages: 8, page_bytes: 512, logical: 39 };
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

pub(crate) fn open(bytes: Vec<u8>, options: &DriveOptions) -> Result<(Drive, Arc<FaultMedium>), String> {
    let medium = Arc::new(FaultMedium::of(bytes));
    let drive = Drive::open_on(medium.clone(), options).map_err(|error| error.to_string())?;
    Ok((drive, medium))
}

pub(crate) fn check(bytes: Vec<u8>) -> Result<(), String> {
    let report =
        Drive::check_on(Arc::new(FaultMedium::of(bytes)), true).map_err(|error| error.to_string())?;
    match report.problems.first() {
        None => Ok(()),
        Some(problem) => Err(format!("{} problems: {problem}", report.problems.len())),
    }
}
