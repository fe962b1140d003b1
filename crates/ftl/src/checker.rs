//! The plain truth beside the tables: what each logical page was last given, and what each
//! flash page holds, learnt from the operations alone.

use std::collections::HashMap;

use flashtwin_nand::{FlashArray, Geometry, Ppn};

use crate::error::FtlError;
use crate::ftl::{Ftl, Map};
use crate::op::{Cause, FlashOp, OpKind};

/// A model so simple that it is right by inspection: two plain maps and the rules of the
/// medium. It knows nothing of the tables that it checks.
pub(crate) struct Checker {
    geometry: Geometry,
    flash: FlashArray,
    /// Value last written to each logical page.
    truth: HashMap<u32, u64>,
    /// Value that each programmed page holds.
    stored: HashMap<Ppn, u64>,
    /// Partition of the pages that each block holds.
    partitions: HashMap<u32, u8>,
    /// The partition of copies that nobody updates.
    coldest: u8,
    versions: u64,
    /// Writes of each logical page that have arrived and are not decided.
    undecided: HashMap<u32, u32>,
}

fn broken(text: String) -> FtlError {
    FtlError::Broken(text)
}

impl Checker {
    pub(crate) fn new(geometry: &Geometry, partitions: u32) -> Self {
        Self {
            geometry: geometry.clone(),
            partitions: HashMap::new(),
            coldest: (partitions - 1) as u8,
            flash: FlashArray::new(geometry),
            truth: HashMap::new(),
            stored: HashMap::new(),
            versions: 0,
            undecided: HashMap::new(),
        }
    }

    /// A page write has arrived; until it is decided, controller RAM has the page's newest data.
    pub(crate) fn arrived(&mut self, lpn: u32) {
        *self.undecided.entry(lpn).or_insert(0) += 1;
    }

    /// A value that was never written before, for systems that do not look at contents.
    pub(crate) fn next_version(&mut self) -> u64 {
        self.versions += 1;
        1 << 32 | self.versions
    }

    pub(crate) fn write(&mut self, lpn: u32, value: u64) {
        if let Some(count) = self.undecided.get_mut(&lpn) {
            *count = count.saturating_sub(1);
        }
        self.truth.insert(lpn, value);
    }

    pub(crate) fn trim(&mut self, lpn: u32) {
        self.truth.remove(&lpn);
    }

    /// Content last written to a logical page.
    pub(crate) fn content(&self, lpn: u32) -> Option<u32> {
        self.truth.get(&lpn).map(|&value| value as u32)
    }

    /// What a page holds.
    pub(crate) fn stored(&self, ppn: Ppn) -> Option<u64> {
        self.stored.get(&ppn).copied()
    }

    /// A page of a partition is programmed: its block must hold pages of no other.
    pub(crate) fn program(&mut self, ppn: Ppn, partition: u8, value: u64) -> Result<(), FtlError> {
        self.flash.program(&self.geometry, ppn).map_err(|rule| broken(rule.to_string()))?;
        let held = *self.partitions.entry(self.geometry.block_index(ppn)).or_insert(partition);
        if held != partition {
            let place = self.geometry.describe(ppn);
            return Err(broken(format!("{place}: a page of partition {partition} in a block of {held}")));
        }
        self.stored.insert(ppn, value);
        Ok(())
    }

    /// A page is copied to one of a partition.
    pub(crate) fn copy(&mut self, from: Ppn, to: Ppn, partition: u8) -> Result<(), FtlError> {
        match self.stored.get(&from) {
            Some(&value) => self.program(to, partition, value),
            None => Err(broken(format!("copy of {}, which holds nothing", self.geometry.describe(from)))),
        }
    }

    pub(crate) fn carry_out(&mut self, op: &FlashOp) -> Result<(), FtlError> {
        match op.kind {
            OpKind::Read => self.flash.read(&self.geometry, op.ppn).map_err(|rule| broken(rule.to_string())),
            OpKind::Program => self.copy(op.source, op.ppn, self.partition_after(op)),
            OpKind::Erase => {
                let block = self.geometry.block_index(op.ppn);
                for page in 0..self.geometry.pages_per_block {
                    self.stored.remove(&self.geometry.page_of_block(block, page));
                }
                self.partitions.remove(&block);
                self.flash.erase(block);
                Ok(())
            }
        }
    }

    /// The partition of what the controller programs on its own account: copies are of the coldest,
    /// everything else stays where it is.
    fn partition_after(&self, op: &FlashOp) -> u8 {
        let source = self.partitions.get(&self.geometry.block_index(op.source));
        match (op.cause, source) {
            (Cause::Replica, _) | (_, None) => self.coldest,
            (_, Some(&partition)) => partition,
        }
    }

    /// The host reads a logical page from flash, for itself or to complete a part of a page.
    pub(crate) fn host_read(&self, lpn: u32, ppn: Ppn) -> Result<(), FtlError> {
        if self.undecided.get(&lpn).is_some_and(|&count| count > 0) {
            let place = self.geometry.describe(ppn);
            let text = "while a newer write of it is not decided";
            return Err(broken(format!("LPN {lpn} is read from flash, at {place}, {text}")));
        }
        self.read(lpn, ppn)
    }

    pub(crate) fn read(&self, lpn: u32, ppn: Ppn) -> Result<(), FtlError> {
        let (wanted, found) = (self.truth.get(&lpn), self.stored.get(&ppn));
        if wanted.is_some() && wanted == found {
            return Ok(());
        }
        let place = self.geometry.describe(ppn);
        Err(broken(format!("a read of LPN {lpn} at {place} finds {found:?}, last written was {wanted:?}")))
    }
}

impl Ftl {
    /// Compares all tables with one another and, where verification is on, with the truth:
    /// every mapped page holds what was written, counts match what they count, copies lie
    /// on different chips, causes sum to pages programmed. Costs a pass over the device.
    ///
    /// # Errors
    /// [`FtlError::Broken`] naming the first thing that does not hold.
    pub fn audit(&self) -> Result<(), FtlError> {
        self.blocks.audit().map_err(broken)?;
        self.audit_tables().map_err(broken)?;
        match &self.map {
            Map::Page(map) => {
                self.audit_pages((0..map.len()).map(|lpn| (lpn, lpn, map.get(lpn))))?;
                self.audit_spread().map_err(broken)?;
            }
            Map::Content(map) => {
                map.audit().map_err(broken)?;
                let pairs = (0..map.lpns()).filter_map(|lpn| {
                    let vpn = map.vpn_of(lpn);
                    (vpn != crate::NO_VPN).then(|| (lpn, vpn, map.home(vpn)))
                });
                self.audit_pages(pairs)?;
                self.audit_copies(map)?;
                self.audit_stored_popularity().map_err(broken)?;
                self.audit_recency().map_err(broken)?;
            }
            Map::Inverted(map) => {
                map.audit(|ppn| self.blocks.owner(ppn)).map_err(broken)?;
                // A page is owned by its content, whichever of its LPNs is looked at.
                let written = |lpn| self.checker.as_ref().and_then(|checker| checker.content(lpn));
                let pages = (0..map.lpns()).map(|lpn| (lpn, map.get(lpn)));
                let mapped = pages.filter(|&(_, ppn)| crate::blocks::is_page(ppn));
                self.audit_pages(mapped.filter_map(|(lpn, ppn)| {
                    let owner = written(lpn).or_else(|| self.blocks.owner(ppn))?;
                    Some((lpn, owner, ppn))
                }))?;
            }
        }
        self.audit_partitions()?;
        let valid: u64 = self.blocks.chip_valid().iter().sum();
        if valid != self.pages_in_use() {
            return Err(broken(format!("{valid} pages are valid, the maps use {}", self.pages_in_use())));
        }
        Ok(())
    }

    fn audit_pages(&self, pages: impl Iterator<Item = (u32, u32, Ppn)>) -> Result<(), FtlError> {
        for (lpn, owner, ppn) in pages.filter(|&(_, _, ppn)| crate::blocks::is_page(ppn)) {
            if self.blocks.owner(ppn) != Some(owner) {
                let place = self.blocks.geometry.describe(ppn);
                return Err(broken(format!(
                    "LPN {lpn} lies at {place}, whose owner is {:?}, not {owner}",
                    self.blocks.owner(ppn)
                )));
            }
            if let Some(checker) = &self.checker {
                checker.read(lpn, ppn)?;
            }
        }
        Ok(())
    }

    /// Every block belongs to the partition of the pages that were programmed in it.
    fn audit_partitions(&self) -> Result<(), FtlError> {
        let Some(checker) = &self.checker else { return Ok(()) };
        for (&block, &held) in &checker.partitions {
            let partition = self.blocks.table.partition(block);
            if partition != held {
                let place = self.blocks.geometry.describe(self.blocks.geometry.page_of_block(block, 0));
                return Err(broken(format!("{place} is of partition {partition}, its pages are of {held}")));
            }
        }
        Ok(())
    }

    fn audit_copies(&self, map: &crate::mapping::ContentMap) -> Result<(), FtlError> {
        for (vpn, _) in map.replicas.live() {
            let mut chips: Vec<u32> = Vec::new();
            for &ppn in map.replica_ppns(vpn).iter().chain([&map.home(vpn)]) {
                let chip = self.blocks.chip_of_page(ppn);
                if chips.contains(&chip) {
                    return Err(broken(format!("VPN {vpn} has two copies on chip {chip}")));
                }
                chips.push(chip);
                if self.blocks.owner(ppn) != Some(vpn) {
                    return Err(broken(format!(
                        "a copy of VPN {vpn} is owned by {:?}",
                        self.blocks.owner(ppn)
                    )));
                }
                let stored = self.checker.as_ref().map(|checker| checker.stored.get(&ppn).copied());
                if stored.is_some_and(|value| value != Some(u64::from(map.content(vpn)))) {
                    return Err(broken(format!(
                        "a copy of VPN {vpn} holds {stored:?}, not content {}",
                        map.content(vpn)
                    )));
                }
            }
        }
        Ok(())
    }
}
