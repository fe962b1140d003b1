//! What a drive is, and whether it is whole.

use std::path::Path;
use std::sync::Arc;

use flashtwin_ftl::{BlockUse, Lpn};

use super::core::Core;
use super::recovery::{self, Recovered};
use super::{Drive, DriveOptions};
use crate::store::checkpoint::Header;
use crate::store::layout::SPARE_BYTES;
use crate::store::spare::SpareBytes;
use crate::store::superblock::Superblock;
use crate::store::{DriveError, FileMedium, Medium, System, VERSION};

/// Most problems that are listed.
const MOST_LISTED: usize = 100;

/// What a drive is, without opening it.
#[derive(Debug, Clone)]
pub struct DriveInfo {
    /// Version of the format.
    pub version: u32,
    /// The number that it was given when it was made.
    pub uuid: [u8; 16],
    /// The system.
    pub system: System,
    /// Bytes that hosts see.
    pub size_bytes: u64,
    /// Bytes of the medium.
    pub medium_bytes: u64,
    /// Bytes that are read at most to open it: a checkpoint and both halves of the log.
    pub most_recovery_bytes: u64,
    /// Checkpoints so far.
    pub epoch: u64,
    /// Pages programmed before the last checkpoint.
    pub pages_programmed: u64,
}

/// What a check found.
#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    /// Logical pages that hold something.
    pub mapped_pages: u64,
    /// Flash pages read and compared with their digests.
    pub pages_read: u64,
    /// Pages whose spare bytes were compared with the tables.
    pub spares_compared: u64,
    /// Batches of the log behind the checkpoint.
    pub log_batches: u64,
    /// What is wrong, the first 100.
    pub problems: Vec<String>,
    /// What exists twice and is whole once only.
    pub notes: Vec<String>,
}

impl CheckReport {
    fn add(&mut self, problem: String) {
        if self.problems.len() < MOST_LISTED {
            self.problems.push(problem);
        }
    }
}

fn in_file(path: &Path) -> Result<FileMedium, DriveError> {
    let place = path.display().to_string();
    FileMedium::open(path, false).map_err(DriveError::medium(&place))
}

impl Drive {
    /// What a drive is.
    ///
    /// # Errors
    /// [`DriveError`]: what is wrong with the file.
    pub fn info(path: &Path) -> Result<DriveInfo, DriveError> {
        Self::info_on(&in_file(path)?)
    }

    /// The same on any medium.
    ///
    /// # Errors
    /// As [`Drive::info`].
    pub fn info_on(medium: &dyn Medium) -> Result<DriveInfo, DriveError> {
        let (Superblock { uuid, system, layout }, _) = Superblock::read(medium)?;
        let mut newest: Option<Header> = None;
        for place in 0..2 {
            let header = Header::read(medium, &uuid, &layout, place)?;
            newest = newest.max_by_epoch(header);
        }
        Ok(DriveInfo {
            version: VERSION,
            uuid,
            size_bytes: u64::from(layout.logical_pages) * u64::from(layout.geometry.page_bytes),
            medium_bytes: layout.size_bytes,
            most_recovery_bytes: layout.checkpoint_bytes + 2 * layout.log_bytes,
            epoch: newest.map_or(0, |header| header.end.epoch),
            pages_programmed: newest.map_or(0, |header| header.end.programs),
            system,
        })
    }

    /// Compares a drive's tables with one another and with the spare bytes of its pages; with `all_pages`, every page
    /// with its digest. Writes nothing.
    ///
    /// # Errors
    /// [`DriveError`] for a drive that cannot be opened at all.
    pub fn check(path: &Path, all_pages: bool) -> Result<CheckReport, DriveError> {
        Self::check_on(Arc::new(in_file(path)?), all_pages)
    }

    /// The same on any medium.
    ///
    /// # Errors
    /// As [`Drive::check`].
    pub fn check_on(medium: Arc<dyn Medium>, all_pages: bool) -> Result<CheckReport, DriveError> {
        let (superblock, damaged) = Superblock::read(&*medium)?;
        let options = DriveOptions { read_only: true, ..DriveOptions::default() };
        let Recovered { core, doubt, notes, batches, .. } =
            recovery::recover(medium, superblock, &options, damaged.into_iter().collect())?;
        let mut report = CheckReport { notes, log_batches: batches, ..CheckReport::default() };
        doubt.into_iter().for_each(|problem| report.add(problem));
        let pages = Lpn::each(0..core.layout.logical_pages);
        report.mapped_pages = pages.filter(|&lpn| core.ftl.home_of(lpn).is_some()).count() as u64;
        compare_spares(&core, &mut report)?;
        if all_pages {
            read_all(&core, &mut report)?;
        }
        Ok(report)
    }
}

trait Newest {
    fn max_by_epoch(self, other: Self) -> Self;
}

impl Newest for Option<Header> {
    fn max_by_epoch(self, other: Self) -> Self {
        match (self, other) {
            (Some(a), Some(b)) => Some(if a.end.epoch >= b.end.epoch { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}

/// The spare bytes of full blocks say what the tables say.
fn compare_spares(core: &Core, report: &mut CheckReport) -> Result<(), DriveError> {
    let geometry = &core.layout.geometry;
    let mut bytes = vec![0; geometry.pages_per_block as usize * SPARE_BYTES as usize];
    for image in core.ftl.block_images() {
        if !matches!(image.used, BlockUse::Closed | BlockUse::Collected { .. }) {
            continue;
        }
        let read = core.medium.read_at(&mut bytes, core.layout.spare(image.block));
        read.map_err(DriveError::medium("spare bytes"))?;
        for (page, bytes) in bytes.chunks(SPARE_BYTES as usize).enumerate() {
            let ppn = geometry.page_of_block(image.block, page as u32);
            if !core.ftl.is_valid(ppn) {
                continue;
            }
            report.spares_compared += 1;
            let expected = core.spares[core.layout.page_number(ppn)];
            let place = || geometry.describe(ppn);
            match SpareBytes::parse(&core.log.uuid, bytes) {
                None => report.add(format!("{}: its spare bytes are damaged", place())),
                // The first logical page may have left one that others share.
                Some(read) if read.page != ppn.number() || { read.spare.check } != { expected.check } => {
                    report.add(format!("{}: its spare bytes tell of another page", place()));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Every page that is pointed to, and every copy, holds what it should.
fn read_all(core: &Core, report: &mut CheckReport) -> Result<(), DriveError> {
    let geometry = &core.layout.geometry;
    let mut page = vec![0; geometry.page_bytes as usize];
    for image in core.ftl.block_images() {
        for at in 0..image.written {
            let ppn = geometry.page_of_block(image.block, at);
            if !core.ftl.is_valid(ppn) {
                continue;
            }
            report.pages_read += 1;
            match core.read_flash(ppn, &mut page) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    report.add(error.to_string())
                }
                Err(cause) => return Err(DriveError::Medium { place: geometry.describe(ppn), cause }),
            }
        }
    }
    Ok(())
}
