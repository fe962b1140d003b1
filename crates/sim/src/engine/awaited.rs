//! Reads that wait for the program of their page, where controller RAM does not serve reads.
//!
//! Such a read counts as load of its chip, but cannot start before the program; reads that came later go first.
//! After an erase the same page number is another page, so the key of a wait is the page and the life of its block.

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

/// A read that waits for the program of its page, and perhaps for pages of the mapping tables.
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
    /// The copy that the redirection chooses among those already programmed, and the name of its data.
    pub(super) fn place_there(&mut self, lpn: Lpn) -> Result<Option<(ReadTarget, u64)>, SimError> {
        let Self { controller, loads, units, suspension, flash, blocks, geometry, now_ns, .. } = self;
        let loads = loads.view(units, suspension, *now_ns);
        let there = |ppn: Ppn| {
            flash.is_programmed(geometry, ppn) && !blocks.erase_is_pending(geometry.block_index(ppn))
        };
        Ok(controller.locate_among(lpn, &loads, &there)?)
    }

    /// Serves a host read whose `chosen` copy is not programmed yet: from another copy, or after the program.
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

    /// Reads the old page of a partial write after the program of that page; the write waits for the read.
    pub(super) fn await_old_page(&mut self, target: ReadTarget, write: u32, errand: u32) {
        let (work, request, charged) = (Work::ReadBeforeWrite, NONE, None);
        let (ready_ns, programmed) = (None, false);
        self.await_program(
            Read { target, data: 0, request, work, other: write, charged, ready_ns, programmed },
            errand,
        );
    }

    /// The copy of the old page that a partial write reads: the `chosen` one; if that is not programmed yet, one
    /// that is (`there`). `None` where controller RAM serves it. And whether the flash has that copy.
    pub(super) fn old_page(
        &mut self,
        chosen: Option<ReadTarget>,
        there: Option<(ReadTarget, u64)>,
    ) -> Option<(ReadTarget, bool)> {
        let chosen = chosen?;
        if let Some(ppn) = self.place_on_flash(chosen.ppn) {
            return Some((ReadTarget { ppn, ..chosen }, true));
        }
        if self.awaited.is_some() {
            return Some(there.map_or((chosen, false), |(target, _)| (target, true)));
        }
        self.counts.old_page_buffer_reads += 1;
        None
    }

    /// Enters a read among those that wait for a program, and sends for its mapping tables where `errand` says so.
    fn await_program(&mut self, read: Read, errand: u32) {
        let ppn = read.target.ppn;
        // The life that the mapping tables mean: erases that are ordered but not carried out count.
        let page = (ppn, self.blocks.decided_life(self.geometry.block_index(ppn)));
        let Some(awaited) = &mut self.awaited else { return };
        let at = awaited.insert(page, read);
        self.counts.pages.awaited_reads += 1;
        match errand {
            NONE => self.await_at_chip(at, None),
            errand => self.set_out(errand, Then::Awaited(at)),
        }
    }

    /// The read has its mapping tables and comes to its chip; `tables`: what that wait is charged as.
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
            self.counts.pages.redirected_reads += 1;
            self.observer.redirected(self.units[unit].chip);
        }
        if programmed {
            self.keep_no_longer(&target);
            self.queue_awaited(at, None);
        }
    }

    /// Queues the reads that waited for the program of a page, which is done.
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
                // The read still waits for its mapping tables: until then the block may not be erased.
                None => self.keep(&target),
            }
        }
    }

    /// Queues a read whose page has been programmed. `programmer` is the unit of the program, if that ends now:
    /// it dispatches itself.
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
            charged = match self.join_read(chip, (target, data), request, charged) {
                Ok(()) => return self.load_down(unit, true),
                Err(charged) => charged,
            };
        }
        let pins_block = self.geometry.plane(target.ppn) == target.plane;
        if pins_block {
            self.blocks.read_begins(self.geometry.block_index(target.ppn));
        }
        let slot = self.ops.insert(Op {
            pins_block,
            redirected: target.redirected,
            other,
            request,
            ready_ns,
            ..Op::new(target.ppn, work)
        });
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
