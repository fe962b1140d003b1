//! Reading flash pages: checks whether a page is on the medium, and handles missing and damaged ones.
//!
//! Tables change when the controller decides, the medium when the operation is carried out. So every read checks that
//! its page was programmed since the last erase that the tables know of: all decided erases of its block were carried
//! out, and the block has more programmed pages than those before it. The data must match their digest. Data lost
//! during a move, because neither page nor copy could be read, stay lost until they are written again.

use std::io;

use flashtwin_ftl::Lpn;
use flashtwin_nand::Ppn;

use super::core::{Core, check_of, digest_of};
use super::options::Omission;

/// How often a page that is to be moved is read before its data count as lost: some disks need a second look.
const TRIES: u32 = 3;
const DAMAGED_PAGES_TO_RETIRE: u32 = 2;

/// Offset on the medium, and the first bytes of the page's digest.
pub(crate) type PageAddress = (u64, u64);

impl Core {
    /// Whether a page was programmed, as against ordered to be.
    fn exists(&self, ppn: Ppn) -> bool {
        let block = self.layout.geometry.block_index(ppn);
        let is_erased = self.erases[self.layout.block_number(block)] == self.ftl.erases_of(block);
        is_erased && self.flash.is_programmed(&self.layout.geometry, ppn)
            || self.options.omission == Some(Omission::OrderedAsProgrammed)
    }

    fn is_lost(&self, ppn: Ppn) -> bool {
        !self.lost.is_empty() && self.lost.contains(&(self.layout.page_number(ppn) as u32))
    }

    pub(crate) fn lost_pages(&self) -> impl Iterator<Item = u32> {
        let in_use = |&number: &u32| self.layout.page(number).is_some_and(|ppn| self.ftl.is_valid(ppn));
        self.lost.iter().copied().filter(in_use)
    }

    /// Fails if the page was ordered and not programmed, or if its data were lost.
    pub(crate) fn place(&self, ppn: Ppn) -> io::Result<PageAddress> {
        let why = match () {
            () if !self.exists(ppn) => "was to be written when writing failed; open the drive again",
            () if self.is_lost(ppn) => "stands for data that could not be read when they were moved",
            () => return Ok((self.data_at(ppn), self.spares[self.layout.page_number(ppn)].check)),
        };
        Err(io::Error::other(format!("{} {why}", self.layout.geometry.describe(ppn))))
    }

    /// Reads a page that the tables point to. Data that do not match their digest are [`io::ErrorKind::InvalidData`].
    pub(crate) fn read_page(&self, ppn: Ppn, into: &mut [u8]) -> io::Result<()> {
        self.place(ppn)?;
        self.read_flash(ppn, into)
    }

    /// Reads the data last programmed at a place, whatever the tables say.
    fn read_flash(&self, ppn: Ppn, into: &mut [u8]) -> io::Result<()> {
        self.medium.read_at(into, self.data_at(ppn))?;
        let check = self.spares[self.layout.page_number(ppn)].check;
        let trusting = !self.options.check_reads;
        match trusting || check_of(&digest_of(into, self.options.omission)) == check {
            true => Ok(()),
            false => Err(self.damaged(ppn)),
        }
    }

    fn damaged(&self, ppn: Ppn) -> io::Error {
        let place = self.layout.geometry.describe(ppn);
        let offset = self.data_at(ppn);
        let text = format!("{place} (byte {offset} of the medium) does not hold what was written to it");
        io::Error::new(io::ErrorKind::InvalidData, text)
    }

    /// Reads whichever page of a logical page is whole, or zeroes if it has none. The error is that of the first.
    pub(crate) fn read_any(&self, lpn: u32, into: &mut [u8]) -> io::Result<()> {
        let Some((home, others)) = self.ftl.places_of(Lpn::new(lpn)) else {
            into.fill(0);
            return Ok(());
        };
        let first = self.read_page(home, into);
        if first.is_ok() || others.iter().any(|&ppn| ppn != home && self.read_page(ppn, into).is_ok()) {
            return Ok(());
        }
        first
    }

    /// Returns whether the data could be read. The tables already have the page at its new place.
    pub(crate) fn read_to_copy(&mut self, from: Ppn, to: Ppn, into: &mut [u8]) -> bool {
        let known_as_lost = self.is_lost(from);
        if !known_as_lost {
            if (0..TRIES).any(|_| self.read_flash(from, into).is_ok()) {
                return true;
            }
            self.count_damaged(from);
        }
        let check = self.spares[self.layout.page_number(from)].check;
        let mut others: Vec<Ppn> = Vec::new();
        if let Some((home, copies)) = self.ftl.places_beside(to) {
            others.extend(copies.iter().chain([&home]).filter(|&&ppn| ppn != from && ppn != to));
        }
        let same = |ppn: &Ppn| self.spares[self.layout.page_number(*ppn)].check == check;
        let found = others.into_iter().filter(same).any(|ppn| self.read_page(ppn, into).is_ok());
        self.counts.repaired_pages += u64::from(found && !known_as_lost);
        found
    }

    fn count_damaged(&mut self, ppn: Ppn) {
        self.counts.damaged_pages += 1;
        let block = self.layout.geometry.block_index(ppn);
        let damaged = self.damaged_in.entry(block).or_default();
        *damaged += 1;
        if *damaged == DAMAGED_PAGES_TO_RETIRE {
            self.retire(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flashtwin_ftl::{Controller, Host, LoadView, NO_CONTENT, NO_JOB};

    use super::*;
    use crate::drive::{CreateOptions, Drive, DriveOptions, Plan};
    use crate::export::{Export, Writing};
    use crate::store::fault::FaultMedium;

    /// The controller decides on, as it does before a failure shows, and nothing is carried out.
    #[test]
    fn old_pages_do_not_stand_for_those_of_a_decided_erase() {
        let levels = ["channels", "chips_per_channel", "dies_per_chip", "planes_per_die"].map(|key| (key, 1));
        let sizes = levels.into_iter().chain([("blocks_per_plane", 9), ("pages_per_block", 8)]);
        let sets = sizes.map(|(key, value)| (format!("nand.{key}"), value.to_string())).collect();
        let options = CreateOptions { sets, ..CreateOptions::default() };
        let plan = Plan::new("conventional", 39 * 4096, &options).unwrap();
        let medium = FaultMedium::new(plan.medium_bytes() as usize);
        plan.write(&medium).unwrap();
        let drive = Drive::open_on(Arc::new(medium), &DriveOptions::default()).unwrap();
        for page in 0..39 * 5 {
            drive.write(page % 39 * 4096, &[7; 4096], Writing::default(), &()).unwrap();
        }
        let mut core = drive.core();
        let Core { ftl, ops, loads, .. } = &mut *core;
        for lpn in (0..39 * 5).map(|page| Lpn::new(page % 39)) {
            let page = Host { lpn, address: u64::from(lpn.number()), content: NO_CONTENT };
            ftl.write(page, true, &LoadView::new(loads, loads), ops).unwrap();
            while let Some(op) = ops.pop() {
                if op.job != NO_JOB {
                    ftl.job_done(op.job, &LoadView::new(loads, loads), ops).unwrap();
                }
            }
        }
        let homes: Vec<Ppn> = Lpn::each(0..39).filter_map(|lpn| core.ftl.home_of(lpn)).collect();
        let programmed = |ppn: &&Ppn| core.flash.is_programmed(&core.layout.geometry, **ppn);
        let old = homes.iter().filter(programmed).count();
        assert!(old > 5, "{old} of {} places of new pages hold old ones", homes.len());
        assert!(homes.iter().all(|&ppn| core.place(ppn).is_err()));
    }
}
