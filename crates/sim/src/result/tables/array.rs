use flashtwin_analysis::rows;
use flashtwin_nand::{Chip, Plane};

use crate::finished::FinishedRun;
use crate::result::summary::{equal_pages, plane_redundancy, repeated_writes};

rows! {
    /// One row a chip.
    pub(super) struct ChipRow in "chips" {
        /// Number, from 0; neighbouring chips are on different channels.
        chip: u32,
        /// The chip's channel.
        channel: u32,
        /// Host reads served from flash.
        reads: u64,
        /// Host reads redirected to this chip from another one's home copy; without reads from RAM
        /// and for partial writes.
        redirected_reads: u64,
        /// Host programs.
        programs: u64,
        /// Blocks erased.
        erases: u64,
        /// Mean busy time of the chip's units.
        busy_ns: u64,
        /// `busy_ns` / (`completed_ns` - `counted_from_ns`).
        utilisation: Option<f64>,
        /// Operations waiting and in service: mean over time.
        queue_mean: Option<f64>,
        /// Operations waiting and in service: maximum.
        queue_max: u32,
        /// Pages with valid data at the end.
        valid_pages: u64,
        /// Replicas at the end.
        replica_pages: u64,
    }
}

impl ChipRow {
    pub(super) fn all(run: &mut FinishedRun<'_>) -> Vec<ChipRow> {
        let end_ns = run.engine.now_ns();
        let queues = run.engine.accounts_mut().observer.queues.finish(end_ns);
        let (engine, geometry) = (&run.engine, &run.resolved.device.geometry);
        let (ftl, metrics) = (engine.controller(), &engine.accounts().observer);
        let replicas = ftl.chip_replica_pages();
        let time_ns = run.counted.time_ns;
        let share = |part: f64| (time_ns > 0).then(|| part / time_ns as f64);
        let row = |(chip, &busy_ns): (Chip, &u64)| {
            let bins = &queues[chip.index()];
            ChipRow {
                chip: chip.number(),
                channel: geometry.channel_of_chip(chip).number(),
                reads: metrics.chip_reads[chip],
                redirected_reads: metrics.chip_redirected[chip],
                programs: metrics.chip_programs[chip],
                erases: run.counted.chip_erases[chip.index()],
                busy_ns,
                utilisation: share(busy_ns as f64),
                queue_mean: share(bins.iter().map(|bin| bin.area as f64).sum()),
                queue_max: bins.iter().map(|bin| bin.max).max().unwrap_or(0),
                valid_pages: ftl.chip_valid_pages()[chip],
                replica_pages: replicas[chip],
            }
        };
        Chip::each(0..geometry.chips()).zip(&run.counted.chip_busy_ns).map(row).collect()
    }
}

rows! {
    /// One row a channel.
    pub(super) struct ChannelRow in "channels" {
        /// Number, from 0.
        channel: u32,
        /// Time with a command or data on the bus.
        busy_ns: u64,
        /// `busy_ns` / (`completed_ns` - `counted_from_ns`).
        utilisation: Option<f64>,
    }
}

impl ChannelRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<ChannelRow> {
        let time_ns = run.counted.time_ns;
        let row = |(channel, &busy_ns): (u32, &u64)| ChannelRow {
            channel,
            busy_ns,
            utilisation: (time_ns > 0).then(|| busy_ns as f64 / time_ns as f64),
        };
        (0..).zip(&run.counted.channel_busy_ns).map(row).collect()
    }
}

rows! {
    /// One row a plane.
    pub(super) struct PlaneRow in "planes" {
        /// Number, from 0.
        plane: u32,
        /// The plane's chip.
        chip: u32,
        /// The plane's channel.
        channel: u32,
        /// Pages with valid data at the end.
        valid_pages: u64,
        /// Distinct contents in the valid pages; missing where contents are not known.
        contents: Option<u64>,
        /// 1 - `contents` / pages with a known content; missing without such pages.
        redundancy: Option<f64>,
        /// Pages of known content that the host wrote to it; missing unless
        /// `ftl.spread.count_written` is on.
        pages_written: Option<u64>,
        /// Distinct contents among them.
        contents_written: Option<u64>,
        /// 1 - `contents_written` / `pages_written`: the share that repeats a content of this
        /// plane; missing without such pages.
        redundancy_written: Option<f64>,
        /// Share of `pages_written` whose content the host wrote to this plane more than once, the
        /// first write included; missing without such pages.
        equal_written: Option<f64>,
    }
}

impl PlaneRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<PlaneRow> {
        let geometry = &run.resolved.device.geometry;
        let row = |(plane, &valid_pages): (Plane, &u64)| {
            let known = run.plane_contents.as_ref().map(|planes| planes[plane]);
            let written = run.plane_writes.as_ref().map(|planes| planes[plane]);
            let chip = geometry.chip_of_plane(plane);
            PlaneRow {
                plane: plane.number(),
                chip: chip.number(),
                channel: geometry.channel_of_chip(chip).number(),
                valid_pages,
                contents: known.map(|known| known.contents),
                redundancy: known.and_then(|known| plane_redundancy(&known)),
                pages_written: written.map(|written| written.pages),
                contents_written: written.map(|written| written.contents),
                redundancy_written: written.and_then(|written| repeated_writes(&written)),
                equal_written: written.and_then(|written| equal_pages(&written)),
            }
        };
        run.engine.controller().plane_valid_pages().rows().map(row).collect()
    }
}

rows! {
    /// Collected blocks, by their valid pages when chosen.
    pub(super) struct VictimRow in "gc_victims" {
        /// Valid pages.
        valid_pages: u32,
        /// Blocks.
        victims: u64,
    }
}

impl VictimRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<VictimRow> {
        let row = |(valid_pages, victims)| VictimRow { valid_pages, victims };
        seen(&run.counted.victim_pages).map(row).collect()
    }
}

rows! {
    /// Contents on flash at the end (as VPNs), by number of physical copies; empty for page maps.
    pub(super) struct CopiesRow in "copies" {
        /// Physical copies.
        copies: u32,
        /// Contents.
        contents: u64,
    }
}

impl CopiesRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<CopiesRow> {
        seen(&run.engine.controller().copies())
            .map(|(copies, contents)| CopiesRow { copies, contents })
            .collect()
    }
}

fn seen(histogram: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    (0..).zip(histogram.iter().copied()).filter(|&(_, count)| count > 0)
}

rows! {
    /// Blocks of the device, by number of erases.
    pub(super) struct BlockRow in "blocks" {
        /// Erases.
        erase_count: u32,
        /// Blocks.
        blocks: u64,
    }
}

impl BlockRow {
    pub(super) fn all(run: &FinishedRun<'_>) -> Vec<BlockRow> {
        let wear = run.engine.controller().wear();
        wear.iter().map(|&(erase_count, blocks)| BlockRow { erase_count, blocks }).collect()
    }
}
