//! A plain model for verification: the data of each logical and flash page, from the operations alone.

use std::collections::HashMap;

use flashtwin_nand::{Block, FlashArray, Geometry, Ppn};

use crate::error::{FtlError, FtlResult};
use crate::ids::{Content, Lpn};
use crate::op::{Cause, FlashOp, OpKind};

/// Right by inspection: two plain maps and the rules of the medium. It knows nothing of the tables it checks.
#[derive(Clone)]
pub(crate) struct Checker {
    geometry: Geometry,
    flash: FlashArray,
    truth: HashMap<Lpn, u64>,
    stored: HashMap<Ppn, u64>,
    partitions: HashMap<Block, u8>,
    /// The partition of copies, which the host does not update.
    coldest: u8,
    shares: bool,
    versions: u64,
    /// Writes of each logical page that have arrived and are not decided.
    undecided: HashMap<Lpn, u32>,
}

/// Version number of a padding page: no version, and no content.
const NOTHING: u64 = u64::MAX;

fn broken(text: String) -> FtlError {
    FtlError::Broken(text)
}

impl Checker {
    /// `shares`: collection puts pages of all partitions together.
    pub(crate) fn new(geometry: &Geometry, partitions: u32, shares: bool) -> Self {
        Self {
            geometry: geometry.clone(),
            partitions: HashMap::new(),
            coldest: (partitions - 1) as u8,
            shares,
            flash: FlashArray::new(geometry),
            truth: HashMap::new(),
            stored: HashMap::new(),
            versions: 0,
            undecided: HashMap::new(),
        }
    }

    pub(crate) fn arrived(&mut self, lpn: Lpn) {
        *self.undecided.entry(lpn).or_insert(0) += 1;
    }

    pub(crate) fn next_version(&mut self) -> u64 {
        self.versions += 1;
        1 << 32 | self.versions
    }

    pub(crate) fn write(&mut self, lpn: Lpn, value: u64) {
        if let Some(count) = self.undecided.get_mut(&lpn) {
            *count = count.saturating_sub(1);
        }
        self.truth.insert(lpn, value);
    }

    pub(crate) fn trim(&mut self, lpn: Lpn) {
        self.truth.remove(&lpn);
    }

    pub(crate) fn content(&self, lpn: Lpn) -> Option<Content> {
        self.truth.get(&lpn).map(|&value| Content::new(value as u32))
    }

    pub(crate) fn partitions(&self) -> impl Iterator<Item = (Block, u8)> {
        self.partitions.iter().map(|(&block, &partition)| (block, partition))
    }

    pub(crate) fn stored(&self, ppn: Ppn) -> Option<u64> {
        self.stored.get(&ppn).copied()
    }

    /// A page of a partition is programmed: its block must hold pages of no other.
    pub(crate) fn program(&mut self, ppn: Ppn, partition: u8, value: u64) -> FtlResult {
        self.flash.program(&self.geometry, ppn).map_err(|rule| broken(rule.to_string()))?;
        let held = *self.partitions.entry(self.geometry.block_index(ppn)).or_insert(partition);
        if held != partition {
            let place = self.geometry.describe(ppn);
            return Err(broken(format!("{place}: a page of partition {partition} in a block of {held}")));
        }
        self.stored.insert(ppn, value);
        Ok(())
    }

    pub(crate) fn copy(&mut self, from: Ppn, to: Ppn, partition: u8) -> FtlResult {
        match self.stored.get(&from) {
            Some(&value) => self.program(to, partition, value),
            None => Err(broken(format!("copy of {}, which holds nothing", self.geometry.describe(from)))),
        }
    }

    pub(crate) fn carry_out(&mut self, op: &FlashOp) -> FtlResult {
        match op.kind {
            OpKind::Read => self.flash.read(&self.geometry, op.ppn).map_err(|rule| broken(rule.to_string())),
            OpKind::Program if op.cause == Cause::Padding => {
                let block = self.geometry.block_index(op.ppn);
                let partition = self.partitions.get(&block).copied().unwrap_or(self.coldest);
                self.program(op.ppn, partition, NOTHING)
            }
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

    /// The partition of a program on the controller's own account: the coldest for copies and for what collection puts
    /// together, else the page's own.
    fn partition_after(&self, op: &FlashOp) -> u8 {
        let source = self.partitions.get(&self.geometry.block_index(op.source));
        match (op.cause, source) {
            (Cause::Replica, _) | (_, None) => self.coldest,
            (Cause::Gc, _) if self.shares => self.coldest,
            (_, Some(&partition)) => partition,
        }
    }

    pub(crate) fn host_read(&self, lpn: Lpn, ppn: Ppn) -> FtlResult {
        if self.undecided.get(&lpn).is_some_and(|&count| count > 0) {
            let place = self.geometry.describe(ppn);
            let text = "while a newer write of it is not decided";
            return Err(broken(format!("LPN {lpn} is read from flash, at {place}, {text}")));
        }
        self.read(lpn, ppn)
    }

    pub(crate) fn read(&self, lpn: Lpn, ppn: Ppn) -> FtlResult {
        let (wanted, found) = (self.truth.get(&lpn), self.stored.get(&ppn));
        if wanted.is_some() && wanted == found {
            return Ok(());
        }
        let place = self.geometry.describe(ppn);
        Err(broken(format!("a read of LPN {lpn} at {place} finds {found:?}, last written was {wanted:?}")))
    }
}

#[cfg(test)]
mod tests {
    use flashtwin_nand::Plane;

    use super::*;
    use crate::tests::geometry;

    const LPN: Lpn = Lpn::new(5);

    fn holding(value: u64) -> (Checker, Ppn) {
        let geometry = geometry([1, 1, 1, 1, 4, 2]);
        let mut checker = Checker::new(&geometry, 1, false);
        let ppn = geometry.ppn(Plane::new(0), 1, 0);
        checker.write(LPN, value);
        checker.program(ppn, 0, value).unwrap();
        (checker, ppn)
    }

    #[test]
    fn page_with_an_undecided_write_must_not_be_read_from_flash() {
        let (mut checker, ppn) = holding(7);
        checker.host_read(LPN, ppn).unwrap();
        (0..2).for_each(|_| checker.arrived(LPN));
        for _ in 0..2 {
            let error = checker.host_read(LPN, ppn).unwrap_err().to_string();
            assert!(error.contains("while a newer write of it is not decided"), "{error}");
            checker.write(LPN, 7);
        }
        checker.host_read(LPN, ppn).unwrap();
    }

    #[test]
    fn read_must_find_the_last_write_or_nothing_after_a_trim() {
        let (mut checker, ppn) = holding(7);
        assert_eq!((checker.content(LPN), checker.content(Lpn::new(0))), (Some(Content::new(7)), None));
        checker.write(LPN, 8);
        let error = checker.host_read(LPN, ppn).unwrap_err().to_string();
        assert!(error.contains("finds Some(7), last written was Some(8)"), "{error}");
        checker.trim(LPN);
        let error = checker.host_read(LPN, ppn).unwrap_err().to_string();
        assert!(error.contains("finds Some(7), last written was None"), "{error}");
        assert_eq!(checker.content(LPN), None);
    }

    #[test]
    fn a_version_is_neither_an_earlier_one_nor_a_content() {
        let (mut checker, _) = holding(7);
        let versions: Vec<u64> = (0..9).map(|_| checker.next_version()).collect();
        assert!(versions.windows(2).all(|pair| pair[0] < pair[1]), "{versions:?}");
        assert!(versions[0] > u64::from(u32::MAX), "a content has a number of 32 bits");
    }
}
