//! The host's side with a controller that writes page after page, on an array of one die.

use std::collections::VecDeque;

use flashtwin_ftl::{
    Cause, Content, FlashOp, FtlError, Hints, Host, LoadView, Lookup, Lpn, ReadOutcome, ReadTarget,
    TablePage, WriteOutcome,
};
use flashtwin_nand::{FlashArray, Geometry, Plane, Ppn};
use flashtwin_trace::{Op as HostOp, Window};

use super::super::array::tests::device;
use super::flush::NO_EPOCH;
use super::page_op::{Fingerprint, State};
use super::{Arrivals, Charge, Completed, Condition, Controller, Engine, Ledger, Observer, Request};
use crate::config::{Concurrency, EngineConfig};

/// Fills a block of one plane and then of the other, and remembers its decisions.
pub(super) struct NextPage {
    geometry: Geometry,
    pub(super) decided: Vec<Lpn>,
    /// Of each fingerprint to be looked up, the page of the store that is read for it; none where the store is in RAM.
    store: Option<VecDeque<Option<Ppn>>>,
    looked_up: Vec<Lookup>,
}

impl NextPage {
    fn new(geometry: &Geometry) -> Self {
        Self { geometry: geometry.clone(), decided: Vec::new(), store: None, looked_up: Vec::new() }
    }

    /// The place of the `at`th decided write.
    fn page(&self, at: usize) -> Ppn {
        let (pages, planes) = (self.geometry.pages_per_block, self.geometry.planes());
        let block = at as u32 / pages;
        self.geometry.ppn(Plane::new(block % planes), block / planes, at as u32 % pages)
    }
}

impl Hints for NextPage {}

impl Controller for NextPage {
    fn read(&mut self, lpn: Lpn, _loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        let Some(at) = self.decided.iter().rposition(|&decided| decided == lpn) else {
            return Ok(ReadOutcome::Unmapped);
        };
        let ppn = self.page(at);
        let target = ReadTarget { ppn, plane: self.geometry.plane(ppn), redirected: false };
        Ok(ReadOutcome::Flash { target, new_value: false, replicated: false, data: at as u64 })
    }
    fn write(
        &mut self,
        page: Host,
        _fingerprinted: bool,
        _loads: &LoadView<'_>,
        _ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        let next = self.page(self.decided.len());
        self.decided.push(page.lpn);
        Ok(WriteOutcome { program: Some((next, Cause::Host)) })
    }
    fn trim(&mut self, _lpn: Lpn) {}
    fn pages_tables(&self) -> bool {
        self.store.is_some()
    }
    fn pages_fingerprints(&self) -> bool {
        self.store.is_some()
    }
    fn look_up_fingerprint(&mut self, _content: Content) -> Result<(), FtlError> {
        let read = self.store.as_mut().and_then(VecDeque::pop_front).flatten();
        let page = TablePage::new(0);
        self.looked_up.extend(read.map(|ppn| Lookup { page, read: Some(ppn), delays: true }));
        Ok(())
    }
    fn take_lookups(&mut self, lookups: &mut Vec<Lookup>) {
        lookups.append(&mut self.looked_up);
    }
    fn end_period(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
}

#[derive(Default)]
pub(super) struct Answers(Vec<(HostOp, u64, Ledger)>);

impl Observer for Answers {
    fn completed(&mut self, done: &Completed<'_>) {
        self.0.push((done.kind, done.arrival_ns + done.total_ns, *done.ledger));
    }
}

type TestEngine = Engine<NextPage, Answers>;

pub(super) fn engine(config: EngineConfig) -> TestEngine {
    let geometry = device().geometry;
    engine_with(NextPage::new(&geometry), &config, FlashArray::new(&geometry), true)
}

fn engine_with(controller: NextPage, config: &EngineConfig, flash: FlashArray, hashes: bool) -> TestEngine {
    Engine::new(controller, Answers::default(), &device(), config, flash, hashes, 1)
}

fn plain_engine(config: EngineConfig) -> TestEngine {
    let geometry = device().geometry;
    engine_with(NextPage::new(&geometry), &config, FlashArray::new(&geometry), false)
}

pub(super) fn write(engine: &mut TestEngine, lpn: u32) -> (Host, u32) {
    let epoch = engine.decider.interface.flushes.write_begins(false);
    let request = engine.decider.interface.requests.insert(Request::new(engine.now_ns(), 1, epoch));
    (Host { lpn: Lpn::new(lpn), address: 0, content: Content::new(lpn) }, request)
}

#[test]
fn write_is_decided_when_hashed_and_answered_when_programmed() {
    let mut engine = engine(EngineConfig::default());
    let (page, request) = write(&mut engine, 5);
    let op = engine.decider.write_page(page, false, request, Fingerprint::Yes).unwrap().unwrap();
    assert_eq!((engine.decider.page_ops[op].state, engine.controller().decided.len()), (State::Hashing, 0));
    engine.advance(12_000).unwrap();
    assert_eq!(engine.controller().decided, [page.lpn]);
    assert_eq!(engine.decider.page_ops.newest(page.lpn), None);
    engine.drain().unwrap();
    assert_eq!((engine.now_ns(), engine.accounts().counts.requests[1]), (12_000 + 210_100, 1));
}

#[test]
fn writes_of_one_page_are_decided_in_order() {
    let mut engine = engine(EngineConfig { hash_us: 0.0, ..EngineConfig::default() });
    let ([first, second], page) = ([(); 2].map(|()| write(&mut engine, 5).1), write(&mut engine, 5).0);
    let before = engine.decider.page_ops.insert_write(page, first, Fingerprint::No);
    engine.decider.page_ops[before].needs = 1;
    let behind = engine.decider.write_page(page, false, second, Fingerprint::No).unwrap().unwrap();
    assert_eq!(engine.decider.page_ops[behind].before, before);
    assert!(engine.decider.waits.anybody(Condition::EarlierWrite(before)));
    assert!(engine.controller().decided.is_empty());
    engine.decider.got_what_it_needs(before);
    assert_eq!(engine.controller().decided.len(), 2);
}

#[test]
fn read_waits_for_a_decision_where_ram_serves_none() {
    let mut engine = engine(EngineConfig { buffer_reads: false, ..EngineConfig::default() });
    let (page, request) = write(&mut engine, 5);
    let op = engine.decider.write_page(page, false, request, Fingerprint::Yes).unwrap().unwrap();
    let read = engine.decider.interface.requests.insert(Request::new(0, 1, NO_EPOCH));
    engine.decider.read_page(page.lpn, read).unwrap();
    assert!(engine.decider.waits.anybody(Condition::Decision(op)));
    assert_eq!(engine.accounts().counts.requests[0], 0);
    engine.advance(12_000).unwrap();
    // Now it waits for the program.
    assert!(!engine.decider.waits.anybody(Condition::Decision(op)));
    assert_eq!(engine.accounts().counts.requests[0], 0);
    engine.drain().unwrap();
    assert_eq!(engine.accounts().counts.requests[0], 1);
}

fn serve(engine: &mut TestEngine, time_ns: u64, op: HostOp, lpn: u32) {
    let window = Window {
        first_request: 0,
        time_ns: &[time_ns as i64],
        op: &[op],
        marks: &[0],
        first_page_op: &[0, u32::from(op != HostOp::Flush)],
        lpn: &[lpn],
        content: &[lpn],
        lpn_address: &[],
    };
    let arrivals = Arrivals { window, queue_depth: 0, speed: 1.0, read_modify_write: true };
    engine.serve(&arrivals, 0).unwrap();
}

fn answered(engine: &TestEngine) -> Vec<(HostOp, u64)> {
    engine.accounts().observer.0.iter().map(|&(op, time_ns, _)| (op, time_ns)).collect()
}

fn last_waited_ns(engine: &TestEngine, charge: Charge) -> u64 {
    engine.accounts().observer.0.last().unwrap().2.of(charge)
}

#[test]
fn read_follows_the_program_of_its_page() {
    let mut engine = plain_engine(EngineConfig { buffer_reads: false, ..EngineConfig::default() });
    serve(&mut engine, 0, HostOp::Write, 5);
    serve(&mut engine, 100, HostOp::Read, 5);
    engine.drain().unwrap();
    assert_eq!(answered(&engine), [(HostOp::Write, 210_100), (HostOp::Read, 270_200)]);
    let waited_ns = [Charge::PageProgram, Charge::Flash].map(|charge| last_waited_ns(&engine, charge));
    assert_eq!(waited_ns, [210_000, 50_000]);
}

#[test]
fn flush_waits_for_earlier_writes_alone() {
    let config = EngineConfig { concurrency: Concurrency::Plane, ..EngineConfig::default() };
    let mut engine = plain_engine(config);
    serve(&mut engine, 0, HostOp::Write, 1);
    serve(&mut engine, 0, HostOp::Write, 2);
    serve(&mut engine, 10, HostOp::Flush, 0);
    serve(&mut engine, 20, HostOp::Write, 3);
    engine.advance(420_199).unwrap();
    // The third write goes to the other plane and ends before the second one, which the flush waits for.
    assert_eq!(answered(&engine), [(HostOp::Write, 210_100), (HostOp::Write, 220_200)]);
    engine.drain().unwrap();
    assert_eq!(answered(&engine)[2..], [(HostOp::Write, 420_200), (HostOp::Flush, 420_200)]);
    assert_eq!(last_waited_ns(&engine, Charge::EarlierWrites), 420_190);
}

#[test]
fn cached_write_waits_for_a_place_alone() {
    let (write_cache_pages, write_cache_us) = (1, 0.0);
    let mut engine =
        plain_engine(EngineConfig { write_cache_pages, write_cache_us, ..EngineConfig::default() });
    serve(&mut engine, 0, HostOp::Write, 1);
    assert_eq!(answered(&engine), [(HostOp::Write, 0)]);
    serve(&mut engine, 10, HostOp::Write, 2);
    assert!(engine.decider.interface.write_cache.as_ref().unwrap().is_waited_for());
    // The first page is on flash: the second one has its place, though its program is still under way.
    engine.advance(210_100).unwrap();
    assert_eq!(answered(&engine), [(HostOp::Write, 0), (HostOp::Write, 210_100)]);
    assert_eq!(
        (last_waited_ns(&engine, Charge::CachePlace), engine.next_event_ns()),
        (210_090, Some(420_200))
    );
}

/// The later write has its hash and needs no page of the store, while the earlier one waits for such a page.
#[test]
fn hashed_write_waits_for_an_earlier_one() {
    let geometry = device().geometry;
    let (mut controller, mut flash) = (NextPage::new(&geometry), FlashArray::new(&geometry));
    let page_of_store = controller.page(6);
    flash.program(&geometry, page_of_store).unwrap();
    controller.store = Some([Some(page_of_store), None].into());
    let mut engine = engine_with(controller, &EngineConfig::default(), flash, true);
    serve(&mut engine, 0, HostOp::Write, 5);
    serve(&mut engine, 0, HostOp::Write, 5);
    // Both are hashed at 24,000 ns. The page of the store is read from 12,000 ns on.
    engine.advance(72_099).unwrap();
    assert!(engine.controller().decided.is_empty());
    engine.advance(72_100).unwrap();
    assert_eq!(engine.controller().decided.len(), 2);
    engine.drain().unwrap();
    assert_eq!(answered(&engine), [(HostOp::Write, 282_200), (HostOp::Write, 492_300)]);
}
