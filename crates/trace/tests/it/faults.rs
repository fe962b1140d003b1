//! Kinds of fault in files that tools wrote, each with what its requests are.

use crate::common::{open_text, open_with, refused, source};
use flashtwin_trace::{ErrorCause, Op, OpenOptions, Trace, TraceError, TraceStream};

fn open(text: &str) -> Result<Trace, TraceError> {
    let trace = open_text(text)?;
    let mut stream = TraceStream::open(&source(text), &OpenOptions::default(), &())?;
    while stream.next(&())?.is_some() {}
    assert_eq!((trace.digest(), &trace.quality), (stream.digest(), stream.quality()));
    Ok(trace)
}

/// Microseconds of all requests, and the one note.
fn times(text: &str, note: &str) -> Vec<i64> {
    let trace = open(text).unwrap();
    let notes = trace.quality.notes.join("; ");
    assert!(if note.is_empty() { notes.is_empty() } else { notes.contains(note) }, "{notes}");
    trace.time_ns.iter().map(|time_ns| time_ns / 1000).collect()
}

fn events(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("  8,16 1 1 {line} [x]\n")).collect()
}

#[test]
fn times_before_the_start_of_blktrace_are_below_zero() {
    let lines = [
        // 2^64 ns less 1 s and less 40 ms, seconds modulo 2^32.
        "1266874888.709551616 7 D W 8 + 8",
        "1266874889.669551616 7 D W 16 + 8",
        "0.000000500 7 D W 32 + 8",
        "1266874889.709550616 7 D W 24 + 8",
        "0.005000000 7 D W 40 + 8",
    ];
    assert_eq!(times(&events(&lines), ""), [0, 960_000, 999_999, 1_000_000, 1_005_000]);
    assert_eq!(open(&events(&lines)).unwrap().offset_bytes[2..4], [24 * 512, 32 * 512]);
}

#[test]
fn a_request_that_is_issued_again_counts_once() {
    let lines = [
        "0.000100000 7 Q W 3000 + 8",
        "0.000200000 7 D W 3000 + 8",
        "0.000201000 7 R W 3000 + 8",
        // Others at the same place are others.
        "0.000250000 7 D R 3000 + 8",
        "0.000260000 7 D W 3000 + 16",
        "0.000300000 7 D W 3000 + 8",
        "0.000400000 7 D W 3000 + 8",
        "0.000410000 7 R FN",
        "0.000420000 7 D FN",
    ];
    assert_eq!(times(&events(&lines), "from when they first were: 2"), [0, 50, 60, 200]);
    assert_eq!(times(&events(&lines[..2]), ""), [0]);
}

#[test]
fn a_recording_without_the_action_counts_its_events() {
    let ramdisk = events(&["0.1 7 Q W 0 + 8", "0.2 0 C W 0 + 8", "0.3 7 Q W 8 + 8", "0.4 7 UT N 1"]);
    let parts =
        ["4 lines say other things (events: 1 C, 2 Q, 1 U); ", "--blkparse-action Q, D or C (RAM disks"];
    refused(ramdisk, &OpenOptions::default(), ErrorCause::Empty, &parts);
}

#[test]
fn files_put_together_may_each_begin_with_a_mark_and_a_header() {
    let shard = |second: u64| {
        let line = |number| format!("15400000{second}{number},{},16,{},77\n", number * 64, number % 2);
        "\u{feff}Timestamp,Offset,Size,IOType,VolumeID\n".to_owned() + &(0..5).map(line).collect::<String>()
    };
    let trace = open(&(shard(1) + &shard(2) + &shard(3))).unwrap();
    assert_eq!((trace.len(), trace.format.name()), (15, "tencent"));
    assert_eq!((trace.quality.passed_lines, trace.quality.bad_lines_skipped), (2, 0));
}

#[test]
fn trims_of_any_length_are_cut_below_4_gib() {
    for (length, parts) in [(4096u64, 1), ((1 << 32) - 512, 1), (1 << 32, 2), (1 << 33, 3), (1 << 40, 257)] {
        let fio = format!("fio version 3 iolog\n3 d trim 4096 {length}\n9 d read 0 4096\n");
        let blkparse = events(&[&format!("0.1 7 D D 8 + {}", length / 512), "0.2 7 D R 0 + 8"]);
        for text in [fio, blkparse] {
            let trace = open(&text).unwrap();
            let lengths: Vec<u64> = trace.length_bytes[..parts].iter().map(|&length| length.into()).collect();
            assert_eq!((trace.len(), lengths.iter().sum()), (parts + 1, length));
            assert!(trace.op[..parts].iter().all(|&op| op == Op::Trim));
            let ends = (0..parts).map(|part| 4096 + lengths[..part].iter().sum::<u64>());
            assert_eq!(trace.offset_bytes[..parts], ends.collect::<Vec<_>>());
        }
    }
    for (what, limit) in
        [(format!("trim 0 {}", 1u64 << 46), "64 TiB"), ("write 0 4294967296".to_owned(), "4 GiB")]
    {
        let text = format!("fio version 3 iolog\n3 d {what}\n") + &"9 d read 0 4096\n".repeat(40);
        let message = open(&text).unwrap_err().to_string();
        assert!(message.contains(limit) && message.starts_with("t:2:"), "{message}");
    }
}

#[test]
fn digests_have_the_width_of_the_first() {
    for width in [16, 32, 40, 48, 56, 64] {
        let digest = |content: usize| format!("{content:x}").repeat(width);
        // Two pages, one of a sector and the digest of each sector of a page.
        let line = |number: usize, sectors: usize, contents: &[usize]| {
            let digests: String = contents.iter().map(|&content| digest(content)).collect();
            format!("{number} 3 p {} {sectors} W 8 0 {digests}\n", number * 1000)
        };
        let [pages, short, sectors] = [line(1, 16, &[10, 11]), line(2, 1, &[11]), line(3, 8, &[12; 8])];
        let text = pages.clone() + &short + &sectors + &line(4, 8, &[10]) + &line(5, 8, &[12; 8]);
        let trace = open(&text).unwrap();
        assert_eq!(trace.content, [0, 1, 1, 2, 0, 2], "{width}");
        let message =
            open(&(text + &line(6, 8, &[10])[..line(6, 8, &[10]).len() - 9])).unwrap_err().to_string();
        let expected = format!(
            "{} hex digits, a request of 1 pages of 4 KB should have {width} or {}",
            width - 8,
            8 * width
        );
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn laps_of_a_log_of_fio_follow_one_another() {
    let log = |times: &[u64]| -> String {
        times.iter().map(|time| format!("{time} d read {} 4096\n", time * 4096)).collect()
    };
    let head = "fio version 3 iolog\n0 d add\n0 d open\n";
    let laps = "2 laps of the log follow one another";
    for (text, expected, note) in [
        (
            log(&[10, 20, 1_500_010, 2_000_000, 10, 20, 1_500_010, 2_000_000]),
            vec![0, 10, 1_500_000, 1_999_990, 1_999_990, 2_000_000, 3_499_990, 3_999_980],
            laps,
        ),
        // A short lap, and a start a little later.
        (log(&[10, 500, 900, 15, 500]), vec![0, 490, 890, 890, 1_375], laps),
        // Further back than the sorting window, although not to the start.
        (log(&[0, 3_000_000, 1_500_000, 1_500_100]), vec![0, 3_000_000, 3_000_000, 3_000_100], laps),
        // Another log begins here, wherever it begins.
        (log(&[0, 900]) + head + &log(&[600, 700]), vec![0, 900, 900, 1_000], laps),
        // Threads that overtake one another.
        (log(&[0, 900, 890, 950]), vec![0, 890, 900, 950], ""),
    ] {
        assert_eq!(times(&(head.to_owned() + &text), note), expected, "{text}");
    }
}

#[test]
fn waits_of_fio_are_over_at_a_time() {
    let waits = |waits: &[u64]| -> String {
        waits.iter().map(|wait| format!("d wait {wait} 0\nd read 0 4096\n")).collect()
    };
    let log = format!("fio version 2 iolog\nd write 0 4096\n{}", waits(&[300, 300, 450, 100]));
    assert_eq!(times(&log, "milliseconds since fio started"), [0, 300_000, 300_000, 450_000, 450_000]);
    for (unit_ns, last_ns) in [(1_000, 1_150_000), (1_000_000_000, 450_000_000_000)] {
        let options = OpenOptions { time_unit_ns: Some(unit_ns), ..OpenOptions::default() };
        let trace = open_with(&log, &options).unwrap();
        assert_eq!((trace.duration_ns(), trace.quality.notes), (last_ns, Vec::new()));
    }
    let short = open(&log.replace("wait 450 0", "wait 450")).unwrap_err();
    assert!(short.to_string().contains("ends before its length"), "{short}");
}
