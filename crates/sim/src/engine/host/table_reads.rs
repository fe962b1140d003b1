//! A page of the mapping tables has been read: the page operations that waited for it go on.
//!
//! No callee calls back, because an operation that begins to wait ([`super::tables`]) never has its page at once.

use flashtwin_ftl::TablePage;

use super::page_op::{PageOp, State};
use super::{Charge, Condition, Controller, Decider, Ledger, NONE, Observer, Tables};

impl<C: Controller, O: Observer> Decider<C, O> {
    #[inline(never)]
    pub(super) fn table_page_read(&mut self, page: TablePage, reader: u32) {
        let waiting = self.waits.wake(Condition::TablePage(page));
        let reader = Some(reader).filter(|&reader| reader != NONE);
        // Operations that go on at the same moment may share a multi-plane command.
        let held = self.back.array.hold();
        for op in reader.into_iter().chain(waiting) {
            let walk = self.page_ops[op].walk;
            let Some(tables) = &mut self.tables else { break };
            tables.page_has_come(walk);
            if !tables.walk(walk, op, &mut self.back, &mut self.waits) {
                self.arrive_with_tables(op, walk);
            }
        }
        self.back.release(held);
    }

    fn arrive_with_tables(&mut self, op: u32, walk: u32) {
        let Some(tables) = &mut self.tables else { return };
        let (since_ns, counted_only) = tables.end(walk);
        let waited_ns = self.back.now_ns() - since_ns;
        self.back.accounts.counts.tables.waits += 1;
        self.back.accounts.counts.table_wait_ns += waited_ns;
        self.page_ops.charge(op, &Ledger::only(Charge::Tables, waited_ns), &mut self.back.accounts);
        self.go_on_with_tables(op);
        Tables::read_behind(counted_only, &mut self.back);
    }

    fn go_on_with_tables(&mut self, op: u32) {
        match self.page_ops[op].state {
            State::Preparing(Some(old)) => {
                self.page_ops[op].state = State::Preparing(None);
                self.back.array.unpin(&old);
                self.back.read_old_page(old, op);
            }
            State::ReadTables(page) => {
                let PageOp { request, charged, .. } = self.page_ops.remove(op);
                match page {
                    Some(page) => {
                        self.back.array.unpin(&page.0);
                        self.back.queue_host_read(page, request, charged);
                    }
                    None => self.page_done_in_ram(request, charged),
                }
            }
            State::ReadCached => {
                let PageOp { request, charged, .. } = self.page_ops.remove(op);
                self.interface.answer_cached_read(&mut self.back.books(), request, charged);
            }
            State::ReadProgram(at) => {
                let PageOp { charged, .. } = self.page_ops.remove(op);
                self.back.array.awaited_read_comes(at, charged, &mut self.back.accounts);
                self.back.hear_of_erases();
            }
            _ => self.got_what_it_needs(op),
        }
    }
}
