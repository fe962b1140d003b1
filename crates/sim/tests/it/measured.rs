//! Results for units, periods, tables and the simulator, against figures by hand.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use flashtwin_sim::{Resolved, RunResult, run};

use crate::bench::{
    Ask, COMMAND, NEW, READ_ALL, TRANSFER, WRITE_ALL, column, page_trace, read, system_on, write,
};

fn ran(resolved: &Resolved, asks: &[Ask]) -> RunResult {
    run(&page_trace(asks, 16, 16), resolved, &()).unwrap()
}

#[test]
fn utilisation_of_chips_averages_dies_and_of_channels_time() {
    let resolved = system_on([2, 1, 2, 1, 16, 8], "conventional", &NEW);
    let result = ran(&resolved, &[write(0, 0, 0), read(1_000_000, 0)]);
    assert_eq!(column(&result, "chips", "busy_ns"), [(WRITE_ALL + READ_ALL) / 2, 0]);
    assert_eq!(column(&result, "chips", "programs"), [1, 0]);
    assert_eq!(column(&result, "chips", "reads"), [1, 0]);
    assert_eq!(column(&result, "channels", "busy_ns"), [2 * (COMMAND + TRANSFER), 0]);
    assert!(result.summary["hash_unit"]["lanes"].is_null());
}

#[test]
fn hash_unit_reports_utilisation_of_lanes_and_queue() {
    let mut resolved = system_on([2, 1, 1, 1, 16, 8], "ca-ssd", &NEW);
    (resolved.config.engine.hash_us, resolved.config.engine.hash_lanes) = (12.0, 2);
    let result = ran(&resolved, &[write(0, 0, 0), write(0, 1, 1), write(0, 2, 2)]);
    let unit = &result.summary["hash_unit"];
    assert_eq!([&unit["lanes"], &unit["pages"], &unit["queue_max"]], [2, 3, 3]);
    let end = result.summary["throughput"]["last_response_ns"].as_f64().unwrap();
    let near = |name: &str, wanted: f64| {
        let found = unit[name].as_f64().unwrap();
        assert!((found / wanted - 1.0).abs() < 1e-9, "{name}: {found}, not {wanted}");
    };
    near("utilisation", 36_000.0 / (2.0 * end));
    near("queue_mean", 48_000.0 / end);
}

#[test]
fn reads_that_another_chip_serves_are_counted_there() {
    let resolved = system_on([4, 1, 1, 1, 16, 8], "oracle", &NEW);
    let asks = [vec![write(0, 0, 0)], vec![read(5_000_000, 0); 4]].concat();
    let result = ran(&resolved, &asks);
    assert_eq!(column(&result, "chips", "reads"), [1; 4]);
    assert_eq!(column(&result, "chips", "redirected_reads").iter().sum::<u64>(), 3);
    assert_eq!(column(&result, "periods", "redirected_reads").iter().sum::<u64>(), 3);
}

#[test]
fn the_simulators_own_tables_are_told_a_page_and_a_content() {
    let told = |name: &str, more: &[(&str, &str)]| {
        let resolved = system_on([2, 1, 1, 1, 16, 8], name, &[&NEW[..], more].concat());
        let result = ran(&resolved, &[write(0, 0, 0), write(0, 1, 1)]);
        let part = |key: &str| result.summary["simulator"][key].as_f64();
        [part("table_bytes"), part("bytes_per_footprint_page"), part("bytes_per_content")]
    };
    let [all, page, content] = told("rr-ssd", &[]).map(Option::unwrap);
    assert!(page > 1.0 && content > 1.0 && (page * 16.0 + content * 16.0 - all).abs() < 1e-6);
    let [all, page, content] = told("conventional", &[]);
    assert_eq!((page.unwrap() * 16.0, content), (all.unwrap(), None));
    // Those of mapping tables on flash are in the sum only.
    let [more, page, _] = told("conventional", &[("checkpoint_s", "1")]);
    assert!(more > all && page.unwrap() * 16.0 < more.unwrap());
}

#[test]
fn times_of_arrival_are_cut_alike_for_reads_and_writes() {
    // One kind outgrows its buckets, the other comes at the beginning only.
    let resolved = system_on([2, 1, 1, 1, 16, 8], "conventional", &NEW);
    let many = |ask: fn(i64, u32) -> Ask| (0..400).map(move |at| ask(at * 300_000_000, (at % 4) as u32));
    let overwrite = |at: i64, lpn: u32| write(at, lpn, 0);
    for (late, early) in
        [(many(read).collect::<Vec<_>>(), write(0, 0, 0)), (many(overwrite).collect(), read(0, 0))]
    {
        let result = ran(&resolved, &[vec![early], late].concat());
        let table = result.table("response_over_time").unwrap();
        let widths = table.column_by_name("width_ns").unwrap().as_primitive::<Int64Type>().clone();
        assert!(widths.values().iter().all(|&width| width == widths.value(0)), "{widths:?}");
    }
}

#[test]
fn a_checkpoint_is_of_the_period_in_which_it_is_due() {
    let sets = [&NEW[..], &[("mapping_cache.checkpoint_s", "0.001"), ("period_s", "0.005")]].concat();
    let resolved = system_on([1, 1, 1, 1, 24, 8], "conventional", &sets);
    let result = ran(&resolved, &[write(0, 0, 0), read(9_500_000, 0)]);
    assert_eq!(column(&result, "periods", "metadata_programs"), [1, 0]);
}

#[test]
fn pages_that_are_hashed_in_no_time_are_counted() {
    let mut resolved = system_on([2, 1, 1, 1, 16, 8], "ca-ssd", &NEW);
    resolved.config.engine.hash_us = 0.0;
    let result =
        ran(&resolved, &[write(0, 0, 0), write(0, 1, 1), write(1_000_000, 2, 1), read(2_000_000, 0)]);
    let unit = &result.summary["hash_unit"];
    assert_eq!([&unit["lanes"], &unit["pages"], &unit["queue_max"]], [1, 3, 0]);
    assert_eq!(unit["utilisation"], 0.0);
}

#[test]
fn priority_lru_page_takes_three_numbers_and_a_class() {
    let resolved = system_on([2, 1, 1, 1, 16, 8], "pblru", &NEW);
    let asks = [write(0, 0, 0), write(0, 1, 1), write(0, 2, 2), read(9_000_000, 0), read(9_000_000, 1)];
    let result = ran(&resolved, &asks);
    assert_eq!(result.summary["ram"]["priority_lists_bytes"], 2 * (3 * 4 + 1));
}
