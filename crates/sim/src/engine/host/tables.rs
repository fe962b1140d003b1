//! Page operations of the host that wait for pages of the mapping tables.
//!
//! Table pages missing in RAM are read one after the other before the page operation goes on,
//! because the first page has the address of the second. The controller's tables run ahead of the
//! flash: a page that the controller takes to be in RAM may still be on its way there, and the
//! operation waits for that page as well. [`super::table_reads`] handles the arrival of a page.

use flashtwin_bits::Slab;
use flashtwin_ftl::{Cause, Lookup, TablePage};
use flashtwin_nand::Ppn;

use super::super::array::{Op, Queue, Work};
use super::{Backend, Condition, Controller, Engine, NONE, Observer};

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

    /// The page that a walk waited for is in RAM.
    pub(super) fn page_has_come(&mut self, walk: u32) {
        self.walks[walk as usize].at += 1;
    }

    /// A walk is over: when it began, and the pages behind the last one that delayed anybody.
    pub(super) fn end(&mut self, walk: u32) -> (u64, Vec<Lookup>) {
        let Walk { steps, at, since_ns } = &mut self.walks[walk as usize];
        let ended = (*since_ns, steps.split_off(*at));
        self.walks.free(walk);
        ended
    }
}

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// The walk of the page operation just decided; [`NONE`] if it has all its tables.
    #[inline]
    pub(super) fn looked_up(&mut self) -> u32 {
        if self.tables.is_none() { NONE } else { self.prepare() }
    }

    #[inline(never)]
    fn prepare(&mut self) -> u32 {
        let Some(mut tables) = self.tables.take() else { return NONE };
        self.controller.take_lookups(&mut tables.looked_up);
        let walk = tables.insert(self.array.now_ns());
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

    /// Reads table pages that delay no operation: they only take the flash's time.
    pub(super) fn read_behind(&mut self, lookups: Vec<Lookup>) {
        for Lookup { page, read, .. } in lookups {
            if let Some(ppn) = read {
                self.read_table_page(page, ppn, NONE);
            }
        }
    }

    /// A page operation begins to wait for its tables. The first page is not in RAM: the walk was made a moment ago, of
    /// pages that were missing.
    #[inline(never)]
    pub(super) fn wait_for_tables(&mut self, walk: u32, op: u32) {
        self.page_ops[op].walk = walk;
        let waits = self.walk(op);
        debug_assert!(waits, "a walk begins with a page that delays nobody");
    }

    /// Goes on from step to step, to a page that must be waited for; `false` where there is none any more.
    pub(super) fn walk(&mut self, op: u32) -> bool {
        let at = self.page_ops[op].walk;
        loop {
            let Some(tables) = &mut self.tables else { return false };
            let walk = &mut tables.walks[at as usize];
            match walk.steps.get(walk.at) {
                Some(&Lookup { page, read: Some(ppn), delays: true }) => {
                    self.read_table_page(page, ppn, op);
                    return true;
                }
                Some(&Lookup { page, delays: true, .. }) => {
                    if self.waits.is_expected(Condition::TablePage(page)) {
                        self.waits.wait(Condition::TablePage(page), op);
                        return true;
                    }
                    walk.at += 1;
                }
                _ => return false,
            }
        }
    }

    fn read_table_page(&mut self, page: TablePage, ppn: Ppn, reader: u32) {
        let (request, ready_ns) = (page.number(), self.array.now_ns());
        let op = Op { pins_block: true, other: reader, request, ready_ns, ..Op::new(ppn, Work::TableRead) };
        self.array.submit(Queue::Reads, op, &mut self.accounts);
        self.hear_of_erases();
    }
}
