//! Packings and binary records: each gives the trace that was packed, or its name and the way to it.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use flashtwin_trace::{BlkparseAction, ErrorCause, Op, OpenOptions, Progress, Source, Trace};

use crate::common::{Folder, Random, asked, of_format, open_text as open, open_with, refused};
use crate::readers_agree::compress;

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

fn lz4(text: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2], mark: &str) -> Vec<u8> {
    (mark.to_owned() + text).encode_utf16().flat_map(unit).collect()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

/// Local headers, without the list at the end but for its mark. Sizes may follow the data, as of a pipe or of macOS.
fn zip(files: &[(&str, &[u8])], is_packed: bool, sizes_follow: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in files {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        let data = if is_packed { encoder.finish().unwrap() } else { bytes.to_vec() };
        let sizes = [crc.sum(), data.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
        archive.extend(
            [&b"PK\x03\x04\x14\0"[..], &[u8::from(sizes_follow) * 8, 0, u8::from(is_packed) * 8]].concat(),
        );
        archive.extend([0; 5]);
        archive.extend(if sizes_follow { vec![0; 12] } else { sizes.clone() });
        archive.extend([&(name.len() as u32).to_le_bytes()[..], name.as_bytes(), &data].concat());
        archive.extend(if sizes_follow { [&b"PK\x07\x08"[..], &sizes].concat() } else { Vec::new() });
    }
    archive.extend(b"PK\x01\x02");
    archive
}

#[test]
fn of_several_files_in_an_archive_the_names_are_listed() {
    let [large, small] = [msr(60_000), msr(3)];
    for first in [&large, &small] {
        let files: [(&str, &[u8]); 2] = [("logs/a.csv", first.as_bytes()), ("README", b"Read me\n")];
        for (archive, command) in
            [(tar(&files), "tar -xOf t logs/a.csv |"), (zip(&files, true, true), "unzip -p t logs/a.csv |")]
        {
            let parts = ["in this archive, there are 2: logs/a.csv, README", command];
            refused(archive, &OpenOptions::default(), ErrorCause::UnknownFormat, &parts);
        }
    }
    let nothing = tar(&[("._a.csv", b"")]);
    refused(nothing, &OpenOptions::default(), ErrorCause::UnknownFormat, &["there are 0;"]);
    let whole = zip(&[("a.csv", small.as_bytes())], false, false);
    let mut damaged = whole.clone();
    damaged[60] ^= 1;
    let mut encrypted = whole.clone();
    encrypted[6] = 1;
    for (archive, part) in [
        (&damaged[..], "a.csv has another checksum"),
        (&whole[..whole.len() - 9], "zip"),
        (&encrypted, "a.csv is encrypted"),
    ] {
        refused(archive, &OpenOptions::default(), ErrorCause::Compression, &[part]);
    }
}

#[test]
fn every_packing_of_one_file_is_that_file() {
    let text = msr(60_000);
    let (whole, half) = (text.as_bytes(), text.len() / 2);
    let expected = open(whole).unwrap().digest();
    for (name, packed) in [
        ("gz", compress("gz", whole).unwrap()),
        ("lz4", lz4(whole)),
        ("tar", tar(&[("logs/._a.csv", b"macOS"), ("logs/a.csv", whole)])),
        ("tar.gz", compress("gz", &tar(&[("a.csv", whole)])).unwrap()),
        ("zip", zip(&[("logs/", b""), ("logs/a.csv", whole), ("__MACOSX/a.csv", b"macOS")], true, false)),
        ("zip of a pipe", zip(&[("a.csv", whole)], true, true)),
        ("zip of stored files", zip(&[("a.csv", whole)], false, false)),
        ("gz in a zip", zip(&[("a.csv.gz", &compress("gz", whole).unwrap())], true, true)),
        ("two frames", [lz4(&whole[..half]), lz4(&whole[half..])].concat()),
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
fn other_things_are_called_by_name() {
    let record = |object: u64, next: i64| {
        [&5u32.to_le_bytes()[..], &object.to_le_bytes(), &512u32.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    let oracle = [record(8, 2), record(16, -1), record(8, i64::MAX), record(24, -1)].concat();
    for packed in [oracle.clone(), compress("zst", &oracle).unwrap()] {
        let trace = open_with(packed, &of_format("oraclegeneral")).unwrap();
        assert_eq!(asked(&trace), [8, 16, 8, 24].map(|page| (0, Op::Read, page * 4096, 512)));
        assert!(trace.quality.notes[0].contains("numbers of pages"), "{:?}", trace.quality.notes);
    }
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
        (&oracle, "oracleGeneral", "--format oraclegeneral"),
        (
            &[[1, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0, 0x2a, 0, 9, 1], [0; 16]].concat().repeat(4),
            "vSCSI",
            "tracePrint t",
        ),
        (&[[0x2a, 0, 9, 2, 1, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0], [0; 16]].concat(), "binary data", ""),
    ] {
        let error = open(bytes).unwrap_err();
        assert!(error.what.contains(name) && error.cure.contains(next), "{error}");
    }
    // Text that begins alike is text.
    assert!(open(b"ORC1,5,3\n").unwrap_err().what.contains("no supported format"));
}

/// An event of the kernel and the line of blkparse, which notify events do not have.
fn event(number: u32, random: &mut Random, wide: bool, big: bool) -> (Vec<u8>, String) {
    // Action, its letters, bytes behind the event. The last two are in version 8 only.
    let kinds: [(u64, &str, u16); 14] = [
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
        (0x40_0002_0007, "D WZ", 0),
    ];
    let (action, letters, payload) = kinds[random.below(if wide { 14 } else { 12 }) as usize];
    let (time_ns, sector) = (7_000_000_000 + u64::from(number) * 1_500, random.below(1 << 30));
    let bytes = if letters.ends_with('N') { 0 } else { 512u64 << random.below(8) };
    let [device, version] = [8 << 20 | 16, if wide { 8 } else { 7 }];
    let start = [(0x6561_7400 | version, 4), (number.into(), 4), (time_ns, 8), (sector, 8), (bytes, 4)];
    let middle = if wide { [(700, 4), (action, 8)] } else { [(action, 4), (700, 4)] };
    let end = [(device, 4), (1, 4), (0, 2), (payload.into(), 2)];
    let mut raw = Vec::new();
    for (value, size) in start.into_iter().chain(middle).chain(end) {
        let number = &value.to_le_bytes()[..size];
        raw.extend(number.iter().copied().take(if big { 0 } else { size }));
        raw.extend(number.iter().rev().copied().take(if big { size } else { 0 }));
    }
    raw.resize(raw.len() + if wide { 12 } else { 0 } + usize::from(payload), 0xee);
    let (seconds, part) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let extent = if bytes == 0 { String::new() } else { format!("{sector} + {} ", bytes / 512) };
    let line = format!("  8,16 1 {number} {seconds}.{part:09} 700 {letters} {extent}[x]\n");
    (raw, if letters.is_empty() { String::new() } else { line })
}

#[test]
fn raw_blktrace_is_what_blkparse_prints_of_all_processors() {
    for (wide, big) in [(false, false), (false, true), (true, false), (true, true)] {
        let (folder, mut random) = (Folder::new(), Random::new(11));
        // The last processor has no events.
        let (mut text, mut all, mut files) = (String::new(), Vec::new(), vec![Vec::new(); 4]);
        for number in 0..20_000 {
            let (raw, line) = event(number, &mut random, wide, big);
            text += &line;
            all.extend(&raw);
            files[random.below(3) as usize].extend(raw);
        }
        for (file, number) in files.iter().zip(0..) {
            let packed = compress("gz", file).unwrap();
            fs::write(folder.file(&format!("sdb.blktrace.{number}")), file).unwrap();
            fs::write(folder.file(&format!("sdc.blktrace.{number}.gz")), packed).unwrap();
        }
        fs::write(folder.file("piped.bin"), all).unwrap();
        for action in [BlkparseAction::Issued, BlkparseAction::Queued, BlkparseAction::Completed] {
            let options = OpenOptions { blkparse_action: action, ..OpenOptions::default() };
            let open = |source: Source| Trace::open(&source, &options, &()).unwrap();
            let expected = open(Source::Bytes("text".to_owned(), text.as_bytes().into()));
            for (name, files) in
                [("sdb.blktrace.0", 4), ("sdb.blktrace.3", 4), ("sdc.blktrace.2.gz", 4), ("piped.bin", 1)]
            {
                let trace = open(Source::File(folder.file(name)));
                assert_eq!(trace.digest(), expected.digest(), "{name} {wide} {big}");
                assert_eq!(trace.quality.lines, expected.quality.lines);
                assert!(trace.quality.notes[0].ends_with(&format!(" merged by time: {files}")));
                assert_eq!((&trace.volume_names, trace.format), (&expected.volume_names, expected.format));
            }
            assert_eq!(open(Source::File(folder.file("sdb.blktrace.1"))).name, "sdb");
        }
    }
}

#[test]
fn damaged_raw_blktrace_is_refused_at_its_byte() {
    let mut random = Random::new(3);
    let events: Vec<Vec<u8>> = (0..30).map(|number| event(number, &mut random, false, false).0).collect();
    let (all, first) = (events.concat(), events[0].len());
    let error = open(&all[..all.len() - 1]).unwrap_err();
    assert!(error.what.contains("is unfinished") && error.cure.contains("truncate -s "), "{error}");
    for (at, value, message) in
        [(0, 6, "version 6, not of 7 or 8"), (first + 1, 0xff, &format!("at byte {first} is none"))]
    {
        let mut other = all.clone();
        other[at] = value;
        assert!(open(&other).unwrap_err().what.contains(message), "{message}");
    }
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
    let grown = change(&|file| file.write_all(b"\n").unwrap()).unwrap();
    assert!(grown.quality.notes[0].contains("grew from"), "{:?}", grown.quality.notes);
    let cut = text.find("\n1281664000500").unwrap() as u64 + 1;
    let shrunk = change(&|file| file.set_len(cut).unwrap()).unwrap_err();
    assert!(shrunk.what.contains("shrank from"), "{shrunk}");
    let written = change(&|file| file.set_modified(std::time::SystemTime::now()).unwrap()).unwrap_err();
    assert!(written.what.contains("was written to"), "{written}");
}
