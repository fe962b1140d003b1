//! What happens before the trace: the device is aged, and what was counted is forgotten.

use flashtwin_nand::Ppn;

use crate::blocks::Stream;
use crate::counters::Counters;
use crate::error::FtlError;
use crate::ftl::{Ftl, Map, Peak};
use crate::mapping::{NO_CONTENT, NO_VPN};
use crate::op::{Cause, FlashOp, LoadView};

impl Ftl {
    /// Writes a logical page's content to another place, as ageing does: the mapping form
    /// and its contents stay as they are. A page that is not mapped is left alone.
    pub fn rewrite(
        &mut self,
        lpn: u32,
        address: u64,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<Ppn>, FtlError> {
        if self.locate(lpn, loads).is_none() {
            return Ok(None);
        }
        let owner = match &self.map {
            Map::Page(_) => lpn,
            Map::Content(map) => map.vpn_of(lpn),
            Map::Inverted(map) => self.blocks.owner(map.get(lpn)).unwrap_or(NO_VPN),
        };
        let proposal = self.pick_plane(address, loads)?;
        let content = match &self.map {
            Map::Page(map) => map.content(lpn),
            Map::Content(_) | Map::Inverted(_) => NO_CONTENT,
        };
        let plane = self.spread_aged(proposal, lpn, content, loads);
        let partition = self.partitioning.as_ref().map_or(0, |partitioning| partitioning.partition(lpn));
        let to = self.take_page(plane, Stream::host(partition), owner, ops)?;
        // Making room may have moved the page, so it is looked up only now.
        let from = match &self.map {
            Map::Page(map) => map.get(lpn),
            Map::Content(map) => map.home(owner),
            Map::Inverted(map) => map.get(lpn),
        };
        if let Some(checker) = &mut self.checker {
            checker.copy(from, to, partition)?;
        }
        self.moved(owner, from, to)?;
        match &self.map {
            Map::Content(_) => self.touch_vpn(owner),
            Map::Page(_) | Map::Inverted(_) => self.touch_lpn(lpn),
        }
        self.blocks.invalidate(from);
        self.counters.host_pages_written += 1;
        self.counters.programs[Cause::Host as usize] += 1;
        self.collect_behind(plane, ops)?;
        self.settle_tables(ops)?;
        Ok(Some(to))
    }

    /// Ends preloading: everything counted so far, wear included, is forgotten.
    pub fn end_preload(&mut self) {
        self.counters = Counters::default();
        self.peak = Peak::default();
        self.note_peak();
        self.collector.victim_pages.fill(0);
        self.partition_writes.fill(0);
        self.blocks.reset_wear();
        if let Map::Content(map) = &mut self.map {
            map.reset_popularity();
        }
        if let Some(spreader) = &mut self.spreader {
            // Entries of places that ageing moved pages away from.
            spreader.forget_dead();
        }
        if let Some(partitioning) = &mut self.partitioning {
            partitioning.forget();
        }
    }
}
