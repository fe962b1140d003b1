//! A flash back end for tests of the host: it records the operations that it is given, and ends
//! them when the test says so.

use std::collections::{HashSet, VecDeque};

use flashtwin_ftl::{FlashOp, LoadView, ReadTarget, Unit};
use flashtwin_nand::{Chip, Ppn};

use super::super::accounts::{Charge, Ledger};
use super::super::array::{AwaitedRead, MergedRead, News, Op, Queue, UnitHold, Work};
use super::{Accounts, Backend, Completion, NO_EVENT, NONE, Observer, OpenLedger, Pool};

/// One unit that takes up everything at once.
pub(super) struct FakeArray {
    now_ns: u64,
    ops: Pool<Op>,
    news: News,
    /// Operations under way, with their slots, in order of arrival.
    pub(super) under_way: Vec<(Work, u32)>,
    /// When the operations of these slots end, in order.
    script: VecDeque<(u64, u32)>,
    /// Whether reads wait for the program of their page.
    awaits_programs: bool,
    pub(super) programmed: HashSet<Ppn>,
    /// Reads that wait for the program of their page, and since when.
    pub(super) awaited: Vec<(AwaitedRead, u64)>,
}

impl FakeArray {
    pub(super) fn new(awaits_programs: bool) -> Self {
        Self {
            now_ns: 0,
            ops: Pool::new(),
            news: News::default(),
            under_way: Vec::new(),
            script: VecDeque::new(),
            awaits_programs,
            programmed: HashSet::new(),
            awaited: Vec::new(),
        }
    }

    /// The operation at this place among those under way ends at this time, and none before it.
    pub(super) fn ends_at(&mut self, place: usize, time_ns: u64) {
        self.script.push_back((time_ns, self.under_way[place].1));
    }

    /// Operations under way.
    pub(super) fn works(&self) -> Vec<Work> {
        self.under_way.iter().map(|&(work, _)| work).collect()
    }

    fn take_up(&mut self, op: Op) -> u32 {
        let slot = self.ops.insert(Op { start_ns: self.now_ns, ..op });
        self.under_way.push((op.work, slot));
        slot
    }
}

impl Backend for FakeArray {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }
    fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }
    fn next_event_ns(&self) -> u64 {
        self.script.front().map_or(NO_EVENT, |&(time_ns, _)| time_ns)
    }
    fn step<O: Observer>(&mut self, _accounts: &mut Accounts<O>) -> (Unit, Completion) {
        let (time_ns, slot) = self.script.pop_front().unwrap();
        self.now_ns = time_ns;
        (Unit::new(0), Completion::Command(slot))
    }
    fn next_of_command(&self, _slot: u32) -> u32 {
        NONE
    }
    fn end<O: Observer>(&mut self, _unit: Unit, slot: u32, accounts: &mut Accounts<O>) -> Op {
        self.under_way.retain(|&(_, other)| other != slot);
        let op = self.ops[slot];
        self.ops.remove(slot);
        if op.work == Work::HostProgram {
            self.programmed.insert(op.ppn);
            let (come, wait) = self.awaited.drain(..).partition(|(read, _)| read.target.ppn == op.ppn);
            self.awaited = wait;
            for (AwaitedRead { work, request, other, mut charged, .. }, since_ns) in come {
                let waited_ns = self.now_ns - since_ns;
                accounts.charge(&mut charged, &Ledger::only(Charge::PageProgram, waited_ns));
                self.take_up(Op { request, other, charged, ..Op::new(op.ppn, work) });
            }
        }
        op
    }
    fn dispatch<O: Observer>(&mut self, _unit: Unit, _accounts: &mut Accounts<O>) {}
    fn end_event(&mut self, _unit: Unit) {}
    fn news(&mut self) -> &mut News {
        &mut self.news
    }
    fn submit<O: Observer>(&mut self, _queue: Queue, op: Op, _accounts: &mut Accounts<O>) -> u32 {
        self.take_up(op)
    }
    fn read<O: Observer>(&mut self, _target: &ReadTarget, op: Op, _accounts: &mut Accounts<O>) -> u32 {
        self.take_up(op)
    }
    fn read_for_host<O: Observer>(
        &mut self,
        (target, _): (&ReadTarget, u64),
        request: u32,
        charged: OpenLedger,
        _accounts: &mut Accounts<O>,
    ) {
        self.take_up(Op { request, charged, ..Op::new(target.ppn, Work::HostRead) });
    }
    fn carry_out_orders<O: Observer>(&mut self, _: &[FlashOp], _: bool, _: &mut Accounts<O>) {
        unreachable!("the controllers of these tests order nothing")
    }
    fn life_of_program(&self, _ppn: Ppn, _ordered: &[FlashOp]) -> u32 {
        0
    }
    fn awaits_programs(&self) -> bool {
        self.awaits_programs
    }
    fn await_program<O: Observer>(&mut self, read: AwaitedRead, _accounts: &mut Accounts<O>) -> u32 {
        self.awaited.push((read, self.now_ns));
        self.awaited.len() as u32 - 1
    }
    fn awaited_read_comes<O: Observer>(&mut self, at: u32, waited: OpenLedger, _: &mut Accounts<O>) {
        assert_eq!((self.awaited[at as usize].1, waited), (self.now_ns, OpenLedger::NONE));
    }
    fn hold(&mut self) -> UnitHold {
        UnitHold(false)
    }
    fn release<O: Observer>(&mut self, _held: UnitHold, _accounts: &mut Accounts<O>) {}
    fn next_slot(&self) -> u32 {
        self.ops.next_slot()
    }
    fn op(&self, slot: u32) -> &Op {
        &self.ops[slot]
    }
    fn op_mut(&mut self, slot: u32) -> &mut Op {
        &mut self.ops[slot]
    }
    fn take_merged(&mut self, _merged: u32) -> Vec<MergedRead> {
        unreachable!("no reads are merged")
    }
    fn forget_merged(&mut self, _merged: u32, _joined: Vec<MergedRead>) {}
    fn place_on_flash(&self, ppn: Ppn) -> Option<Ppn> {
        Some(ppn).filter(|ppn| self.programmed.contains(ppn))
    }
    fn pin(&mut self, _target: &ReadTarget) {}
    fn unpin(&mut self, _target: &ReadTarget) {}
    fn pin_page(&mut self, _ppn: Ppn) {}
    fn load_view(&mut self) -> LoadView<'_> {
        LoadView::new(&[0], &[0])
    }
    fn loads_and_pages(&mut self) -> (LoadView<'_>, impl Fn(Ppn) -> bool) {
        (LoadView::new(&[0], &[0]), |ppn| self.programmed.contains(&ppn))
    }
    fn has_idle_time(&mut self, _unit: Unit) -> bool {
        false
    }
    fn chip(&self, _unit: Unit) -> Chip {
        Chip::new(0)
    }
    fn gathers(&self) -> bool {
        false
    }
    fn host_pages_in_units(&self) -> (u32, u32) {
        (0, 0)
    }
    fn program_open_units<O: Observer>(&mut self, _accounts: &mut Accounts<O>) {}
    fn array_ns(&self, _work: Work, _ppn: Ppn) -> u64 {
        0
    }
    fn lost_ns(&self, _unit: Unit) -> u64 {
        0
    }
    fn charge_command(&self, ledger: &mut Ledger, start_ns: u64, _array_ns: u64, _lost_ns: u64) {
        ledger.charge(Charge::Flash, self.now_ns - start_ns);
    }
}
