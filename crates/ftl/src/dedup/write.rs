//! A page write of a system that looks at contents.

use flashtwin_nand::{NO_PPN, Ppn};

use crate::blocks::{Stream, is_page};
use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::host::Host;
use crate::mapping::NO_VPN;
use crate::op::{Cause, FlashOp, LoadView};

impl Ftl {
    /// Pages of a write that share a sample; 1: every page is fingerprinted.
    pub fn sampling_pages(&self) -> u32 {
        self.sampling_pages
    }

    /// The page to program and why; none where the content was found.
    pub(crate) fn write_content(
        &mut self,
        page: Host,
        fingerprinted: bool,
        stream: Stream,
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<Option<(Ppn, Cause)>, FtlError> {
        if let Some(checker) = &mut self.checker {
            checker.write(page.lpn, u64::from(page.content));
        }
        self.counters.hashes += u64::from(fingerprinted);
        if fingerprinted && self.share(page) {
            self.counters.duplicate_writes += 1;
            return Ok(None);
        }
        let cause = match &self.map {
            Map::Content(map) => map.history.cause(page.content),
            Map::Inverted(map) => map.history.cause(page.content),
            Map::Page(_) => return Err(FtlError::Broken("a content write on a page map".into())),
        };
        let (plane, ppn) = self.program_content(page, (stream, fingerprinted), loads, ops)?;
        self.counters.programs[cause as usize] += 1;
        self.keep_within_budget();
        self.note_peak();
        self.collect_behind(plane, ops)?;
        self.dedup_step(ops)?;
        Ok(Some((ppn, cause)))
    }

    /// Looks a written content up and, where it is known, points the page at it.
    #[inline]
    fn share(&mut self, page: Host) -> bool {
        match &mut self.map {
            Map::Page(_) => false,
            Map::Content(map) => {
                let known = map.fingerprints.lookup(page.content);
                if known != NO_VPN && map.vpn_of(page.lpn) != known {
                    self.point_content(page.lpn, known);
                }
                known != NO_VPN
            }
            Map::Inverted(map) => {
                let known = map.hashes.lookup(page.content);
                if known != NO_PPN && map.get(page.lpn) != known {
                    let dead = map.point(page.lpn, known);
                    self.invalidate_dead(dead);
                }
                known != NO_PPN
            }
        }
    }

    /// Writes a content to a page of its own; returns where.
    fn program_content(
        &mut self,
        page: Host,
        (stream, fingerprinted): (Stream, bool),
        loads: &LoadView<'_>,
        ops: &mut Vec<FlashOp>,
    ) -> Result<(u32, Ppn), FtlError> {
        let owner = match &mut self.map {
            Map::Content(map) => map.create(page.content),
            // What the page's spare area names (CA-SSD paper, Figure 1): its hash.
            _ => page.content,
        };
        let plane = self.pick_plane(page.address, loads)?;
        let ppn = self.take_page(plane, stream, owner, ops)?;
        if let Some(checker) = &mut self.checker {
            checker.program(ppn, stream.partition(self.blocks.partitions()), u64::from(page.content))?;
        }
        self.before_leaving(page.lpn);
        match &mut self.map {
            Map::Content(map) => {
                map.place(owner, ppn);
                if fingerprinted {
                    map.enter(owner);
                }
                let released = map.point(page.lpn, owner);
                if let Some(late) = &mut self.out_of_line {
                    late.written(map, page.lpn, owner, fingerprinted);
                }
                self.invalidate_all(released);
            }
            Map::Inverted(map) => {
                map.history.born(page.content);
                if fingerprinted {
                    map.enter(page.content, ppn);
                }
                let dead = map.point(page.lpn, ppn);
                self.invalidate_dead(dead);
            }
            Map::Page(_) => {}
        }
        Ok((plane, ppn))
    }

    /// No LPN is left on the list of a page of the inverted tables.
    pub(crate) fn invalidate_dead(&mut self, dead: Option<Ppn>) {
        let Some(ppn) = dead.filter(|&ppn| is_page(ppn)) else { return };
        if let (Map::Inverted(map), Some(content)) = (&mut self.map, self.blocks.owner(ppn)) {
            map.history.died(content);
        }
        self.blocks.invalidate(ppn);
    }

    /// Counts the table entries that change when collection moves a page, in both forms of the
    /// tables. Two levels: the VPN's PPN. Inverted: the PPN of each LPN, the page's entry in the
    /// iLPT and, where its fingerprint is known, those in HPT and iHPT.
    pub(crate) fn count_updates(&mut self, owner: u32, from: Ppn) {
        let inverted = match &self.map {
            Map::Page(_) => return,
            Map::Content(map) if map.home(owner) != from => 0,
            Map::Content(map) => {
                let known = map.fingerprints.peek(map.content(owner)) == owner;
                u64::from(map.references(owner)) + 1 + 2 * u64::from(known)
            }
            Map::Inverted(map) => map.lpns_of(from).count() as u64 + 1 + 2 * u64::from(map.is_known(from)),
        };
        self.counters.gc_updates_two_level += 1;
        self.counters.gc_updates_inverted += inverted;
    }
}
