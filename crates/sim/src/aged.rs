//! Aged drives kept in files. Results are the same without; a file that cannot be used is reported and made anew.
//!
//! A file whose digest fits is trusted: whoever can write into the user's cache can change results, and stop a replay.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use flashtwin_bits::{Loader, Saver, State, unfit};
use flashtwin_ftl::Ftl;
use flashtwin_nand::FlashArray;
use flashtwin_trace::Outline;

use crate::config::{Config, Preload, PreloadContents};
use crate::error::SimError;
use crate::parquet_file::PartFile;
use crate::preload::{is_filled, known_content};
use crate::resolve::Resolved;

const TITLE: &[u8; 24] = b"flashtwin aged drive 1\n\0";
const DIGEST_BYTES: usize = 32;
const HEADER_BYTES: u64 = (TITLE.len() + 2 * DIGEST_BYTES) as u64;
/// The fastest of zstd's usual levels: most of a table is numbers without any order.
const LEVEL: i32 = 1;
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

type Digest = [u8; DIGEST_BYTES];
type Drive = (Ftl, FlashArray);

/// A folder of aged drives.
#[derive(Debug)]
pub struct AgedDrives {
    folder: PathBuf,
    core: String,
    least: Duration,
    most_bytes: u64,
    notes: Mutex<Vec<String>>,
}

impl AgedDrives {
    /// `folder` is made if need be; `core` is the text that names the core. Drives are kept that took `least` or
    /// longer; those used longest ago go where all together take more than `most_bytes`.
    pub fn new(folder: PathBuf, core: String, least: Duration, most_bytes: u64) -> Self {
        Self { folder, core, least, most_bytes, notes: Mutex::default() }
    }

    /// Notes since the last call: files that could not be used or written.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, path: &Path, what: &str) {
        let text = format!("{}: {what}", path.display());
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    fn key(&self, trace: &Outline, resolved: &Resolved) -> Digest {
        let config = &resolved.config;
        let endian = if cfg!(target_endian = "big") { "big" } else { "little" };
        let parts = [
            self.core.clone(),
            format!("{}-bit, {endian} endian", usize::BITS),
            format!("{:?}", resolved.device.geometry),
            format!("{:?}", config.ftl),
            config.seed.to_string(),
            format!("{:?} {:?}", config.replay.preload, config.replay.preload_contents),
            config.replay.history.to_string(),
            trace.page_bytes.to_string(),
        ];
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        before(trace, config, &mut hasher);
        hasher.finalize().into()
    }

    fn path(&self, name: &str, key: &Digest) -> PathBuf {
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' }
        };
        let name: String = name.chars().take(60).map(plain).collect();
        let digits: String = key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("aged-{name}-{digits}"))
    }
}

/// What ageing takes from a trace: the pages that existed, their addresses and contents. Two traces that agree in these
/// find the same drive, because no request is served before the trace begins.
fn before(trace: &Outline, config: &Config, hasher: &mut blake3::Hasher) {
    let Outline { content_count, zero_content, volumes, .. } = trace;
    let held = trace.footprint_pages();
    hasher.update(format!("{content_count} {zero_content:?} {volumes:?} {held}").as_bytes());
    // Contents that are drawn from requests, and partitions by later writes.
    if config.replay.preload_contents == PreloadContents::Trace || config.ftl.partition.policy.is_told() {
        hasher.update(trace.digest.as_bytes());
        hasher.update(format!("{:?}", trace.content_source).as_bytes());
    }
    for (lpn, address) in (0..).zip(trace.lpn_address.iter()) {
        let mut page = [0; 13];
        page[..8].copy_from_slice(&address.to_le_bytes());
        page[8..12].copy_from_slice(&known_content(trace, lpn).to_le_bytes());
        page[12] = is_filled(trace, config.replay.preload, lpn).into();
        hasher.update(&page);
    }
}

pub(crate) fn drive(
    trace: &Outline,
    resolved: &Resolved,
    drives: Option<&AgedDrives>,
    new: impl Fn() -> Result<Drive, SimError>,
    fill: impl Fn(&mut Drive) -> Result<(), SimError>,
) -> Result<Drive, SimError> {
    let mut drive = new()?;
    // The checker's truth is not saved, so a drive under verification is not either.
    let ages = resolved.config.replay.preload == Preload::Footprint && !resolved.config.verify;
    let Some(drives) = drives.filter(|_| ages) else {
        fill(&mut drive)?;
        return Ok(drive);
    };
    let key = drives.key(trace, resolved);
    let path = drives.path(&resolved.config.name, &key);
    match read(&path, &key, &mut drive) {
        Ok(true) => return Ok(drive),
        Ok(false) => {}
        Err(error) => {
            drives.note(&path, &format!("this aged drive cannot be used ({error}); the drive is aged anew"));
            drive = new()?;
        }
    }
    let began = Instant::now();
    fill(&mut drive)?;
    if began.elapsed() >= drives.least
        && let Err(error) = write(&path, &key, &drive).and_then(|()| make_room(drives, &path))
    {
        drives.note(&path, &format!("the aged drive could not be kept ({error})"));
    }
    Ok(drive)
}

/// Returns `false` where there is no such file.
fn read(path: &Path, key: &Digest, drive: &mut Drive) -> io::Result<bool> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let mut header = [0; HEADER_BYTES as usize];
    file.read_exact(&mut header).map_err(|_| unfit_file("it is cut"))?;
    let (title, digests) = header.split_at(TITLE.len());
    if title != TITLE {
        return Err(unfit_file("it is none of this version"));
    }
    let (of_what, of_file) = digests.split_at(DIGEST_BYTES);
    if of_what != key {
        return Err(unfit_file("it is of another drive"));
    }
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut file, &mut hasher)?;
    if !cfg!(fuzzing) && *hasher.finalize().as_bytes() != *of_file {
        return Err(unfit_file("it was cut or changed"));
    }
    file.seek(SeekFrom::Start(HEADER_BYTES))?;
    let mut decoder = zstd::Decoder::new(&mut file)?;
    let mut from = Loader::new(&mut decoder);
    drive.0.load(&mut from)?;
    drive.1.load(&mut from)?;
    from.finish()?;
    if cfg!(fuzzing) {
        return Err(unfit_file("its digest was not looked at"));
    }
    // For the clean-up, the modification time is the last use.
    File::options()
        .append(true)
        .open(path)
        .and_then(|file| file.set_modified(SystemTime::now()))
        .unwrap_or_default();
    Ok(true)
}

fn unfit_file(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn write(path: &Path, key: &Digest, drive: &Drive) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| unfit("it has no name"))?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let part = PartFile(path.with_file_name(format!(".{name}-{}-{number}.part", std::process::id())));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(&part.0, key, drive)?;
    fs::rename(&part.0, path)
}

fn write_whole(path: &Path, key: &Digest, drive: &Drive) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(TITLE)?;
    file.write_all(key)?;
    file.write_all(&[0; DIGEST_BYTES])?;
    let mut hashed = Hashed { file, hasher: blake3::Hasher::new() };
    let mut encoder = zstd::Encoder::new(&mut hashed, LEVEL)?;
    let mut to = Saver::new(&mut encoder);
    drive.0.save(&mut to)?;
    drive.1.save(&mut to)?;
    to.finish()?;
    encoder.finish()?;
    let Hashed { mut file, hasher } = hashed;
    file.seek(SeekFrom::Start(HEADER_BYTES - DIGEST_BYTES as u64))?;
    file.write_all(hasher.finalize().as_bytes())?;
    file.sync_all()
}

struct Hashed {
    file: File,
    hasher: blake3::Hasher,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn make_room(drives: &AgedDrives, new: &Path) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(&drives.folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let Ok(about) = entry.metadata() else { continue };
        let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let name = name.to_string_lossy();
        if name.starts_with("aged-") {
            kept.push((path == new, used, about.len(), path));
        } else if name.starts_with(".aged-") && used.elapsed().is_ok_and(|age| age > ABANDONED) {
            fs::remove_file(path).unwrap_or_default();
        }
    }
    kept.sort();
    let mut all: u64 = kept.iter().map(|&(_, _, bytes, _)| bytes).sum();
    for (_, _, bytes, path) in kept.into_iter().take_while(|&(is_new, ..)| !is_new) {
        if all <= drives.most_bytes {
            break;
        }
        fs::remove_file(path).unwrap_or_default();
        all -= bytes;
    }
    Ok(())
}
