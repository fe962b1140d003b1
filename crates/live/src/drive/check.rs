use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use flashtwin_ftl::{BlockUse, Lpn};
use flashtwin_nand::Ppn;
use serde::Serialize;

use super::core::Core;
use super::recovery::{self, Recovered};
use super::{Drive, DriveOptions};
use crate::store::checkpoint::Header;
use crate::store::layout::SPARE_BYTES;
use crate::store::spare::SpareBytes;
use crate::store::superblock::Superblock;
use crate::store::{DriveError, FileMedium, Medium, System, VERSION};

const MOST_LISTED: usize = 100;

#[derive(Debug, Clone)]
pub struct DriveInfo {
    pub version: u32,
    pub uuid: [u8; 16],
    pub system: System,
    pub size_bytes: u64,
    pub medium_bytes: u64,
    /// Bytes that are read at most to open it: a checkpoint and both copies of both halves of the log.
    pub most_recovery_bytes: u64,
    pub epoch: u64,
    pub pages_programmed: u64,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct CheckReport {
    pub mapped_pages: u64,
    pub pages_read: u64,
    pub spares_compared: u64,
    pub log_batches: u64,
    /// The first [`MOST_LISTED`].
    pub problems: Vec<String>,
    /// Damage to one of two copies; the other is whole.
    pub notes: Vec<String>,
    /// Data lost while they were moved and, if the check reads all pages, data that do not match their digest.
    pub unreadable_pages: u64,
    pub unreadable: Vec<Unreadable>,
    pub retired_blocks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    pub offset_bytes: u64,
    pub length_bytes: u64,
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
    pub fn info(path: &Path) -> Result<DriveInfo, DriveError> {
        Self::info_on(&in_file(path)?)
    }

    pub fn info_on(medium: &dyn Medium) -> Result<DriveInfo, DriveError> {
        let (Superblock { uuid, system, layout }, _) = Superblock::read(medium)?;
        let headers = [Header::read(medium, &uuid, &layout, 0)?, Header::read(medium, &uuid, &layout, 1)?];
        let newest = headers.into_iter().flatten().max_by_key(|header| header.end.epoch);
        Ok(DriveInfo {
            version: VERSION,
            uuid,
            size_bytes: u64::from(layout.logical_pages) * u64::from(layout.geometry.page_bytes),
            medium_bytes: layout.size_bytes,
            most_recovery_bytes: layout.checkpoint_bytes + 4 * layout.log_bytes,
            epoch: newest.map_or(0, |header| header.end.epoch),
            pages_programmed: newest.map_or(0, |header| header.end.programs),
            system,
        })
    }

    /// Compares tables and spare bytes; with `all_pages`, also pages with their digests. Writes nothing.
    pub fn check(path: &Path, all_pages: bool) -> Result<CheckReport, DriveError> {
        Self::check_on(Arc::new(in_file(path)?), all_pages)
    }

    pub fn check_on(medium: Arc<dyn Medium>, all_pages: bool) -> Result<CheckReport, DriveError> {
        let (superblock, damaged) = Superblock::read(&*medium)?;
        let options = DriveOptions { read_only: true, ..DriveOptions::default() };
        let Recovered { core, doubt, notes, batches, .. } =
            recovery::recover(medium, superblock, &options, damaged.into_iter().collect())?;
        let mut report = CheckReport { notes, log_batches: batches, ..CheckReport::default() };
        doubt.into_iter().for_each(|problem| report.add(problem));
        let pages = Lpn::each(0..core.layout.logical_pages);
        report.mapped_pages = pages.filter(|&lpn| core.ftl.home_of(lpn).is_some()).count() as u64;
        report.retired_blocks = core.ftl.retired_blocks();
        compare_spares(&core, &mut report);
        let pages = unreadable(&core, all_pages, &mut report);
        tell_unreadable(&core, &pages, &mut report);
        Ok(report)
    }
}

fn compare_spares(core: &Core, report: &mut CheckReport) {
    let geometry = &core.layout.geometry;
    let mut bytes = vec![0; geometry.pages_per_block as usize * SPARE_BYTES as usize];
    for image in core.ftl.block_images() {
        if !matches!(image.used, BlockUse::Closed | BlockUse::Collected { .. }) {
            continue;
        }
        let offset = core.layout.spare(image.block);
        if let Err(error) = core.medium.read_at(&mut bytes, offset) {
            report.add(format!("spare bytes (byte {offset} of the medium): {error}"));
            continue;
        }
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
}

/// Pages in use that cannot be read, each with the reason.
fn unreadable(core: &Core, all_pages: bool, report: &mut CheckReport) -> BTreeMap<Ppn, String> {
    let geometry = &core.layout.geometry;
    let mut page = vec![0; geometry.page_bytes as usize];
    let lost = core.lost_pages().filter_map(|number| core.layout.page(number));
    let mut found: BTreeMap<Ppn, String> =
        lost.filter_map(|ppn| Some((ppn, core.place(ppn).err()?.to_string()))).collect();
    if !all_pages {
        return found;
    }
    for image in core.ftl.block_images() {
        let pages = (0..image.written).map(|at| geometry.page_of_block(image.block, at));
        for ppn in pages.filter(|&ppn| core.ftl.is_valid(ppn)) {
            report.pages_read += 1;
            if let Err(error) = core.read_page(ppn, &mut page) {
                found.insert(ppn, error.to_string());
            }
        }
    }
    found
}

fn tell_unreadable(core: &Core, pages: &BTreeMap<Ppn, String>, report: &mut CheckReport) {
    if pages.is_empty() {
        return;
    }
    let page_bytes = u64::from(core.layout.geometry.page_bytes);
    let mut told = BTreeSet::new();
    for lpn in Lpn::each(0..core.layout.logical_pages) {
        let Some((home, others)) = core.ftl.places_of(lpn) else { continue };
        let Some(why) = pages.get(&home) else { continue };
        if !others.iter().all(|ppn| pages.contains_key(ppn)) {
            continue;
        }
        told.insert(home);
        told.extend(others);
        report.unreadable_pages += 1;
        let offset = u64::from(lpn.number()) * page_bytes;
        let is_full = report.unreadable.len() == MOST_LISTED;
        match report.unreadable.last_mut() {
            Some(last) if last.offset_bytes + last.length_bytes == offset => last.length_bytes += page_bytes,
            _ if is_full => {}
            _ => report.unreadable.push(Unreadable { offset_bytes: offset, length_bytes: page_bytes }),
        }
        let last = offset + page_bytes - 1;
        report.add(format!(
            "bytes {offset} to {last} of the drive cannot be read until they are written or trimmed: {why}"
        ));
    }
    // The logical pages that point to these have another page that is whole.
    let copies = pages.iter().filter(|(ppn, _)| !told.contains(ppn));
    report.notes.extend(copies.take(MOST_LISTED).map(|(_, why)| format!("{why}; another copy is whole")));
}
