//! Reads of pages that are on their way to the flash, where controller RAM does not serve them.
//!
//! Such a read stands in the queue of the chip that it was sent to and counts as its load, but cannot
//! begin before its page is programmed; reads behind it go first. A page that programs in a later life
//! of its block is another page, so that page and life together name what is waited for.

use flashtwin_bits::Slab;
use flashtwin_ftl::{Lpn, ReadTarget, Unit};
use flashtwin_nand::Ppn;
use hashbrown::HashMap;

use super::ledger::{Charge, Ledger};
use super::pool::{NONE, Op, Work};
use super::tables::Then;
use super::unit::Queue;
use super::{Controller, Engine, Observer};
use crate::error::SimError;

/// A read that waits for the program of its page, and may wait for its tables.
#[derive(Debug, Clone)]
struct Read {
    target: ReadTarget,
    data: u64,
    request: u32,
    work: Work,
    /// The partial write that waits for this read.
    other: u32,
    /// What was charged to it before it came to its chip.
    charged: Option<Box<Ledger>>,
    /// When it came to its chip, if it has its tables.
    ready_ns: Option<u64>,
    programmed: bool,
}

/// Reads that wait for programs.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// By page and life of its block, in the order in which they came.
    by_page: HashMap<(Ppn, u32), Vec<u32>>,
    reads: Slab<Read>,
}

impl Awaited {
    fn insert(&mut self, page: (Ppn, u32), read: Read) -> u32 {
        let at = self.reads.insert(read);
        self.by_page.entry(page).or_default().push(at);
        at
    }

    fn remove(&mut self, at: u32) -> Read {
        self.reads.free(at);
        self.reads[at as usize].clone()
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// Where the redirection would read a page if only copies counted that are on flash, and the name
    /// of the data.
    pub(super) fn place_there(&mut self, lpn: Lpn) -> Result<Option<(ReadTarget, u64)>, SimError> {
        let Self { controller, loads, units, suspension, flash, blocks, geometry, now_ns, .. } = self;
        let loads = loads.view(units, suspension, *now_ns);
        let there = |ppn: Ppn| {
            flash.is_programmed(geometry, ppn) && !blocks.erase_is_pending(geometry.block_index(ppn))
        };
        Ok(controller.locate_among(lpn, &loads, &there)?)
    }

    /// A host read whose `chosen` page is on its way goes to another copy, or waits.
    #[inline(never)]
    pub(super) fn read_when_programmed(
        &mut self,
        lpn: Lpn,
        chosen: (ReadTarget, u64),
        request: u32,
        errand: u32,
        charged: Option<Box<Ledger>>,
    ) -> Result<(), SimError> {
        match self.place_there(lpn)? {
            Some((target, data)) if errand == NONE => self.queue_host_read(target, data, request, charged),
            Some((target, data)) => {
                self.keep(&target);
                self.set_out(errand, Then::Read { target: Some((target, data)), request, charged });
            }
            None => {
                let (target, data) = chosen;
                let (work, other) = (Work::HostRead, NONE);
                let (ready_ns, programmed) = (None, false);
                self.await_program(
                    Read { target, data, request, work, other, charged, ready_ns, programmed },
                    errand,
                );
            }
        }
        Ok(())
    }

    /// The old page of a partial write is on its way to the flash: the write waits until it is read.
    pub(super) fn await_old_page(&mut self, target: ReadTarget, write: u32, errand: u32) {
        let (work, request, charged) = (Work::ReadBeforeWrite, NONE, None);
        let (ready_ns, programmed) = (None, false);
        self.await_program(
            Read { target, data: 0, request, work, other: write, charged, ready_ns, programmed },
            errand,
        );
    }

    /// The page that a partial write reads first: the one that was `chosen`, unless another copy is
    /// `there` and it is not. None if controller RAM has it and serves it.
    pub(super) fn old_page(
        &mut self,
        chosen: Option<ReadTarget>,
        there: Option<(ReadTarget, u64)>,
    ) -> Option<ReadTarget> {
        let chosen = chosen?;
        if self.holds(chosen.ppn) {
            return Some(chosen);
        }
        if self.awaited.is_some() {
            return Some(there.map_or(chosen, |(target, _)| target));
        }
        self.counts.old_page_buffer_reads += 1;
        None
    }

    /// A read begins to wait for the program of its page, and for its tables if they must be read.
    fn await_program(&mut self, read: Read, errand: u32) {
        let ppn = read.target.ppn;
        // The page as the tables have it now: what they have ordered since may erase it.
        let page = (ppn, self.blocks.decided_life(self.geometry.block_index(ppn)));
        let Some(awaited) = &mut self.awaited else { return };
        let at = awaited.insert(page, read);
        self.counts.awaited_reads += 1;
        match errand {
            NONE => self.await_at_chip(at, None),
            errand => self.set_out(errand, Then::Awaited(at)),
        }
    }

    /// A read has its tables, for which it waited as `tables` says.
    pub(super) fn await_at_chip(&mut self, at: u32, tables: Option<Box<Ledger>>) {
        let now = self.now_ns;
        let Some(awaited) = &mut self.awaited else { return };
        let read = &mut awaited.reads[at as usize];
        read.ready_ns = Some(now);
        if let Some(tables) = tables {
            read.charged.get_or_insert_default().add(&tables);
        }
        let Read { target, work, programmed, .. } = *read;
        let unit = self.unit_of_plane[target.plane];
        self.load_up(unit, true);
        if target.redirected && work == Work::HostRead {
            self.counts.redirected_reads += 1;
            self.observer.redirected(self.units[unit].chip);
        }
        if programmed {
            self.keep_no_longer(&target);
            self.queue_awaited(at, None);
        }
    }

    /// A page has been programmed: reads that waited for it may begin.
    #[cold]
    pub(super) fn programmed(&mut self, ppn: Ppn) {
        let page = (ppn, self.blocks.life(self.geometry.block_index(ppn)));
        let unit = self.unit_of_plane[self.geometry.plane(ppn)];
        let Some(reads) = self.awaited.as_mut().and_then(|awaited| awaited.by_page.remove(&page)) else {
            return;
        };
        for at in reads {
            let Some(awaited) = &mut self.awaited else { return };
            let read = &mut awaited.reads[at as usize];
            read.programmed = true;
            let Read { target, ready_ns, .. } = *read;
            match ready_ns {
                Some(_) => self.queue_awaited(at, Some(unit)),
                // The page must still be there when its tables are.
                None => self.keep(&target),
            }
        }
    }

    /// Queues a read whose page has been programmed. `programmer`, the unit that has just done so,
    /// chooses by itself what it does next.
    fn queue_awaited(&mut self, at: u32, programmer: Option<Unit>) {
        let Some(awaited) = &mut self.awaited else { return };
        let Read { target, data, request, work, other, charged, ready_ns, .. } = awaited.remove(at);
        let unit = self.unit_of_plane[target.plane];
        let (chip, ready_ns) = (self.units[unit].chip, ready_ns.unwrap_or(self.now_ns));
        let mut charged = charged.unwrap_or_default();
        charged.charge(Charge::PageProgram, self.now_ns - ready_ns);
        let may_join = work == Work::HostRead && self.merging.is_some();
        let mut charged = Some(charged);
        if may_join {
            charged = match self.join_read(chip, (target.ppn, data), request, charged) {
                Ok(()) => return self.load_down(unit, true),
                Err(charged) => charged,
            };
        }
        let pins_block = self.geometry.plane(target.ppn) == target.plane;
        if pins_block {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
        let slot = self.ops.insert(Op { pins_block, other, request, ready_ns, ..Op::new(target.ppn, work) });
        if let Some(charged) = charged {
            self.note_charged(slot, charged);
        }
        if may_join {
            self.may_be_joined(unit, slot, data);
        }
        self.units[unit].push_in_order(Queue::Reads, slot, &mut self.ops);
        if Some(unit) != programmer {
            self.suspend_for_read(unit);
            self.dispatch_or_hold(unit);
        }
        self.note_wait(unit, slot);
    }
}
