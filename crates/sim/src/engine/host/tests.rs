//! The host's side with a controller that writes page after page, on an array of one die or on one that a test scripts.

use std::collections::VecDeque;

use flashtwin_ftl::{
    Cause, Content, FlashOp, FtlError, Hints, Host, LoadView, Lookup, Lpn, ReadOutcome, ReadTarget,
    TablePage, WriteOutcome,
};
use flashtwin_nand::{FlashArray, Geometry, Plane, Ppn};
use flashtwin_trace::{Op as HostOp, Window};

use super::super::array::Work;
use super::super::array::tests::device;
use super::fake_array::FakeArray;
use super::flush::NO_EPOCH;
use super::page_op::{Fingerprint, State};
use super::{Arrivals, Charge, Completed, Condition, Controller, Engine, Ledger, Observer, Request};
use crate::config::EngineConfig;

/// Writes the pages of plane 0 one after the other, and remembers its decisions.
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
        let pages = self.geometry.pages_per_block;
        self.geometry.ppn(Plane::new(0), at as u32 / pages, at as u32 % pages)
    }
}

impl Hints for NextPage {}

impl Controller for NextPage {
    fn read(&mut self, lpn: Lpn, _loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        let Some(at) = self.decided.iter().rposition(|&decided| decided == lpn) else {
            return Ok(ReadOutcome::Unmapped);
        };
        let target = ReadTarget { ppn: self.page(at), plane: Plane::new(0), redirected: false };
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

pub(super) struct Nobody;

impl Observer for Nobody {}

/// A device that hashes pages, as long as it says, and that has not been written to.
pub(super) fn engine(config: EngineConfig) -> Engine<NextPage, Nobody> {
    let device = device();
    let controller = NextPage::new(&device.geometry);
    let flash = FlashArray::new(&device.geometry);
    Engine::new(controller, Nobody, &device, &config, flash, true, 1)
}

/// A request of one page, and its data.
pub(super) fn write(engine: &mut Engine<NextPage, Nobody>, lpn: u32) -> (Host, u32) {
    let epoch = engine.flushes.write_begins(false);
    let request = engine.requests.insert(Request::new(engine.now_ns(), 1, epoch));
    (Host { lpn: Lpn::new(lpn), address: 0, content: Content::new(lpn) }, request)
}

#[test]
fn write_is_decided_when_hashed_and_answered_when_programmed() {
    let mut engine = engine(EngineConfig::default());
    let (page, request) = write(&mut engine, 5);
    let op = engine.write_page(page, false, request, Fingerprint::Yes).unwrap().unwrap();
    assert_eq!((engine.page_ops[op].state, engine.controller.decided.len()), (State::Hashing, 0));
    engine.advance(12_000).unwrap();
    assert_eq!(engine.controller.decided, [page.lpn]);
    assert_eq!(engine.page_ops.newest(page.lpn), None);
    engine.drain().unwrap();
    assert_eq!((engine.now_ns(), engine.accounts.counts.requests[1]), (12_000 + 210_100, 1));
}

#[test]
fn writes_of_one_page_are_decided_in_order() {
    let mut engine = engine(EngineConfig { hash_us: 0.0, ..EngineConfig::default() });
    let ([first, second], page) = ([(); 2].map(|()| write(&mut engine, 5).1), write(&mut engine, 5).0);
    let before = engine.page_ops.insert_write(page, first, Fingerprint::No);
    engine.page_ops[before].needs = 1;
    let behind = engine.write_page(page, false, second, Fingerprint::No).unwrap().unwrap();
    assert_eq!(engine.page_ops[behind].before, before);
    assert!(engine.waits.anybody(Condition::EarlierWrite(before)));
    assert!(engine.controller.decided.is_empty());
    engine.got_what_it_needs(before);
    assert_eq!(engine.controller.decided.len(), 2);
}

#[test]
fn read_waits_for_a_decision_where_ram_serves_none() {
    let mut engine = engine(EngineConfig { buffer_reads: false, ..EngineConfig::default() });
    let (page, request) = write(&mut engine, 5);
    let op = engine.write_page(page, false, request, Fingerprint::Yes).unwrap().unwrap();
    let read = engine.requests.insert(Request::new(0, 1, NO_EPOCH));
    engine.read_page(page.lpn, read).unwrap();
    assert!(engine.waits.anybody(Condition::Decision(op)));
    assert_eq!(engine.accounts.counts.requests[0], 0);
    engine.advance(12_000).unwrap();
    // Now it waits for the program.
    assert!(!engine.waits.anybody(Condition::Decision(op)));
    assert_eq!(engine.accounts.counts.requests[0], 0);
    engine.drain().unwrap();
    assert_eq!(engine.accounts.counts.requests[0], 1);
}

/// Records the times of answers, and their charges.
#[derive(Default)]
struct Answers(Vec<(HostOp, u64, Ledger)>);

impl Observer for Answers {
    fn completed(&mut self, done: &Completed<'_>) {
        self.0.push((done.kind, done.arrival_ns + done.total_ns, *done.ledger));
    }
}

/// A host on an array that a test scripts.
struct Scripted(Engine<NextPage, Answers, FakeArray>);

impl Scripted {
    /// It hashes nothing.
    fn new(config: &EngineConfig) -> Self {
        Self::with(NextPage::new(&device().geometry), config, false)
    }

    fn with(controller: NextPage, config: &EngineConfig, hashes: bool) -> Self {
        let array = FakeArray::new(!config.buffer_reads);
        Self(Engine::on(array, controller, Answers::default(), config, hashes))
    }

    /// A request of one page arrives, or a flush.
    fn serve(&mut self, time_ns: u64, op: HostOp, lpn: u32) {
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
        self.0.serve(&arrivals, 0).unwrap();
    }

    /// The operation at this place among those under way ends now.
    fn end(&mut self, place: usize, time_ns: u64) {
        self.0.array.ends_at(place, time_ns);
        self.0.advance(time_ns).unwrap();
    }

    fn answered(&self) -> Vec<(HostOp, u64)> {
        self.0.accounts.observer.0.iter().map(|&(op, time_ns, _)| (op, time_ns)).collect()
    }

    /// The last answered request's wait for this cause.
    fn last_waited_ns(&self, charge: Charge) -> u64 {
        self.0.accounts.observer.0.last().unwrap().2.of(charge)
    }
}

#[test]
fn read_follows_the_program_of_its_page() {
    let mut host = Scripted::new(&EngineConfig { buffer_reads: false, ..EngineConfig::default() });
    host.serve(0, HostOp::Write, 5);
    host.serve(100, HostOp::Read, 5);
    assert_eq!((host.0.array.works(), host.0.array.awaited.len()), (vec![Work::HostProgram], 1));
    host.end(0, 500);
    assert_eq!(host.0.array.works(), [Work::HostRead]);
    host.end(0, 700);
    assert_eq!(host.answered(), [(HostOp::Write, 500), (HostOp::Read, 700)]);
    assert_eq!([Charge::PageProgram, Charge::Flash].map(|charge| host.last_waited_ns(charge)), [400, 200]);
}

#[test]
fn flush_waits_for_earlier_writes_alone() {
    let mut host = Scripted::new(&EngineConfig::default());
    host.serve(0, HostOp::Write, 1);
    host.serve(0, HostOp::Write, 2);
    host.serve(10, HostOp::Flush, 0);
    host.serve(20, HostOp::Write, 3);
    host.end(0, 100);
    // Of the two writes that are left, the later one.
    host.end(1, 150);
    assert_eq!(host.answered(), [(HostOp::Write, 100), (HostOp::Write, 150)]);
    host.end(0, 200);
    assert_eq!(host.answered()[2..], [(HostOp::Write, 200), (HostOp::Flush, 200)]);
    assert_eq!(host.last_waited_ns(Charge::EarlierWrites), 190);
}

#[test]
fn cached_write_waits_for_a_place_alone() {
    let (write_cache_pages, write_cache_us) = (1, 0.0);
    let mut host =
        Scripted::new(&EngineConfig { write_cache_pages, write_cache_us, ..EngineConfig::default() });
    host.serve(0, HostOp::Write, 1);
    assert_eq!((host.answered(), host.0.array.works()), (vec![(HostOp::Write, 0)], vec![Work::HostProgram]));
    host.serve(10, HostOp::Write, 2);
    assert!(host.0.waits.anybody(Condition::CachePlace));
    // The first page is on flash: the second one has its place, though its program is still under way.
    host.end(0, 300);
    assert_eq!(host.answered(), [(HostOp::Write, 0), (HostOp::Write, 300)]);
    assert_eq!((host.last_waited_ns(Charge::CachePlace), host.0.array.works().len()), (290, 1));
}

/// The later write has its hash and needs no page of the store, while the earlier one waits for such a page.
#[test]
fn hashed_write_waits_for_an_earlier_one() {
    let mut controller = NextPage::new(&device().geometry);
    let page_of_store = controller.page(3);
    controller.store = Some([Some(page_of_store), None].into());
    let mut host = Scripted::with(controller, &EngineConfig::default(), true);
    host.0.array.programmed.insert(page_of_store);
    host.serve(0, HostOp::Write, 5);
    host.serve(0, HostOp::Write, 5);
    host.0.advance(24_000).unwrap();
    assert_eq!((host.0.array.works(), host.0.controller.decided.len()), (vec![Work::TableRead], 0));
    host.end(0, 50_000);
    assert_eq!(host.0.controller.decided.len(), 2);
    host.end(0, 60_000);
    host.end(0, 70_000);
    assert_eq!(host.answered(), [(HostOp::Write, 60_000), (HostOp::Write, 70_000)]);
}
