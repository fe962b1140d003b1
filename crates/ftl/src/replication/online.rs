//! Copies made as soon as they are earned, in idle time.
//!
//! Source: RR-SSD paper IV.B.4 ("On-line Replication"): a content's next copy is made when its counter
//! earns it, on the chip with the largest S / (E x Pop x QL), QL being the chip's load + 1. The copy
//! competes with the host for the flash: its page is read when the chip has nothing else to do, and
//! programmed behind what waits at its chip by then.

use flashtwin_nand::{Geometry, NO_PPN};

use super::placement::ChipView;
use super::{Replicator, add_shares, chips_in_use, take_shares};
use crate::blocks::Blocks;
use crate::error::FtlError;
use crate::ftl::{Background, Ftl, Map};
use crate::mapping::{ContentMap, NO_VPN};
use crate::op::{Cause, FlashOp, LoadView, NO_JOB, OpKind};

/// What on-line replication keeps from read to read.
pub(crate) struct Online {
    /// The chips with the popularity stored on them; the rest is filled in when it is asked for.
    chips: Vec<ChipView>,
    /// Contents that have earned a copy since jobs were last begun.
    earned: Vec<u32>,
    /// By VPN: a copy is wanted or under way, so that no second one is begun beside it.
    copying: Vec<bool>,
}

/// A content of which a page is read to be copied. Its VPN may have become another content's
/// meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyJob {
    vpn: u32,
    content: u32,
}

impl Online {
    pub(super) fn new(geometry: &Geometry) -> Self {
        let chip = ChipView { free_pages: 0, erases: 0, blocks: 0, popularity: 0, load: 0 };
        Self { chips: vec![chip; geometry.chips() as usize], earned: Vec::new(), copying: Vec::new() }
    }

    fn copying(&mut self, vpn: u32) -> &mut bool {
        if vpn as usize >= self.copying.len() {
            self.copying.resize(vpn as usize + 1, false);
        }
        &mut self.copying[vpn as usize]
    }

    /// Changes the copies of a content, and what they make the chips store.
    pub(super) fn around<T>(
        &mut self,
        map: &mut ContentMap,
        blocks: &Blocks,
        vpn: u32,
        change: impl FnOnce(&mut ContentMap) -> T,
    ) -> T {
        take_shares(&mut self.chips, map, blocks, vpn);
        let outcome = change(map);
        add_shares(&mut self.chips, map, blocks, vpn);
        outcome
    }

    /// Counters have been zeroed.
    pub(super) fn forget_popularity(&mut self) {
        self.chips.iter_mut().for_each(|chip| chip.popularity = 0);
    }

    /// Popularity stored on each chip, in 1/65536 of a read.
    pub(crate) fn stored_popularity(&self) -> impl Iterator<Item = u64> {
        self.chips.iter().map(|chip| chip.popularity)
    }
}

impl Ftl {
    /// Counts a read of a content towards its popularity; returns whether it is its first.
    #[inline]
    pub(crate) fn count_read(&mut self, vpn: u32) -> bool {
        let saturation = self.saturation;
        let Map::Content(map) = &mut self.map else { return false };
        match self
            .replicator
            .as_mut()
            .and_then(|replicator| Some((&replicator.degree, replicator.online.as_mut()?)))
        {
            None => map.count_read(vpn, saturation),
            Some((degree, online)) => {
                let first = online.around(map, &self.blocks, vpn, |map| map.count_read(vpn, saturation));
                let held = 1 + map.replica_ppns(vpn).len() as u32;
                let chips = online.chips.len() as u32;
                if degree.copies(map.popularity(vpn), chips).min(chips) > held && !*online.copying(vpn) {
                    *online.copying(vpn) = true;
                    online.earned.push(vpn);
                }
                first
            }
        }
    }

    /// A logical page is about to leave its content, which may die of it: then its popularity is no
    /// longer stored anywhere.
    #[inline]
    pub(crate) fn before_leaving(&mut self, lpn: u32) {
        let Map::Content(map) = &self.map else { return };
        let Some(online) = self.replicator.as_mut().and_then(|replicator| replicator.online.as_mut()) else {
            return;
        };
        let vpn = map.vpn_of(lpn);
        if vpn != NO_VPN && map.references(vpn) == 1 {
            #[cfg(test)]
            if map.popularity(vpn) > 0 && crate::tests::planted(crate::tests::Bug::KeptShare) {
                return;
            }
            take_shares(&mut online.chips, map, &self.blocks, vpn);
        }
    }

    /// Begins the background jobs that the reads so far have earned: reads of the pages to be copied.
    /// To be called after each read.
    ///
    /// # Errors
    /// [`FtlError::Broken`] when verification is on and finds the tables wrong.
    #[inline]
    pub fn begin_jobs(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        match self.replicator.as_ref().and_then(|replicator| replicator.online.as_ref()) {
            Some(online) if !online.earned.is_empty() => self.begin_copies(ops),
            _ => Ok(()),
        }
    }

    fn begin_copies(&mut self, ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        while let Some(online) = self.replicator.as_mut().and_then(|replicator| replicator.online.as_mut()) {
            let Some(vpn) = online.earned.pop() else { break };
            let Map::Content(map) = &self.map else { break };
            let work = Background::Copy(CopyJob { vpn, content: map.content(vpn) });
            let home = map.home(vpn);
            let Some(job) = self.jobs.begin(work, 1) else {
                *online.copying(vpn) = false;
                self.counters.jobs_dropped += 1;
                continue;
            };
            let cause = Cause::Replica;
            let read = FlashOp { kind: OpKind::Read, ppn: home, source: NO_PPN, cause, urgent: false, job };
            self.order(read, ops)?;
        }
        Ok(())
    }

    /// A page has been read to be copied: places the copy, if it is still earned and fits.
    pub(crate) fn finish_copy(
        &mut self,
        copy: CopyJob,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let Some(mut replicator) = self.replicator.take() else { return Ok(()) };
        let Some(mut online) = replicator.online.take() else {
            self.replicator = Some(replicator);
            return Ok(());
        };
        *online.copying(copy.vpn) = false;
        let placed = self.place_copy(copy, &mut replicator, &mut online, loads, ops);
        replicator.online = Some(online);
        self.replicator = Some(replicator);
        placed
    }

    fn place_copy(
        &mut self,
        CopyJob { vpn, content }: CopyJob,
        replicator: &mut Replicator,
        online: &mut Online,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(), FtlError> {
        let Map::Content(map) = &self.map else { return Ok(()) };
        if !map.is_live(vpn) || map.content(vpn) != content {
            return Ok(());
        }
        let level = map.popularity(vpn);
        let chips = online.chips.len() as u32;
        let held = 1 + map.replica_ppns(vpn).len() as u32;
        if held >= replicator.degree.copies(level, chips).min(chips) {
            return Ok(());
        }
        if map.pages_in_use() >= replicator.budget_pages && !self.make_replica_room(level, &mut online.chips)
        {
            return Ok(());
        }
        self.fill_in(&mut online.chips, loads);
        let Map::Content(map) = &self.map else { return Ok(()) };
        let home = self.blocks.chip_of_page(map.home(vpn));
        let holds = chips_in_use(map, &self.blocks, vpn);
        let Some(chip) = replicator.placement.choose(home, &online.chips, &holds) else { return Ok(()) };
        let program = self.add_copy(vpn, chip, level, &mut replicator.next_plane, &mut online.chips, ops)?;
        let Some((plane, program)) = program else { return Ok(()) };
        self.order(FlashOp { job: NO_JOB, ..program }, ops)?;
        self.collect_behind(plane, ops)
    }

    /// The chips as they are now.
    fn fill_in(&self, chips: &mut [ChipView], loads: &LoadView<'_>) {
        let now = super::empty_views(&self.blocks);
        for (chip, (view, now)) in chips.iter_mut().zip(now).enumerate() {
            *view = ChipView { popularity: view.popularity, load: loads.chip[chip], ..now };
        }
    }

    /// Compares the popularity kept from read to read with that of all contents.
    pub(crate) fn audit_stored_popularity(&self) -> Result<(), String> {
        let (Map::Content(map), Some(online)) =
            (&self.map, self.replicator.as_ref().and_then(|replicator| replicator.online.as_ref()))
        else {
            return Ok(());
        };
        let found: Vec<u64> =
            super::chip_views(map as &ContentMap, &self.blocks).iter().map(|c| c.popularity).collect();
        let kept: Vec<u64> = online.stored_popularity().collect();
        if found == kept {
            Ok(())
        } else {
            Err(format!("stored popularity is {kept:?}, contents make it {found:?}"))
        }
    }
}
