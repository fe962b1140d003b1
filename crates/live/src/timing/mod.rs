//! A drive that answers when the modelled drive would, and not before it has the data itself.
//!
//! The event engine runs under the wall clock, with its own queues, chips, buses and hash unit. It begins with the
//! served drive's data on unworn flash, and treats requests as a replay does.

mod clock;
mod numbers;

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use flashtwin_sim::{Resolved, RunResult};
use flashtwin_trace::{NO_CONTENT, Op};
use serde::Serialize;

use self::clock::{Clock, Ticket};
use self::numbers::Numbers;
use crate::drive::Drive;
use crate::drive::core::digest_of;
use crate::export::{Caller, Export, Extent, Writing, ZEROES};
use crate::figures::{TIME_RANGES, range_of};
use crate::locks::lock;
use crate::record::ZEROES_BYTES_MAX;
use crate::store::DriveError;
use crate::store::record::Digest;

struct Asked {
    op: Op,
    bytes: u64,
    first_lpn: u32,
    pages: u32,
    first_is_partial: bool,
    last_is_partial: bool,
    durable: bool,
    /// Of the written pages; empty if the system ignores contents.
    digests: Vec<Digest>,
}

#[derive(Clone, Copy)]
enum Data<'a> {
    Nothing,
    Bytes(&'a [u8]),
    Zeroes,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Kept {
    /// Requests whose bytes were ready before the modelled drive had them complete.
    pub held_back: u64,
    /// Requests that were answered later than the model says because the store took longer.
    pub store_was_slower: u64,
    /// By how much answers of `held_back` requests came later than the model's, added up.
    pub late_ns: u64,
    /// By the ranges of [`TIME_RANGES`].
    pub late: [u64; TIME_RANGES],
}

#[derive(Debug, Clone, Serialize)]
pub struct TimingFigures {
    #[serde(flatten)]
    pub kept: Kept,
    /// Operations waiting and in service at each chip of the modelled drive now; none after its end.
    pub chip_queues: Vec<u32>,
    /// Why nothing is held back any more.
    pub failure: Option<String>,
}

pub struct TimedDrive {
    drive: Arc<Drive>,
    clock: Clock,
    page_bytes: u64,
    aware: bool,
    zeroes: Digest,
    kept: Mutex<Kept>,
}

impl TimedDrive {
    /// Takes the engine's settings from `resolved` and all others from the drive.
    pub fn start(drive: Arc<Drive>, resolved: &Resolved) -> Result<Self, DriveError> {
        let config = |error: String| DriveError::Config(error);
        let system = drive.system();
        let mut resolved = resolved.clone();
        resolved.config.name.clone_from(&system.name);
        resolved.config.ftl = system.ftl.clone();
        resolved.config.nand = system.nand.clone();
        resolved.config.seed = system.seed;
        resolved.device = system.nand.resolve().map_err(|error| config(error.to_string()))?;
        let aware = system.ftl.looks_at_contents();
        let page_bytes = u64::from(resolved.device.geometry.page_bytes);
        let pages = (drive.size_bytes() / page_bytes) as u32;
        let mut numbers = Numbers::new(pages, aware);
        let held = numbers.begin(drive.held());
        let name = format!("served {}", system.name);
        let twin =
            flashtwin_sim::SteppedDrive::new(resolved, &name, pages, numbers.limit(), held.into_iter());
        let twin = twin.map_err(|error| config(error.to_string()))?;
        let clock = Clock::start(twin, numbers).map_err(DriveError::medium("the twin's clock"))?;
        let zeroes = digest_of(&ZEROES[..page_bytes as usize], None);
        Ok(Self { drive, clock, page_bytes, aware, zeroes, kept: Mutex::default() })
    }

    pub fn end_period(&self) {
        self.clock.end_period();
    }

    pub fn figures(&self) -> TimingFigures {
        TimingFigures {
            kept: lock(&self.kept).clone(),
            chip_queues: self.clock.queue_lengths(),
            failure: self.clock.failure(),
        }
    }

    /// The modelled drive's results, as a replay has them. From now on no answer is held back.
    pub fn finish(&self) -> Result<RunResult, String> {
        self.clock.finish()
    }

    fn asked(&self, op: Op, range: &Range<u64>, data: Data<'_>, durable: bool) -> io::Result<Asked> {
        let &Range { start, end } = range;
        let mut asked = Asked {
            op,
            bytes: end - start,
            first_lpn: 0,
            pages: 0,
            first_is_partial: false,
            last_is_partial: false,
            durable,
            digests: Vec::new(),
        };
        if op == Op::Flush {
            return Ok(asked);
        }
        let (first, last) = (start / self.page_bytes, (end - 1) / self.page_bytes);
        (asked.first_lpn, asked.pages) = (first as u32, (last - first + 1) as u32);
        let cut = [start, end].map(|edge| !edge.is_multiple_of(self.page_bytes));
        let in_one = first == last && (cut[0] || cut[1]);
        (asked.first_is_partial, asked.last_is_partial) = (cut[0] || in_one, cut[1] || in_one);
        if self.aware && !matches!(data, Data::Nothing) {
            let digests = (first..=last).map(|page| self.digest(page, range, data));
            asked.digests = digests.collect::<Result<_, _>>()?;
        }
        Ok(asked)
    }

    /// The digest of a page after the write. The rest of a partly written page comes from its present data.
    fn digest(&self, page: u64, range: &Range<u64>, data: Data<'_>) -> io::Result<Digest> {
        let (start, end) = (page * self.page_bytes, (page + 1) * self.page_bytes);
        let (from, to) = (range.start.max(start), range.end.min(end));
        let is_whole = (from, to) == (start, end);
        let written = match data {
            Data::Bytes(bytes) => &bytes[(from - range.start) as usize..(to - range.start) as usize],
            _ if is_whole => return Ok(self.zeroes),
            _ => &ZEROES[..(to - from) as usize],
        };
        if is_whole {
            return Ok(digest_of(written, None));
        }
        let mut whole = vec![0; self.page_bytes as usize];
        self.drive.read(start, &mut whole, &())?;
        whole[(from - start) as usize..(to - start) as usize].copy_from_slice(written);
        Ok(digest_of(&whole, None))
    }

    fn timed<T>(
        &self,
        op: Op,
        range: Range<u64>,
        data: Data<'_>,
        durable: bool,
        caller: &dyn Caller,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let arrived_ns = self.clock.now_ns();
        let ticket = self.clock.arrive(arrived_ns, &self.asked(op, &range, data, durable)?);
        let outcome = work();
        if let Some(ticket) = ticket {
            self.hold_back(&ticket, caller);
        }
        outcome
    }

    fn hold_back(&self, ticket: &Ticket, caller: &dyn Caller) {
        let ready_ns = self.clock.now_ns();
        let Some(done_ns) = ticket.wait(caller) else { return };
        if done_ns < ready_ns {
            lock(&self.kept).store_was_slower += 1;
            return;
        }
        self.clock.sleep_until(done_ns, caller);
        let late_ns = self.clock.now_ns().saturating_sub(done_ns);
        let mut kept = lock(&self.kept);
        kept.held_back += 1;
        kept.late_ns += late_ns;
        kept.late[range_of(late_ns)] += 1;
    }
}

impl Export for TimedDrive {
    fn size_bytes(&self) -> u64 {
        self.drive.size_bytes()
    }

    fn preferred_block_bytes(&self) -> u32 {
        self.drive.preferred_block_bytes()
    }

    fn read_only(&self) -> Option<String> {
        Export::read_only(&*self.drive)
    }

    fn read(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        let range = offset..offset + into.len() as u64;
        self.timed(Op::Read, range, Data::Nothing, false, caller, || self.drive.read(offset, into, caller))
    }

    fn read_again(&self, offset: u64, into: &mut [u8], caller: &dyn Caller) -> io::Result<()> {
        self.drive.read_again(offset, into, caller)
    }

    fn write(&self, offset: u64, bytes: &[u8], how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let range = offset..offset + bytes.len() as u64;
        self.timed(Op::Write, range, Data::Bytes(bytes), how.durable, caller, || {
            self.drive.write(offset, bytes, how, caller)
        })
    }

    fn flush(&self) -> io::Result<()> {
        self.timed(Op::Flush, 0..0, Data::Nothing, false, &(), || self.drive.flush())
    }

    fn trim(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        self.timed(Op::Trim, offset..offset + length, Data::Nothing, how.durable, caller, || {
            self.drive.trim(offset, length, how, caller)
        })
    }

    /// Whole pages that need no room are trimmed, by the modelled drive too. All others are written.
    fn write_zeroes(&self, offset: u64, length: u64, how: Writing, caller: &dyn Caller) -> io::Result<()> {
        let page = self.page_bytes;
        let end = offset + length;
        let first_whole = offset.next_multiple_of(page).min(end);
        let last_whole = (end / page * page).max(first_whole);
        let pieces = match how.keep_room {
            // In pieces as a recording has them.
            true => (offset..end)
                .step_by(ZEROES_BYTES_MAX as usize)
                .map(|from| from..end.min(from + ZEROES_BYTES_MAX))
                .collect(),
            false => vec![offset..first_whole, first_whole..last_whole, last_whole..end],
        };
        for range in pieces.into_iter().filter(|range| !range.is_empty()) {
            let Range { start, end } = range;
            let work = || self.drive.write_zeroes(start, end - start, how, caller);
            if range == (first_whole..last_whole) && !how.keep_room {
                self.timed(Op::Trim, range, Data::Nothing, how.durable, caller, work)?;
            } else {
                self.timed(Op::Write, range, Data::Zeroes, how.durable, caller, work)?;
            }
        }
        Ok(())
    }

    fn extents(
        &self,
        offset: u64,
        length: u64,
        runs_max: usize,
        caller: &dyn Caller,
    ) -> io::Result<Vec<Extent>> {
        self.drive.extents(offset, length, runs_max, caller)
    }
}

fn contents_of(numbers: &mut Numbers, asked: &Asked) -> (Vec<u32>, Vec<u32>) {
    match asked.op {
        Op::Write if !asked.digests.is_empty() => numbers.write(asked.first_lpn, &asked.digests),
        _ => (vec![NO_CONTENT; asked.pages as usize], Vec::new()),
    }
}
