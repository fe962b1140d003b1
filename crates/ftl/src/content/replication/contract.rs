//! The interface of replication policies, and the tools they work with.

use flashtwin_bits::By;
use flashtwin_nand::{Chip, Plane, Ppn};

use super::copy_queue::{CopyJob, CopyQueue, End};
use super::placement::ChipSet;
use crate::content::map::{ContentMap, ContentTables};
use crate::error::FtlResult;
use crate::flash::Flash;
use crate::flash::blocks::{Blocks, Stream};
use crate::ids::{Owner, Vpn};
use crate::loads::LoadView;
use crate::op::{Cause, FlashOp, OpKind};

/// Replication: when contents are copied, and which copies are dropped.
///
/// A policy makes copies at the end of a period, or marks a content ([`CopyQueue::earn`]): then one of its pages is
/// read in idle time, and the policy chooses the copy's place. Defaults are those of a policy that works by periods.
pub(crate) trait Replication: flashtwin_bits::State {
    /// Whether copies are earned by the popularity of contents, whose counters take RAM.
    const COUNTS_POPULARITY: bool;

    /// Whether copies are made at the ends of periods, in a phase of their own.
    const COPIES_AT_PERIOD_ENDS: bool;

    /// Counts and credits a read of a content. Returns whether this was its first read.
    #[inline]
    fn read(&mut self, vpn: Vpn, map: &mut ContentMap, _blocks: &Blocks, _queue: &mut CopyQueue) -> bool {
        map.count_read(vpn)
    }

    /// The last logical page is about to leave a content.
    fn dies(&mut self, _vpn: Vpn, _map: &ContentMap, _blocks: &Blocks) {}

    fn end_period(&mut self, context: &mut CopyContext<'_>) -> FtlResult;

    /// Whether there is room for a copy of a live content, free or in place of a less important replica.
    fn may_fit(&self, _vpn: Vpn, _map: &ContentMap, _budget_pages: u64) -> bool {
        false
    }

    /// The copy that `vpn` has earned finds no room, so its page is not read.
    fn found_no_room(&mut self, _vpn: Vpn) {}

    /// A page has been read to be copied: returns the program to order if the content still deserves a copy that fits.
    fn place(
        &mut self,
        _copy: CopyJob,
        _context: &mut CopyContext<'_>,
        _loads: &LoadView<'_>,
    ) -> FtlResult<Option<NewPage>> {
        Ok(None)
    }

    /// The copy under way has ended: whether `vpn` has earned another. `held`: its pages, `None` if it has died.
    fn earns_again(&mut self, _vpn: Vpn, _end: End, _map: &ContentMap, _held: Option<u32>) -> bool {
        false
    }

    /// The least popular replica is dropped for the host's pages: takes it off its content.
    fn gives_way(&mut self, vpn: Vpn, map: &mut ContentMap, _blocks: &Blocks) -> Option<Ppn> {
        map.drop_replica(vpn)
    }

    fn audit(&self, _map: &ContentMap, _blocks: &Blocks) -> Result<(), String> {
        Ok(())
    }

    /// Pages in lists of the policy's own, for RAM figures.
    fn listed_pages(&self) -> u64 {
        0
    }

    fn bytes(&self) -> u64 {
        0
    }
}

#[derive(Clone, Copy)]
pub(crate) struct NewCopy {
    pub(super) vpn: Vpn,
    /// Which of its content's copies is read for it, in their order; 0 is the home copy.
    pub(super) source: usize,
    pub(super) chip: Chip,
    /// The popularity under which the replicas are listed.
    pub(super) level: u8,
}

pub(crate) struct NewPage {
    pub(super) plane: Plane,
    pub(super) program: FlashOp,
}

#[derive(Clone)]
pub(crate) struct ReplicaSpace {
    /// Pages that first copies and replicas may occupy together.
    pub(super) budget_pages: u64,
    pub(super) next_plane: By<Chip, Vec<u32>>,
}

pub(crate) struct CopyContext<'a> {
    pub(super) tables: &'a mut ContentTables,
    pub(super) flash: &'a mut Flash,
    pub(super) space: &'a mut ReplicaSpace,
    pub(super) ops: &'a mut Vec<FlashOp>,
}

pub(super) fn chips_in_use(map: &ContentMap, blocks: &Blocks, vpn: Vpn) -> ChipSet {
    let mut holds = ChipSet::default();
    for ppn in map.copies(vpn) {
        holds.insert(blocks.chip_of_page(ppn));
    }
    holds
}

/// Space for a copy listed under `level`: free, or of the returned content, the least popular below. `None`: neither.
pub(super) fn replica_room(map: &ContentMap, level: u8, budget_pages: u64) -> Option<Option<Vpn>> {
    if map.pages_in_use() < budget_pages {
        return Some(None);
    }
    map.replicas.least_popular(u16::from(level)).map(|(victim, _)| Some(victim))
}

impl CopyContext<'_> {
    /// Drops one replica of a content. A policy that keeps statistics of chips updates them itself.
    pub(super) fn drop_replica(&mut self, vpn: Vpn) {
        if let Some(ppn) = self.tables.map.drop_replica(vpn) {
            replica_gone(vpn, ppn, self.tables, self.flash);
        }
    }

    /// `None`: the chip has no room, such as after one of its blocks was retired.
    pub(super) fn add(&mut self, copy: NewCopy) -> FtlResult<Option<NewPage>> {
        let NewCopy { vpn, source, chip, level } = copy;
        let planes = self.flash.geometry().planes_per_chip();
        let first = chip.number() * planes;
        let turn = &mut self.space.next_plane[chip];
        let plane = (0..planes)
            .map(|step| Plane::new(first + (*turn + step) % planes))
            .find(|&plane| self.flash.blocks.has_room(plane));
        let Some(plane) = plane else { return Ok(None) };
        *turn = (plane.number() + 1) % planes;
        let to = self.flash.take_page(plane, Stream::REPLICA, Owner::of(vpn), self.tables, self.ops)?;
        let map = &mut self.tables.map;
        // Making room may have moved it, but not changed which of the copies it is.
        let from = map.copies(vpn).nth(source).unwrap_or(map.home(vpn));
        map.add_replica(vpn, level, to);
        self.flash.counters.replication.copies += 1;
        self.flash.note_peak(map.pages_in_use(), map.replicas.pages());
        self.tables.touch_vpn(vpn);
        Ok(Some(NewPage { plane, program: FlashOp::new(OpKind::Program, to, from, Cause::Replica) }))
    }
}

pub(super) fn replica_gone(vpn: Vpn, ppn: Ppn, tables: &mut ContentTables, flash: &mut Flash) {
    flash.blocks.invalidate(ppn);
    flash.counters.replication.dropped += 1;
    tables.touch_vpn(vpn);
}

flashtwin_bits::state!(ReplicaSpace { next_plane } kept { budget_pages });
