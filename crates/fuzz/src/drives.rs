//! Drives: images with damaged tables, logs of writes to import, aged drives that were kept.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use flashtwin_live::drive::{CreateOptions, Drive, DriveOptions, Plan};
use flashtwin_live::record::{Key, import_log_writes};
use flashtwin_live::store::fault::FaultMedium;
use flashtwin_live::{Export, Writing};
use flashtwin_sim::{AgedDrives, Recording, Resolved, SimError, resolve, run_following, system_names};
use flashtwin_trace::{ContentSource, PageTrace};

use crate::places::scratch;
use crate::traces::short_trace;

const PAGE: usize = 4096;
const PAGES: usize = 64;

/// What page `lpn` of the image holds: each content is that of two pages.
fn content(lpn: usize) -> [u8; PAGE] {
    [1 + (lpn / 2) as u8; PAGE]
}

/// The medium of a small drive that deduplicates, after a flush and without being closed.
fn whole() -> &'static [u8] {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let sets = vec![
            set("nand.channels", "1"),
            set("nand.chips_per_channel", "2"),
            set("nand.pages_per_block", "8"),
        ];
        let options = CreateOptions {
            sets,
            log_bytes: Some(flashtwin_live::store::LEAST_LOG_BYTES),
            uuid: Some([7; 16]),
            spare_share: Some(1.0),
        };
        let plan = Plan::new("rr-ssd", (PAGES * PAGE) as u64, &options).expect("a small drive");
        let medium = Arc::new(FaultMedium::new(plan.medium_bytes() as usize));
        plan.write(&*medium).expect("a medium that works");
        let drive = Drive::open_on(medium.clone(), &DriveOptions::default()).expect("a new drive");
        for round in 0..2 {
            for lpn in (round..PAGES).step_by(1 + round) {
                drive.write((lpn * PAGE) as u64, &content(lpn), Writing::default(), &()).expect("room");
            }
            drive.flush().expect("a medium that works");
        }
        medium.bytes()
    })
}

/// Edits of the image of a drive, each a place (4 bytes) and a byte. The drive is refused, opened to be read only, or
/// opened; a page that can be read holds what was written, or data of a page of the same drive where tables were
/// rewritten under a checksum that is not looked at.
pub(crate) fn image(bytes: &[u8]) {
    let mut medium = whole().to_vec();
    for edit in bytes.chunks_exact(5).take(64) {
        let place = u32::from_le_bytes([edit[0], edit[1], edit[2], edit[3]]) as usize;
        let end = medium.len();
        medium[place % end] = edit[4];
    }
    let opened = Drive::open_on(Arc::new(FaultMedium::of(medium)), &DriveOptions::default());
    assert!(opened.is_ok() || !bytes.is_empty(), "nothing was edited");
    let Ok(drive) = opened else { return };
    let mut page = [0; PAGE];
    for lpn in 0..drive.size_bytes() as usize / PAGE {
        let read = drive.read((lpn * PAGE) as u64, &mut page, &());
        assert!(read.is_ok() || !bytes.is_empty(), "nothing was edited");
        if read.is_ok() && !cfg!(fuzzing) {
            let written = lpn < PAGES && page == content(lpn);
            assert!(written || page == [0; PAGE] && drive.read_only().is_some(), "page {lpn} reads wrongly");
        }
    }
    let _ = drive.write(0, &page, Writing { durable: true, ..Writing::default() }, &());
    let _ = drive.end_period();
    let _ = drive.close();
}

/// Some edits; that of the whole image's first and last bytes are among them.
pub(crate) fn edits() -> Vec<Vec<u8>> {
    let end = whole().len() as u32;
    let edit = |place: u32, byte: u8| [&place.to_le_bytes()[..], &[byte]].concat();
    let regions = (0..64).map(|part| [edit(end / 64 * part, 0xff), edit(end / 64 * part + 8, 1)].concat());
    regions.chain([edit(end - 1, 0), Vec::new()]).collect()
}

pub(crate) fn log_writes(bytes: &[u8]) {
    let (path, out) = (scratch("writes.log"), scratch("imported.parquet"));
    fs::write(&path, bytes).expect("a folder for temporary files");
    let imported = import_log_writes(&path, &out, &Key::new([3; 32]), &());
    assert_eq!(imported.is_ok(), out.exists(), "no output after an error");
    let _ = fs::remove_file(out);
}

/// A log with a write of two pages, a flush and a discard (drivers/md/dm-log-writes.c).
pub(crate) fn logs() -> Vec<Vec<u8>> {
    let sector = |words: &[u64]| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(512, 0);
        bytes
    };
    let head = [0x006a_7366_7773_6872_u64, 1, 3].iter().flat_map(|word| word.to_le_bytes());
    let mut superblock: Vec<u8> = head.chain(512_u32.to_le_bytes()).collect();
    superblock.resize(512, 0);
    let entries = [sector(&[8, 16, 0, 0]), vec![9; 16 * 512], sector(&[0, 0, 1, 0]), sector(&[8, 8, 4, 0])];
    vec![[superblock, entries.concat()].concat()]
}

/// A system with a folder that has its kept drive, made by a first replay.
struct Kept {
    resolved: Resolved,
    drives: AgedDrives,
    path: PathBuf,
    whole: Vec<u8>,
    summary: String,
}

impl Kept {
    fn new(system: &str) -> Self {
        let small = [
            ("nand.channels", "1"),
            ("nand.chips_per_channel", "2"),
            ("nand.blocks_per_plane", "16"),
            ("nand.pages_per_block", "8"),
            ("nand.page_bytes", "4096"),
            ("replay.preload", "footprint"),
        ];
        let sets: Vec<_> =
            small.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let resolved = resolve(system, &sets).expect("a small drive");
        let folder = scratch(&format!("aged-{system}"));
        let kept = |least| AgedDrives::new(folder.clone(), "fuzz".to_owned(), least, 1 << 30);
        let summary = replay_on(&resolved, &kept(Duration::ZERO)).expect("a replay that works");
        // Nothing is kept again, because syncing takes most of the time.
        let drives = kept(Duration::MAX);
        let path = fs::read_dir(&folder).expect("its folder").flatten().next().expect("a kept drive").path();
        let whole = fs::read(&path).expect("what was just written");
        Self { resolved, drives, path, whole, summary }
    }

    fn all() -> &'static [Mutex<Self>] {
        static ALL: OnceLock<Vec<Mutex<Kept>>> = OnceLock::new();
        ALL.get_or_init(|| system_names().into_iter().map(|system| Mutex::new(Self::new(system))).collect())
    }
}

fn replay_on(resolved: &Resolved, drives: &AgedDrives) -> Result<String, SimError> {
    static PAGES: OnceLock<PageTrace> = OnceLock::new();
    let pages = PAGES.get_or_init(|| {
        PageTrace::build(&short_trace(), 4096, ContentSource::Recorded).expect("a short trace")
    });
    let run = run_following(pages, resolved, &(), &Recording::default(), Some(drives))?;
    Ok(run.summary.to_string())
}

/// The first byte picks a system, the rest is the file of its aged drive. A file that is not that drive's is told and
/// made anew, so the results are the same. A fuzzer gets past the digest as far as the tables are read, and no replay
/// goes on from what it made up.
pub(crate) fn aged(bytes: &[u8]) {
    let Some((&picked, bytes)) = bytes.split_first() else { return };
    let kept = &Kept::all()[picked as usize % Kept::all().len()];
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    fs::write(&kept.path, bytes).expect("a folder for temporary files");
    let found = replay_on(&kept.resolved, &kept.drives);
    assert_eq!(found.expect("a replay that works"), kept.summary);
    let is_used = !cfg!(fuzzing) && bytes == kept.whole;
    assert_eq!(kept.drives.take_notes().is_empty(), is_used, "who cannot use a file says so");
}

pub(crate) fn aged_drives() -> Vec<Vec<u8>> {
    let seed = |(picked, kept): (u8, &Mutex<Kept>)| {
        [&[picked], &kept.lock().unwrap_or_else(PoisonError::into_inner).whole[..]].concat()
    };
    (0..).zip(Kept::all()).map(seed).collect()
}
