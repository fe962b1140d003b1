//! Recovers a drive from one checkpoint and the log behind it, and compares the rebuilt tables with one another.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use flashtwin_ftl::{BlockUse, Ftl, Lpn, NO_CONTENT, PageImage};
use flashtwin_nand::FlashArray;

use super::contents::Contents;
use super::core::{Core, StoreCounts, check_of};
use super::options::DriveOptions;
use crate::store::checkpoint::Header;
use crate::store::image::Image;
use crate::store::layout::Layout;
use crate::store::log::{Log, LogEnd, replay};
use crate::store::record::Digest;
use crate::store::replaced::Replaced;
use crate::store::spare::{Spare, SpareBytes};
use crate::store::superblock::Superblock;
use crate::store::{DriveError, Medium};

/// Content numbers beyond those of logical pages: a request names its contents before it is written.
const SPARE_CONTENTS: u32 = 1024;

pub(crate) struct Recovered {
    pub(crate) core: Core,
    pub(crate) superblock: Superblock,
    pub(crate) doubt: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) batches: u64,
}

pub(crate) struct RecoveredState {
    pub(crate) image: Image,
    pub(crate) end: LogEnd,
    pub(crate) notes: Vec<String>,
    pub(crate) batches: u64,
}

pub(crate) fn find(medium: &dyn Medium, superblock: &Superblock) -> Result<RecoveredState, DriveError> {
    let Superblock { uuid, layout, .. } = superblock;
    let (mut headers, mut notes, mut unreadable) = (Vec::new(), Vec::new(), None);
    let mut note = |error: DriveError, notes: &mut Vec<String>| {
        notes.push(error.to_string());
        if let DriveError::Medium { .. } = error {
            unreadable = Some(error);
        }
    };
    for place in 0..2 {
        match Header::read(medium, uuid, layout, place) {
            Ok(header) => headers.extend(header),
            Err(error) => note(error, &mut notes),
        }
    }
    headers.sort_by_key(|header| std::cmp::Reverse(header.end.epoch));
    let newest = headers.first().map(|header| header.end.sequence);
    for header in headers {
        match header.body(medium, layout) {
            Ok(image) => {
                let found = go_on(medium, superblock, image, header.end, notes)?;
                return reaches(found, newest);
            }
            Err(error) => note(error, &mut notes),
        }
    }
    if let Some(error) = unreadable {
        return Err(error);
    }
    let text = format!(
        "neither of the two is whole{}{}; put back a copy of the file",
        if notes.is_empty() { "" } else { ": " },
        notes.join("; ")
    );
    Err(DriveError::image("checkpoints", text))
}

/// A newer checkpoint that is damaged says up to which batch the log was durable.
fn reaches(found: RecoveredState, newest: Option<u64>) -> Result<RecoveredState, DriveError> {
    match newest.is_some_and(|sequence| found.end.sequence < sequence) {
        false => Ok(found),
        true => {
            let text = format!(
                "{}; and the log before it is damaged; put back a copy of the file",
                found.notes.join("; ")
            );
            Err(DriveError::image("checkpoints", text))
        }
    }
}

fn go_on(
    medium: &dyn Medium,
    superblock: &Superblock,
    mut image: Image,
    first: LogEnd,
    mut notes: Vec<String>,
) -> Result<RecoveredState, DriveError> {
    let Superblock { uuid, layout, .. } = superblock;
    let mut take = |record: &_, sequence| image.apply(record, sequence);
    let mut end = replay(medium, uuid, layout, first, &mut notes, &mut take)?;
    // Should a newer checkpoint have been whole once, the log goes on behind it.
    let next = LogEnd { epoch: end.epoch + 1, position: 0, ..end };
    let behind = replay(medium, uuid, layout, next, &mut notes, &mut take)?;
    if behind.position > 0 {
        notes.push(format!(
            "the checkpoint of epoch {} is damaged; the one before and the log were read",
            next.epoch
        ));
        end = behind;
    }
    let batches = end.sequence - first.sequence;
    Ok(RecoveredState { image, end, notes, batches })
}

pub(crate) fn recover(
    medium: Arc<dyn Medium>,
    superblock: Superblock,
    options: &DriveOptions,
    mut notes: Vec<String>,
) -> Result<Recovered, DriveError> {
    let found = find(&*medium, &superblock)?;
    notes.extend(found.notes.iter().cloned());
    let batches = found.batches;
    let core = rebuild(medium, &superblock, options, found)
        .map_err(|text| DriveError::image("tables", format!("they contradict one another: {text}")))?;
    let doubt = core.ftl.audit().err().map(|error| format!("the tables contradict one another: {error}"));
    notes.extend(newest_pages(&core));
    Ok(Recovered { core, superblock, doubt, notes, batches })
}

/// If the newest pages of several open blocks are damaged, the medium has lost data that it had reported as durable.
fn newest_pages(core: &Core) -> Vec<String> {
    let geometry = &core.layout.geometry;
    let mut page = vec![0; geometry.page_bytes as usize];
    let mut notes = Vec::new();
    for plane in geometry.all_planes() {
        for (block, _) in core.ftl.open_blocks(plane) {
            let written = core.open.get(&block).map_or(0, Vec::len) as u32;
            let pages = (0..written).rev().map(|at| geometry.page_of_block(block, at));
            if let Some(ppn) = pages.into_iter().find(|&ppn| core.ftl.is_valid(ppn)) {
                let read = core.read_page(ppn, &mut page);
                notes.extend(read.err().map(|error| format!("the newest page of an open block: {error}")));
            }
        }
    }
    notes
}

fn empty_core(medium: Arc<dyn Medium>, superblock: &Superblock, options: &DriveOptions, end: LogEnd) -> Core {
    let Superblock { layout, system, uuid } = superblock;
    let geometry = &layout.geometry;
    let pages = layout.logical_pages;
    let most =
        u64::from(pages) + u64::from(SPARE_CONTENTS.max(2 * system.ftl.dedup.sampling_pages.min(1 << 20)));
    let limit = most.max(geometry.pages()).min(u64::from(u32::MAX - 1)) as u32;
    let contents = if layout.aware { limit } else { 0 };
    let ftl = Ftl::new(&system.ftl, geometry, pages, contents, system.seed);
    let page_bytes = geometry.page_bytes as usize;
    Core {
        ftl,
        flash: FlashArray::new(geometry),
        contents: layout.aware.then(|| Contents::new(pages, limit)),
        spares: vec![Spare::default(); geometry.pages() as usize],
        last_programs: vec![0; geometry.blocks() as usize],
        erases: vec![0; geometry.blocks() as usize],
        lost: BTreeSet::new(),
        replaced: Replaced::default(),
        damaged_in: HashMap::new(),
        open: HashMap::new(),
        log: Log::new(*uuid, end),
        erased: HashSet::new(),
        erasing: HashSet::new(),
        in_flight: Arc::default(),
        ops: Vec::new(),
        queue: VecDeque::new(),
        jobs: VecDeque::new(),
        loads: vec![0; geometry.chips() as usize],
        page: vec![0; page_bytes],
        other: vec![0; page_bytes],
        failed: None,
        counts: StoreCounts::default(),
        options: options.clone(),
        layout: layout.clone(),
        medium,
    }
}

fn rebuild(
    medium: Arc<dyn Medium>,
    superblock: &Superblock,
    options: &DriveOptions,
    RecoveredState { mut image, end, .. }: RecoveredState,
) -> Result<Core, String> {
    let mut core = empty_core(medium, superblock, options, end);
    let layout = superblock.layout.clone();
    let budget = core.ftl.budget_pages().unwrap_or(0);
    image.drop_surplus_copies(core.ftl.plane_limit_pages(), budget);
    let blocks = image.block_images()?;
    let fresh = std::mem::replace(&mut core.ftl, Ftl::new(&superblock.system.ftl, &layout.geometry, 0, 0, 0));
    let mut restoring = fresh.restore(&blocks).map_err(|error| error.to_string())?;
    let mut seen = vec![false; image.slots_restored() as usize];
    for (lpn, slot, held) in image.mapped() {
        let first = !std::mem::replace(&mut seen[slot as usize], true);
        let content = match &mut core.contents {
            None => NO_CONTENT,
            Some(contents) => hold(contents, lpn, &held.digest)?,
        };
        let lpn_of = Lpn::new(lpn);
        if !first {
            restoring.reference(lpn_of, held.home).map_err(|error| error.to_string())?;
            continue;
        }
        let replicas = image.copies(slot);
        let page = PageImage { lpn: lpn_of, content, home: held.home, replicas };
        restoring.page(page).map_err(|error| error.to_string())?;
        let spare = Spare { check: check_of(&held.digest), lpn };
        for &ppn in [held.home].iter().chain(replicas) {
            core.spares[layout.page_number(ppn)] = spare;
        }
    }
    core.ftl = restoring.finish().map_err(|error| error.to_string())?;
    for (number, state) in image.block_states().iter().enumerate() {
        core.last_programs[number] = state.last_program;
        core.erases[number] = state.erases;
    }
    core.lost.clone_from(image.lost());
    core.replaced = image.replaced().clone();
    program_again(&mut core, &layout, &blocks)?;
    Ok(core)
}

fn hold(contents: &mut Contents, lpn: u32, digest: &Digest) -> Result<flashtwin_ftl::Content, String> {
    let named = contents.name(digest).ok_or("more contents than pages")?;
    contents.hold(lpn, Some(named.content));
    Ok(named.content)
}

fn program_again(
    core: &mut Core,
    layout: &Layout,
    blocks: &[flashtwin_ftl::BlockImage],
) -> Result<(), String> {
    let geometry = &layout.geometry;
    for image in blocks {
        let pages = (0..image.written).map(|page| geometry.page_of_block(image.block, page));
        for ppn in pages.clone() {
            core.flash.program(geometry, ppn).map_err(|rule| rule.to_string())?;
        }
        if let BlockUse::Open(_) = image.used {
            let beside = pages.map(|ppn| SpareBytes {
                sequence: 0,
                page: ppn.number(),
                spare: core.spares[layout.page_number(ppn)],
            });
            let beside = beside.collect();
            core.open.insert(image.block, beside);
        }
    }
    Ok(())
}
