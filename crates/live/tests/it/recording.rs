use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::*;
use flashtwin_live::nbd::ServerOptions;
use flashtwin_live::record::{Key, RecordFormat, RecordOptions, Recorder, import_log_writes};
use flashtwin_live::{Export, MemoryExport, Writing};
use flashtwin_trace::{Op, OpenOptions, Source, Trace};

const SIZE: u64 = 1 << 20;
const TEXT_KEY: [u8; 32] = [7; 32];

fn open(path: &Path) -> Trace {
    Trace::open(&Source::File(path.to_owned()), &OpenOptions::default(), &()).unwrap()
}

fn recorder(path: &Path, options: &RecordOptions) -> Arc<Recorder> {
    let inner = Arc::new(MemoryExport::new(SIZE));
    Arc::new(Recorder::start(inner, path, Key::new(TEXT_KEY), options).unwrap())
}

#[test]
fn what_passes_is_what_is_read_from_the_trace() {
    let folder = Folder::new();
    let path = folder.join("mine.parquet");
    let recorder = recorder(&path, &RecordOptions { name: "mine".to_owned(), ..Default::default() });
    let served = serve(Arc::clone(&recorder) as Arc<dyn Export>, ServerOptions::default());
    let client = go(&served.socket, false);
    let (a, b) = ([1; 4096], [2; 4096]);
    assert_eq!(write(&client, 0, 0, &[a, b, a].concat()), 0);
    assert_eq!(write(&client, 1, 512, &[5; 512]), 0);
    assert_eq!(read(&client, 4096, 4096), b);
    assert_eq!(ask(&client, FLUSH, 0, 0, 0), 0);
    assert_eq!(ask(&client, TRIM, 0, 8192, 4096), 0);
    assert_eq!(write(&client, 0, 40960, &[0; 4096]), 0);
    assert_eq!(ask(&client, ZEROES, 2, 65536, 8192), 0);
    assert_eq!(ask(&client, ZEROES, 0, 65536, 8192), 0);
    assert_ne!(ask(&client, READ, 0, SIZE, 4096), 0, "what fails is not written down");
    let figures = recorder.finish().unwrap();
    assert_eq!((figures.requests, figures.left_out, figures.failure), (8, 0, None));
    assert_eq!(read(&client, 4096, 4096), b, "what comes after passes unrecorded");

    let trace = open(&path);
    let ops = [Op::Write, Op::Write, Op::Read, Op::Flush, Op::Trim, Op::Write, Op::Write, Op::Trim];
    assert_eq!(*trace.op, ops);
    assert_eq!(*trace.offset_bytes, [0, 512, 4096, 0, 8192, 40960, 65536, 65536]);
    assert_eq!(*trace.length_bytes, [12288, 512, 4096, 0, 4096, 4096, 8192, 8192]);
    let contents: Vec<&[u32]> = (0..trace.len()).map(|row| trace.contents(row)).collect();
    assert_eq!(contents, [&[0, 1, 0][..], &[2], &[1], &[], &[], &[3], &[3, 3], &[]]);
    assert_eq!(trace.quality.empty_requests, 0);
    assert!(trace.time_ns.is_sorted());
    // The digest of b is that which anyone with the key can make.
    let expected = blake3::keyed_hash(&TEXT_KEY, &b);
    assert_eq!(trace.digests.get(1).unwrap()[..], expected.as_bytes()[..16]);
    let bytes = fs::read(&path).unwrap();
    assert!(!bytes.windows(32).any(|window| window == TEXT_KEY), "the key is not in the trace");
}

#[test]
fn many_at_once_are_all_written_down() {
    let folder = Folder::new();
    let path = folder.join("many.parquet");
    let options =
        RecordOptions { loss_max: Duration::from_millis(5), queue_bytes_max: 20_000, ..Default::default() };
    let recorder = recorder(&path, &options);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let recorder = &recorder;
            scope.spawn(move || {
                for number in 0..5000_u64 {
                    let page = [(number % 251) as u8; 4096];
                    recorder
                        .write((thread * 64 + number % 64) * 4096, &page, Writing::default(), &())
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(recorder.finish().unwrap().requests, 20_000);
    let trace = open(&path);
    assert_eq!((trace.len(), trace.digests.len()), (20_000, 251));
    // Each thread's requests are in its order.
    for thread in 0..4 {
        let mine = (0..trace.len()).filter(|&row| trace.offset_bytes[row] / (64 * 4096) == thread);
        let offsets: Vec<u64> = mine.map(|row| trace.offset_bytes[row] / 4096 % 64).collect();
        assert!(offsets.iter().enumerate().all(|(at, &offset)| offset == at as u64 % 64));
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_data() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let options = RecordOptions { format: RecordFormat::Fiu, loss_max: Duration::ZERO, ..Default::default() };
    let recorder = recorder(full, &options);
    for number in 0..50_u64 {
        recorder.write(number * 4096, &[3; 4096], Writing::default(), &()).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    let failure = recorder.finish().unwrap_err().to_string();
    assert!(failure.contains("/dev/full"), "{failure}");
    let mut page = [0; 4096];
    recorder.read(0, &mut page, &()).unwrap();
    assert_eq!(page, [3; 4096]);
}

#[test]
fn fiu_text_says_the_same_as_far_as_it_can() {
    let folder = Folder::new();
    let path = folder.join("mine.fiu");
    let recorder = recorder(&path, &RecordOptions { format: RecordFormat::Fiu, ..Default::default() });
    recorder.write(4096, &[1; 8192], Writing::default(), &()).unwrap();
    recorder.write(1, &[1; 4096], Writing::default(), &()).unwrap();
    recorder.trim(0, 4096, Writing::default(), &()).unwrap();
    recorder.flush().unwrap();
    recorder.read(8192, &mut [0; 4096], &()).unwrap();
    let figures = recorder.finish().unwrap();
    assert_eq!((figures.requests, figures.left_out), (2, 3));
    let trace = open(&path);
    assert_eq!((&trace.op[..], &trace.offset_bytes[..]), (&[Op::Write, Op::Read][..], &[4096, 8192][..]));
    assert_eq!(trace.content, [0, 0, 0]);
}

/// A log as drivers/md/dm-log-writes.c lays it out, with sectors of 512 bytes.
fn log(entries: &[(u64, u64, u64, &[u8])]) -> Vec<u8> {
    let padded = |fields: &[u64]| {
        let mut bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        bytes.resize(512, 0);
        bytes
    };
    let mut bytes = padded(&[0x006a_7366_7773_6872, 1, entries.len() as u64, 512]);
    for &(sector, sectors, flags, data) in entries {
        bytes.extend(padded(&[sector, sectors, flags, 0]));
        bytes.extend(data);
    }
    bytes
}

#[test]
fn logs_of_dm_log_writes() {
    let folder = Folder::new();
    let (path, out) = (folder.join("my.log"), folder.join("my.parquet"));
    let (a, b) = ([1; 4096], [2; 4096]);
    let whole = log(&[
        (8, 16, 0, &[a, b].concat()),
        (0, 0, 1, &[]),     // a flush
        (0, 0, 8, &[]),     // a mark
        (800, 80, 4, &[]),  // a discard
        (16, 8, 1 | 2, &b), // a write with flush and FUA
    ]);
    fs::write(&path, &whole).unwrap();
    let key = Key::new(TEXT_KEY);
    assert_eq!(import_log_writes(&path, &out, &key, &()).unwrap(), 5);
    let trace = open(&out);
    assert_eq!(*trace.op, [Op::Write, Op::Flush, Op::Trim, Op::Flush, Op::Write]);
    assert_eq!(*trace.offset_bytes, [4096, 0, 409_600, 0, 8192]);
    assert_eq!(*trace.length_bytes, [8192, 0, 40_960, 0, 4096]);
    assert_eq!(trace.flags, [0, 0, 0, 0, 1], "FUA");
    assert_eq!((trace.content, trace.quality.empty_requests), (vec![0, 1, 1], 0));
    assert_eq!((&trace.time_ns[..], &trace.volume_names[..]), (&[0; 5][..], &["my".to_owned()][..]));
    fs::write(&path, log(&[(8, 1 << 23, 4, &[])])).unwrap();
    assert_eq!(import_log_writes(&path, &out, &key, &()).unwrap(), 2, "a discard of 4 GiB");
    fs::remove_file(&out).unwrap();
    for (bytes, what) in [
        (whole[..whole.len() - 1].to_vec(), "ends before"),
        (vec![0; 512], "no log"),
        ([&whole[..8], &[9, 0, 0, 0, 0, 0, 0, 0], &whole[16..]].concat(), "version 9"),
        ([&whole[..24], &[1, 2, 0, 0], &whole[28..]].concat(), "make no sense"),
        (log(&[(u64::MAX, 8, 0, &a)]), "beyond any device"),
        (log(&[(0, u64::MAX / 512, 0, &a)]), "beyond any device"),
        (log(&[(0, 1 << 39, 0, &a)]), "ends before"),
        (log(&[(8, (1 << 39) + 1, 4, &[])]), "beyond any device"),
    ] {
        fs::write(&path, bytes).unwrap();
        let message = import_log_writes(&path, &out, &key, &()).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains("my.log"), "{what}: {message}");
        assert!(!out.exists(), "no half of a trace is left");
    }
}
