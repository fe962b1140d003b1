//! Bad input: a clear message with place and cure, never a panic.

use crate::common::{self, Stop, of_format, open_text as open, open_with, source};
use crate::readers_agree::compress;
use flashtwin_trace::{ErrorCause, OnBadLine, OpenOptions, Source, Trace};

const MSR: &str = "\
128166372003061629,hm,0,Read,383496192,32768,413
128166372016382155,hm,0,Write,2822144,4096,1000
128166372026382245,hm,0,Write,2822144,512,2000
";

fn refused(bytes: impl AsRef<[u8]>, cause: ErrorCause, parts: &[&str]) {
    common::refused(bytes, &OpenOptions::default(), cause, parts);
}

#[test]
fn a_megabyte_that_says_nothing_may_come_first() {
    let blank = "\n".repeat(1_100_000);
    let comments = "# recorded on a server of the department, do not pass on\n".repeat(50_000);
    let expected = open(MSR).unwrap();
    for before in [&blank, &comments, &format!("{comments}{blank}{comments}")] {
        let trace = open(format!("{before}{MSR}")).unwrap();
        assert_eq!((trace.format, trace.digest()), (expected.format, expected.digest()));
        let lines = before.lines().count() as u64 + 3;
        assert_eq!(trace.quality.lines, lines);
        // The fault is found on its own line.
        let bad = format!("{before}{}", MSR.replace(",4096,", ",40x6,"));
        refused(bad, ErrorCause::Malformed, &[&format!("t:{}:39: size '40x6'", lines - 1)]);
    }
    for nothing in [&blank, &comments] {
        refused(nothing, ErrorCause::Empty, &["the input is empty"]);
    }
}

#[test]
fn few_lines_among_many_comments_are_looked_at_together() {
    // Only the last two of these tell sectors from bytes: their sizes are no multiples of 512.
    let comments = "# nothing\n".repeat(120_000);
    let line = |number: u32, size: u32| format!("{number}.5 0 {} {size} 1\n", number * 1024);
    let text = format!("{}{comments}{}{comments}{}", line(1, 512), line(2, 513), line(3, 514));
    assert_eq!(open(text).unwrap().format.name(), "disksim");
}

#[test]
fn a_header_may_follow_comments() {
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    let expected = open(MSR).unwrap().digest();
    assert_eq!(open(format!("{header}{MSR}")).unwrap().digest(), expected);
    assert_eq!(open(format!("\n# of a server\n\n{header}{MSR}")).unwrap().digest(), expected);
    // Files are made of several: a header that comes again is passed over and counted.
    let twice = open(format!("{header}{MSR}{header}")).unwrap();
    assert_eq!((twice.digest(), twice.quality.passed_lines), (expected.clone(), 1));
    let quoted = format!("{header}{MSR}").replace(',', "\",\"").replace('\n', "\"\n\"");
    assert_eq!(open(format!("\"{}", quoted.trim_end_matches('"'))).unwrap().digest(), expected);
}

#[test]
fn reading_can_be_stopped_also_before_the_first_line() {
    for text in [MSR.to_owned(), "\n".repeat(3_000_000) + MSR] {
        let error = Trace::open(&source(text), &OpenOptions::default(), &Stop).unwrap_err();
        assert_eq!(error.cause, ErrorCause::Cancelled);
    }
}

#[test]
fn a_line_that_is_not_understood_is_named() {
    for (from, to, part) in [
        (",4096,", ",40x6,", "t:2:39: size '40x6' is not a number of bytes"),
        (",4096,", ",40x6,", "--on-bad-line skip"),
        ("2822144,512", "-2822144,512", "t:3:31: offset '-2822144' is negative"),
        ("2822144,512", "9223372036854775808,512", "t:3:31: "),
        ("2822144,512", "9223372036854775808,512", "beyond 2^63"),
        ("2822144,512", "99999999999999999999999,512", "beyond 2^63"),
        ("2822144,512", "2822144,4294967296", "4 GiB"),
        ("Read", "Reed", "t:1:25: type 'Reed' is not read, write, trim"),
        (",2822144,512,2000", "", "t:3:30: the line ends before its offset"),
        (",2000", ",2000,7", "'7' is more than the format has fields for"),
    ] {
        refused(MSR.replace(from, to), ErrorCause::Malformed, &[part]);
    }
    // A last line cut short, as an interrupted download leaves it.
    refused(&MSR[..MSR.len() - 20], ErrorCause::Malformed, &["t:3:"]);
}

#[test]
fn bad_lines_can_be_skipped_and_are_listed() {
    let mut text = String::new();
    for number in 0..40 {
        let size = if number % 2 == 0 { "4096" } else { "4k" };
        text += &format!("{},hm,0,Read,0,{size},413\n", 128_166_372_003_061_629u64 + number);
    }
    // Half of the lines are too few to recognise a format by.
    refused(
        &text,
        ErrorCause::UnknownFormat,
        &["msr is nearest, but it reads 20 of 40 lines", "--format msr"],
    );
    let options = OpenOptions { on_bad_line: OnBadLine::Skip, ..of_format("msr") };
    let trace = open_with(&text, &options).unwrap();
    assert_eq!(trace.len(), 20);
    assert_eq!(trace.quality.lines, 40);
    assert_eq!(trace.quality.bad_lines_skipped, 20);
    assert_eq!(trace.quality.bad_lines.len(), 10);
    assert_eq!(trace.quality.bad_lines[0], "t:2:32: size '4k' is not a number of bytes");
    let options = OpenOptions { format: Some("spc".parse().unwrap()), ..options };
    let error = open_with(&text, &options).unwrap_err();
    assert!(error.to_string().contains("no line could be read"), "{error}");
}

#[test]
fn digests_are_hex_digits() {
    let good = "10 4253 nfsd 508516672 8 W 6 0 88b93b628d84082186026d9da044f173\n";
    let wrong = good.repeat(3) + &good.replace("88b9", "88z9");
    refused(wrong, ErrorCause::Malformed, &["t:4:32: digest '88z9", "is not hex digits"]);
}

#[test]
fn small_disorder_is_sorted_and_counted() {
    let text = "0,8,4096,w,1.0\n0,16,4096,w,2.5\n0,24,4096,r,2.0\n0,32,4096,r,2.5\n0,40,512,r,2.0\n";
    let trace = open(text).unwrap();
    assert_eq!(*trace.time_ns, [0, 1_000_000_000, 1_000_000_000, 1_500_000_000, 1_500_000_000]);
    assert_eq!(*trace.offset_bytes, [4096, 12288, 20480, 8192, 16384]);
    assert_eq!(trace.quality.reordered_requests, 2);
    assert_eq!(trace.quality.largest_step_back_ns, 500_000_000);
    let last = text.to_owned() + "0,0,512,r,0.5\n";
    let far = last.clone() + "# one more\n0,48,512,r,2.5\n";
    let parts = ["t:6:11: time '0.5' is 2.000000 s earlier", "sort_window_ns = 2000000000"];
    refused(&far, ErrorCause::Disorder, &parts);
    refused(last.clone() + "0,0,512,r,0.5\n", ErrorCause::Disorder, &parts);
    // One that comes last decides nothing.
    let left_out = open(&last).unwrap();
    assert_eq!((left_out.digest(), left_out.quality.bad_lines_skipped), (trace.digest(), 1));
    assert!(left_out.quality.bad_lines[0].starts_with(parts[0]), "{:?}", left_out.quality.bad_lines);
    assert!(left_out.quality.notes[0].contains("the last request is left out: time '0.5'"));
    let options = OpenOptions { sort_window_ns: 2_000_000_000, ..OpenOptions::default() };
    let trace = open_with(&far, &options).unwrap();
    assert_eq!(trace.offset_bytes[0], 0);
    let options = OpenOptions { on_bad_line: OnBadLine::Skip, ..OpenOptions::default() };
    assert_eq!(open_with(&far, &options).unwrap().quality.bad_lines_skipped, 1);
}

#[test]
fn reordered_contents_move_along() {
    let a = "88b93b628d84082186026d9da044f173";
    let b = "b5e9f4e5ab62a4fff5313a606b0ad4e3";
    let text = format!("20 1 p 8 8 W 6 0 {a}\n10 1 p 16 8 W 6 0 {b}\n30 1 p 16 8 R 6 0 {b}\n");
    let trace = open(text).unwrap();
    assert_eq!(*trace.time_ns, [0, 10, 20]);
    assert_eq!(trace.content, [0, 1, 0]);
    assert_eq!(trace.digests.get(0).unwrap()[..2], [0xb5, 0xe9]);
}

#[test]
fn empty_binary_and_unknown_input() {
    refused("", ErrorCause::Empty, &["t: the input is empty"]);
    refused("\n\n# nothing\n", ErrorCause::Empty, &["empty"]);
    refused(
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n",
        ErrorCause::UnknownFormat,
        &["no supported format fits"],
    );
    refused(
        b"\x7fELF\x02\x01\x01\0\0\0",
        ErrorCause::UnknownFormat,
        &["binary data", "supported formats: fiu, msr"],
    );
    refused(
        "What hath God wrought\n",
        ErrorCause::UnknownFormat,
        &["'What hath", "fiu, msr, etw, spc, blkparse", "--format", "--columns"],
    );
    refused("PAR1 and nothing more", ErrorCause::Malformed, &["Parquet"]);
}

#[test]
fn known_but_unsupported_formats_are_called_by_name() {
    for (line, name) in [
        ("/dev/sda read 0 4096\n/dev/sda write 0 4096", "a fio I/O log without its first line"),
        (
            "1484803046.187999857\t W \t49135896 \t4096 \tmain \tdm-1\t 080617000bbba905fb80567c1165d6fa",
            "phone",
        ),
    ] {
        refused(line, ErrorCause::UnknownFormat, &[name, "--columns"]);
    }
}

#[test]
fn damaged_compression_is_told_apart() {
    let text = MSR.repeat(3000);
    for (name, ending) in [("gzip", "gz"), ("zstd", "zst"), ("xz", "xz"), ("bzip2", "bz2")] {
        let whole = compress(ending, text.as_bytes()).unwrap();
        for keep in [20, whole.len() / 2, whole.len() - 3] {
            let error = open(&whole[..keep]).unwrap_err();
            assert_eq!(error.cause, ErrorCause::Compression, "{name} {keep}: {error}");
            let message = error.to_string();
            assert!(message.contains(name) && message.contains("truncated"), "{message}");
        }
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8].fill(0xff);
        let error = open(&damaged).unwrap_err();
        assert!(matches!(error.cause, ErrorCause::Compression | ErrorCause::Malformed), "{name}: {error}");
    }
    refused(compress("zst", b"").unwrap(), ErrorCause::Empty, &["empty"]);
}

#[test]
fn files_that_cannot_be_read() {
    let options = OpenOptions::default();
    let missing = Source::from_argument("no/such/trace.csv");
    let error = Trace::open(&missing, &options, &()).unwrap_err();
    assert!(error.to_string().starts_with("no/such/trace.csv: no such file"), "{error}");
    let folder = Source::from_argument(env!("CARGO_MANIFEST_DIR"));
    let error = Trace::open(&folder, &options, &()).unwrap_err();
    assert!(error.to_string().contains("is a directory"), "{error}");
    assert_eq!(Source::from_argument("-"), Source::Stdin);
    let error = "nosuch".parse::<flashtwin_trace::Format>().unwrap_err();
    assert!(error.to_string().contains("there is no format 'nosuch'; use one of fiu"), "{error}");
}

#[test]
fn times_in_the_wrong_unit_are_flagged() {
    let options = of_format("mqsim");
    let mut dense = String::new();
    for number in 0..5000 {
        dense += &format!("{} 0 {} 8 1\n", number / 10, number * 8);
    }
    for (text, part) in [
        ("0 0 8 8 1\n4000000000000000000 0 16 8 1\n", "127 years"),
        (&dense, "requests a second"),
        ("0 0 9007199254740992 8 1\n5 0 8 0 1\n", "exbibyte"),
    ] {
        let trace = open_with(text, &options).unwrap();
        assert!(trace.quality.warnings[0].contains(part), "{:?}", trace.quality.warnings);
    }
}

#[test]
fn only_what_moves_data_tells_a_wrong_unit_by_its_length() {
    let of = |action: &str| {
        let text = format!("fio version 3 iolog\n0 d add\n0 d open\n1 d {action} 0 1073741824\n2 d close\n");
        open(text).unwrap().quality.warnings
    };
    assert!(of("write")[0].contains("a gibibyte or more"), "{:?}", of("write"));
    assert_eq!(of("trim"), Vec::<String>::new());
}

#[test]
fn long_lines_and_odd_bytes_do_no_harm() {
    refused("9".repeat(17 << 20), ErrorCause::UnknownFormat, &["16 MiB"]);
    let mut text = MSR.as_bytes().to_vec();
    text.extend_from_slice(b"\xff\xfe\x80,hm,0,Read,0,512,1\n");
    refused(&text, ErrorCause::Malformed, &["t:4:1: time '\\xff\\xfe\\x80'"]);
    for keep in 0..MSR.len() {
        let _ = open(&MSR[..keep]);
    }
}
