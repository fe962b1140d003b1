//! The host's side with a controller that writes page after page, on an array of one die.

use flashtwin_ftl::{
    Cause, Content, FlashOp, FtlError, Hints, Host, LoadView, Lpn, ReadOutcome, WriteOutcome,
};
use flashtwin_nand::{FlashArray, Geometry, Plane};

use super::super::array::tests::device;
use super::flush::NO_EPOCH;
use super::page_op::{Fingerprint, State};
use super::{Condition, Controller, Engine, Observer, Request};
use crate::config::EngineConfig;

/// Writes the pages of plane 0 one after the other, and remembers what it decided.
pub(super) struct NextPage {
    geometry: Geometry,
    pub(super) decided: Vec<Lpn>,
}

impl Hints for NextPage {}

impl Controller for NextPage {
    fn read(&mut self, _lpn: Lpn, _loads: &LoadView<'_>) -> Result<ReadOutcome, FtlError> {
        Ok(ReadOutcome::Unmapped)
    }
    fn write(
        &mut self,
        page: Host,
        _fingerprinted: bool,
        _loads: &LoadView<'_>,
        _ops: &mut Vec<FlashOp>,
    ) -> Result<WriteOutcome, FtlError> {
        let next = self.decided.len() as u32;
        self.decided.push(page.lpn);
        let place = (next / self.geometry.pages_per_block, next % self.geometry.pages_per_block);
        Ok(WriteOutcome { program: Some((self.geometry.ppn(Plane::new(0), place.0, place.1), Cause::Host)) })
    }
    fn trim(&mut self, _lpn: Lpn) {}
    fn end_period(&mut self, _ops: &mut Vec<FlashOp>) -> Result<(), FtlError> {
        Ok(())
    }
}

pub(super) struct Nobody;

impl Observer for Nobody {}

/// A device that hashes pages, as long as it says, and that has not been written to.
pub(super) fn engine(config: EngineConfig) -> Engine<NextPage, Nobody> {
    let device = device();
    let controller = NextPage { geometry: device.geometry.clone(), decided: Vec::new() };
    let flash = FlashArray::new(&device.geometry);
    Engine::new(controller, Nobody, &device, &config, flash, true, 1)
}

/// A request of one page, and what it writes.
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
    // The controller finds nothing there, and the read is complete.
    assert_eq!(engine.accounts.counts.requests[0], 1);
    assert_eq!(engine.accounts.open_ledgers(), 0);
}
