//! The array by itself: operations go in, completions come out. There is no controller and no host, and the accounts
//! have an observer that writes down what starts.

use flashtwin_ftl::{Cause, FlashOp, NO_JOB, OpKind, ReadTarget, Unit};
use flashtwin_nand::{FlashArray, NandConfig, NandDevice, Ppn};

use super::super::accounts::{Accounts, Charge, Observer, OpenLedger};
use super::super::pool::NONE;
use super::{Array, AwaitedRead, Backend, Completion, Op, Queue, Work};
use crate::config::{Concurrency, EngineConfig, MergeReads, MultiPlane, Suspend, WriteCompletes};

/// What starts, and when.
#[derive(Default)]
struct Started(Vec<(u64, &'static str)>);

impl Observer for Started {
    fn started(&mut self, now_ns: u64, what: &'static str, _unit: Unit, _ppn: Ppn) {
        self.0.push((now_ns, what));
    }
}

/// One die of two planes, two blocks of two pages each. Command 100 ns, transfer 10 us, read 50, program 200, erase 1,000.
pub(crate) fn device() -> NandDevice {
    let config = NandConfig {
        source: "round numbers".into(),
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 2,
        pages_per_block: 2,
        page_bytes: 4096,
        metadata_bytes: 0,
        read_us: 50.0,
        program_us: 200.0,
        erase_us: 1000.0,
        bus_mt_s: 409.6,
        bus_width_bits: 8,
        command_ns: 100,
        pe_cycles: 3000,
    };
    config.resolve().unwrap()
}

/// An array of which the first pages of both planes are programmed, the accounts below it, and nothing above.
struct Scene {
    device: NandDevice,
    array: Array,
    accounts: Accounts<Started>,
}

impl Scene {
    fn new(config: EngineConfig) -> Self {
        let device = device();
        let mut flash = FlashArray::new(&device.geometry);
        for plane in device.geometry.all_planes() {
            flash.program(&device.geometry, device.geometry.ppn(plane, 0, 0)).unwrap();
        }
        let array = Array::new(&device, &config, flash);
        Self { device, array, accounts: Accounts::new(Started::default()) }
    }

    fn page(&self, plane: u32, block: u32, page: u32) -> Ppn {
        self.device.geometry.ppn(flashtwin_nand::Plane::new(plane), block, page)
    }

    fn target(&self, ppn: Ppn) -> ReadTarget {
        ReadTarget { ppn, plane: self.device.geometry.plane(ppn), redirected: false }
    }

    /// A read for request `request`; reads of one page are of the same data.
    fn read(&mut self, ppn: Ppn, request: u32) {
        let target = self.target(ppn);
        let data = u64::from(ppn.number());
        self.array.read_for_host((&target, data), request, OpenLedger::NONE, &mut self.accounts);
    }

    fn program(&mut self, ppn: Ppn, request: u32) {
        let op = Op { request, ..Op::new(ppn, Work::HostProgram) };
        self.array.submit(Queue::Writes, op, &mut self.accounts);
    }

    fn order(&mut self, kind: OpKind, ppn: Ppn) {
        let order = FlashOp { kind, ppn, cause: Cause::Gc, source: ppn, urgent: false, job: NO_JOB };
        self.array.carry_out_orders(&[order], false, &mut self.accounts);
    }

    /// Everything that ends, as a user of the array hears it: when, and the operations.
    fn run(&mut self) -> Vec<(u64, Op)> {
        let mut ended = Vec::new();
        while self.array.next_event_ns() != u64::MAX {
            let (unit, completion) = self.array.step(&mut self.accounts);
            let (mut slot, whole) = match completion {
                Completion::Command(first) => (first, true),
                Completion::DataOut(slot) => (slot, false),
                Completion::None | Completion::DataIn(_) | Completion::Idle => (NONE, false),
            };
            while slot != NONE {
                let next = if whole { self.array.next_of_command(slot) } else { NONE };
                let op = self.array.end(unit, slot, &mut self.accounts);
                ended.push((self.array.now_ns(), op));
                slot = next;
            }
            if whole {
                self.array.dispatch(unit, &mut self.accounts);
            }
            self.array.end_event(unit);
        }
        ended
    }

    fn requests_that_end(&mut self) -> Vec<(u64, u32)> {
        self.run().into_iter().map(|(time_ns, op)| (time_ns, op.request)).collect()
    }
}

#[test]
fn read_goes_before_program_and_both_end_in_time() {
    let mut scene = Scene::new(EngineConfig::default());
    let [first, second] = [scene.page(0, 0, 1), scene.page(1, 0, 1)];
    scene.program(first, 1);
    scene.program(second, 2);
    scene.read(scene.page(1, 0, 0), 3);
    // Command, data and array of the first program; then the read, which overtakes the second program.
    assert_eq!(scene.requests_that_end(), [(210_100, 1), (270_200, 3), (480_300, 2)]);
    assert_eq!(scene.accounts.observer.0, [(0, "program"), (210_100, "read"), (270_200, "program")]);
    assert_eq!(scene.accounts.counts.flash_ops, [1, 2, 0]);
}

#[test]
fn erase_waits_for_reads_of_its_block_and_is_news() {
    let mut scene = Scene::new(EngineConfig::default());
    let page = scene.page(0, 0, 0);
    let target = scene.target(page);
    scene.program(scene.page(0, 0, 1), 1);
    scene.array.pin(&target);
    scene.order(OpKind::Erase, page);
    scene.run();
    assert_eq!(scene.accounts.counts.flash_ops, [0, 1, 0], "the page is pinned");
    assert!(scene.array.news().erased.is_empty());
    scene.array.unpin(&target);
    scene.array.dispatch(Unit::new(0), &mut scene.accounts);
    scene.run();
    assert_eq!(scene.accounts.counts.flash_ops, [0, 1, 1]);
    assert_eq!(scene.array.news().erased, [scene.device.geometry.block_index(page)]);
}

#[test]
fn reads_of_one_page_share_a_command() {
    let config = EngineConfig { merge_reads: MergeReads::SamePage, ..EngineConfig::default() };
    let mut scene = Scene::new(config);
    let page = scene.page(0, 0, 0);
    scene.program(scene.page(1, 0, 1), 9);
    (1..4).for_each(|request| scene.read(page, request));
    let ended = scene.run();
    assert_eq!(ended.iter().map(|(_, op)| op.request).collect::<Vec<_>>(), [9, 1]);
    let joined = scene.array.take_merged(ended[1].1.other);
    assert_eq!(joined.iter().map(|read| read.request).collect::<Vec<_>>(), [2, 3]);
    // They waited for the program as long as the read that they joined.
    assert!(joined.iter().all(|read| read.held[Charge::HostProgram as usize] == 210_100));
    assert_eq!(scene.accounts.counts.pages.merged_reads, 2);
}

/// Between the end of a command and the next one, a read comes and shares the command of a read that waited.
#[test]
fn read_begun_in_another_command_is_not_joined() {
    let config = EngineConfig {
        merge_reads: MergeReads::SamePage,
        multi_plane: MultiPlane::SamePage,
        concurrency: Concurrency::Die,
        ..EngineConfig::default()
    };
    let mut scene = Scene::new(config);
    let [waits, comes] = [scene.page(0, 0, 0), scene.page(1, 0, 0)];
    scene.program(scene.page(0, 0, 1), 1);
    scene.read(waits, 2);
    let (unit, completion) = scene.array.step(&mut scene.accounts);
    let Completion::Command(program) = completion else { panic!("{completion:?}") };
    scene.array.end(unit, program, &mut scene.accounts);
    scene.read(comes, 3);
    assert_eq!(scene.accounts.counts.pages.multi_plane_ops, 2);
    // The page of request 3 is being read: request 4 has come too late for it.
    scene.read(comes, 4);
    assert_eq!(scene.accounts.counts.pages.merged_reads, 0);
    scene.array.dispatch(unit, &mut scene.accounts);
    scene.array.end_event(unit);
    // Two commands and two pages at once, data one after the other; then one page more.
    assert_eq!(scene.requests_that_end(), [(270_300, 2), (280_300, 3), (340_400, 4)]);
}

#[test]
fn read_of_page_under_way_waits_for_its_program() {
    let mut scene = Scene::new(EngineConfig { buffer_reads: false, ..EngineConfig::default() });
    let page = scene.page(0, 0, 1);
    scene.program(page, 1);
    let (work, other, charged) = (Work::HostRead, NONE, OpenLedger::NONE);
    let read = AwaitedRead { target: scene.target(page), data: 0, request: 2, work, other, charged };
    let at = scene.array.await_program(read, &mut scene.accounts);
    scene.array.awaited_read_comes(at, OpenLedger::NONE, &mut scene.accounts);
    let ended = scene.run();
    assert_eq!(
        ended.iter().map(|&(time_ns, op)| (time_ns, op.request)).collect::<Vec<_>>(),
        [(210_100, 1), (270_200, 2)]
    );
    let ledger = scene.accounts.close(ended[1].1.charged).unwrap();
    assert_eq!(ledger.of(Charge::PageProgram), 210_100);
}

#[test]
fn programs_of_two_planes_are_one_command() {
    let config = EngineConfig {
        multi_plane: MultiPlane::SamePage,
        concurrency: Concurrency::Die,
        write_completes: WriteCompletes::Programmed,
        ..EngineConfig::default()
    };
    let mut scene = Scene::new(config);
    let held = scene.array.hold();
    scene.program(scene.page(0, 0, 1), 1);
    scene.program(scene.page(1, 0, 1), 2);
    scene.array.release(held, &mut scene.accounts);
    // Both load one after the other, then both are programmed.
    assert_eq!(scene.requests_that_end(), [(220_200, 1), (220_200, 2)]);
    assert_eq!(scene.accounts.counts.pages.multi_plane_ops, 2);
}

#[test]
fn read_suspends_an_erase() {
    let config =
        EngineConfig { suspend: Suspend::Erase, suspend_us: 20.0, resume_us: 5.0, ..EngineConfig::default() };
    let mut scene = Scene::new(config);
    scene.program(scene.page(0, 0, 1), 1);
    scene.run();
    scene.order(OpKind::Erase, scene.page(0, 0, 0));
    scene.read(scene.page(1, 0, 0), 2);
    let ended = scene.run();
    // The command of the erase takes 100 ns; it has not begun when the read comes, and stops 20 us after it has.
    let [(read_ns, read), (erase_ns, erase)] = ended[..] else { panic!("{ended:?}") };
    assert_eq!((read.work, erase.work), (Work::HostRead, Work::OwnErase));
    let begins_ns = 210_100 + 100;
    assert_eq!((read_ns - begins_ns, erase_ns - read_ns), (20_000 + 60_100, 5_000 + 1_000_000));
    assert_eq!(scene.accounts.counts.pages.suspensions, 1);
}
