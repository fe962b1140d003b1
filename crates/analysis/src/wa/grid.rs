//! WA-simulator over a grid of devices and partitionings.

use std::collections::BTreeMap;

use flashtwin_trace::Progress;
use rayon::prelude::*;
use thiserror::Error;

use super::WaOptions;
use super::simulator::{WaCounts, WaDevice, WaError, WaSimulator};
use crate::temperature::{Frequencies, OrderError, PageWrites, Partitioning, Ratio, WriteOrder};

/// Page writes between two checks whether to stop.
const WRITES_TO_LOOK: u64 = 1 << 20;

crate::rows! {
    /// One simulated SSD and its results.
    #[derive(PartialEq)]
    pub struct WaCell in "write_amplification" {
        /// Page size.
        page_bytes: u32,
        /// Pages of a block.
        block_pages: u32,
        /// Over-provisioning.
        over_provisioning_percent: u32,
        /// Partitions requested; for a limit of f_r the number that it needs.
        partitions_asked: u32,
        /// `grid`, or the limit of f_r that chose the partitions: `f_r<=2`.
        purpose: String,
        /// Largest ratio of update frequencies in one partition; missing when nothing is written.
        frequency_ratio: Option<f64>,
        /// Partitions used: fewer than requested if there are fewer temperatures.
        partitions: u32,
        /// Blocks of the SSD: floor((1 + floor(pages written / block size)) x (1 + over-provisioning)).
        physical_blocks: u64,
        /// Blocks beyond the logical capacity of 1 + floor(pages written / block size) blocks.
        over_provisioned_blocks: u64,
        /// (Partitions + 1) / over-provisioned blocks (SWC paper, section 4.2); missing without any.
        partitioning_overhead: Option<f64>,
        /// Host page writes, until the end or until the simulation could not go on.
        page_writes: u64,
        /// Pages programmed for them and by garbage collection.
        pages_programmed: u64,
        /// Blocks erased.
        erases: u64,
        /// Pages programmed / pages written.
        write_amplification: Option<f64>,
        /// The reason for a missing write amplification.
        why_missing: Option<String>,
    }
}

/// 1 + floor(pages / block size) (SWC paper, section 3.2).
fn logical_blocks(pages: u64, block_pages: u32) -> u64 {
    pages.checked_div(block_pages.into()).unwrap_or(0).saturating_add(1)
}

/// floor((1 + floor(pages / block size)) x (1 + over-provisioning)) (SWC paper, section 3.2).
pub fn physical_blocks(pages: u64, block_pages: u32, over_provisioning_percent: u32) -> u64 {
    let percent = u128::from(over_provisioning_percent) + 100;
    let blocks = u128::from(logical_blocks(pages, block_pages)) * percent / 100;
    u64::try_from(blocks).unwrap_or(u64::MAX)
}

/// Why a simulation ended before the last write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)]
pub enum Stop {
    #[error(transparent)]
    Wa(WaError),
    #[error(transparent)]
    Order(#[from] OrderError),
}

/// Writes all pages in order to an empty SSD. An error comes with the results so far.
pub fn simulate(
    order: &WriteOrder,
    device: WaDevice,
    partition_of_page: &[u8],
    progress: &dyn Progress,
) -> Result<WaCounts, (Stop, WaCounts)> {
    let begun = WaSimulator::new(device, partition_of_page);
    let mut simulator = begun.map_err(|error| (Stop::Wa(error), WaCounts::default()))?;
    let mut look = WRITES_TO_LOOK;
    let done = order.batches(|pages| {
        if simulator.counts().page_writes >= look {
            look += WRITES_TO_LOOK;
            if progress.cancelled() {
                return Err(Stop::Wa(WaError::Cancelled));
            }
        }
        simulator.write_all(pages).map_err(Stop::Wa)
    });
    match done {
        Ok(()) => Ok(simulator.counts()),
        Err(error) => Err((error, simulator.counts())),
    }
}

/// Simulates all that `options` ask for at one page size, equal cells once. An impossible SSD is a cell with the
/// reason. Fails only with [`WaError::Cancelled`].
pub(super) fn cells(
    writes: &PageWrites,
    options: &WaOptions,
    progress: &dyn Progress,
) -> Result<Vec<WaCell>, WaError> {
    let ways = ways(writes, options);
    let mut pages: BTreeMap<&Partitioning, Option<Vec<u8>>> = BTreeMap::new();
    for way in &ways {
        pages.entry(&way.partitioning).or_insert_with(|| way.partitioning.of_pages(&writes.writes));
    }
    let mut runs: BTreeMap<Run<'_>, Option<Outcome>> = BTreeMap::new();
    let mut cells = Vec::new();
    for &block_pages in &options.block_pages {
        for &percent in options.over_provisioning_percent_at(writes.page_bytes) {
            for way in &ways {
                runs.insert((block_pages, percent, &way.partitioning), None);
                cells.push((way, block_pages, percent));
            }
        }
    }
    runs.par_iter_mut().for_each(|(run, outcome)| {
        if progress.cancelled() {
            return;
        }
        let partition_of_page = pages.get(run.2).and_then(Option::as_deref);
        *outcome = Some(outcome_of(*run, partition_of_page, writes, progress));
    });
    if progress.cancelled() {
        return Err(WaError::Cancelled);
    }
    let outcome = |run: &Run<'_>| runs.get(run).cloned().flatten().unwrap_or_default();
    let cell = |(way, block_pages, percent): (&Way, u32, u32)| {
        let outcome = outcome(&(block_pages, percent, &way.partitioning));
        way.cell(writes, block_pages, percent, outcome)
    };
    Ok(cells.into_iter().map(cell).collect())
}

/// Block size, over-provisioning, partitions.
type Run<'a> = (u32, u32, &'a Partitioning);

#[derive(Clone, Default)]
struct Outcome {
    counts: WaCounts,
    why_missing: Option<String>,
}

fn outcome_of(
    (block_pages, percent, partitioning): Run<'_>,
    partition_of_page: Option<&[u8]>,
    writes: &PageWrites,
    progress: &dyn Progress,
) -> Outcome {
    let missing = |why: String| Outcome { counts: WaCounts::default(), why_missing: Some(why) };
    if writes.writes.is_empty() {
        return missing("nothing is written".to_owned());
    }
    if partitioning.is_empty() {
        return missing("no partitions: expected 1 or more, or a ratio of at least 1".to_owned());
    }
    let order = match &writes.order {
        Some(Ok(order)) => order,
        Some(Err(why)) => return missing(why.to_string()),
        None => return missing("the order of writes was not kept".to_owned()),
    };
    let Some(partition_of_page) = partition_of_page else {
        return missing(WaError::Partitions(partitioning.len() as u32).to_string());
    };
    let device = WaDevice {
        block_pages,
        physical_blocks: physical_blocks(writes.writes.len() as u64, block_pages, percent),
        partitions: partitioning.len() as u32,
    };
    match simulate(order, device, partition_of_page, progress) {
        Ok(counts) => Outcome { counts, why_missing: None },
        Err((error, counts)) => Outcome { counts, why_missing: Some(error.to_string()) },
    }
}

struct Way {
    asked: u32,
    purpose: String,
    partitioning: Partitioning,
}

/// The numbers of partitions and the limits of f_r in the options, in this order.
fn ways(writes: &PageWrites, options: &WaOptions) -> Vec<Way> {
    let frequencies = Frequencies::of(&writes.writes);
    let with = |ratio: Option<Ratio>| ratio.map(|r| frequencies.partitions(r)).unwrap_or_default();
    let numbers = options.partitions_at(writes.page_bytes).iter().map(|&asked| Way {
        asked,
        purpose: "grid".to_owned(),
        partitioning: with(frequencies.lowest_ratio(asked)),
    });
    let ratios = options.frequency_ratios.iter().map(|&ratio| {
        let partitioning = with(Ratio::new(ratio));
        Way { asked: partitioning.len() as u32, purpose: format!("f_r<={ratio}"), partitioning }
    });
    numbers.chain(ratios).collect()
}

impl Way {
    fn cell(&self, writes: &PageWrites, block_pages: u32, percent: u32, outcome: Outcome) -> WaCell {
        let pages = writes.writes.len() as u64;
        let physical_blocks = physical_blocks(pages, block_pages, percent);
        let over_provisioned_blocks = physical_blocks - logical_blocks(pages, block_pages);
        let partitions = self.partitioning.len() as u32;
        let Outcome { counts, why_missing } = outcome;
        WaCell {
            page_bytes: writes.page_bytes,
            block_pages,
            over_provisioning_percent: percent,
            partitions_asked: self.asked,
            purpose: self.purpose.clone(),
            frequency_ratio: self.partitioning.ratio.map(Ratio::value),
            partitions,
            physical_blocks,
            over_provisioned_blocks,
            partitioning_overhead: (over_provisioned_blocks > 0)
                .then(|| (f64::from(partitions) + 1.0) / over_provisioned_blocks as f64),
            page_writes: counts.page_writes,
            pages_programmed: counts.pages_programmed,
            erases: counts.erases,
            write_amplification: counts.write_amplification().filter(|_| why_missing.is_none()),
            why_missing,
        }
    }
}
