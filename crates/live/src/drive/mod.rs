//! A drive: the simulator's controller over a medium that stores its decisions.
//!
//! The controller is the event engine's, without simulated time: each operation is carried out at once, in order,
//! and background work directly behind the operation that caused it.
//!
//! One lock guards all changes. Connections take it in turns, for some pages of a request at a time ([`turns`]). Pages
//! are hashed before it is taken. Reads and the wait of a flush happen after it is released: a page that moved during its
//! read has the wrong digest and is read again.
//!
//! On-medium format and guarantees: [`crate::store`].

mod check;
pub(crate) mod contents;
pub(crate) mod core;
mod export;
mod flushes;
mod host;
mod in_flight;
mod memory;
mod options;
mod pages;
mod periods;
mod recovery;
mod same;
mod summary;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashtwin_ftl::{Counters, Lpn};

pub use self::check::{CheckReport, DriveInfo, Unreadable};
use self::core::Core;
pub use self::core::StoreCounts;
use self::flushes::Flushes;
use self::in_flight::{Failure, InFlight};
pub use self::options::{CreateOptions, DriveOptions, Omission};
pub use self::periods::Periods;
use self::recovery::Recovered;
use self::turns::{Turn, Turns};
use crate::export::Caller;
use crate::store::checkpoint::Writer;
use crate::store::firm::Firm;
use crate::store::layout::Layout;
use crate::store::log::LogEnd;
use crate::store::superblock::Superblock;
use crate::store::{DriveError, FileMedium, Medium, System};

pub struct Plan {
    superblock: Superblock,
}

impl Plan {
    /// Plans a drive for a system: a preset's name such as `ca-ssd`, or the path of a TOML file.
    pub fn new(system: &str, size_bytes: u64, options: &CreateOptions) -> Result<Self, DriveError> {
        let resolved = flashtwin_sim::resolve(system, &options.sets);
        let resolved = resolved.map_err(|error| DriveError::Config(error.to_string()))?;
        let (system, pages) = options::system_of(&resolved, size_bytes, options)?;
        let geometry = system.geometry().map_err(DriveError::Config)?;
        let log_bytes = options.log_bytes.unwrap_or_else(|| Layout::usual_log_bytes(&geometry));
        if log_bytes < crate::store::LEAST_LOG_BYTES || !log_bytes.is_multiple_of(4096) {
            let least = crate::store::LEAST_LOG_BYTES;
            let text = format!("log_bytes is {log_bytes}: expected a multiple of 4096, at least {least}");
            return Err(DriveError::Config(text));
        }
        let layout = Layout::new(&geometry, pages, system.ftl.looks_at_contents(), log_bytes);
        let drawn = || random_uuid().map_err(DriveError::medium("/dev/urandom"));
        let uuid = options.uuid.map_or_else(drawn, Ok)?;
        Ok(Self { superblock: Superblock { uuid, system, layout } })
    }

    pub fn medium_bytes(&self) -> u64 {
        self.superblock.layout.size_bytes
    }

    pub fn system(&self) -> &System {
        &self.superblock.system
    }

    /// Refuses a drive whose tables would not fit into this machine's memory once it is full.
    pub fn fits_memory(&self) -> Result<(), DriveError> {
        let Superblock { system, layout, .. } = &self.superblock;
        memory::may_be_made(system, &layout.geometry, layout.logical_pages)
    }

    /// Writes the superblock last, so that an interrupted creation leaves no valid drive.
    pub fn write(&self, medium: &dyn Medium) -> Result<(), DriveError> {
        let Superblock { uuid, layout, .. } = &self.superblock;
        let empty = || -> std::io::Result<()> {
            let mut writer = Writer::new(medium, layout, 0);
            (0..3).try_for_each(|_| writer.u32(0))?;
            writer.finish(uuid, &LogEnd { epoch: 0, sequence: 0, position: 0, programs: 0 })?;
            medium.sync()
        };
        empty().map_err(DriveError::medium("checkpoint"))?;
        self.superblock.write(medium)?;
        medium.sync().map_err(DriveError::medium("superblock"))
    }
}

fn random_uuid() -> std::io::Result<[u8; 16]> {
    use std::io::Read;
    let mut uuid = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut uuid)?;
    Ok(uuid)
}

/// Tables that a thread left in the middle of a change are read only.
fn usable(mut core: Turn<'_, Core>) -> Turn<'_, Core> {
    if core.is_poisoned() {
        core.failed.get_or_insert_with(|| Failure {
            kind: std::io::ErrorKind::Other,
            why: "a thread stopped in the middle of a write; open the drive again".into(),
        });
    }
    core
}

/// A drive that is open. Several threads may use it at once.
pub struct Drive {
    core: Turns<Core>,
    flushes: Flushes,
    medium: Arc<Firm>,
    in_flight: Arc<InFlight>,
    superblock: Superblock,
    options: DriveOptions,
    read_only: Option<String>,
    notes: Vec<String>,
    replayed_batches: u64,
    recovery: std::time::Duration,
}

/// Counters since the drive was opened, and its present state.
#[derive(Debug, Clone, Copy)]
pub struct DriveStats {
    pub controller: Counters,
    pub store: StoreCounts,
    pub mapped_pages: u64,
    pub pages_in_use: u64,
    /// Of these, copies made on purpose.
    pub replica_pages: u64,
    /// Flash pages in use whose data could not be read when they were moved.
    pub lost_pages: u64,
    pub retired_blocks: u64,
    /// `None` for a system that ignores contents.
    pub contents: Option<u32>,
    /// Of page writes, those whose content was found on flash; `None` without writes.
    pub duplicate_share: Option<f64>,
    pub table_bytes: u64,
}

impl Drive {
    /// Makes a drive in a file, which must not exist, or on a block device whose first bytes are zero.
    pub fn create(
        path: &Path,
        system: &str,
        size_bytes: u64,
        options: &CreateOptions,
    ) -> Result<(), DriveError> {
        use std::os::unix::fs::FileTypeExt;
        let plan = Plan::new(system, size_bytes, options)?;
        plan.fits_memory()?;
        let place = path.display().to_string();
        let failed = || DriveError::medium(&place);
        match std::fs::metadata(path) {
            Ok(data) if data.file_type().is_block_device() => {
                let medium = FileMedium::of_device(path, plan.medium_bytes()).map_err(failed())?;
                let mut first = [0; 4096];
                medium.read_at(&mut first, 0).map_err(failed())?;
                if first.iter().any(|&byte| byte != 0) {
                    let text = "the device holds something: zero its first 4096 bytes if that is not needed";
                    return Err(DriveError::image(place, text));
                }
                plan.write(&medium)
            }
            Ok(_) => Err(DriveError::image(
                place,
                "it exists: give another name, or remove it if it is not needed",
            )),
            Err(_) => {
                let part = PathBuf::from(format!("{place}.part"));
                let other = part.display().to_string();
                let medium =
                    FileMedium::begin(&part, plan.medium_bytes()).map_err(DriveError::medium(&other))?;
                let made = plan.write(&medium).and_then(|()| std::fs::rename(&part, path).map_err(failed()));
                if made.is_err() {
                    let _ = std::fs::remove_file(&part);
                }
                made?;
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = std::fs::File::open(folder.unwrap_or(Path::new("."))).map_err(failed())?;
                folder.sync_all().map_err(failed())
            }
        }
    }

    /// Opens a drive. After a power cut it recovers the last durable state and writes a checkpoint.
    pub fn open(path: &Path, options: &DriveOptions) -> Result<Self, DriveError> {
        let place = path.display().to_string();
        let medium = FileMedium::open(path, !options.read_only).map_err(DriveError::medium(&place))?;
        Self::open_on(Arc::new(medium), options).map_err(|error| match error {
            DriveError::Image { place: part, text } => DriveError::image(format!("{place}: {part}"), text),
            DriveError::Medium { place: part, cause } => {
                DriveError::Medium { place: format!("{place}: {part}"), cause }
            }
            config => config,
        })
    }

    pub fn open_on(medium: Arc<dyn Medium>, options: &DriveOptions) -> Result<Self, DriveError> {
        let began = std::time::Instant::now();
        let medium = Arc::new(Firm::new(medium));
        let (superblock, damaged) = Superblock::read(&*medium)?;
        options::refuse(&superblock.system.name, &superblock.system.ftl).map_err(DriveError::Config)?;
        let layout = &superblock.layout;
        memory::may_be_opened(&superblock.system, &layout.geometry, layout.logical_pages)?;
        let mut options = options.clone();
        let notes = damaged.into_iter().collect();
        let Recovered { mut core, superblock, doubt, notes, batches } =
            recovery::recover(Arc::clone(&medium) as _, superblock, &options, notes)?;
        let asked = options.read_only.then(|| "it was opened to be read only".to_owned());
        let doubt = doubt.map(|why| format!("{why}. Save what can be read, and put back a copy of the file"));
        let read_only = doubt.or(asked);
        options.read_only = read_only.is_some();
        core.options = options.clone();
        if read_only.is_none() && (batches > 0 || !notes.is_empty()) {
            // Should it fail, all that is there can be read: the drive says why it writes nothing.
            let _ = core.change(Core::checkpoint);
        }
        Ok(Self {
            flushes: Flushes::default(),
            medium,
            in_flight: Arc::clone(&core.in_flight),
            core: Turns::new(core),
            superblock,
            options,
            read_only,
            notes,
            replayed_batches: batches,
            recovery: began.elapsed(),
        })
    }

    /// The tables, for a turn of no connection: a flush of all, the end of a period, figures.
    fn core(&self) -> Turn<'_, Core> {
        usable(self.core.take_own())
    }

    /// The tables, for one turn of a connection.
    fn core_for(&self, caller: &dyn Caller) -> std::io::Result<Turn<'_, Core>> {
        self.core.take(caller).map(usable)
    }

    /// Whether a thread has the tables: tests carry out other requests in the midst of one that does not.
    #[doc(hidden)]
    pub fn is_busy(&self) -> bool {
        self.core.is_taken()
    }

    /// Notes of the recovery, for example a damaged table of which the other copy is whole.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Batches of the log read when it was opened, and how long that took.
    pub fn recovery(&self) -> (u64, std::time::Duration) {
        (self.replayed_batches, self.recovery)
    }

    pub fn system(&self) -> &System {
        &self.superblock.system
    }

    pub fn stats(&self) -> DriveStats {
        let core = self.core();
        let controller = *core.ftl.counters();
        let sizes = core.ftl.table_sizes();
        let writes = controller.host_pages_written;
        let own = core.spares.len() * 12 + core.last_programs.len() * 12;
        let contents = core.contents.as_ref().map_or(0, contents::Contents::bytes);
        DriveStats {
            controller,
            store: StoreCounts { retried_writes: self.medium.retries(), ..core.counts },
            mapped_pages: sizes.mapped_lpns,
            pages_in_use: core.ftl.pages_in_use(),
            replica_pages: core.ftl.replica_pages(),
            lost_pages: core.lost_pages().count() as u64,
            retired_blocks: core.ftl.retired_blocks(),
            contents: core.contents.as_ref().map(contents::Contents::live),
            duplicate_share: (writes > 0).then(|| controller.pages.duplicate_writes as f64 / writes as f64),
            table_bytes: sizes.page_table_bytes + sizes.content_table_bytes + own as u64 + contents,
        }
    }

    /// Ends a profiling period: the controller makes the copies that popularity calls for. The caller keeps the clock.
    pub fn end_period(&self) -> std::io::Result<()> {
        self.may_write()?;
        self.core().end_period()
    }

    pub(crate) fn held(&self) -> Vec<(u32, [u8; 16])> {
        let core = self.core();
        let digest = |lpn| {
            let contents = core.contents.as_ref()?;
            Some(contents.digest(contents.of(lpn)?))
        };
        Lpn::each(0..self.superblock.layout.logical_pages)
            .filter(|&lpn| core.ftl.home_of(lpn).is_some())
            .map(|lpn| (lpn.number(), digest(lpn.number()).unwrap_or_default()))
            .collect()
    }

    /// Compares all tables with one another; a pass over the device.
    pub fn audit(&self) -> Result<(), String> {
        self.core().ftl.audit().map_err(|error| error.to_string())
    }

    /// Writes a checkpoint, so that opening the drive again reads no log.
    pub fn close(self) -> std::io::Result<()> {
        self.checkpoint()
    }

    /// [`Drive::close`] for a drive that other threads still use.
    pub fn checkpoint(&self) -> std::io::Result<()> {
        if self.read_only.is_some() {
            return Ok(());
        }
        let mut core = self.core();
        core.change(|core| {
            core.commit()?;
            if core.log.position > 0 { core.checkpoint() } else { Ok(()) }
        })
    }
}
