//! What a run says of each of its units, against times by hand.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use flashtwin_sim::{Resolved, RunResult, run};

use crate::bench::{Ask, COMMAND, READ_ALL, TRANSFER, WRITE_ALL, page_trace, read, system_on, write};

const NEW: [(&str, &str); 2] = [("allocation.policy", "static"), ("preload", "none")];

fn ran(resolved: &Resolved, asks: &[Ask]) -> RunResult {
    run(&page_trace(asks, 16, 16), resolved, &()).unwrap()
}

fn column(result: &RunResult, table: &str, name: &str) -> Vec<u64> {
    let column = result.table(table).unwrap().column_by_name(name).unwrap().clone();
    column.as_primitive::<UInt64Type>().values().to_vec()
}

#[test]
fn a_chip_is_as_busy_as_its_dies_on_average_and_a_channel_as_long_as_it_carries() {
    let resolved = system_on([2, 1, 2, 1, 16, 8], "conventional", &NEW);
    let result = ran(&resolved, &[write(0, 0, 0), read(1_000_000, 0)]);
    assert_eq!(column(&result, "chips", "busy_ns"), [(WRITE_ALL + READ_ALL) / 2, 0]);
    assert_eq!(column(&result, "chips", "programs"), [1, 0]);
    assert_eq!(column(&result, "chips", "reads"), [1, 0]);
    assert_eq!(column(&result, "channels", "busy_ns"), [2 * (COMMAND + TRANSFER), 0]);
    assert!(result.summary["hash_unit"]["lanes"].is_null());
}

#[test]
fn the_hash_unit_is_as_busy_as_its_lanes_and_its_queue_is_measured() {
    let mut resolved = system_on([2, 1, 1, 1, 16, 8], "ca-ssd", &NEW);
    (resolved.config.engine.hash_us, resolved.config.engine.hash_lanes) = (12.0, 2);
    let result = ran(&resolved, &[write(0, 0, 0), write(0, 1, 1), write(0, 2, 2)]);
    let unit = &result.summary["hash_unit"];
    assert_eq!([&unit["lanes"], &unit["pages"], &unit["queue_max"]], [2, 3, 3]);
    // The third page waits for a lane until the first two have their hashes.
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
