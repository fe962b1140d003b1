//! A trace that is read from its file each time against the same trace in memory.

use std::path::Path;
use std::sync::Arc;

use crate::common::{Folder, Stop};
use flashtwin_bits::SplitMix64;
use flashtwin_trace::{
    Columns, ContentSource, ErrorCause, Format, NO_CONTENT, Op, OpenOptions, PageColumns, PageScan,
    PageSource, PageTrace, Quality, Source, Trace, TraceError,
};

/// Requests of all kinds to several volumes, whole pages and parts of them, with all contents, some, or none.
fn random_trace(seed: u64, with_content: bool) -> Trace {
    let mut random = SplitMix64(seed);
    let mut below = move |limit: u64| random.next() % limit;
    let mut columns = Columns { content_start: vec![0], ..Columns::default() };
    if seed.is_multiple_of(2) {
        for _ in 0..20 {
            let start = [0, 1 << 33, 1 << 50][below(3) as usize] + below(100) * 2048;
            columns.holes.add([7, 2, 5][below(3) as usize], start..start + below(20) * 2048);
        }
    }
    let mut time_ns = 0;
    for _ in 0..400 {
        time_ns += below(3) as i64 * 1000;
        let op = [Op::Read, Op::Write, Op::Write, Op::Trim, Op::Flush][below(5) as usize];
        let carries = with_content && matches!(op, Op::Read | Op::Write) && below(5) > 0;
        let mut sectors = if below(3) == 0 { 1 + below(40) } else { 8 * (1 + below(5)) };
        let mut sector = if below(3) == 0 { below(400) } else { 8 * below(50) };
        let mut far = [0, 1 << 33, 1 << 50][below(3) as usize];
        if op == Op::Flush {
            (sectors, sector, far) = (0, 0, 0);
        }
        columns.time_ns.push(time_ns);
        // Not by order of first appearance, and with numbers that are left out.
        columns.volume.push([7, 2, 5][below(3) as usize]);
        columns.op.push(op);
        columns.offset_bytes.push(far + sector * 512);
        columns.length_bytes.push(sectors as u32 * 512);
        if carries {
            let chunks = (sectors * 512).div_ceil(4096);
            columns
                .content
                .extend((0..chunks).map(|_| if below(7) == 0 { NO_CONTENT } else { 900 + below(60) as u32 }));
        }
        columns.content_start.push(columns.content.len() as u64);
    }
    Trace::from_columns("random", Format::MEMORY, columns, Quality::default()).unwrap()
}

fn joined(scan: &PageScan) -> Result<PageColumns, TraceError> {
    let mut all = PageColumns { first_page_op: vec![0], ..PageColumns::default() };
    let mut windows = scan.windows()?;
    while let Some(window) = windows.next()? {
        assert_eq!(window.first_request, all.requests() as u64);
        let before = all.page_ops() as u32;
        Arc::make_mut(&mut all.time_ns).extend(window.time_ns);
        Arc::make_mut(&mut all.op).extend(window.op);
        Arc::make_mut(&mut all.volume).extend(window.volume);
        Arc::make_mut(&mut all.offset_bytes).extend(window.offset_bytes);
        Arc::make_mut(&mut all.length_bytes).extend(window.length_bytes);
        all.marks.extend(window.marks);
        all.first_page_op.extend(window.first_page_op[1..].iter().map(|at| at + before));
        all.lpn.extend(window.lpn);
        all.content.extend(window.content);
    }
    Ok(all)
}

fn check(path: &Path, options: &OpenOptions, page_bytes: u32, content: ContentSource, window: usize) {
    let source = Source::from_argument(path);
    let label = format!("{} pages of {page_bytes}, {content}, windows of {window}", path.display());
    let trace = Trace::open(&source, options, &()).unwrap();
    let pages = PageTrace::build(&trace, page_bytes, content);
    let scan = PageScan::in_windows(&source, options, page_bytes, |_| content, window, &());
    let (pages, scan) = match (pages, scan) {
        (Ok(pages), Ok(scan)) => (pages, scan),
        (Err(memory), Err(streamed)) => {
            return assert_eq!(memory.to_string(), streamed.to_string(), "{label}");
        }
        (memory, streamed) => panic!("{label}: {:?} {:?}", memory.err(), streamed.map(|_| ()).err()),
    };
    assert_eq!(*scan.outline(), pages.outline, "{label}");
    assert_eq!(scan.has_content(), trace.has_content(), "{label}");
    for again in 0..2 {
        assert_eq!(joined(&scan).unwrap(), pages.columns, "{label}, time {again}");
    }
    let places: Vec<u64> = (0..50).map(|n| n * n * 31 % pages.columns.page_ops() as u64).collect();
    assert_eq!(scan.contents_at(&places).unwrap(), pages.contents_at(&places).unwrap(), "{label}");
}

fn sources() -> [ContentSource; 5] {
    ["recorded", "unique", "same-as-address", "none", "zipf(0.9,40,3)"].map(|text| text.parse().unwrap())
}

#[test]
fn made_traces_are_the_same_streamed_and_in_memory() {
    let folder = Folder::new();
    for seed in 0..6 {
        let path = folder.file(&format!("{seed}.parquet"));
        random_trace(seed, seed != 1).write_parquet(&path).unwrap();
        for content in sources() {
            for (page_bytes, window) in [(4096, 100_000), (4096, 1), (8192, 7), (16384, 64), (512, 50)] {
                let content = if seed == 1 && content == ContentSource::Recorded {
                    ContentSource::None
                } else {
                    content
                };
                check(&path, &OpenOptions::default(), page_bytes, content, window);
            }
        }
        for (volume, excerpt_ns) in
            [(Some("5".to_owned()), None), (None, Some(50_000..200_000)), (None, Some(100_000..i64::MAX))]
        {
            let options = OpenOptions { volume, excerpt_ns, ..OpenOptions::default() };
            check(&path, &options, 4096, ContentSource::Unique, 33);
        }
    }
}

#[test]
fn every_format_is_the_same_streamed_and_in_memory() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let mut checked = 0;
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let options = OpenOptions::default();
        let Ok(trace) = Trace::open(&Source::from_argument(&path), &options, &()) else { continue };
        let content = if trace.has_content() { ContentSource::Recorded } else { ContentSource::Unique };
        for window in [1, 5, 10_000] {
            check(&path, &options, 4096, content, window);
        }
        checked += 1;
    }
    assert!(checked >= 15, "{checked} samples");
}

fn log(times_ms: &[i64]) -> String {
    let mut text = "fio version 3 iolog\n0 /dev/a add\n0 /dev/a open\n".to_owned();
    for time_ms in times_ms {
        text.push_str(&format!("{} /dev/a write {} 4096\n", time_ms * 1000, time_ms * 4096));
    }
    text
}

#[test]
fn late_lines_belong_where_their_time_is() {
    let folder = Folder::new();
    let path = folder.file("late.fio");
    std::fs::write(&path, log(&[500, 100, 900, 1500, 1200, 5000, 4100, 9000])).unwrap();
    for window in [1, 3, 100] {
        check(&path, &OpenOptions::default(), 4096, ContentSource::Unique, window);
    }
}

fn scan(path: &Path) -> Result<PageScan, TraceError> {
    let source = Source::from_argument(path);
    PageScan::open(&source, &OpenOptions::default(), 4096, |_| ContentSource::Unique, &())
}

#[test]
fn a_file_that_changes_between_two_readings_is_told() {
    let folder = Folder::new();
    let path = folder.file("changed.fio");
    std::fs::write(&path, log(&[0, 100, 200, 300])).unwrap();
    let scanned = scan(&path).unwrap();
    joined(&scanned).unwrap();
    // One more request; as many with another page; something that is no trace; gone.
    for text in [log(&[0, 100, 200, 300, 400]), log(&[0, 100, 200, 700]), "nothing".to_owned()] {
        std::fs::write(&path, text).unwrap();
        let error = joined(&scanned).unwrap_err();
        assert!(
            error.to_string().contains("changed.fio: the file has changed while it was replayed"),
            "{error}"
        );
        assert_eq!(error.cause, ErrorCause::Io);
    }
    std::fs::remove_file(&path).unwrap();
    assert!(joined(&scanned).is_err());
}

#[test]
fn a_file_with_the_same_length_and_time_is_known_by_its_digest() {
    let folder = Folder::new();
    let path = folder.file("touched.fio");
    std::fs::write(&path, log(&[0, 100, 200, 300])).unwrap();
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let scanned = scan(&path).unwrap();
    std::fs::write(&path, log(&[0, 100, 200, 300]).replace("200000", "210000")).unwrap();
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    let error = joined(&scanned).unwrap_err();
    assert!(error.to_string().contains("the file has changed"), "{error}");
}

#[test]
fn what_can_be_read_only_once_is_refused_with_the_cure() {
    let error = scan(Path::new("-")).err().unwrap().to_string();
    assert!(error.contains("standard input can be read only once"), "{error}");
    assert!(error.contains("flashtwin trace convert - FILE.parquet"), "{error}");
    if cfg!(unix) {
        let error = scan(Path::new("/dev/null")).err().unwrap().to_string();
        assert!(error.contains("no regular file") && error.contains("trace convert"), "{error}");
    }
}

#[test]
fn reading_stops_when_asked() {
    let bytes: Arc<[u8]> = Arc::from(log(&[0, 1, 2]).into_bytes());
    let source = Source::Bytes("log.fio".to_owned(), bytes);
    let unique = |_| ContentSource::Unique;
    let stopped = PageScan::open(&source, &OpenOptions::default(), 4096, unique, &Stop);
    assert_eq!(stopped.err().unwrap().cause, ErrorCause::Cancelled);
}
