use flashtwin_ftl::{Cause, Counters, WearCounts};
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::EngineCounts;
use crate::finished::FinishedRun;

/// Operations carried out by the array, counted at the array, not at the controller.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FlashOperations {
    /// Pages read.
    reads: u64,
    /// Of `reads`, pages sensed together with others of their flash page (`nand.sense_pages`).
    reads_with_others: u64,
    /// Pages programmed.
    programs: u64,
    /// Blocks erased.
    erases: u64,
}

impl FlashOperations {
    pub(super) fn of(counts: &EngineCounts) -> FlashOperations {
        let [reads, programs, erases] = counts.flash_ops;
        let (reads_with_others, parity) = (counts.reads_with_others, counts.parity_pages);
        FlashOperations { reads, reads_with_others, programs: programs + parity, erases }
    }
}

/// Pages read, by cause.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FlashReads {
    /// Host reads; without reads from RAM and merged reads.
    host: u64,
    /// Old pages of partial writes.
    read_modify_write: u64,
    /// Pages moved by collection.
    gc: u64,
    /// Sources of copies.
    replica: u64,
    /// Mapping-table pages; 0 while all tables are in RAM.
    metadata: u64,
    /// Pages compared with others.
    verify: u64,
    /// Pages fingerprinted after their write.
    fingerprint: u64,
    /// Pages moved by static wear levelling.
    wear_levelling: u64,
}

impl FlashReads {
    pub(super) fn of(counters: &Counters, counts: &EngineCounts) -> FlashReads {
        let by = |cause: Cause| counters.reads[cause as usize];
        let from_flash = |cause: Cause| by(cause).saturating_sub(counts.own_buffer_reads[cause as usize]);
        FlashReads {
            // Reads of pages that were not decided yet never came to the controller.
            host: (by(Cause::Host) + counts.undecided_reads).saturating_sub(
                counts.pages.buffer_reads + counts.pages.merged_reads + counts.pages.read_cache_hits,
            ),
            read_modify_write: by(Cause::ReadModifyWrite).saturating_sub(counts.old_page_buffer_reads),
            gc: from_flash(Cause::Gc),
            replica: from_flash(Cause::Replica),
            metadata: from_flash(Cause::Metadata),
            verify: from_flash(Cause::Verify),
            fingerprint: from_flash(Cause::Fingerprint),
            wear_levelling: from_flash(Cause::WearLevelling),
        }
    }
}

/// Pages programmed, by cause.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FlashWrites {
    /// Host writes of a system that ignores contents.
    host: u64,
    /// Contents new to the device.
    unique: u64,
    /// Contents on flash that the fingerprint store had dropped or did not look up (sampling).
    missed_duplicate: u64,
    /// Contents that the device once held and had lost.
    reborn: u64,
    /// Pages moved by collection.
    gc: u64,
    /// Copies made.
    replica: u64,
    /// Mapping-table pages; 0 while all tables are in RAM.
    metadata: u64,
    /// Pages moved by static wear levelling.
    wear_levelling: u64,
    /// Padding pages of program units that the host waited for (`nand.program_pages`).
    padding: u64,
    /// Parity pages (`nand.parity_stripe`).
    parity: u64,
}

impl FlashWrites {
    pub(super) fn of(counters: &Counters, counts: &EngineCounts) -> FlashWrites {
        let by = |cause: Cause| counters.programs[cause as usize];
        FlashWrites {
            host: by(Cause::Host),
            unique: by(Cause::Unique),
            missed_duplicate: by(Cause::MissedDuplicate),
            reborn: by(Cause::Reborn),
            gc: by(Cause::Gc),
            replica: by(Cause::Replica),
            metadata: by(Cause::Metadata),
            wear_levelling: by(Cause::WearLevelling),
            padding: by(Cause::Padding),
            parity: counts.parity_pages,
        }
    }
}

/// Since the trace began; preloading is not counted. Figures of single blocks include the warm-up, because wear is a
/// state of the drive.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Erases {
    /// Erases since the warm-up.
    total: u64,
    /// Blocks of the device, used or not.
    blocks: u64,
    /// Mean over all blocks.
    per_block_mean: f64,
    /// Standard deviation over all blocks.
    per_block_stddev: f64,
    /// Fewest erases of a block.
    per_block_min: u32,
    /// Most erases of a block.
    per_block_max: u32,
    #[serde(flatten)]
    levelling: WearCounts,
    /// Cycles that a block endures.
    pe_cycles: u32,
    /// `per_block_mean`, of `pe_cycles`.
    life_used_percent: f64,
    /// `per_block_max`, of `pe_cycles`.
    life_used_worst_percent: f64,
}

impl Erases {
    pub(super) fn of(run: &FinishedRun<'_>) -> Erases {
        let wear = run.engine.controller().wear();
        let pe_cycles = run.resolved.device.pe_cycles;
        let cycles = f64::from(pe_cycles);
        let blocks: u64 = wear.iter().map(|&(_, blocks)| blocks).sum();
        let all: u64 = wear.iter().map(|&(erases, blocks)| u64::from(erases) * blocks).sum();
        let mean = all as f64 / blocks as f64;
        let square = |erases: u32| (f64::from(erases) - mean).powi(2);
        let squares = wear.iter().map(|&(erases, blocks)| square(erases) * blocks as f64).sum::<f64>();
        let (least, most) = (wear.first().map_or(0, |w| w.0), wear.last().map_or(0, |w| w.0));
        Erases {
            total: run.counted.chip_erases.iter().sum(),
            blocks,
            per_block_mean: mean,
            per_block_stddev: (squares / blocks as f64).sqrt(),
            per_block_min: least,
            per_block_max: most,
            levelling: run.counted.ftl.wear,
            pe_cycles,
            life_used_percent: mean / cycles * 100.0,
            life_used_worst_percent: f64::from(most) / cycles * 100.0,
        }
    }
}
