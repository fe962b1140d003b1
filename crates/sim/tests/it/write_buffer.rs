//! Writes that are complete when their page has a place in controller RAM, at once or when it is hashed.

use flashtwin_ftl::Rng;
use flashtwin_sim::engine::Charge;
use flashtwin_sim::{Resolved, RunResult, WriteCompletes, run};

use crate::bench::{Ask, Bench, IN_RAM, ONE, WRITE_ALL, ledger, pick, system_with, write, write_part};
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

#[test]
fn no_write_takes_less_than_dram_and_link() {
    // The hash unit works meanwhile: the longer of the two counts, for a duplicate as well.
    for (hash_us, hashed) in [(0.0, 9_000), (1.0, 9_000), (12.0, 12_000)] {
        for (rule, answered) in [(WriteCompletes::Hashed, hashed), (WriteCompletes::Buffered, 9_000)] {
            let bench = Bench::in_ram(ONE, rule, 2).deduplicating().with(|bench| {
                (bench.engine.hash_us, bench.engine.controller_us, bench.engine.hash_lanes) =
                    (hash_us, 3.0, 0);
            });
            let outcome = bench.serve(&[write(0, 0, 7), write(0, 1, 7)]);
            assert_eq!(outcome.log.response_times(), [3_000 + answered; 2], "{rule:?}, {hash_us} us");
            assert_eq!(outcome.log.commands.len(), 1);
        }
    }
    for rule in IN_RAM {
        let outcome = Bench::in_ram(ONE, rule, 0).serve(&[write(0, 0, 0), write_part(0, 1, 1)]);
        assert_eq!(outcome.log.responses[0], ledger(&[(Charge::Controller, 9_000)]), "{rule:?}");
    }
}

#[test]
fn burst_fills_ram_and_then_goes_at_the_rate_of_programs() {
    let (dies, places, pages) = (4, 100, 400);
    let burst: Vec<Ask> = (0..pages).map(|page| write(0, page, page)).collect();
    for rule in IN_RAM {
        let times = Bench::in_ram([dies, 1, 1, 1, 64, 16], rule, places).serve(&burst).log.response_times();
        assert!(times[..places as usize].iter().all(|&time| time == 9_000), "{rule:?}");
        for (nth, &time) in times.iter().enumerate().skip(places as usize) {
            // The first of these gets a place with the first program.
            let programmed = (nth as u64 - u64::from(places)) / u64::from(dies) + 1;
            assert!(time.abs_diff(programmed * WRITE_ALL) <= WRITE_ALL / 100, "{rule:?}: {nth} at {time}");
        }
        // One more program of each die ends the burst of a drive that answers with them.
        let without = Bench::in_ram([dies, 1, 1, 1, 64, 16], WriteCompletes::Programmed, 0).serve(&burst);
        assert_eq!(without.end_ns, u64::from(pages / dies) * WRITE_ALL);
    }
}

#[test]
fn ram_never_holds_more_pages_than_it_has_places() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "pages in RAM");
        let (places, rule) = (pick(&mut rng, &[1, 3, 8]), pick(&mut rng, &IN_RAM));
        let gap_ns = pick(&mut rng, &[1_000, 150_000, 450_000]);
        let mut now = 0;
        let asks: Vec<Ask> = (0..200)
            .map(|page| {
                now += i64::from(rng.below(gap_ns));
                write(now, page, page)
            })
            .collect();
        // One die programs in order, and so the answers come in order.
        let outcome = Bench::in_ram([1, 1, 1, 1, 64, 16], rule, places).serve(&asks);
        let ends: Vec<u64> = outcome.starts().iter().map(|start| start + WRITE_ALL).collect();
        let times = outcome.log.response_times();
        let answers: Vec<u64> =
            asks.iter().zip(&times).map(|(ask, time)| ask.time_ns as u64 + time).collect();
        let mut most = 0;
        for (nth, answer) in answers.iter().enumerate() {
            most = most.max(nth + 1 - ends.iter().filter(|&end| end <= answer).count().min(nth + 1));
        }
        assert!(most <= places as usize, "seed {seed}: {most} pages on {places} places");
        assert!(gap_ns > 1_000 || most == places as usize, "seed {seed}: RAM was never full");
    }
}

#[test]
fn more_ram_answers_no_write_of_a_burst_later() {
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "more RAM");
        let rule = pick(&mut rng, &IN_RAM);
        let mut now = 0;
        let asks: Vec<Ask> = (0..150)
            .map(|number| {
                now += i64::from(rng.below(40_000));
                write(now, rng.below(60), number)
            })
            .collect();
        let answers = |places: u32| {
            let outcome = Bench::in_ram([2, 1, 1, 1, 64, 16], rule, places).serve(&asks);
            let mut times = outcome.log.response_times();
            times.sort_unstable();
            times
        };
        let mut last = answers(1);
        for places in [2, 5, 30, 0] {
            let now = answers(places);
            assert!(now.iter().zip(&last).all(|(now, last)| now <= last), "seed {seed}: {places} places");
            last = now;
        }
        assert!(last.iter().all(|&time| time == 9_000));
    }
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
        (base.config.engine.write_cache_pages, base.config.engine.write_cache_us) = (0, 0.0);
        base.config.replay.queue_depth = 0;
        let pages = flashtwin_trace::PageTrace::build(&trace, 4096, base.content_source(trace.has_content()))
            .unwrap();
        let served = |change: &dyn Fn(&mut Resolved)| {
            let mut resolved = base.clone();
            change(&mut resolved);
            run(&pages, &resolved, &()).unwrap()
        };
        let rule = IN_RAM[seed as usize / 2 % 2];
        let with = |places| {
            served(&|resolved: &mut Resolved| {
                let engine = &mut resolved.config.engine;
                (engine.write_completes, engine.write_buffer_pages) = (rule, places);
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
