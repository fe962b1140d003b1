//! The host's side with a controller that writes page after page, on an array of one die.

use flashtwin_ftl::{
    Cause, Content, FlashOp, FtlError, Hints, Host, LoadView, Lpn, ReadOutcome, ReadTarget, WriteOutcome,
};
use flashtwin_nand::{FlashArray, Geometry, Plane, Ppn};

use super::super::array::tests::device;
use super::flush::NO_EPOCH;
use super::page_op::Fingerprint;
use super::{Condition, Controller, Engine, Observer, Request};
use crate::config::EngineConfig;

/// Fills a block of one plane and then of the other, and remembers its decisions.
pub(super) struct NextPage {
    geometry: Geometry,
    pub(super) decided: Vec<Lpn>,
}

impl NextPage {
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
    fn end_period(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
}

pub(super) struct Nobody;

impl Observer for Nobody {}

type TestEngine = Engine<NextPage, Nobody>;

pub(super) fn engine(config: EngineConfig) -> TestEngine {
    let device = device();
    let controller = NextPage { geometry: device.geometry.clone(), decided: Vec::new() };
    let flash = FlashArray::new(&device.geometry);
    Engine::new(controller, Nobody, &device, &config, flash, true, 1)
}

pub(super) fn write(engine: &mut TestEngine, lpn: u32) -> (Host, u32) {
    let epoch = engine.decider.interface.flushes.write_begins(false);
    let request = engine.decider.interface.requests.insert(Request::new(0, engine.now_ns(), 1, epoch));
    (Host { lpn: Lpn::new(lpn), address: 0, content: Content::new(lpn) }, request)
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
    let read = engine.decider.interface.requests.insert(Request::new(0, 0, 1, NO_EPOCH));
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
