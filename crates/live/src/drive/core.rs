//! The controller and its decisions, carried out on the medium, behind the drive's one lock.

use flashtwin_ftl::Controller;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::sync::Arc;

use flashtwin_ftl::{BlockUse, FlashOp, Ftl, FtlError, LoadView, Lpn};
use flashtwin_nand::{Block, FlashArray, Ppn};
use serde::Serialize;

use super::contents::Contents;
use super::in_flight::{Copies, Failure, InFlight};
use super::options::{DriveOptions, Omission};
use crate::store::Medium;
use crate::store::checkpoint::Writer;
use crate::store::firm::is_of_its_place;
use crate::store::image::BlockState;
use crate::store::layout::Layout;
use crate::store::log::{Batch, Log, LogEnd};
use crate::store::record::{Digest, MOST_BYTES, Record};
use crate::store::replaced::Replaced;
use crate::store::spare::{Spare, SpareBytes};

/// Slots that are tried for a page, because a disk that fails them all is of no use.
const SLOTS_TRIED: u32 = 3;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StoreCounts {
    pub log_batches: u64,
    /// Of these, those that had to be durable before an erased block was programmed again.
    pub erase_barriers: u64,
    pub checkpoints: u64,
    pub compared: u64,
    /// Of `compared`, pages that differ for all that their digests are equal.
    pub collisions: u64,
    /// Found when their pages were to be moved or copied.
    pub damaged_pages: u64,
    /// Of `damaged_pages`, those read from another copy.
    pub repaired_pages: u64,
    /// Writes of the medium that failed and were tried again.
    pub retried_writes: u64,
    /// Pages that were written elsewhere, because their own places failed each time.
    pub replaced_pages: u64,
    /// Of `log_batches`, those of which one copy was written, because the place of the other failed each time.
    pub lone_batches: u64,
}

pub(crate) struct Core {
    pub(crate) ftl: Ftl,
    pub(crate) flash: FlashArray,
    pub(crate) layout: Layout,
    pub(crate) medium: Arc<dyn Medium>,
    pub(crate) contents: Option<Contents>,
    /// By page number.
    pub(crate) spares: Vec<Spare>,
    /// By block number: sequence of the last program.
    pub(crate) last_programs: Vec<u64>,
    /// By block number: erases carried out; the controller counts those that it has decided.
    pub(crate) erases: Vec<u32>,
    /// Numbers of pages programmed without their data, which were lost.
    pub(crate) lost: BTreeSet<u32>,
    pub(crate) replaced: Replaced,
    /// Since the block was erased.
    pub(crate) damaged_in: HashMap<Block, u32>,
    pub(crate) open: HashMap<Block, Vec<SpareBytes>>,
    pub(crate) log: Log,
    /// Blocks erased since the log was made durable.
    pub(crate) erased: HashSet<Block>,
    /// Blocks whose erase is in the batch that a flush is making durable.
    pub(crate) erasing: HashSet<Block>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) ops: Vec<FlashOp>,
    pub(crate) queue: VecDeque<FlashOp>,
    pub(crate) jobs: VecDeque<FlashOp>,
    /// Nothing waits in a drive without a clock.
    pub(crate) loads: Vec<u32>,
    pub(crate) page: Vec<u8>,
    pub(crate) other: Vec<u8>,
    pub(crate) failed: Option<Failure>,
    pub(crate) counts: StoreCounts,
    pub(crate) options: DriveOptions,
}

#[derive(Clone, Copy)]
pub(crate) struct HostPage<'a> {
    pub(crate) ppn: Ppn,
    pub(crate) lpn: u32,
    pub(crate) bytes: &'a [u8],
    pub(crate) digest: Digest,
}

pub(crate) fn digest_of(bytes: &[u8], omission: Option<Omission>) -> Digest {
    let hash = blake3::hash(bytes);
    if omission == Some(Omission::Collision) {
        return [hash.as_bytes()[0] & 3; 16];
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.as_bytes()[..16]);
    digest
}

/// The part of the digest that is kept of every page.
pub(crate) fn check_of(digest: &Digest) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(first)
}

/// The data first, then the batch of the log that names them. One copy of it makes it durable.
pub(crate) fn make_durable(
    medium: &dyn Medium,
    batch: &Batch,
    omission: Option<Omission>,
) -> io::Result<Copies> {
    if omission != Some(Omission::DataSync) {
        medium.sync()?;
    }
    let copies = match batch.offsets.map(|offset| medium.write_at(&batch.bytes, offset)) {
        [Ok(()), Ok(())] => Copies::Both,
        [Err(error), Ok(())] | [Ok(()), Err(error)] if is_of_its_place(&error) => Copies::One,
        [Err(error), _] | [_, Err(error)] => return Err(of_table("the log", batch.offsets[0], error)),
    };
    if omission != Some(Omission::LogSync) {
        medium.sync()?;
    }
    Ok(copies)
}

/// The error of a table whose place is bad, because it has no other.
fn of_table(table: &str, offset: u64, error: io::Error) -> io::Error {
    if !is_of_its_place(&error) {
        return error;
    }
    let text = format!("{table} (byte {offset} of the medium): {error}; copy the image to another disk");
    io::Error::new(error.kind(), text)
}

pub(crate) fn broken(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

pub(crate) fn of_ftl(error: FtlError) -> io::Error {
    match error {
        FtlError::DeviceFull { .. } => io::Error::new(io::ErrorKind::StorageFull, error),
        FtlError::Stuck { .. } | FtlError::Broken(_) => io::Error::other(error),
    }
}

impl Core {
    /// Fails after a failure, because the controller's decisions since then may not be on the medium.
    pub(crate) fn may_write(&self) -> io::Result<()> {
        let failed = self.failed.clone().or_else(|| self.in_flight.failed());
        failed.map_or(Ok(()), |failure| Err(failure.error()))
    }

    /// Changes tables. If that fails, nothing is written from then on.
    pub(crate) fn change<T>(&mut self, what: impl FnOnce(&mut Self) -> io::Result<T>) -> io::Result<T> {
        self.may_write()?;
        let outcome = what(self);
        if let Err(error) = &outcome {
            let why = format!("it failed ({error}); open the drive again: it has what was flushed before");
            self.failed = Some(Failure::of(error, why));
        }
        outcome
    }

    /// Carries out the controller's operations in order. The host's page goes as soon as its block can take it. A job's
    /// end is reported after all earlier operations, when tables and medium agree.
    pub(crate) fn carry_out(&mut self, host: Option<HostPage<'_>>) -> io::Result<()> {
        let mut host = host;
        self.queue.extend(self.ops.drain(..));
        loop {
            while let Some(op) = self.queue.pop_front() {
                self.place_host(&mut host)?;
                self.carry_out_one(&op)?;
            }
            self.place_host(&mut host)?;
            let Some(op) = self.jobs.pop_front() else { break };
            self.end_job(&op)?;
        }
        match host {
            None => Ok(()),
            Some(HostPage { ppn, .. }) => {
                let place = self.layout.geometry.describe(ppn);
                Err(broken(format!("{place}: its block never became ready for the host's page")))
            }
        }
    }

    fn place_host(&mut self, host: &mut Option<HostPage<'_>>) -> io::Result<()> {
        let Some(HostPage { ppn, lpn, bytes, digest }) = *host else { return Ok(()) };
        if !self.flash.is_next(&self.layout.geometry, ppn) {
            return Ok(());
        }
        *host = None;
        let spare = Spare { check: check_of(&digest), lpn };
        self.program(ppn, bytes, spare, &Record::Program { lpn, ppn, digest })
    }

    fn carry_out_one(&mut self, op: &FlashOp) -> io::Result<()> {
        use flashtwin_ftl::{Cause, NO_JOB, OpKind};
        match op.kind {
            // The read of a copy happens with its program. The contents of compared pages are known.
            OpKind::Read => {}
            OpKind::Program => {
                let (from, to) = (op.source, op.ppn);
                self.copy(from, to, |lost| match op.cause {
                    Cause::Replica => Record::Copied { from, to, lost },
                    cause => Record::Moved { from, to, levelled: cause == Cause::WearLevelling, lost },
                })?;
            }
            OpKind::Erase => self.erase(op.ppn),
        }
        if op.job != NO_JOB {
            self.jobs.push_back(*op);
        }
        Ok(())
    }

    /// If the data are lost, the copy is marked as lost: only the logical pages that point to it suffer.
    fn copy(&mut self, from: Ppn, to: Ppn, record: impl FnOnce(bool) -> Record) -> io::Result<()> {
        let mut page = std::mem::take(&mut self.page);
        let mut spare = self.spares[self.layout.page_number(from)];
        let mut lost = !self.read_to_copy(from, to, &mut page);
        if lost && self.options.omission == Some(Omission::LostAsWhole) {
            spare.check = check_of(&digest_of(&page, None));
            lost = false;
        }
        if lost {
            self.lost.insert(self.layout.page_number(to) as u32);
        }
        let done = self.program(to, &page, spare, &record(lost));
        self.page = page;
        done
    }

    fn erase(&mut self, first: Ppn) {
        let block = self.layout.geometry.block_index(first);
        self.flash.erase(block);
        self.erased.insert(block);
        let number = self.layout.block_number(block);
        self.erases[number] += 1;
        self.log.push(&Record::Erase { first });
        if self.ftl.is_retired(block) && self.erases[number] == self.ftl.erases_of(block) {
            self.log.push(&Record::Retire { first });
        }
        self.damaged_in.remove(&block);
        let first = self.layout.page_number(first) as u32;
        let gone = first..first + self.layout.geometry.pages_per_block;
        self.replaced.remove(gone.clone());
        if !self.lost.is_empty() {
            self.lost.retain(|page| !gone.contains(page));
        }
    }

    /// Programs a page. If its block was erased since the log was last durable, its old pages may
    /// still be needed after a cut: that erase must be durable first.
    fn program(&mut self, ppn: Ppn, bytes: &[u8], spare: Spare, record: &Record) -> io::Result<()> {
        let block = self.layout.geometry.block_index(ppn);
        if self.options.omission != Some(Omission::EraseBarrier) {
            self.erase_is_durable(block)?;
        }
        if !self.flash.is_next(&self.layout.geometry, ppn) {
            let place = self.layout.geometry.describe(ppn);
            return Err(broken(format!("{place}: it is not the next page of its block")));
        }
        self.put(ppn, bytes)?;
        // Counts as programmed only now; after an earlier failure the page is ordered, but absent.
        self.flash.program(&self.layout.geometry, ppn).map_err(broken)?;
        let number = self.layout.page_number(ppn);
        self.spares[number] = spare;
        let sequence = self.log.next_program();
        self.last_programs[self.layout.block_number(block)] = sequence;
        self.log.push(record);
        let beside = self.open.entry(block).or_default();
        beside.push(SpareBytes { sequence, page: ppn.number(), spare });
        if self.flash.is_full(&self.layout.geometry, block) {
            self.write_spares(block)?;
        }
        if self.log.pending_bytes() + MOST_BYTES as u64 > self.layout.log_bytes / 8 {
            self.commit()?;
        }
        Ok(())
    }

    /// Where the data of a page are on the medium.
    #[inline]
    pub(crate) fn data_at(&self, ppn: Ppn) -> u64 {
        let slot = self.replaced.slot(self.layout.page_number(ppn) as u32);
        slot.and_then(|slot| self.layout.slot(slot)).unwrap_or_else(|| self.layout.data(ppn))
    }

    /// Writes a page to its place, or elsewhere if that is bad. The block is then to be used no more.
    fn put(&mut self, ppn: Ppn, bytes: &[u8]) -> io::Result<()> {
        let written = self.medium.write_at(bytes, self.layout.data(ppn));
        let Some(mut error) = written.err() else { return Ok(()) };
        for _ in 0..SLOTS_TRIED {
            let slot = self.replaced.next();
            let Some(offset) = self.layout.slot(slot).filter(|_| is_of_its_place(&error)) else { break };
            match self.medium.write_at(bytes, offset) {
                Err(another) => error = another,
                Ok(()) => {
                    self.replaced.insert(self.layout.page_number(ppn) as u32, slot);
                    self.log.push(&Record::Replaced { ppn, slot });
                    self.counts.replaced_pages += 1;
                    self.retire(self.layout.geometry.block_index(ppn));
                    return Ok(());
                }
            }
        }
        if !is_of_its_place(&error) {
            return Err(error);
        }
        let (place, retired) = (self.layout.geometry.describe(ppn), self.ftl.retired_blocks());
        let text = format!(
            "{place}: {error}, and no good place is left ({} pages lie elsewhere, {retired} blocks are used no more); copy \
             the image to another disk",
            self.replaced.iter().len()
        );
        Err(io::Error::new(error.kind(), text))
    }

    /// A block that does not keep its data is used no more from its next erase on, if the drive has one to spare.
    pub(crate) fn retire(&mut self, block: Block) {
        self.ftl.retire(block, u64::from(self.layout.logical_pages));
    }

    /// Makes sure that no recovery needs the block's data from before its erase.
    fn erase_is_durable(&mut self, block: Block) -> io::Result<()> {
        if self.erasing.contains(&block) {
            self.arrive()?;
        }
        if self.erased.contains(&block) {
            self.commit()?;
            self.counts.erase_barriers += 1;
        }
        Ok(())
    }

    fn arrive(&mut self) -> io::Result<()> {
        self.in_flight.wait()?;
        self.erasing.clear();
        Ok(())
    }

    fn write_spares(&mut self, block: Block) -> io::Result<()> {
        let Some(spares) = self.open.remove(&block) else { return Ok(()) };
        let mut bytes = Vec::new();
        spares.iter().for_each(|spare| spare.append(&self.log.uuid, &mut bytes));
        match self.medium.write_at(&bytes, self.layout.spare(block)) {
            // No recovery needs them.
            Err(error) if is_of_its_place(&error) => self.retire(block),
            written => written?,
        }
        Ok(())
    }

    /// A page that turned out to be a duplicate after it was written shares the other's place now.
    fn end_job(&mut self, op: &FlashOp) -> io::Result<()> {
        let merged = self.ftl.counters().dedup.duplicates_out_of_line;
        let loads = LoadView::new(&self.loads, &self.loads);
        self.ftl.job_done(op.job, &loads, &mut self.ops).map_err(of_ftl)?;
        if self.ftl.counters().dedup.duplicates_out_of_line > merged {
            let lpn = self.spares[self.layout.page_number(op.ppn)].lpn;
            match self.ftl.home_of(Lpn::new(lpn)) {
                Some(ppn) => self.log.push(&Record::Share { lpn, ppn }),
                None => return Err(broken(format!("logical page {lpn} was merged with nothing"))),
            }
        }
        self.queue.extend(self.ops.drain(..));
        Ok(())
    }

    pub(crate) fn commit(&mut self) -> io::Result<()> {
        let Some(batch) = self.seal()? else { return Ok(()) };
        self.in_flight.end(&make_durable(&*self.medium, &batch, self.options.omission));
        self.arrive()
    }

    /// Waits for the batch under way, and returns the next one, which is then under way; `None` without records.
    pub(crate) fn seal(&mut self) -> io::Result<Option<Batch>> {
        self.arrive()?;
        if self.log.is_empty() {
            return Ok(None);
        }
        let Some(batch) = self.log.seal(&self.layout) else {
            return Err(broken(format!(
                "half of the log, {} bytes, is too small for one operation: make the drive with a larger one",
                self.layout.log_bytes
            )));
        };
        std::mem::swap(&mut self.erasing, &mut self.erased);
        self.in_flight.begin();
        self.counts.log_batches += 1;
        Ok(Some(batch))
    }

    /// Makes room in the log between two operations. A checkpoint also relieves a batch that has one copy, and takes the
    /// log to its other half.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        let is_half_full = self.log.position > self.layout.log_bytes / 2;
        if is_half_full || self.in_flight.lone() > self.counts.lone_batches {
            self.checkpoint()
        } else {
            Ok(())
        }
    }

    /// Not while operations wait: tables run ahead of the medium then.
    pub(crate) fn checkpoint(&mut self) -> io::Result<()> {
        self.commit()?;
        let epoch = self.log.epoch + 1;
        let medium = Arc::clone(&self.medium);
        let mut writer = Writer::new(&*medium, &self.layout, epoch);
        let end = LogEnd { epoch, sequence: self.log.sequence, position: 0, programs: self.log.programs };
        let written = self.write_blocks(&mut writer).and_then(|()| self.write_tables(&mut writer));
        let written = written.and_then(|()| writer.finish(&self.log.uuid, &end));
        written.map_err(|error| of_table("the checkpoint", self.layout.checkpoint(epoch), error))?;
        self.medium.sync()?;
        self.counts.lone_batches = self.in_flight.lone();
        self.log.restart(epoch);
        self.replaced.reuse();
        self.counts.checkpoints += 1;
        Ok(())
    }

    fn write_blocks(&self, writer: &mut Writer<'_>) -> io::Result<()> {
        let images = self.ftl.block_images();
        writer.u32(images.len() as u32)?;
        for image in images {
            let number = self.layout.block_number(image.block);
            let state = BlockState {
                erases: image.erases,
                written: image.written,
                open: if let BlockUse::Open(kind) = image.used { Some(kind) } else { None },
                last_program: self.last_programs[number],
                collected: if let BlockUse::Collected { levelled } = image.used {
                    Some(levelled)
                } else {
                    None
                },
                retired: image.used == BlockUse::Retired,
            };
            writer.block(number as u32, &state, self.layout.geometry.pages_per_block)?;
        }
        Ok(())
    }

    fn write_tables(&self, writer: &mut Writer<'_>) -> io::Result<()> {
        let mut lpns = (0..self.layout.logical_pages).rev();
        let mapped = lpns.find(|&lpn| self.ftl.home_of(Lpn::new(lpn)).is_some()).map_or(0, |last| last + 1);
        writer.u32(mapped)?;
        for lpn in Lpn::each(0..mapped) {
            let home = self.ftl.home_of(lpn);
            writer.u32(home.map_or(0, |ppn| self.layout.page_number(ppn) as u32 + 1))?;
        }
        let mut seen = vec![0u64; self.spares.len().div_ceil(64)];
        for lpn in Lpn::each(0..mapped) {
            let Some((home, copies)) = self.ftl.copies_of(lpn) else { continue };
            let number = self.layout.page_number(home);
            let (word, bit) = (number / 64, 1 << (number % 64));
            if seen[word] & bit != 0 {
                continue;
            }
            seen[word] |= bit;
            let known = |contents: &Contents| Some(contents.digest(contents.of(lpn.number())?));
            match self.contents.as_ref().and_then(known) {
                Some(digest) => writer.bytes(&digest)?,
                None => writer.bytes(&{ self.spares[number].check }.to_le_bytes())?,
            }
            writer.bytes(&[copies.len() as u8])?;
            for &ppn in copies {
                writer.u32(self.layout.page_number(ppn) as u32)?;
            }
        }
        let lost: Vec<u32> = self.lost_pages().collect();
        writer.u32(lost.len() as u32)?;
        lost.into_iter().try_for_each(|number| writer.u32(number))?;
        let replaced = self.replaced.iter();
        if replaced.len() > 0 {
            writer.u32(replaced.len() as u32)?;
        }
        replaced.flat_map(|(number, slot)| [number, slot]).try_for_each(|word| writer.u32(word))
    }
}
