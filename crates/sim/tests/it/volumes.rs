//! Figures by volume of a drive with several tenants.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use flashtwin_sim::{Recording, RequestsTo, RunResult, run, run_following};
use flashtwin_trace::PageTrace;

use crate::bench::{
    Ask, NEW, READ_ALL, WRITE_ALL, column, figure, numbers, page_trace, read, system_on, trim, write,
};

/// Pages below `border` are of volume `a`, the others of `b`.
fn two_tenants(asks: &[Ask], border: u32) -> PageTrace {
    let mut trace = page_trace(asks, 16, 1);
    trace.outline.volumes = vec![("a".into(), 0), ("b".into(), border)];
    let own = |ask: &Ask| u32::from(ask.lpn >= border);
    trace.columns.volume = Arc::new(asks.iter().map(own).collect());
    let offset = |ask: &Ask| u64::from(ask.lpn - own(ask) * border) * 4096;
    trace.columns.offset_bytes = Arc::new(asks.iter().map(offset).collect());
    trace
}

fn texts(result: &RunResult, name: &str) -> Vec<String> {
    let column = result.table("volumes").unwrap().column_by_name(name).unwrap().clone();
    column.as_string::<i32>().iter().flatten().map(str::to_owned).collect()
}

#[test]
fn requests_and_programs_belong_to_the_tenant_that_asked() {
    // Two writes of `a` on one chip, one behind the other; a write, a trim and a read of `b` on the other chip.
    let asks = [write(0, 0, 0), write(10, 9, 0), write(20, 2, 0), trim(30, 11), read(1_000_000, 9)];
    let resolved = system_on([2, 1, 1, 1, 64, 8], "conventional", &NEW);
    let recording = Recording { requests: RequestsTo::Memory, ..Recording::default() };
    let result = run_following(&two_tenants(&asks, 8), &resolved, &(), &recording, None).unwrap();
    assert_eq!(texts(&result, "volume_name"), ["a", "b", "b", "b"]);
    assert_eq!(texts(&result, "kind"), ["write", "read", "write", "trim"]);
    let of = |name: &str| column(&result, "volumes", name);
    assert_eq!(of("volume"), [0, 1, 1, 1]);
    assert_eq!(of("requests"), [2, 1, 1, 1]);
    assert_eq!(of("bytes"), [8192, 4096, 4096, 4096]);
    let second = 2 * WRITE_ALL - 20;
    assert_eq!(of("max_ns"), [second, READ_ALL, WRITE_ALL, 0]);
    assert_eq!(of("p99_ns"), [second, READ_ALL, WRITE_ALL, 0]);
    let median = of("p50_ns")[0];
    assert!((WRITE_ALL..WRITE_ALL * 1032 / 1000).contains(&median), "{median}");
    let programs = result.table("volumes").unwrap().column_by_name("host_programs").unwrap().clone();
    assert_eq!((of("host_programs"), programs.null_count()), (vec![2, 0, 1, 0], 2));
    let rows = result.requests.unwrap().read().unwrap();
    assert_eq!(numbers(&rows, "request"), [3, 0, 1, 2, 4]);
    assert_eq!(numbers(&rows, "volume"), [1, 0, 1, 0, 1]);
    assert_eq!(numbers(&rows, "offset_bytes"), [3 * 4096, 0, 4096, 2 * 4096, 4096]);
    assert_eq!(numbers(&rows, "length_bytes"), [4096; 5]);
}

#[test]
fn tenants_together_are_the_run() {
    let mut rng = flashtwin_ftl::Rng::stream(8, "tenants");
    let asks: Vec<Ask> = (0..2_000)
        .map(|at| match rng.below(10) {
            0 => trim(at * 20_000, rng.below(16)),
            1..4 => read(at * 20_000, rng.below(16)),
            _ => write(at * 20_000, rng.below(16), 0),
        })
        .collect();
    for (system, more) in [("conventional", ("speed", "1")), ("conventional", ("engine.slots", "4"))] {
        let resolved = system_on([2, 1, 1, 1, 8, 8], system, &[NEW[1], more]);
        let result = run(&two_tenants(&asks, 5), &resolved, &()).unwrap();
        let kinds = texts(&result, "kind");
        let sum = |kind: &str, name: &str| {
            let rows = kinds.iter().zip(column(&result, "volumes", name)).filter(|(of, _)| *of == kind);
            rows.map(|(_, value)| value).sum::<u64>()
        };
        for kind in ["read", "write", "trim"] {
            let requests = figure(&result.summary, &format!("requests.{kind}")).as_u64();
            assert_eq!(Some(sum(kind, "requests")), requests, "{kind}");
        }
        for kind in ["read", "write"] {
            let bytes = figure(&result.summary, &format!("throughput.{kind}.bytes")).as_u64();
            assert_eq!(Some(sum(kind, "bytes")), bytes, "{kind}");
        }
        let programs: u64 = column(&result, "periods", "host_programs").iter().sum();
        assert_eq!(sum("write", "host_programs"), programs);
        assert!(programs > 0);
    }
}

#[test]
fn one_volume_has_no_table() {
    let resolved = system_on([2, 1, 1, 1, 64, 8], "conventional", &NEW);
    let result = run(&page_trace(&[write(0, 0, 0)], 16, 1), &resolved, &()).unwrap();
    assert!(result.table("volumes").is_none());
}
