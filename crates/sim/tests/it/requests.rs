//! Output of a run: the table of requests, checked against traces made by hand, and the files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use flashtwin_sim::{
    Recording, RequestsTo, Resolved, RunResult, SimError, results_schema, run, run_following,
};
use flashtwin_trace::{PageTrace, Progress};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::bench::{
    self, Ask, COMMAND, NEW, PROGRAM, READ_ALL, SENSE, TRANSFER, WRITE_ALL, column, page_trace, read,
    system_on, trim, write,
};

const LOT: u64 = 1 << 16;
const LOOK_EVERY: u64 = 1 << 14;

fn system(sets: &[(&str, &str)]) -> Resolved {
    let sets = [sets, &NEW].concat();
    system_on([2, 1, 1, 1, 64, 8], "conventional", &sets)
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("requests-{name}-{}", std::process::id()))
}

fn recording(requests: &RequestsTo) -> Recording {
    Recording { requests: requests.clone(), ..Recording::default() }
}

fn followed(trace: &PageTrace, to: &RequestsTo) -> RunResult {
    run_following(trace, &system(&[]), &(), &recording(to), None).unwrap()
}

fn numbers(table: &RecordBatch, name: &str) -> Vec<Option<u64>> {
    table.column_by_name(name).unwrap().as_primitive::<UInt64Type>().iter().collect()
}

fn many(requests: u64) -> PageTrace {
    let asks: Vec<Ask> = (0..requests as i64).map(|at| read(at * 1000, (at % 16) as u32)).collect();
    page_trace(&asks, 16, 0)
}

#[derive(Default)]
struct ProgressLog {
    done: Mutex<Vec<(u64, u64)>>,
    asked: Mutex<u64>,
}

impl Progress for ProgressLog {
    fn update(&self, done: u64, total: u64) {
        self.done.lock().unwrap().push((done, total));
    }
    fn cancelled(&self) -> bool {
        *self.asked.lock().unwrap() += 1;
        false
    }
}

#[test]
fn each_request_has_a_row_in_the_order_of_completion() {
    // Two writes on one chip after the other, a trim between them, a read of the first.
    let asks = [write(0, 0, 0), write(10, 1, 0), write(20, 2, 0), trim(30, 9), read(1_000_000, 1)];
    let result = followed(&page_trace(&asks, 16, 1), &RequestsTo::Memory);
    let table = result.requests.as_ref().unwrap().read().unwrap();
    assert_eq!(table.num_rows(), 5);
    let order = [3, 0, 1, 2, 4];
    assert_eq!(numbers(&table, "request"), order.map(Some));
    let op = table.column_by_name("op").unwrap();
    let op: Vec<&str> = op.as_string::<i32>().iter().flatten().collect();
    assert_eq!(op, ["trim", "write", "write", "write", "read"]);
    assert_eq!(bench::numbers(&table, "pages"), [1; 5]);
    for name in ["time_ns", "arrival_ns"] {
        assert_eq!(bench::numbers(&table, name), [30, 0, 10, 20, 1_000_000], "{name}");
    }
    let third = 2 * WRITE_ALL - 20;
    let response = [None, Some(WRITE_ALL), Some(WRITE_ALL), Some(third), Some(READ_ALL)];
    assert_eq!(numbers(&table, "response_ns"), response);
    let chips: Vec<Option<u32>> =
        table.column_by_name("chip").unwrap().as_primitive::<UInt32Type>().iter().collect();
    assert_eq!(chips, [None, Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(numbers(&table, "host_program_ns"), [0, 0, 0, WRITE_ALL - 20, 0].map(Some));
    let transfer = COMMAND + TRANSFER;
    assert_eq!(numbers(&table, "transfer_ns"), [0, transfer, transfer, transfer, transfer].map(Some));
    assert_eq!(numbers(&table, "flash_ns"), [0, PROGRAM, PROGRAM, PROGRAM, SENSE].map(Some));
    assert_eq!(column(&result, "chips", "reads"), [0, 1]);
    assert_eq!(column(&result, "chips", "programs"), [2, 1]);
    assert_eq!(column(&result, "chips", "busy_ns"), [2 * WRITE_ALL, WRITE_ALL + READ_ALL]);
    assert_eq!(column(&result, "chips", "queue_max"), [2, 1]);
}

#[test]
fn redirected_read_is_marked_with_and_without_a_wait() {
    for buffer_reads in [true, false] {
        let mut resolved = system_on([2, 1, 1, 1, 64, 8], "oracle-conventional", &NEW);
        resolved.config.engine.buffer_reads = buffer_reads;
        // The second read goes beside the first; where reads wait for programs, the fourth request does, too.
        let asks = [
            write(0, 0, 0),
            read(1_000_000, 0),
            read(1_000_000, 0),
            write(2_000_000, 2, 0),
            read(2_001_000, 2),
        ];
        let result =
            run_following(&page_trace(&asks, 16, 1), &resolved, &(), &recording(&RequestsTo::Memory), None)
                .unwrap();
        let table = result.requests.unwrap().read().unwrap();
        let column = table.column_by_name("redirected").unwrap().as_boolean().clone();
        let request = numbers(&table, "request");
        let redirected: Vec<Option<u64>> =
            request.into_iter().zip(&column).filter(|(_, it)| *it == Some(true)).map(|(it, _)| it).collect();
        let expected: &[u64] = if buffer_reads { &[2] } else { &[2, 4] };
        assert_eq!(redirected, expected.iter().copied().map(Some).collect::<Vec<_>>(), "{buffer_reads}");
    }
}

fn opened(folder: &Path, table: &str) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(folder.join(format!("{table}.parquet"))).unwrap()).unwrap()
}

#[test]
fn requests_are_written_in_lots_with_the_writers_name() {
    let folder = path("files");
    std::fs::create_dir_all(&folder).unwrap();
    for lots in [vec![10], vec![LOT, 5000]] {
        let requests: u64 = lots.iter().sum();
        let to = RequestsTo::File(folder.join("under-way"));
        let result = followed(&many(requests), &to);
        let table = result.requests.as_ref().unwrap().read().unwrap();
        assert_eq!(numbers(&table, "request"), (0..requests).map(Some).collect::<Vec<_>>());
        result.write(&folder).unwrap();
        assert!(!folder.join("under-way").exists());
        for (name, lots) in [("requests", &lots), ("chips", &vec![2])] {
            let file = opened(&folder, name);
            let about = file.metadata();
            let by = format!("flashtwin {}", env!("CARGO_PKG_VERSION"));
            assert_eq!(about.file_metadata().created_by(), Some(by.as_str()));
            assert!(matches!(about.row_group(0).column(0).compression(), Compression::ZSTD(_)));
            let groups = (0..about.num_row_groups()).map(|at| about.row_group(at).num_rows() as u64);
            assert_eq!(groups.collect::<Vec<_>>(), *lots, "{name}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_the_run_and_not_only_its_end() {
    let link = path("full");
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    let told = ProgressLog::default();
    let to = RequestsTo::File(link.clone());
    let outcome = run_following(&many(2 * LOT), &system(&[]), &told, &recording(&to), None);
    let Err(SimError::Write { path, .. }) = outcome else { panic!("{:?}", outcome.map(|_| ())) };
    assert_eq!(path, link.display().to_string());
    let last = told.done.lock().unwrap().last().copied();
    assert!(last.is_some_and(|(done, _)| done <= LOT + LOOK_EVERY), "{last:?}");
    assert!(!link.exists());
}

#[test]
fn progress_is_told_now_and_then_and_at_the_end() {
    let told = ProgressLog::default();
    let total = 2 * LOOK_EVERY + 100;
    run(&many(total), &system(&[]), &told).unwrap();
    let wanted = [0, LOOK_EVERY, 2 * LOOK_EVERY, total].map(|done| (done, total));
    assert_eq!(*told.done.lock().unwrap(), wanted);
    assert_eq!(*told.asked.lock().unwrap(), 3);
}

#[test]
fn last_period_ends_after_the_last_request() {
    let ends = |asks: &[Ask]| {
        let result = run(&page_trace(asks, 16, 1), &system(&[("period_s", "1.0")]), &()).unwrap();
        column(&result, "periods", "end_ns")
    };
    assert_eq!(ends(&[]), [0]);
    assert_eq!(ends(&[write(0, 0, 0), read(1_700_000_000, 0)]), [1_000_000_000, 1_700_000_001]);
}

#[test]
fn aged_drive_collects_at_once_and_can_be_stopped() {
    let erases = |preload: &str| {
        let resolved = system_on(
            [2, 1, 1, 1, 16, 8],
            "conventional",
            &[("preload", preload), ("verify", "false"), ("allocation.policy", "static")],
        );
        let asks: Vec<Ask> = (0..40).map(|at| write(i64::from(at) * 10_000_000, at, 0)).collect();
        let told = ProgressLog::default();
        let result = run(&page_trace(&asks, 120, 1), &resolved, &told).unwrap();
        let asked = *told.asked.lock().unwrap();
        (result.summary["erases"]["total"].as_u64().unwrap(), asked)
    };
    let (new, asked_new) = erases("none");
    assert_eq!((new, asked_new), (0, 1));
    let (aged, asked) = erases("footprint");
    // Once for the pages, once in each of two to twenty windows, once for the requests.
    assert!(aged > 0 && (4..=22).contains(&asked), "{aged} erases, asked {asked} times");
}

#[test]
fn the_schema_describes_the_summary_and_every_table() {
    let schema = results_schema();
    let result = followed(&many(10), &RequestsTo::Nowhere);
    assert!(result.requests.is_none());
    assert!(!result.tables.is_empty());
    for (name, batch) in &result.tables {
        let described = schema["tables"][name]["properties"].as_object().unwrap();
        for field in batch.schema().fields() {
            assert!(described.contains_key(field.name()), "{name}.{}", field.name());
        }
    }
    let described = schema["summary"]["properties"].as_object().unwrap();
    assert!(result.summary.as_object().unwrap().keys().all(|key| described.contains_key(key)));
    assert_eq!(result.summary["trace"]["page_ops"], 10);
}
