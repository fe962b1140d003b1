//! The array alone, without a controller and without a host.

use flashtwin_ftl::{Cause, FlashOp, NO_JOB, OpKind, ReadTarget, Rng, Unit};
use flashtwin_nand::{FlashArray, NandConfig, NandDevice, Ppn};

use super::super::accounts::{Accounts, Observer, OpenLedger};
use super::super::pool::NONE;
use super::{Array, Completion, Op, Queue, Work};
use crate::config::{Concurrency, EngineConfig, MergeReads, MultiPlane, Suspend};

#[derive(Default)]
struct Started(Vec<(u64, &'static str)>);

impl Observer for Started {
    fn started(&mut self, now_ns: u64, what: &'static str, _unit: Unit, _ppn: Ppn) {
        self.0.push((now_ns, what));
    }
}

/// One die of two planes, two blocks of two pages each. Command 100 ns, transfer 10 us, read 50, program 200, erase
/// 1,000.
pub(crate) fn device() -> NandDevice {
    config().resolve().unwrap()
}

fn config() -> NandConfig {
    NandConfig {
        source: "round numbers".into(),
        undetermined: Vec::new(),
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 2,
        blocks_per_plane: 2,
        pages_per_block: 2,
        page_bytes: 4096,
        program_pages: 1,
        sense_pages: 1,
        parity_stripe: 0,
        metadata_bytes: 0,
        read_us: 50.0,
        read_types_us: Vec::new(),
        program_us: 200.0,
        erase_us: 1000.0,
        bus_mt_s: 409.6,
        bus_width_bits: 8,
        command_ns: 100,
        pe_cycles: 3000,
    }
}

struct Scene {
    device: NandDevice,
    array: Array,
    accounts: Accounts<Started>,
}

impl Scene {
    fn new(config: EngineConfig) -> Self {
        Self::on(device(), config, 1)
    }

    fn on(device: NandDevice, config: EngineConfig, seed: u64) -> Self {
        let mut flash = FlashArray::new(&device.geometry);
        for plane in device.geometry.all_planes() {
            flash.program(&device.geometry, device.geometry.ppn(plane, 0, 0)).unwrap();
        }
        let array = Array::new(&device, &config, flash, seed);
        Self { device, array, accounts: Accounts::new(Started::default()) }
    }

    fn page(&self, plane: u32, block: u32, page: u32) -> Ppn {
        self.device.geometry.ppn(flashtwin_nand::Plane::new(plane), block, page)
    }

    fn target(&self, ppn: Ppn) -> ReadTarget {
        ReadTarget { ppn, plane: self.device.geometry.plane(ppn), redirected: false }
    }

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
fn urgent_collection_precedes_reads_unless_configured() {
    for (reads_before_urgent, next) in [(false, ["erase", "read"]), (true, ["read", "erase"])] {
        let mut scene = Scene::new(EngineConfig { reads_before_urgent, ..EngineConfig::default() });
        scene.program(scene.page(0, 0, 1), 1);
        let (kind, ppn) = (OpKind::Erase, scene.page(0, 0, 0));
        let order = FlashOp { kind, ppn, cause: Cause::Gc, source: ppn, urgent: true, job: NO_JOB };
        scene.array.carry_out_orders(&[order], false, &mut scene.accounts);
        scene.read(scene.page(1, 0, 0), 2);
        scene.run();
        // The program, which fills the block, ends at 210,100; the erase takes 1,000,100 ns, the read 60,100.
        let then = if reads_before_urgent { 270_200 } else { 1_210_200 };
        assert_eq!(scene.accounts.observer.0, [(0, "program"), (210_100, next[0]), (then, next[1])]);
    }
}

#[test]
fn collection_waits_for_host_programs_unless_in_turn_and_older() {
    let (collection_last, collection_first) = (["program", "erase"], ["erase", "program"]);
    for (collection_in_turn, age_ns, next) in
        [(false, 1, collection_last), (true, 1, collection_first), (true, 0, collection_last)]
    {
        let mut scene = Scene::new(EngineConfig { collection_in_turn, ..EngineConfig::default() });
        scene.program(scene.page(0, 0, 1), 1);
        scene.order(OpKind::Erase, scene.page(0, 0, 0));
        scene.array.advance_to(age_ns);
        scene.program(scene.page(1, 0, 1), 2);
        scene.run();
        let begun: Vec<_> = scene.accounts.observer.0.iter().map(|&(_, what)| what).collect();
        assert_eq!(begun, ["program", next[0], next[1]], "{collection_in_turn} {age_ns}");
    }
}

/// Half a batch of 2 ms is one erase of this die.
#[test]
fn collection_waits_for_its_batch_and_then_precedes_programs() {
    let batches = EngineConfig { collection_batch_us: 2000.0, ..EngineConfig::default() };
    let mut scene = Scene::new(EngineConfig { collection_batch_us: 2000.002, ..batches.clone() });
    scene.program(scene.page(0, 0, 1), 1);
    scene.order(OpKind::Erase, scene.page(0, 0, 0));
    scene.run();
    assert_eq!(scene.accounts.observer.0, [(0, "program")], "an erase is less than this batch");
    // A program of the erased block cannot start: then the erase does not wait.
    let op = Op { request: 2, life: 1, ..Op::new(scene.page(0, 0, 0), Work::HostProgram) };
    scene.array.submit(Queue::Writes, op, &mut scene.accounts);
    scene.run();
    assert_eq!(scene.accounts.observer.0[1..], [(210_100, "erase"), (1_210_200, "program")]);

    let mut scene = Scene::new(batches);
    scene.program(scene.page(0, 0, 1), 1);
    scene.program(scene.page(1, 0, 1), 2);
    scene.order(OpKind::Erase, scene.page(0, 0, 0));
    scene.array.advance_to(1);
    scene.read(scene.page(1, 0, 0), 3);
    scene.run();
    let begun: Vec<_> = scene.accounts.observer.0.iter().map(|&(_, what)| what).collect();
    assert_eq!(begun, ["program", "read", "erase", "program"]);
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
    assert!(scene.array.news.erased.is_empty());
    scene.array.unpin(&target);
    scene.array.dispatch(Unit::new(0), &mut scene.accounts);
    scene.run();
    assert_eq!(scene.accounts.counts.flash_ops, [0, 1, 1]);
    assert_eq!(scene.array.news.erased, [scene.device.geometry.block_index(page)]);
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

#[test]
fn wait_for_the_rest_of_a_unit_is_in_the_ledger() {
    let device = NandConfig { program_pages: 2, ..config() }.resolve().unwrap();
    let mut scene = Scene::on(device, EngineConfig::default(), 1);
    scene.program(scene.page(0, 1, 0), 1);
    scene.read(scene.page(1, 0, 0), 9);
    scene.run();
    scene.program(scene.page(0, 1, 1), 2);
    let ended = scene.run();
    let [(_, first), (_, second)] = ended[..] else { panic!("{ended:?}") };
    // The read took 60,100 ns; the die was idle for the rest of the wait.
    assert_eq!((first.waits, first.came_ns(), first.start_ns), (true, 0, 60_100));
    assert_eq!(second.came_ns(), 60_100);
}

const PAGES: u32 = 32_768;

/// An array of which one block is programmed; four pages share a flash page.
fn scene_of_flash_pages() -> Scene {
    let config = NandConfig { pages_per_block: PAGES, program_pages: 4, sense_pages: 4, ..config() };
    let mut scene = Scene::on(config.resolve().unwrap(), EngineConfig::default(), 1);
    for page in 1..PAGES {
        scene.program(scene.page(0, 0, page), page);
    }
    assert_eq!(scene.run().len() as u32, PAGES - 1);
    scene
}

#[test]
fn moves_of_pages_sense_each_flash_page_once() {
    for valid in [0.2, 0.5, 0.8] {
        let mut scene = scene_of_flash_pages();
        let mut rng = Rng::stream(11, "valid pages");
        let before = scene.accounts.counts.flash_ops;
        scene.accounts.observer.0.clear();
        let (mut orders, mut moved, mut flash_pages) = (Vec::new(), 0, std::collections::HashSet::new());
        for page in 0..PAGES {
            if f64::from(rng.below(1000)) < valid * 1000.0 {
                let (from, to) = (scene.page(0, 0, page), scene.page(0, 1, moved));
                moved += 1;
                flash_pages.insert(page / 4);
                for (kind, ppn) in [(OpKind::Read, from), (OpKind::Program, to)] {
                    let (cause, urgent, job) = (Cause::Gc, false, NO_JOB);
                    orders.push(FlashOp { kind, ppn, cause, source: from, urgent, job });
                }
            }
        }
        scene.array.carry_out_orders(&orders, false, &mut scene.accounts);
        scene.run();
        assert_eq!(scene.accounts.counts.flash_ops[0] - before[0], u64::from(moved));
        let mut reads: Vec<u64> =
            scene.accounts.observer.0.iter().filter(|one| one.1 == "read").map(|one| one.0).collect();
        reads.dedup();
        assert_eq!(reads.len(), flash_pages.len());
        let expected = f64::from(PAGES / 4) * (1.0 - f64::powi(1.0 - valid, 4));
        let found = reads.len() as f64;
        assert!((found / expected - 1.0).abs() < 0.05, "{valid}: {found} senses, expected {expected}");
    }
}

#[test]
fn host_reads_share_a_sense_as_a_search_of_the_queue_finds_them() {
    for range in [40, 400, 4000] {
        let mut scene = scene_of_flash_pages();
        scene.accounts.observer.0.clear();
        let mut rng = Rng::stream(12, "reads");
        let pages: Vec<u32> = (0..600).map(|_| rng.below(range)).collect();
        for (request, &page) in pages.iter().enumerate() {
            scene.read(scene.page(0, 0, page), request as u32);
        }
        let found: Vec<u32> = scene.run().iter().map(|(_, op)| op.request).collect();
        // The first finds an idle die, so it goes alone. Each later one takes what it finds behind it.
        let mut queue: Vec<u32> = (1..600).collect();
        let (mut expected, mut senses) = (vec![0], 1);
        while !queue.is_empty() {
            let first = queue.remove(0);
            let is_near = |other: &u32| pages[*other as usize] / 4 == pages[first as usize] / 4;
            let near: Vec<u32> = queue.iter().take(64).copied().filter(is_near).take(3).collect();
            queue.retain(|other| !near.contains(other));
            expected.extend([first].iter().chain(&near));
            senses += 1;
        }
        assert_eq!(found, expected);
        let mut times: Vec<u64> = scene.accounts.observer.0.iter().map(|one| one.0).collect();
        times.dedup();
        assert_eq!(times.len(), senses);
        assert!(scene.array.waiting_senses.unwrap().counts.iter().all(|&count| count == 0));
    }
}

#[test]
fn read_waits_for_the_slice_of_a_program_and_then_for_its_stop() {
    let config = EngineConfig {
        suspend: Suspend::ProgramErase,
        suspend_us: 5.0,
        suspend_slice_us: 20.0,
        resume_us: 0.0,
        ..EngineConfig::default()
    };
    let stopped_after = |seed: u64| {
        let mut scene = Scene::on(device(), config.clone(), seed);
        scene.program(scene.page(0, 0, 1), 1);
        scene.read(scene.page(1, 0, 0), 2);
        let ended = scene.run();
        let [(read_ns, _), (program_ns, _)] = ended[..] else { return None };
        // The array programs from 10,100 ns on, and works on during the slice.
        let slice_ns = read_ns - 60_100 - 5_000 - 10_100;
        assert_eq!(program_ns, 210_100 + 5_000 + 60_100, "200 us of array time in all");
        assert!(slice_ns <= 100_000);
        Some(slice_ns)
    };
    let slices: Vec<u64> = (0..20).filter_map(stopped_after).collect();
    assert_eq!((slices.len(), stopped_after(0)), (20, Some(slices[0])));
    assert!(slices.iter().any(|&slice| slice != slices[0]));
}
