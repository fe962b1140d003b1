//! Page operations of the host that wait for pages of the mapping tables.
//!
//! Pages of the tables that the controller looked up and did not find in RAM are read one after the
//! other before the page operation goes on, because the first page says where the second one lies. The
//! controller's tables run ahead of the flash: a page that the controller takes to be in RAM may still
//! be on its way there, and the operation waits for that page as well.

use flashtwin_bits::Slab;
use flashtwin_ftl::{Cause, Lookup, TablePage};
use flashtwin_nand::Ppn;

use super::super::array::{Op, Queue, Work};
use super::page_op::{PageOp, State};
use super::{Charge, Condition, Controller, Engine, Ledger, NONE, Observer};

/// The pages of the tables that a page operation needs.
#[derive(Debug, Default)]
struct Walk {
    /// The pages, in the order in which they are needed. The operation goes on after the last page that
    /// delays it; pages behind that one are read all the same. A page without a place on flash is being
    /// read for another operation.
    steps: Vec<Lookup>,
    /// The step under way.
    at: usize,
    /// When the operation began to wait.
    since_ns: u64,
}

/// Walks of page operations through pages of the tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Lookups of the page operation in hand; empty between two of them, kept for its memory.
    looked_up: Vec<Lookup>,
    walks: Slab<Walk>,
}

impl Tables {
    fn insert(&mut self, since_ns: u64) -> u32 {
        self.walks.insert_with(
            || Walk { since_ns, ..Walk::default() },
            |walk| {
                walk.steps.clear();
                (walk.at, walk.since_ns) = (0, since_ns);
            },
        )
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// The walk of the page operation just decided; [`NONE`] if it has all its tables.
    #[inline]
    pub(super) fn looked_up(&mut self) -> u32 {
        if self.tables.is_none() { NONE } else { self.prepare() }
    }

    #[inline(never)]
    fn prepare(&mut self) -> u32 {
        let Some(mut tables) = self.tables.take() else { return NONE };
        self.controller.take_lookups(&mut tables.looked_up);
        let walk = tables.insert(self.array.now_ns);
        let mut lookups = std::mem::take(&mut tables.looked_up);
        for lookup in lookups.drain(..) {
            let Lookup { page, read, delays } = lookup;
            let arriving = self.waits.is_expected(Condition::TablePage(page));
            let on_flash = read.and_then(|ppn| self.array.place_on_flash(ppn));
            let step = match (read, on_flash) {
                (Some(_), Some(ppn)) if !arriving => {
                    // The block must not be erased before the read has its turn.
                    self.array.pin_page(ppn);
                    self.waits.expect(Condition::TablePage(page));
                    Some(Lookup { read: on_flash, ..lookup })
                }
                (Some(_), _) => {
                    // The page was evicted a moment ago: it is still on its way to the flash, or even still on
                    // its way to RAM. Either way controller RAM has it or will have it without another read.
                    self.accounts.counts.own_buffer_reads[Cause::Metadata as usize] += 1;
                    (arriving && delays).then_some(Lookup { read: None, ..lookup })
                }
                (None, _) => (arriving && delays).then_some(lookup),
            };
            tables.walks[walk as usize].steps.extend(step);
        }
        tables.looked_up = lookups;
        let steps = &mut tables.walks[walk as usize].steps;
        if steps.iter().any(|step| step.delays) {
            self.tables = Some(tables);
            return walk;
        }
        let counted_only = std::mem::take(steps);
        tables.walks.free(walk);
        self.tables = Some(tables);
        self.read_behind(counted_only);
        NONE
    }

    /// Reads pages of the tables that were looked up but delay nobody: they only take the flash's time.
    fn read_behind(&mut self, lookups: Vec<Lookup>) {
        for Lookup { page, read, .. } in lookups {
            if let Some(ppn) = read {
                self.read_table_page(page, ppn, NONE);
            }
        }
    }

    /// A page operation begins to wait for its tables.
    #[inline(never)]
    pub(super) fn wait_for_tables(&mut self, walk: u32, op: u32) {
        self.page_ops[op].walk = walk;
        self.walk(op);
    }

    /// Goes on from step to step. Returns at a page that must be waited for; after the last one, lets the
    /// page operation go on.
    fn walk(&mut self, op: u32) {
        let at = self.page_ops[op].walk;
        loop {
            let Some(tables) = &mut self.tables else { return };
            let walk = &mut tables.walks[at as usize];
            match walk.steps.get(walk.at) {
                Some(&Lookup { page, read: Some(ppn), delays: true }) => {
                    return self.read_table_page(page, ppn, op);
                }
                Some(&Lookup { page, delays: true, .. }) => {
                    if self.waits.is_expected(Condition::TablePage(page)) {
                        return self.waits.wait(Condition::TablePage(page), op);
                    }
                    walk.at += 1;
                }
                _ => break,
            }
        }
        self.arrive_with_tables(op, at);
    }

    fn arrive_with_tables(&mut self, op: u32, at: u32) {
        let Some(tables) = &mut self.tables else { return };
        let walk = &mut tables.walks[at as usize];
        let waited_ns = self.array.now_ns - walk.since_ns;
        let counted_only = walk.steps.split_off(walk.at);
        tables.walks.free(at);
        self.accounts.counts.tables.waits += 1;
        self.accounts.counts.table_wait_ns += waited_ns;
        self.page_ops.charge(op, &Ledger::only(Charge::Tables, waited_ns), &mut self.accounts);
        self.go_on_with_tables(op);
        self.read_behind(counted_only);
    }

    fn read_table_page(&mut self, page: TablePage, ppn: Ppn, reader: u32) {
        let (request, ready_ns) = (page.number(), self.array.now_ns);
        let op = Op { pins_block: true, other: reader, request, ready_ns, ..Op::new(ppn, Work::TableRead) };
        self.array.submit(Queue::Reads, op, &mut self.accounts);
        self.hear_of_erases();
    }

    /// A page of the tables is in RAM: the operations that waited for it go on, first the one that it was read for.
    #[inline(never)]
    pub(super) fn table_page_read(&mut self, page: TablePage, reader: u32) {
        let waiting = self.waits.wake(Condition::TablePage(page));
        let reader = Some(reader).filter(|&reader| reader != NONE);
        // Operations that go on at the same moment may share a multi-plane command.
        let held = self.array.hold();
        for op in reader.into_iter().chain(waiting) {
            let at = self.page_ops[op].walk;
            if let Some(tables) = &mut self.tables {
                tables.walks[at as usize].at += 1;
            }
            self.walk(op);
        }
        self.release(held);
    }

    /// A page operation has its tables and goes on.
    fn go_on_with_tables(&mut self, op: u32) {
        match self.page_ops[op].state {
            State::Preparing(Some(old)) => {
                self.page_ops[op].state = State::Preparing(None);
                self.array.unpin(&old);
                self.read_old_page(old, op);
            }
            State::ReadTables(page) => {
                let PageOp { request, charged, .. } = self.page_ops.remove(op);
                match page {
                    Some(page) => {
                        self.array.unpin(&page.0);
                        self.queue_host_read(page, request, charged);
                    }
                    None => self.page_done_in_ram(request, charged),
                }
            }
            State::ReadProgram(at) => {
                let PageOp { charged, .. } = self.page_ops.remove(op);
                self.array.awaited_read_comes(at, charged, &mut self.accounts);
                self.hear_of_erases();
            }
            _ => self.got_what_it_needs(op),
        }
    }
}
