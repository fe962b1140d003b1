//! Writes that are complete when their page is hashed and has a place in power-protected RAM.

use flashtwin_ftl::Rng;
use flashtwin_sim::engine::Charge;
use flashtwin_sim::{Resolved, RunResult, WriteCompletes, run};

use crate::bench::{Bench, ONE, WRITE_ALL, ledger, system_with, write, write_part};
use crate::relations::{UNIQUE, engine, footprint, levels, number, trace};

const HASH: u64 = 12_000;

fn hashing(places: u32) -> Bench {
    Bench::new(ONE).deduplicating().with(|bench| {
        bench.engine.write_completes = WriteCompletes::Hashed;
        (bench.engine.hash_us, bench.engine.hash_lanes, bench.engine.controller_us) = (12.0, 0, 3.0);
        bench.engine.write_buffer_pages = places;
    })
}

#[test]
fn lone_write_takes_its_hash_and_the_controller() {
    let outcome = hashing(0).serve(&[write(0, 0, 7)]);
    assert_eq!(outcome.log.responses, [ledger(&[(Charge::Hash, HASH), (Charge::Controller, 3_000)])]);
    assert_eq!(outcome.log.commands, [(15_000, "program", 0)]);
}

#[test]
fn pipeline_hashes_pages_in_parallel_and_a_lane_in_turn() {
    let asks = [write(0, 0, 7), write(0, 1, 8), write(0, 2, 9)];
    assert_eq!(hashing(0).serve(&asks).log.response_times(), [15_000; 3]);
    let lane = hashing(0).with(|bench| bench.engine.hash_lanes = 1);
    assert_eq!(lane.serve(&asks).log.response_times(), [15_000, 27_000, 39_000]);
}

#[test]
fn page_without_a_place_waits_for_the_program_of_another() {
    // Two places, three new pages and a duplicate: the third page gets the place of the first when that is programmed.
    let outcome = hashing(2).serve(&[write(0, 0, 7), write(0, 1, 8), write(0, 2, 9), write(0, 3, 9)]);
    let waited = [(Charge::Hash, HASH), (Charge::Controller, 3_000), (Charge::CachePlace, WRITE_ALL)];
    assert_eq!(outcome.log.response_times(), [15_000, 15_000, 15_000, 15_000 + WRITE_ALL]);
    assert_eq!(outcome.log.responses[3], ledger(&waited));
    assert_eq!(outcome.starts(), [0, 1, 2].map(|nth| 15_000 + nth * WRITE_ALL));
}

#[test]
fn page_that_is_programmed_first_waits_for_no_place() {
    // Chip 0 has four programs before it, chip 1 none. The only place belongs to a page of chip 0.
    let bench = Bench::new([1, 2, 1, 1, 16, 8]).with(|bench| {
        bench.engine.write_completes = WriteCompletes::Hashed;
        bench.engine.write_buffer_pages = 1;
    });
    let outcome = bench.serve(&[write(0, 0, 0), write(0, 2, 0), write(0, 4, 0), write(0, 1, 0)]);
    // Page 0 at once; page 2 when page 0 is programmed; page 1, on the idle chip, by its own program, before page 4, which
    // gets the place of page 2.
    let second = 10_100 + WRITE_ALL;
    assert_eq!(outcome.log.response_times(), [0, WRITE_ALL, second, 2 * WRITE_ALL]);
}

#[test]
fn page_that_is_not_hashed_takes_a_place_as_well() {
    let plain = Bench::new(ONE).holding(2).with(|bench| {
        bench.engine.write_completes = WriteCompletes::Hashed;
        bench.engine.write_buffer_pages = 1;
    });
    let outcome = plain.serve(&[write(0, 0, 0), write(0, 1, 0), write_part(900_000, 0, 0)]);
    assert_eq!(
        outcome.log.response_times(),
        [0, WRITE_ALL, crate::bench::READ_ALL],
        "a part waits for the rest"
    );
}

fn flash(result: &RunResult) -> Vec<String> {
    let tables = ["chips", "channels", "blocks"].map(|table| format!("{:?}", result.table(table).unwrap()));
    [&tables[..], &["flash_writes", "flash_reads", "erases"].map(|part| result.summary[part].to_string())]
        .concat()
}

#[test]
fn completion_rule_changes_only_response_times() {
    let mut shorter = 0;
    for seed in 0..24 {
        let mut rng = Rng::stream(seed, "when the host hears");
        let levels = levels(&mut rng);
        let pages = footprint(&mut rng, levels);
        let trace = trace(&mut rng, pages, &UNIQUE);
        let mut base = system_with(
            crate::bench::nand(levels),
            if seed % 2 == 0 { "conventional" } else { "rr-ssd" },
            &[],
        );
        base.config.engine = engine(&mut rng);
        base.config.engine.write_cache_pages = 0;
        base.config.replay.queue_depth = 0;
        let pages = flashtwin_trace::PageTrace::build(&trace, 4096, base.content_source(trace.has_content()))
            .unwrap();
        let served = |change: &dyn Fn(&mut Resolved)| {
            let mut resolved = base.clone();
            change(&mut resolved);
            run(&pages, &resolved, &()).unwrap()
        };
        let with = |places| {
            served(&|resolved: &mut Resolved| {
                let engine = &mut resolved.config.engine;
                (engine.write_completes, engine.write_buffer_pages) = (WriteCompletes::Hashed, places);
            })
        };
        let programmed =
            served(&|resolved| resolved.config.engine.write_completes = WriteCompletes::Programmed);
        let mean = |result: &RunResult| number(result, "response.write.mean_ns");
        let mut last = mean(&programmed);
        for places in [1, 3, 50, 0] {
            let other = with(places);
            assert_eq!(flash(&other), flash(&programmed), "seed {seed}, {places} places");
            assert!(mean(&other) <= last, "seed {seed}: more places, longer writes");
            shorter += u32::from(mean(&other) < last);
            last = mean(&other);
        }
    }
    assert!(shorter > 40, "{shorter}");
}
