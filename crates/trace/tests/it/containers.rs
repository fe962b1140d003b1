//! Packings and binary records: each gives the trace that was packed, or its name and the way to it.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use flashtwin_trace::{BlkparseAction, ErrorCause, OpenOptions, Progress, Source, Trace, TraceError};

use crate::common::{Folder, Random};
use crate::readers_agree::compress;

fn open(bytes: &[u8]) -> Result<Trace, TraceError> {
    Trace::open(&Source::Bytes("t".to_owned(), bytes.into()), &OpenOptions::default(), &())
}

/// Requests as MSR wrote them, more than are read at a time.
fn msr(requests: u64) -> String {
    let line = |number: u64| {
        format!(
            "{},vol,{},Write,{},4096,77\n",
            128_166_400_000_000_000 + number * 5_000,
            number % 2,
            number * 4096
        )
    };
    (0..requests).map(line).collect()
}

fn tar_member(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
    header[148..156].fill(b' ');
    header[156] = kind;
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut member = [&header, bytes].concat();
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let members: Vec<u8> = members.iter().flat_map(|(name, bytes)| tar_member(name, b'0', bytes)).collect();
    [tar_member("d/", b'5', b""), tar_member("._x", b'0', b"mac"), members, vec![0; 1024]].concat()
}

#[derive(Clone, Copy)]
enum Sizes {
    Before,
    Behind,
    BehindLong,
}

fn zip_member(name: &str, bytes: &[u8], deflated: bool, sizes: Sizes) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    let packed = if deflated { encoder.finish().unwrap() } else { bytes.to_vec() };
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    let numbers = [crc.sum(), packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes);
    let before = if matches!(sizes, Sizes::Before) { numbers.concat() } else { vec![0; 12] };
    let behind = match sizes {
        Sizes::Before => Vec::new(),
        Sizes::Behind => [&b"PK\x07\x08"[..], &numbers.concat()].concat(),
        Sizes::BehindLong => {
            [&b"PK\x07\x08"[..], &numbers[0], &numbers[1], &[0; 4], &numbers[2], &[0; 4]].concat()
        }
    };
    let flags = [if behind.is_empty() { 0 } else { 8 }, 0];
    let method = [if deflated { 8 } else { 0 }, 0];
    let length = (name.len() as u16).to_le_bytes();
    [
        b"PK\x03\x04\x14\0",
        &flags[..],
        &method,
        &[0; 4],
        &before,
        &length,
        &[0; 2],
        name.as_bytes(),
        &packed,
        &behind,
    ]
    .concat()
}

fn zip(members: &[Vec<u8>]) -> Vec<u8> {
    let around = |name| zip_member(name, b"", false, Sizes::Before);
    [around("d/"), around("__MACOSX/._x"), members.concat(), b"PK\x01\x02 directory".to_vec()].concat()
}

fn lz4(text: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2], mark: &str) -> Vec<u8> {
    (mark.to_owned() + text).encode_utf16().flat_map(unit).collect()
}

#[test]
fn every_packing_of_one_file_is_that_file() {
    let text = msr(60_000);
    let (whole, half) = (text.as_bytes(), text.len() / 2);
    let expected = open(whole).unwrap().digest();
    let deflated = |sizes| zip(&[zip_member("d/a.csv", whole, true, sizes)]);
    for (name, packed) in [
        ("gz", compress("gz", whole).unwrap()),
        ("lz4", lz4(whole)),
        ("two frames", [lz4(&whole[..half]), lz4(&whole[half..])].concat()),
        ("tar", tar(&[("d/a.csv", whole)])),
        ("tar without an end", tar_member("a.csv", b'0', whole)),
        (
            "tar with an extended header",
            [tar_member("p", b'x', b"11 mtime=1\n"), tar(&[("a", whole)])].concat(),
        ),
        ("tar.zst", compress("zst", &tar(&[("d/a.csv", whole)])).unwrap()),
        ("tar of gz", tar(&[("a.csv.gz", &compress("gz", whole).unwrap())])),
        ("zip", deflated(Sizes::Before)),
        ("zip, sizes behind", deflated(Sizes::Behind)),
        ("zip, long sizes behind", deflated(Sizes::BehindLong)),
        ("zip, stored", zip(&[zip_member("a.csv", whole, false, Sizes::Before)])),
        ("UTF-8 with a mark", [b"\xef\xbb\xbf", whole].concat()),
        ("UTF-16", utf16(&text, u16::to_le_bytes, "\u{feff}")),
        ("UTF-16, big", utf16(&text, u16::to_be_bytes, "\u{feff}")),
        ("UTF-16 without a mark", utf16(&text, u16::to_le_bytes, "")),
        ("UTF-16, big, without a mark", utf16(&text, u16::to_be_bytes, "")),
    ] {
        let trace = open(&packed).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((trace.digest(), trace.quality.lines), (expected.clone(), 60_000), "{name}");
    }
}

#[test]
fn an_archive_of_several_files_lists_them() {
    let texts = [msr(100), msr(50_000)];
    let names = ["a.csv", "b.csv"];
    for order in [[0, 1], [1, 0]] {
        let members = order.map(|which| (names[which], texts[which].as_bytes()));
        let zipped = |(name, bytes): (&str, &[u8])| zip_member(name, bytes, true, Sizes::Behind);
        for (archive, command) in [
            (tar(&members), "tar -xOf t "),
            (compress("gz", &tar(&members)).unwrap(), "tar -xOf t "),
            (zip(&members.map(zipped)), "unzip -p t "),
        ] {
            let error = open(&archive).unwrap_err();
            assert_eq!(error.cause, ErrorCause::UnknownFormat, "{error}");
            let message = error.to_string();
            let (listed, first) = (members.map(|(name, _)| name).join(", "), members[0].0);
            assert!(
                message.contains(&listed) && message.contains(&format!("{command}{first} | ")),
                "{message}"
            );
        }
    }
}

/// A part of a packed file is never taken for the whole, and no byte of an archive is changed unnoticed.
#[test]
fn damaged_packings_are_refused() {
    let text = msr(300);
    let files = [
        lz4(text.as_bytes()),
        tar_member("a.csv", b'0', text.as_bytes()),
        zip(&[zip_member("a.csv", text.as_bytes(), true, Sizes::Behind)]),
        zip(&[zip_member("a.csv", text.as_bytes(), false, Sizes::Before)]),
    ];
    let expected = open(text.as_bytes()).unwrap().digest();
    let mut random = Random::new(7);
    for file in files {
        for _ in 0..100 {
            let cut = random.below(file.len() as u64 - 600) as usize;
            assert!(open(&file[..cut]).is_err(), "{cut} of {}", file.len());
            let mut changed = file.clone();
            changed[random.below(file.len() as u64) as usize] ^= 1 << random.below(8);
            if let Ok(trace) = open(&changed) {
                // Names, dates and padding may change; tar has no checksum of contents.
                assert!(trace.digest() == expected || file[257] != 0 || file[0] == b'a');
            }
        }
    }
}

#[test]
fn other_things_are_called_by_name() {
    for (bytes, name, next) in [
        (&b"SQLite format 3\0"[..], "an SQLite database", "sqlite3 -header -csv t"),
        (b"\xf0\xde\xbc\x9a\x78\x56\x34\x12\0\0", "libCacheSim", "--columns"),
        (b"ARROW1\0\0", "Arrow", "from_frame"),
        (b"ORC\x0a\x00", "ORC", "from_frame"),
        (b" <!DOCTYPE HTML><title>Sign in</title>", "HTML", "download the file itself"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
            "LFS",
            "git lfs pull --include t",
        ),
        (b"[{\"time\": 1}]", "JSON", "from_frame"),
        (b"{\n \"jobs\": []}", "JSON", "from_frame"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x04\0", "pcap", "CSV"),
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z", "7z x t"),
        (b"\x1f\x9d\x90", "compress", "zcat t"),
        (b"PERFILE2\0", "perf", "perf script -i t"),
        (&zip_member("[Content_Types].xml", b"<x/>", true, Sizes::Before), "Office", "CSV"),
        (&zip_member("a", b"x", false, Sizes::Behind), "method 0", "unzip -p t"),
        (&zip(&[]), "no file in the archive", "unzip -l t"),
    ] {
        let error = open(bytes).unwrap_err();
        assert!(error.what.contains(name) && error.cure.contains(next), "{error}");
    }
    // Text that begins alike is text.
    assert!(open(b"ORC1,5,3\n").unwrap_err().what.contains("no supported format"));
}

/// An event: time, sector, bytes, action of the kernel, its letters in blkparse, bytes behind it.
struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    letters: &'static str,
    payload: u16,
}

const DEVICE: u32 = 8 << 20 | 16;

/// Events of all kinds with times that rise; `wide` ones are only in version 8.
fn events(count: u64, wide: bool) -> Vec<Event> {
    let kinds: [(u64, &str, u16); 13] = [
        (0x0002_0007, "D W", 0),
        (0x0001_0007, "D R", 0),
        (0x8002_0007, "D WF", 0),
        (0x8006_0007, "D FWF", 0),
        (0x2002_0007, "D D", 0),
        (0x0004_0007, "D FN", 0),
        (0x0002_0001, "Q W", 0),
        (0x0001_0008, "C R", 0),
        (0x0002_0106, "R W", 8),
        (0x0400_0000, "", 5),
        (0x0400_0002, "", 0),
        (0x0200_0007, "D N", 16),
        (0x1_0000_0007, "D ZA", 0),
    ];
    let mut random = Random::new(3);
    let kinds = if wide { &kinds[..] } else { &kinds[..12] };
    (0..count)
        .map(|number| {
            let (action, letters, payload) = kinds[random.below(kinds.len() as u64) as usize];
            let bytes = if letters.ends_with('N') { 0 } else { 512 << random.below(8) };
            Event {
                time_ns: 7_000_000_000 + number * 1_500,
                sector: random.below(1 << 30),
                bytes,
                action,
                letters,
                payload,
            }
        })
        .collect()
}

fn raw(event: &Event, sequence: u32, wide: bool, big: bool) -> Vec<u8> {
    let order = |bytes: &[u8]| -> Vec<u8> {
        if big { bytes.iter().rev().copied().collect() } else { bytes.to_vec() }
    };
    let word = |value: u32| order(&value.to_le_bytes());
    let long = |value: u64| order(&value.to_le_bytes());
    let start = [
        word(0x6561_7400 | if wide { 8 } else { 7 }),
        word(sequence),
        long(event.time_ns),
        long(event.sector),
    ];
    let (action, pid) = (event.action, word(700));
    let middle = if wide { [pid, long(action)] } else { [word(action as u32), pid] };
    let end = [word(DEVICE), word(1), order(&[0, 0]), order(&event.payload.to_le_bytes())];
    let padding = vec![0; if wide { 12 } else { 0 }];
    let all = [start.concat(), word(event.bytes), middle.concat(), end.concat(), padding].concat();
    [all, vec![0xee; event.payload.into()]].concat()
}

fn line(event: &Event, sequence: usize) -> String {
    let (seconds, part) = (event.time_ns / 1_000_000_000, event.time_ns % 1_000_000_000);
    let extent = match event.bytes {
        0 => String::new(),
        bytes => format!("{} + {} ", event.sector, bytes / 512),
    };
    format!("  8,16 1 {sequence} {seconds}.{part:09} 700 {} {extent}[x]\n", event.letters)
}

#[test]
fn raw_blktrace_is_what_blkparse_prints_of_all_processors() {
    for (wide, big) in [(false, false), (false, true), (true, false), (true, true)] {
        let events = events(20_000, wide);
        let printed = events.iter().enumerate().filter(|(_, event)| !event.letters.is_empty());
        let text: String = printed.map(|(number, event)| line(event, number)).collect();
        let folder = Folder::new();
        let mut files = vec![Vec::new(); 3];
        let mut random = Random::new(11);
        for (event, number) in events.iter().zip(0..) {
            files[random.below(3) as usize].extend(raw(event, number, wide, big));
        }
        files.push(Vec::new());
        for (file, number) in files.iter().zip(0..) {
            fs::write(folder.file(&format!("sdb.blktrace.{number}")), file).unwrap();
            fs::write(folder.file(&format!("sdc.blktrace.{number}.gz")), compress("gz", file).unwrap())
                .unwrap();
        }
        let all: Vec<u8> =
            events.iter().zip(0..).flat_map(|(event, number)| raw(event, number, wide, big)).collect();
        fs::write(folder.file("piped.bin"), all).unwrap();
        for action in [BlkparseAction::Issued, BlkparseAction::Queued, BlkparseAction::Completed] {
            let options = OpenOptions { blkparse_action: action, ..OpenOptions::default() };
            let open = |source: Source| Trace::open(&source, &options, &()).unwrap();
            let expected = open(Source::Bytes("text".to_owned(), text.as_bytes().into()));
            for (name, notes) in
                [("sdb.blktrace.0", 1), ("sdb.blktrace.3", 1), ("sdc.blktrace.2.gz", 1), ("piped.bin", 0)]
            {
                let trace = open(Source::File(folder.file(name)));
                assert_eq!(trace.digest(), expected.digest(), "{name} {wide} {big}");
                assert_eq!((trace.quality.lines, trace.quality.notes.len()), (expected.quality.lines, notes));
                assert_eq!(
                    (trace.volume_names, trace.format),
                    (expected.volume_names.clone(), expected.format)
                );
            }
            assert_eq!(open(Source::File(folder.file("sdb.blktrace.1"))).name, "sdb");
        }
    }
}

#[test]
fn damaged_raw_blktrace_is_refused_at_its_byte() {
    let events = events(30, false);
    let all: Vec<u8> =
        events.iter().zip(0..).flat_map(|(event, number)| raw(event, number, false, false)).collect();
    let error = open(&all[..all.len() - 1]).unwrap_err();
    assert!(error.what.contains("ends within an event") && error.cure.contains("truncate -s "), "{error}");
    let mut other = all.clone();
    other[0] = 6;
    assert!(open(&other).unwrap_err().to_string().contains("version 6, 7 or 8 was expected; "), "a version");
    let (first, events) = (raw(&events[0], 0, false, false).len(), all.len());
    other = all;
    other[first + 1] = 0xff;
    assert!(events > first && open(&other).unwrap_err().what.contains(&format!("begins at byte {first}")));
}

#[test]
fn binary_vscsi_is_its_text() {
    let mut text = String::new();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (number, command) in (0u64..50).zip([0x28u16, 0x2a, 0x35, 0].into_iter().cycle()) {
        let (time_us, block, length) = (7_000_000 + number * 1_234, number * 64, 4096u32);
        text +=
            &format!("1,{}.{:06},{command:x},{length},{block}\n", time_us / 1_000_000, time_us % 1_000_000);
        let numbers = [block, time_us].map(u64::to_le_bytes).concat();
        let [serial, length] = [number as u32, length].map(u32::to_le_bytes);
        let [one, two, command] = [0x0100, 0x0200, command].map(u16::to_le_bytes);
        first.extend([&serial, &length, &[0; 4], &command[..], &one, &numbers].concat());
        second.extend([&command[..], &two, &serial, &length, &[0; 4], &numbers, &[9; 8]].concat());
    }
    let expected = open(text.as_bytes()).unwrap();
    for records in [first, second] {
        let trace = open(&records).unwrap();
        assert_eq!((trace.digest(), trace.format), (expected.digest(), expected.format));
        assert!(open(&records[..records.len() - 1]).is_err());
    }
}

#[test]
fn oracle_general_is_reads_of_sectors_and_says_so() {
    let record = |seconds: u32, object: u64, next: i64| {
        [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &512u32.to_le_bytes(), &next.to_le_bytes()]
            .concat()
    };
    let of = |objects: [u64; 4]| {
        let [a, b, c, d] = objects;
        [record(5, a, 2), record(5, b, -1), record(7, c, i64::MAX), record(9, d, -1)].concat()
    };
    let trace = open(&of([8, 16, 8, 24])).unwrap();
    assert_eq!((*trace.time_ns).clone(), [0, 0, 2_000_000_000, 4_000_000_000]);
    assert_eq!(trace.offset_bytes, [4096, 8192, 4096, 12_288]);
    assert_eq!(trace.format.name(), "oraclegeneral");
    assert!(trace.quality.notes[0].contains("all requests are reads"), "{:?}", trace.quality.notes);
    // Hashes of names are no addresses. The next record of an object has that object.
    assert!(open(&of([u64::MAX - 3, 1, u64::MAX - 3, 2])).unwrap_err().what.contains("beyond 2^63"));
    assert!(open(&of([8, 16, 9, 24])).unwrap_err().what.contains("binary data"));
}

/// Changes the file at the first look.
struct Changing<F: Fn() + Sync>(F, AtomicBool);

impl<F: Fn() + Sync> Progress for Changing<F> {
    fn update(&self, _done: u64, _total: u64) {
        if !self.1.swap(true, Ordering::Relaxed) {
            (self.0)();
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_told() {
    let folder = Folder::new();
    let path = folder.file("a.csv");
    let text = msr(120_000);
    let change = |how: &(dyn Fn(&mut fs::File) + Sync)| {
        fs::write(&path, &text).unwrap();
        let then = std::time::SystemTime::UNIX_EPOCH;
        fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        let change = Changing(
            || how(&mut fs::File::options().append(true).open(&path).unwrap()),
            AtomicBool::new(false),
        );
        Trace::open(&Source::File(path.clone()), &OpenOptions::default(), &change)
    };
    assert_eq!(change(&|_| ()).unwrap().quality.notes, [""; 0]);
    let grown = change(&|file| file.write_all(text[..text.find('\n').unwrap() + 1].as_bytes()).unwrap());
    // The added line is the first again.
    assert_eq!(grown.unwrap_err().cause, ErrorCause::Disorder);
    let grown = change(&|file| file.write_all(b"\n").unwrap()).unwrap();
    assert!(grown.quality.notes[0].contains("grew from"), "{:?}", grown.quality.notes);
    let cut = text.find("\n1281664000500").unwrap() as u64 + 1;
    let shrunk = change(&|file| file.set_len(cut).unwrap()).unwrap_err();
    assert!(shrunk.what.contains("shrank from"), "{shrunk}");
    let written = change(&|file| file.set_modified(std::time::SystemTime::now()).unwrap()).unwrap_err();
    assert!(written.what.contains("was written to"), "{written}");
}
