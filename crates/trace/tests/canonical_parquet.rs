//! The canonical Parquet: what is written is read again, and other tools may write it too.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt8Array};
use flashtwin_trace::{Cause, NO_CONTENT, Op, OpenOptions, Request, Source, Trace, TraceBuilder, TraceError};
use parquet::arrow::ArrowWriter;

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let name = format!("flashtwin-trace-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.unwrap().file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(path: &Path) -> Result<Trace, TraceError> {
    Trace::open(&Source::File(path.to_owned()), &OpenOptions::default(), &())
}

fn fiu() -> Trace {
    let text = "\
20 1 p 8 8 W 6 0 88b93b628d84082186026d9da044f173
10 1 p 16 8 W 6 1 b5e9f4e5ab62a4fff5313a606b0ad4e3
30 1 p 16 16 R 6 0 b5e9f4e5ab62a4fff5313a606b0ad4e388b93b628d84082186026d9da044f173
";
    let source = Source::Bytes("small.fiu".to_owned(), text.as_bytes().into());
    Trace::open(&source, &OpenOptions::default(), &()).unwrap()
}

#[test]
fn what_is_written_is_read_again() {
    let folder = Folder::new("again");
    let trace = fiu();
    trace.write_parquet(&folder.file("small.parquet")).unwrap();
    assert_eq!(folder.names(), ["small.digests.parquet", "small.parquet"]);
    let read = open(&folder.file("small.parquet")).unwrap();
    assert_eq!(read.digest(), trace.digest());
    // All but the format is the same, the counters of the first reading included.
    let expected = Trace { format: read.format, ..trace.clone() };
    assert_eq!(read, expected);
    // Without its digests it is still the same trace.
    std::fs::remove_file(folder.file("small.digests.parquet")).unwrap();
    let bare = open(&folder.file("small.parquet")).unwrap();
    assert_eq!(bare.digest(), trace.digest());
    assert!(bare.digests.is_empty());
}

#[test]
fn equal_traces_give_equal_bytes() {
    let folder = Folder::new("bytes");
    let bytes = |name: &str| std::fs::read(folder.file(name)).unwrap();
    fiu().write_parquet(&folder.file("a.parquet")).unwrap();
    fiu().write_parquet(&folder.file("b.parquet")).unwrap();
    assert_eq!(bytes("a.parquet"), bytes("b.parquet"));
    assert_eq!(bytes("a.digests.parquet"), bytes("b.digests.parquet"));
    // Reading and writing once more changes nothing, up to what format it was.
    let once = open(&folder.file("a.parquet")).unwrap();
    once.write_parquet(&folder.file("c.parquet")).unwrap();
    let twice = open(&folder.file("c.parquet")).unwrap();
    twice.write_parquet(&folder.file("d.parquet")).unwrap();
    assert_eq!(twice.digest(), once.digest());
}

#[test]
fn requests_with_and_without_content_and_many_row_groups() {
    let folder = Folder::new("mixed");
    let mut builder = TraceBuilder::new("mixed");
    for number in 0..300_000u32 {
        let op = Op::ALL[number as usize % 3];
        let contents: &[u32] = match op {
            Op::Trim => &[],
            Op::Read => &[number % 1000, NO_CONTENT],
            Op::Write => &[number, number / 2],
        };
        let request = Request {
            time_ns: i64::from(number / 2),
            volume: number % 5 * 10,
            op,
            offset_bytes: u64::from(number) * 512,
            length_bytes: 8192,
        };
        builder.push(request, contents);
    }
    let trace = builder.build().unwrap();
    let path = folder.file("mixed.parquet");
    trace.write_parquet(&path).unwrap();
    let read = open(&path).unwrap();
    assert_eq!(read.digest(), trace.digest());
    assert_eq!(read.volume_names, ["0", "10", "20", "30", "40"]);
    assert_eq!(folder.names(), ["mixed.parquet"]);
}

#[test]
fn digests_of_another_trace_are_refused() {
    let folder = Folder::new("another");
    fiu().write_parquet(&folder.file("a.parquet")).unwrap();
    let mut other = fiu();
    other.length_bytes[0] = 512;
    other.write_parquet(&folder.file("b.parquet")).unwrap();
    std::fs::copy(folder.file("b.digests.parquet"), folder.file("a.digests.parquet")).unwrap();
    let error = open(&folder.file("a.parquet")).unwrap_err();
    assert!(error.to_string().contains("another trace"), "{error}");
}

#[test]
fn an_unwritable_folder_is_named_and_nothing_is_left() {
    let folder = Folder::new("unwritable");
    let error = fiu().write_parquet(&folder.file("no/such/a.parquet")).unwrap_err();
    assert_eq!(error.cause, Cause::Io);
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!(folder.names(), [""; 0]);
}

/// Columns as a data-frame library writes them: 64-bit integers everywhere.
fn frame() -> Vec<(&'static str, ArrayRef)> {
    let integers = |values: [i64; 3]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
    vec![
        ("time_ns", integers([5, 6, 7])),
        ("volume", integers([4, 4, 9])),
        ("op", integers([0, 1, 2])),
        ("offset_bytes", integers([0, 4096, 0])),
        ("length_bytes", integers([4096, 8192, 4096])),
    ]
}

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn with(name: &str, column: ArrayRef) -> Vec<(&str, ArrayRef)> {
    let mut columns: Vec<(&str, ArrayRef)> = frame();
    match columns.iter_mut().find(|(other, _)| *other == name) {
        Some(found) => found.1 = column,
        None => columns.push((name, column)),
    }
    columns
}

#[test]
fn other_tools_may_write_it() {
    let folder = Folder::new("frame");
    let path = folder.file("frame.parquet");
    write(&path, frame());
    let trace = open(&path).unwrap();
    assert_eq!(trace.time_ns, [0, 1, 2]);
    assert_eq!(trace.op, [Op::Read, Op::Write, Op::Trim]);
    assert_eq!(trace.volume_names, ["4", "9"]);
    assert!(!trace.has_content());

    let mut lists = ListBuilder::new(UInt32Builder::new());
    lists.append_null();
    lists.values().append_value(70);
    lists.values().append_null();
    lists.append(true);
    lists.append(true);
    write(&path, with("content", Arc::new(lists.finish())));
    let trace = open(&path).unwrap();
    assert_eq!(trace.content_start, [0, 0, 2, 2]);
    assert_eq!(trace.content, [0, NO_CONTENT]);
}

#[test]
fn wrong_columns_are_named() {
    let folder = Folder::new("wrong");
    let path = folder.file("wrong.parquet");
    let refused = |columns: Vec<(&str, ArrayRef)>, parts: &[&str]| {
        write(&path, columns);
        let error = open(&path).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "'{part}' not in: {error}");
        }
        assert!(!error.cure.is_empty() || error.place.line.is_some(), "{error}");
    };
    refused(frame().split_off(1), &["column time_ns (Int64) is missing; the file has volume, op"]);
    let words = Arc::new(StringArray::from(vec!["r", "w", "t"])) as ArrayRef;
    refused(with("op", words), &["column op is Utf8, UInt8 was expected"]);
    let numbers = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    refused(with("op", numbers(vec![Some(0), Some(3), Some(0)])), &["wrong.parquet:2", "3 is not 0 (read)"]);
    refused(
        with("length_bytes", numbers(vec![Some(1), Some(2), Some(-3)])),
        &[":3", "length_bytes", "-3 is out of range"],
    );
    refused(with("length_bytes", numbers(vec![Some(1), Some(0), Some(3)])), &[":2", "0 bytes"]);
    refused(with("offset_bytes", numbers(vec![Some(1), None, Some(3)])), &[":2", "missing (null)"]);
    refused(with("offset_bytes", numbers(vec![Some(1), Some(i64::MAX), Some(3)])), &[":2", "2^63"]);
    refused(with("time_ns", numbers(vec![Some(1), Some(5_000_000_000), Some(3)])), &[":3", "sort_window_ns"]);
    refused(
        with("content", Arc::new(UInt8Array::from(vec![1, 2, 3]))),
        &["column content is UInt8, List(UInt32)"],
    );
    let mut lists = ListBuilder::new(UInt32Builder::new());
    for _ in 0..3 {
        lists.values().append_value(70);
        lists.append(true);
    }
    refused(with("content", Arc::new(lists.finish())), &[":2", "8192 bytes must have 2 contents"]);
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = Folder::new("truncated");
    let path = folder.file("a.parquet");
    fiu().write_parquet(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for keep in [4, 12, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(error.cause, Cause::Malformed, "{error}");
        assert!(error.to_string().contains("truncated"), "{error}");
    }
}
