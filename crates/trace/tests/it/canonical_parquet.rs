//! The canonical Parquet: written files can be read again, and other tools may write them too.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::common::{Folder, Stop, open};
use flashtwin_trace::{
    ErrorCause, NO_CONTENT, Op, OpenOptions, Request, Source, Trace, TraceBuilder, write_parquet,
};
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

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
    let folder = Folder::new();
    let trace = fiu();
    trace.write_parquet(&folder.file("small.parquet")).unwrap();
    assert_eq!(folder.names(), ["small.parquet"]);
    let read = open(&folder.file("small.parquet")).unwrap();
    assert_eq!(read.digest(), trace.digest());
    // All but the format is the same, digests and the counters of the first reading included.
    let expected = Trace { format: read.format, ..trace.clone() };
    assert_eq!(read, expected);
    assert_eq!(read.digests.len(), 2);
}

#[test]
fn equal_traces_give_equal_bytes() {
    let folder = Folder::new();
    let bytes = |name: &str| std::fs::read(folder.file(name)).unwrap();
    fiu().write_parquet(&folder.file("a.parquet")).unwrap();
    fiu().write_parquet(&folder.file("b.parquet")).unwrap();
    assert!(bytes("a.parquet") == bytes("b.parquet"));
    // Reading and writing once more changes nothing but the recorded source format.
    let once = open(&folder.file("a.parquet")).unwrap();
    once.write_parquet(&folder.file("c.parquet")).unwrap();
    let twice = open(&folder.file("c.parquet")).unwrap();
    twice.write_parquet(&folder.file("d.parquet")).unwrap();
    assert_eq!(twice.digest(), once.digest());
}

#[test]
fn only_files_of_killed_processes_are_removed() {
    let folder = Folder::new();
    let path = folder.file("out.parquet");
    for name in [
        ".out.parquet.4711.part",
        ".out.parquet.4711-2.part",
        ".other.parquet.4711.part",
        ".out.parquet.mine.part",
    ] {
        std::fs::write(folder.file(name), "half").unwrap();
    }
    let busy = File::create(folder.file(".out.parquet.1.part")).unwrap();
    busy.try_lock().unwrap();
    fiu().write_parquet(&path).unwrap();
    let left = [".other.parquet.4711.part", ".out.parquet.1.part", ".out.parquet.mine.part", "out.parquet"];
    assert_eq!(folder.names(), left);
    drop(busy);
    fiu().write_parquet(&path).unwrap();
    assert_eq!(folder.names(), [".other.parquet.4711.part", ".out.parquet.mine.part", "out.parquet"]);
}

#[test]
fn many_may_write_one_file_at_once() {
    let folder = Folder::new();
    let path = folder.file("out.parquet");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| fiu().write_parquet(&path).unwrap()));
        }
    });
    assert_eq!(folder.names(), ["out.parquet"]);
    assert_eq!(open(&path).unwrap().digest(), fiu().digest());
}

#[test]
fn writing_can_be_stopped() {
    let folder = Folder::new();
    let error = write_parquet(&fiu(), &folder.file("out.parquet"), &Stop).unwrap_err();
    assert_eq!(error.cause, ErrorCause::Cancelled);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn requests_with_and_without_content_and_many_row_groups() {
    let folder = Folder::new();
    let mut builder = TraceBuilder::new("mixed");
    for number in 0..300_000u32 {
        let op = Op::ALL[number as usize % 4];
        let contents: &[u32] = match op {
            Op::Trim | Op::Flush => &[],
            Op::Read => &[number % 1000, NO_CONTENT],
            Op::Write => &[number, number / 2],
        };
        let request = Request {
            time_ns: i64::from(number / 2),
            volume: number % 5 * 10,
            op,
            offset_bytes: if op == Op::Flush { 0 } else { u64::from(number) * 512 },
            length_bytes: if op == Op::Flush { 0 } else { 8192 },
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
fn long_values_of_a_file_are_cut_short_in_messages() {
    let folder = Folder::new();
    let path = folder.file("long.parquet");
    for key in ["schema", "chunk_bytes"] {
        let value = KeyValue::new(format!("flashtwin.{key}"), "x\n".repeat(50_000));
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![value])).build();
        write_by(&path, frame(), properties);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("'x\\nx\\nx"), "{error}");
        assert!(error.contains("characters in all"), "{error}");
        assert!(error.chars().count() < 600 && error.lines().count() == 1, "{error}");
    }
    let long = format!("required int32 {}", "n".repeat(100_000));
    write(&path, vec![column(&long, Values::Int32(vec![1]), &[])]);
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("column time_ns (Int64) is missing; the file has nnn"), "{error}");
    assert!(error.chars().count() < 1_000, "{error}");
}

/// Requests of two pages each with contents of any numbers, and the digests that they bring along.
fn with_digests(digests: [&[u8]; 3]) -> Vec<Column> {
    let mut columns = with(numbers("length_bytes", [8192; 3].map(Some)));
    let ids = Values::Int32(vec![70, 9, 9, 70, 9, 2000]);
    columns.push(column(LIST_OF_IDS, ids, &[(3, 0), (3, 1), (3, 0), (3, 1), (3, 0), (3, 1)]));
    let values = digests.concat().into_iter().map(|first| vec![first; 16]);
    let of_row = |row: &[u8]| match row.len() {
        0 => vec![(0, 0)],
        length => (0..length).map(|at| (1, i16::from(at > 0))).collect(),
    };
    columns.push(column(
        "required group digest (LIST) { repeated group list { required binary item; } }",
        Values::Bytes(values.collect()),
        &digests.map(of_row).concat(),
    ));
    columns
}

#[test]
fn other_tools_may_write_digests() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    write(&path, with_digests([&[7, 8], &[], &[9]]));
    let trace = open(&path).unwrap();
    assert_eq!(trace.content, [0, 1, 1, 0, 1, 2]);
    let digests: Vec<u8> = trace.digests.iter().map(|digest| digest[0]).collect();
    assert_eq!(digests, [7, 8, 9]);
    // Rows that another tool has dropped leave digests that belong to no row.
    for (wrong, place) in [([&[7u8][..], &[], &[9]], ":1"), ([&[7, 8], &[9], &[9]], ":2")] {
        write(&path, with_digests(wrong));
        let error = open(&path).unwrap_err().to_string();
        assert!(
            error.contains(place) && error.contains("column digest") && error.contains("convert"),
            "{error}"
        );
    }
}

#[test]
fn an_unwritable_folder_is_named_and_nothing_is_left() {
    let folder = Folder::new();
    let error = fiu().write_parquet(&folder.file("no/such/a.parquet")).unwrap_err();
    assert_eq!(error.cause, ErrorCause::Io);
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert_eq!(folder.names(), [""; 0]);
}

/// A column as another tool writes it: its declaration, the values that exist, and definition and repetition levels.
struct Column {
    declaration: String,
    values: Values,
    levels: Vec<(i16, i16)>,
}

enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bytes(Vec<Vec<u8>>),
}

const LIST_OF_IDS: &str =
    "optional group content (LIST) { repeated group list { optional int32 item (INTEGER(32, false)); } }";

fn column(declaration: &str, values: Values, levels: &[(i16, i16)]) -> Column {
    Column { declaration: declaration.to_owned(), values, levels: levels.to_vec() }
}

fn numbers(name: &str, values: [Option<i64>; 3]) -> Column {
    let levels = values.map(|value| (i16::from(value.is_some()), 0));
    let values = Values::Int64(values.into_iter().flatten().collect());
    column(&format!("optional int64 {name}"), values, &levels)
}

/// Columns as a data-frame library writes them: 64-bit integers everywhere.
fn frame() -> Vec<Column> {
    vec![
        numbers("time_ns", [5, 6, 7].map(Some)),
        numbers("volume", [4, 4, 9].map(Some)),
        numbers("op", [0, 1, 2].map(Some)),
        numbers("offset_bytes", [0, 4096, 0].map(Some)),
        numbers("length_bytes", [4096, 8192, 4096].map(Some)),
    ]
}

fn write(path: &Path, columns: Vec<Column>) {
    write_by(path, columns, WriterProperties::default());
}

fn write_by(path: &Path, columns: Vec<Column>, properties: WriterProperties) {
    let end = |column: &Column| if column.declaration.ends_with('}') { "" } else { ";" };
    let schema: String =
        columns.iter().map(|column| format!("{}{} ", column.declaration, end(column))).collect();
    let schema = Arc::new(parse_message_type(&format!("message schema {{ {schema} }}")).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for Column { values, levels, .. } in columns {
        let (definition, repetition): (Vec<i16>, Vec<i16>) = levels.into_iter().unzip();
        let has_levels = !definition.is_empty();
        let (definition, repetition) =
            (has_levels.then_some(&*definition), has_levels.then_some(&*repetition));
        let mut to = group.next_column().unwrap().unwrap();
        let written = match values {
            Values::Int32(values) => to.typed::<Int32Type>().write_batch(&values, definition, repetition),
            Values::Int64(values) => to.typed::<Int64Type>().write_batch(&values, definition, repetition),
            Values::Bytes(values) => {
                let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                to.typed::<ByteArrayType>().write_batch(&values, definition, repetition)
            }
        };
        written.unwrap();
        to.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn no_damaged_page_of_deltas_is_more_than_a_refusal() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    write_by(&path, frame(), properties.set_encoding(Encoding::DELTA_BINARY_PACKED).build());
    let bytes = std::fs::read(&path).unwrap();
    let mut damaged = 0;
    // A page that tells of 0 values is among those with a byte of 0.
    for (at, byte) in (0..bytes.len()).flat_map(|at| [(at, 0), (at, bytes[at] ^ (1 << (at % 8)))]) {
        let mut mutant = bytes.clone();
        mutant[at] = byte;
        std::fs::write(&path, mutant).unwrap();
        if let Err(error) = open(&path) {
            damaged += usize::from(error.to_string().contains("a page of it is damaged"));
        }
    }
    assert!(damaged > 0, "the library panics no longer: `read_records` may go");
}

/// [`frame`] with another column, in the place of the one of the same name if there is one.
fn with(other: Column) -> Vec<Column> {
    let name = |column: &Column| column.declaration.split(' ').nth(2).unwrap().to_owned();
    let mut columns = frame();
    match columns.iter_mut().find(|column| name(column) == name(&other)) {
        Some(column) => *column = other,
        None => columns.push(other),
    }
    columns
}

#[test]
fn other_tools_may_write_it() {
    let folder = Folder::new();
    let path = folder.file("frame.parquet");
    write(&path, frame());
    let trace = open(&path).unwrap();
    assert_eq!(*trace.time_ns, [0, 1, 2]);
    assert_eq!(*trace.op, [Op::Read, Op::Write, Op::Trim]);
    assert_eq!(trace.volume_names, ["4", "9"]);
    assert!(!trace.has_content());

    // No list, a list with a missing id, and an empty list.
    let levels = [(0, 0), (3, 0), (2, 1), (1, 0)];
    write(&path, with(column(LIST_OF_IDS, Values::Int32(vec![70]), &levels)));
    let trace = open(&path).unwrap();
    assert_eq!(trace.content_start, [0, 0, 2, 2]);
    assert_eq!(trace.content, [0, NO_CONTENT]);
}

#[test]
fn columns_of_any_width_encoding_and_form_are_read() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    let lists = [
        (LIST_OF_IDS, 3),
        ("required group content (LIST) { repeated group list { required int32 item; } }", 1),
        ("optional group content (LIST) { repeated int32 array (UINT_16); }", 2),
        ("repeated int32 content", 1),
    ];
    let version = |version| WriterProperties::builder().set_writer_version(version);
    let delta = |version_of| {
        version(version_of).set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BINARY_PACKED)
    };
    for (declaration, item) in lists {
        for properties in [
            version(WriterVersion::PARQUET_1_0),
            version(WriterVersion::PARQUET_2_0),
            version(WriterVersion::PARQUET_1_0).set_dictionary_enabled(false),
            delta(WriterVersion::PARQUET_2_0),
        ] {
            let levels = [(0, 0), (item, 0), (item, 1), (item, 0)];
            let mut columns = with(column(declaration, Values::Int32(vec![7, 300, 7]), &levels));
            columns[0] = column("required int32 time_ns", Values::Int32(vec![-5, 6, 7]), &[]);
            columns[1] = column("required int32 volume (UINT_32)", Values::Int32(vec![4, 4, -1]), &[]);
            columns[2] = column("required int32 op (INTEGER(8, true))", Values::Int32(vec![0, 1, 2]), &[]);
            write_by(&path, columns, properties.build());
            let trace = open(&path).unwrap();
            assert_eq!(*trace.time_ns, [0, 11, 12], "{declaration}");
            assert_eq!(trace.volume_names, ["4", "4294967295"]);
            assert_eq!((&*trace.content_start, &*trace.content), (&[0, 0, 2, 3][..], &[0, 1, 0][..]));
        }
    }
}

#[test]
fn any_compression_but_lzo_is_read() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    write(&path, frame());
    let expected = open(&path).unwrap().digest();
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        write_by(&path, frame(), WriterProperties::builder().set_compression(compression).build());
        assert_eq!(open(&path).unwrap().digest(), expected, "{compression}");
    }
    // No writer makes LZO, so the test changes the codec of a zstd file (6) to LZO (3) in its metadata.
    let mut bytes = std::fs::read(&path).unwrap();
    let zstd = [0x15, 6 << 1, 0x16];
    let places: Vec<usize> = (0..bytes.len() - 3).filter(|&at| bytes[at..at + 3] == zstd).collect();
    assert!(places.len() >= 5);
    places.into_iter().for_each(|at| bytes[at + 1] = 3 << 1);
    std::fs::write(&path, bytes).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.contains("time_ns\" is compressed with LZO") && error.contains("brotli, LZ4"), "{error}");
}

#[test]
fn wrong_columns_are_named() {
    let folder = Folder::new();
    let path = folder.file("wrong.parquet");
    let refused = |columns: Vec<Column>, parts: &[&str]| {
        write(&path, columns);
        let error = open(&path).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "'{part}' not in: {error}");
        }
        assert!(!error.cure.is_empty() || error.place.line.is_some(), "{error}");
    };
    refused(frame().split_off(1), &["column time_ns (Int64) is missing; the file has volume, op"]);
    let words = Values::Bytes(["r", "w", "t"].map(Vec::from).to_vec());
    let words = column("required binary op (STRING)", words, &[]);
    refused(with(words), &["column op is Utf8, UInt8 was expected"]);
    for (kind, named) in [
        ("int32 content (INTEGER(8, false))", "UInt8"),
        ("int32 content (DATE)", "INT32 (DATE)"),
        ("int32 content", "Int32"),
    ] {
        let content = column(&format!("required {kind}"), Values::Int32(vec![1, 2, 3]), &[]);
        refused(with(content), &[&format!("column content is {named}, List(UInt32) was expected")]);
    }
    let structure = column("required group op { required int32 a; }", Values::Int32(vec![1, 2, 3]), &[]);
    refused(with(structure), &["column op is a structure, UInt8 was expected"]);
    let seventies = column(LIST_OF_IDS, Values::Int32(vec![70; 3]), &[(3, 0); 3]);
    refused(with(seventies), &[":2", "8192 bytes must have 2 contents"]);
    for (name, values, parts) in [
        ("op", [Some(0), Some(4), Some(0)], [":2", "4 is not 0 (read)"]),
        ("op", [Some(0), Some(3), Some(0)], [":2", "a flush has no address"]),
        ("length_bytes", [Some(1), Some(2), Some(-3)], [":3: column length_bytes", "-3 is out of range"]),
        ("length_bytes", [Some(1), Some(0), Some(3)], [":2", "0 bytes"]),
        ("offset_bytes", [Some(1), None, Some(3)], [":2: column offset_bytes", "missing (null)"]),
        ("offset_bytes", [Some(1), Some(i64::MAX), Some(3)], [":2", "2^63"]),
        ("time_ns", [Some(1), Some(5_000_000_000), Some(3)], [":3", "sort_window_ns"]),
    ] {
        refused(with(numbers(name, values)), &parts);
    }
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    fiu().write_parquet(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for keep in [4, 12, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(error.cause, ErrorCause::Malformed, "{error}");
        assert!(error.to_string().contains("truncated"), "{error}");
    }
}

#[test]
fn a_footer_that_cannot_be_true_is_refused_with_its_place() {
    let folder = Folder::new();
    let path = folder.file("a.parquet");
    let mut builder = TraceBuilder::new("small");
    builder.request(0, Op::Write, 0, 8192, &[1, 2]).request(1, Op::Read, 0, 4096, &[1]);
    builder.build().unwrap().write_parquet(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    // Numbers stand there zigzag, so that the lowest bit of one is its sign.
    let (mut negative, mut refused) = (0, 0);
    for at in bytes.len() - 8 - length..bytes.len() - 8 {
        for bits in [0x01, 0x80].into_iter().take(if at % 8 == 0 { 2 } else { 1 }) {
            let mut mutant = bytes.clone();
            mutant[at] ^= bits;
            std::fs::write(&path, mutant).unwrap();
            let read = std::panic::catch_unwind(|| open(&path));
            let Err(error) = read.unwrap_or_else(|_| panic!("byte {at} ^ {bits:#x} panics")) else {
                continue;
            };
            refused += 1;
            let message = error.to_string();
            assert!(message.contains("a.parquet"), "{message}");
            if message.contains("begin at byte -") {
                assert!(
                    message.contains("row group 0: column ") && message.contains("fetch or write it again")
                );
                negative += 1;
            }
        }
    }
    assert!(negative >= 6 && refused > 100, "{negative} of {refused}: each column has an offset");
}
