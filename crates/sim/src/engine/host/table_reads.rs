//! A page of the mapping tables has been read: the page operations that waited for it go on.
//!
//! This file calls those that let reads and writes go on, and none of them calls this one: a page operation that begins
//! to wait for a page ([`super::tables`]) never has it at once.

use flashtwin_ftl::TablePage;

use super::page_op::{PageOp, State};
use super::{Backend, Charge, Condition, Controller, Engine, Ledger, NONE, Observer};

impl<C: Controller, O: Observer, B: Backend> Engine<C, O, B> {
    /// A page of the tables is in RAM: the operations that waited for it go on, first the one that it was read for.
    #[inline(never)]
    pub(super) fn table_page_read(&mut self, page: TablePage, reader: u32) {
        let waiting = self.waits.wake(Condition::TablePage(page));
        let reader = Some(reader).filter(|&reader| reader != NONE);
        // Operations that go on at the same moment may share a multi-plane command.
        let held = self.array.hold();
        for op in reader.into_iter().chain(waiting) {
            let walk = self.page_ops[op].walk;
            if let Some(tables) = &mut self.tables {
                tables.page_has_come(walk);
            }
            if !self.walk(op) {
                self.arrive_with_tables(op, walk);
            }
        }
        self.release(held);
    }

    fn arrive_with_tables(&mut self, op: u32, walk: u32) {
        let Some(tables) = &mut self.tables else { return };
        let (since_ns, counted_only) = tables.end(walk);
        let waited_ns = self.array.now_ns() - since_ns;
        self.accounts.counts.tables.waits += 1;
        self.accounts.counts.table_wait_ns += waited_ns;
        self.page_ops.charge(op, &Ledger::only(Charge::Tables, waited_ns), &mut self.accounts);
        self.go_on_with_tables(op);
        self.read_behind(counted_only);
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
