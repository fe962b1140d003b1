use flashtwin_ftl::{FtlConfig, PartitionPolicy, ZeroPage};
use flashtwin_sim::Resolved;

use crate::store::{DriveError, System};

#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    /// Settings on top of the system's, as `--set` takes them. Where none of them is `nand.blocks_per_plane`, the
    /// flash array gets as many blocks as its logical pages and `spare_share` take.
    pub sets: Vec<(String, String)>,
    /// Spare flash beyond the logical pages, as a share of them; `None`: 0.07.
    pub spare_share: Option<f64>,
    pub log_bytes: Option<u64>,
    /// `None`: drawn at random. Two drives with the same id on one medium may take each other's data for their own.
    pub uuid: Option<[u8; 16]>,
}

#[derive(Debug, Clone)]
pub struct DriveOptions {
    /// Write nothing to the medium, not even the results of a recovery.
    pub read_only: bool,
    /// Otherwise the first 128 bits of their BLAKE3 digests decide whether pages are equal.
    pub compare_duplicates: bool,
    pub check_reads: bool,
    #[doc(hidden)]
    pub omission: Option<Omission>,
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self { read_only: false, compare_duplicates: true, check_reads: true, omission: None }
    }
}

/// A rule that is broken on purpose, for tests.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omission {
    LogSync,
    /// Data are not made durable before the log names them.
    DataSync,
    /// A block is programmed again before it is durable where its pages went.
    EraseBarrier,
    /// A reference is counted down in a batch before the one in which the other is counted up.
    CountDownFirst,
    /// A trim leaves no record.
    Tombstone,
    /// Duplicates are taken for equal by some bits of their digest.
    Collision,
    /// A page counts as programmed from when that was ordered.
    OrderedAsProgrammed,
    /// A page that cannot be read is moved as if it had been.
    LostAsWhole,
}

pub(crate) fn system_of(
    resolved: &Resolved,
    size_bytes: u64,
    options: &CreateOptions,
) -> Result<(System, u32), DriveError> {
    let config = |text: String| DriveError::Config(text);
    let name = resolved.config.name.clone();
    let mut system = System {
        ftl: resolved.config.ftl.clone(),
        nand: resolved.config.nand.clone(),
        seed: resolved.config.seed,
        period_s: resolved.config.replay.period_s,
        name,
    };
    refuse(&system.name, &system.ftl).map_err(config)?;
    let page_bytes = u64::from(system.nand.page_bytes);
    if size_bytes == 0 || !size_bytes.is_multiple_of(page_bytes.max(1)) {
        return Err(config(format!(
            "a size of {size_bytes} bytes: expected a multiple of the page size, {page_bytes} bytes (nand.page_bytes)"
        )));
    }
    let pages = u32::try_from(size_bytes / page_bytes).ok().filter(|&pages| pages < u32::MAX / 2);
    let pages =
        pages.ok_or_else(|| config(format!("{size_bytes} bytes are more pages than 31 bits number")))?;
    let spare = options.spare_share.unwrap_or(0.07);
    if !(0.0..=100.0).contains(&spare) {
        return Err(config(format!("spare_share is {spare}: expected 0 to 100")));
    }
    if !options.sets.iter().any(|(key, _)| key.ends_with("blocks_per_plane")) {
        let wanted = (f64::from(pages) * (1.0 + spare)).ceil() as u64;
        grow(&mut system, wanted).map_err(config)?;
    }
    let geometry = system.geometry().map_err(config)?;
    let capacity = flashtwin_ftl::Ftl::capacity_pages(&system.ftl, &geometry);
    if u64::from(pages) > capacity {
        return Err(config(format!(
            "{pages} logical pages on a device that holds {capacity}: raise nand.blocks_per_plane or make it smaller"
        )));
    }
    Ok((system, pages))
}

fn grow(system: &mut System, pages: u64) -> Result<(), String> {
    let geometry = system.nand.resolve().map_err(|error| error.to_string())?.geometry;
    let per_level = u64::from(geometry.planes()) * u64::from(geometry.pages_per_block);
    let kept = u64::from(system.ftl.reserved_blocks(&geometry));
    let blocks = (pages + 1).div_ceil(per_level) + kept;
    system.nand.blocks_per_plane =
        u32::try_from(blocks).map_err(|_| format!("{pages} pages take {blocks} blocks a plane"))?;
    Ok(())
}

/// Refuses a system that cannot be served; the error explains why.
pub(crate) fn refuse(name: &str, ftl: &FtlConfig) -> Result<(), String> {
    let reason = match () {
        () if ftl.mapping_cache.is_on() => {
            "keeps mapping tables on the simulated flash, and a drive keeps its own in its log and checkpoints: set \
             ftl.mapping_cache.bytes = \"unlimited\" and ftl.mapping_cache.checkpoint_s = 0"
        }
        () if ftl.partition.policy == PartitionPolicy::Offline => {
            "knows beforehand how often each page will be written, which nobody does who serves: set \
             ftl.partition.policy = \"none\""
        }
        () if ftl.partitions() > 1 => {
            "keeps pages apart by how often they are written, which its log does not tell after a start: set \
             ftl.partition.policy = \"none\""
        }
        () if !ftl.foreign_names().is_empty() => {
            "has a policy in Python, which works in replays and in ft.Drive alone: use a built-in policy"
        }
        () if flashtwin_ftl::redirection::RedirectionPolicy::AnyChip == ftl.redirection.policy => {
            "reads from chips that do not have the page, which only a simulator can: set ftl.redirection.policy = \
             \"home\""
        }
        () if ftl.zero_page == ZeroPage::Mapped => {
            "tells zeroes by the digests of a trace, and a drive maps those that come as WRITE ZEROES: set \
             ftl.zero_page = \"stored\""
        }
        () => return Ok(()),
    };
    Err(format!("the system '{name}' cannot be served: it {reason}"))
}
