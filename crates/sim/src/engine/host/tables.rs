//! Page operations of the host that wait for pages of the mapping tables.
//!
//! Pages of the tables that the controller looked up and did not find in RAM are read one after the
//! other before the page operation goes on, because the first page says where the second one lies. The
//! controller's tables run ahead of the flash: a page that the controller takes to be in RAM may still
//! be on its way there, and the operation waits for that page as well.

use flashtwin_bits::Slab;
use flashtwin_ftl::{Cause, Lookup, ReadTarget, TablePage};
use flashtwin_nand::Ppn;
use hashbrown::HashMap;

use super::super::array::{Op, Queue, Work};
use super::{Charge, Controller, Engine, Ledger, NONE, Observer, OpenLedger};

/// What a page operation does when it has its tables.
#[derive(Debug, Clone)]
pub(super) enum Then {
    /// A read for this request: the page to read and the name of its data, unless the read needs no
    /// flash; and what was charged to the request before the wait.
    Read { target: Option<(ReadTarget, u64)>, request: u32, charged: OpenLedger },
    /// The write of this number among the undecided ones, and the old page that it must read first.
    Write { write: u32, old: Option<ReadTarget> },
    /// The read of this number among those that wait for the program of their page as well.
    Awaited(u32),
}

/// Placeholder of `then` before [`Engine::set_out`] fills it and after [`Engine::go_on`] was given it: a read of nothing
/// for nobody.
const NOTHING: Then = Then::Read { target: None, request: NONE, charged: OpenLedger::NONE };

/// A page operation that waits for pages of the tables.
#[derive(Debug)]
struct Errand {
    /// The pages, in the order in which they are needed. The operation goes on after the last page that
    /// delays it; pages behind that one are read all the same. A page without a place on flash is being
    /// read for another operation.
    steps: Vec<Lookup>,
    /// The step under way.
    at: usize,
    /// When the operation began to wait.
    since_ns: u64,
    then: Then,
}

/// Pages of the tables on their way to RAM, and the page operations that wait for them.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Lookups of the page operation in hand; empty between two of them, kept for its memory.
    looked_up: Vec<Lookup>,
    /// By page: the errands that wait for it, except the one for which the page is read.
    arriving: HashMap<TablePage, Vec<u32>>,
    errands: Slab<Errand>,
}

impl Tables {
    fn insert(&mut self, since_ns: u64) -> u32 {
        self.errands.insert_with(
            || Errand { steps: Vec::new(), at: 0, since_ns, then: NOTHING },
            |errand| {
                errand.steps.clear();
                (errand.at, errand.since_ns, errand.then) = (0, since_ns, NOTHING);
            },
        )
    }
}

impl<C: Controller, O: Observer> Engine<C, O> {
    /// The errand of the page operation just decided; [`NONE`] if it has all its tables.
    #[inline]
    pub(super) fn looked_up(&mut self) -> u32 {
        if self.tables.is_none() { NONE } else { self.prepare() }
    }

    #[inline(never)]
    fn prepare(&mut self) -> u32 {
        let Some(mut tables) = self.tables.take() else { return NONE };
        self.controller.take_lookups(&mut tables.looked_up);
        let errand = tables.insert(self.array.now_ns);
        let mut lookups = std::mem::take(&mut tables.looked_up);
        for lookup in lookups.drain(..) {
            let Lookup { page, read, delays } = lookup;
            let arriving = tables.arriving.contains_key(&page);
            let on_flash = read.and_then(|ppn| self.array.place_on_flash(ppn));
            let step = match (read, on_flash) {
                (Some(_), Some(ppn)) if !arriving => {
                    // The block must not be erased before the read has its turn.
                    self.array.pin_page(ppn);
                    tables.arriving.insert(page, Vec::new());
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
            tables.errands[errand as usize].steps.extend(step);
        }
        tables.looked_up = lookups;
        let steps = &mut tables.errands[errand as usize].steps;
        if steps.iter().any(|step| step.delays) {
            self.tables = Some(tables);
            return errand;
        }
        let counted_only = std::mem::take(steps);
        tables.errands.free(errand);
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

    /// An operation begins to wait for its tables.
    #[inline(never)]
    pub(super) fn set_out(&mut self, errand: u32, then: Then) {
        let Some(tables) = &mut self.tables else { return };
        tables.errands[errand as usize].then = then;
        self.walk(errand);
    }

    /// Goes on from step to step. Returns at a page that must be waited for; after the last one, lets the
    /// page operation go on.
    fn walk(&mut self, errand: u32) {
        loop {
            let Some(tables) = &mut self.tables else { return };
            let state = &mut tables.errands[errand as usize];
            match state.steps.get(state.at) {
                Some(&Lookup { page, read: Some(ppn), delays: true }) => {
                    return self.read_table_page(page, ppn, errand);
                }
                Some(&Lookup { page, delays: true, .. }) => match tables.arriving.get_mut(&page) {
                    Some(waiting) => return waiting.push(errand),
                    None => state.at += 1,
                },
                _ => break,
            }
        }
        self.arrive_with_tables(errand);
    }

    fn arrive_with_tables(&mut self, errand: u32) {
        let Some(tables) = &mut self.tables else { return };
        let state = &mut tables.errands[errand as usize];
        let since_ns = state.since_ns;
        let then = std::mem::replace(&mut state.then, NOTHING);
        let counted_only = state.steps.split_off(state.at);
        tables.errands.free(errand);
        self.accounts.counts.tables.waits += 1;
        self.accounts.counts.table_wait_ns += self.array.now_ns - since_ns;
        self.go_on(then, &Ledger::only(Charge::Tables, self.array.now_ns - since_ns));
        self.read_behind(counted_only);
    }

    fn read_table_page(&mut self, page: TablePage, ppn: Ppn, errand: u32) {
        let (request, ready_ns) = (page.number(), self.array.now_ns);
        let op = Op { pins_block: true, other: errand, request, ready_ns, ..Op::new(ppn, Work::TableRead) };
        self.array.submit(Queue::Reads, op, &mut self.accounts);
        self.hear_of_erases();
    }

    /// A page of the tables is in RAM: the errands that waited for it go on, first the one that it was read for.
    #[inline(never)]
    pub(super) fn table_page_read(&mut self, page: TablePage, errand: u32) {
        let Some(tables) = &mut self.tables else { return };
        let waiting = tables.arriving.remove(&page).unwrap_or_default();
        let reader = Some(errand).filter(|&errand| errand != NONE);
        // Operations that go on at the same moment may share a multi-plane command.
        let held = self.array.hold();
        for errand in reader.into_iter().chain(waiting) {
            if let Some(tables) = &mut self.tables {
                tables.errands[errand as usize].at += 1;
            }
            self.walk(errand);
        }
        self.release(held);
    }

    /// A page operation has its tables and goes on; `waited` charges the wait.
    fn go_on(&mut self, then: Then, waited: &Ledger) {
        match then {
            Then::Read { target, request, mut charged } => {
                self.accounts.charge(&mut charged, waited);
                match target {
                    Some(page) => {
                        self.array.unpin(&page.0);
                        self.queue_host_read(page, request, charged);
                    }
                    None => self.page_done_in_ram(request, charged),
                }
            }
            Then::Awaited(read) => {
                self.array.awaited_read_comes(read, Some(waited), &mut self.accounts);
                self.hear_of_erases();
            }
            Then::Write { write, old } => {
                self.undecided.charge(write, waited, &mut self.accounts);
                match old {
                    Some(old) => {
                        self.array.unpin(&old);
                        self.read_old_page(old, write);
                    }
                    None => self.got_what_it_needs(write),
                }
            }
        }
    }

    /// Has the controller write its changed tables every so many nanoseconds, from now on.
    pub fn checkpoint_every(&mut self, every_ns: u64) {
        self.checkpoint_every_ns = every_ns.max(1);
        self.checkpoint_ns = self.array.now_ns.saturating_add(self.checkpoint_every_ns);
    }

    /// Lets time pass to each checkpoint up to `until_ns`, and makes it.
    #[cold]
    pub(super) fn checkpoint_until(&mut self, until_ns: u64) {
        while self.checkpoint_ns <= until_ns {
            let due_ns = self.checkpoint_ns;
            while self.step(due_ns) {}
            self.array.now_ns = self.array.now_ns.max(due_ns);
            if let Err(error) = self.controller.checkpoint(&mut self.own_ops) {
                self.accounts.fail(error);
            }
            let nothing_changes = self.own_ops.is_empty() && !self.step_is_pending();
            self.queue_own(false);
            self.tell_jobs_done();
            // A device at rest changes no table: later checkpoints up to `until_ns` would write nothing either.
            let skipped = if nothing_changes { (until_ns - due_ns) / self.checkpoint_every_ns } else { 0 };
            self.checkpoint_ns =
                due_ns.saturating_add((skipped + 1).saturating_mul(self.checkpoint_every_ns));
        }
    }
}
