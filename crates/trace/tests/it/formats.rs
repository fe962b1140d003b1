//! Peculiarities of each format: choices, events skipped, errors.

use crate::common::{self, Random, asked, of_format, open_text, open_with};
use crate::readers_agree::text_of;
use flashtwin_trace::{BlkparseAction, ErrorCause, OnBadLine, Op, OpenOptions, Trace};

fn open(text: &str) -> Trace {
    open_text(text).unwrap()
}

fn refused(format: &str, text: &str, place: &str, parts: &[&str]) {
    let message = common::refused(text, &of_format(format), ErrorCause::Malformed, parts);
    assert!(message.starts_with(&format!("t:{place}: ")), "{message}");
}

const BLKPARSE: &str = "\
  8,16   5        1     0.000000000 18615  A  FWFS 1000 + 8 <- (8,17) 936
  8,16   5        2     0.000001850 18615  Q  FWFS 1000 + 8 [java]
  8,16   5        3     0.000012990     0  m   N cfq18615S / insert_request
  8,16   5        4     0.000015000 18615  Q   R 2000 + 256 [jbd2/sdb 8]
  8,16   5        5     0.000020000 18615  D  FN [kworker/5:1]
  8,16   5        6     0.000021000 18615  D  FWFS 1000 + 8 (   19150) [java]
 259,0   5        7     0.000022000 18615  D   D 4096 + 2048 [fstrim]
  8,16   5        8     0.000023000    53  D   N 0 (00 ..) [ksoftirqd/3]
  8,16   5        9     0.000024000 18615  D  WS [jbd2/sdb-8]
 259,0   5       10     0.000025000 18615  D ZAS 8192 + 16 [dd]
  8,16   5       11     0.000030000     0  C FWFS 1000 + 8 [0]
  8,16   5       12     0.000031000     0  C  WS 0 [0]
";

#[test]
fn blkparse_takes_one_action() {
    let trace = open(BLKPARSE);
    assert_eq!(trace.format.name(), "blkparse");
    // A flush of its own, and one before a write; the command and the write without sectors are empty.
    let expected = [
        (0, Op::Flush, 0, 0),
        (1000, Op::Flush, 0, 0),
        (1000, Op::Write, 512_000, 4096),
        (2000, Op::Trim, 2_097_152, 1 << 20),
        (5000, Op::Write, 4_194_304, 8192),
    ];
    assert_eq!(asked(&trace), expected);
    assert_eq!(*trace.volume, [0, 0, 0, 1, 1]);
    assert_eq!(trace.volume_names, ["8,16", "259,0"]);
    assert_eq!((trace.quality.empty_requests, trace.quality.passed_lines), (2, 6));

    let options = OpenOptions { blkparse_action: BlkparseAction::Queued, ..OpenOptions::default() };
    let queued = open_with(BLKPARSE, &options).unwrap();
    let expected =
        [(0, Op::Flush, 0, 0), (0, Op::Write, 512_000, 4096), (13_150, Op::Read, 1_024_000, 131_072)];
    assert_eq!(asked(&queued), expected);
    let options = OpenOptions { blkparse_action: "C".parse().unwrap(), ..OpenOptions::default() };
    let completed = open_with(BLKPARSE, &options).unwrap();
    assert_eq!(asked(&completed), [(0, Op::Flush, 0, 0), (0, Op::Write, 512_000, 4096)]);
    assert_eq!(completed.quality.empty_requests, 1);
    let error = "G".parse::<BlkparseAction>().unwrap_err();
    assert!(error.to_string().contains("use Q (queued), D (issued"), "{error}");
}

#[test]
fn every_way_to_say_a_flush_in_blkparse_is_one() {
    let event =
        |flags: &str, rest: &str| format!("  8,16   5        1     0.000000000 18615  D {flags} {rest}\n");
    let flush = (0, Op::Flush, 0, 0);
    for (flags, rest, expected) in [
        ("F", "[x]", vec![flush]),
        ("FF", "[x]", vec![flush]),
        ("FN", "0 [x]", vec![flush]),
        ("FWS", "[x]", vec![flush]),
        ("FWS", "0 + 0 [x]", vec![flush]),
        ("FWS", "8 + 8 [x]", vec![flush, (0, Op::Write, 4096, 4096)]),
        ("FWFSM", "8 + 8 [x]", vec![flush, (0, Op::Write, 4096, 4096)]),
        ("FD", "8 + 8 [x]", vec![flush, (0, Op::Trim, 4096, 4096)]),
        ("WFS", "8 + 8 [x]", vec![(0, Op::Write, 4096, 4096)]),
        ("WFS", "[x]\n  8,16   5        1     0.000000000 18615  D FN [x]", vec![flush]),
    ] {
        let trace = open(&event(flags, rest));
        assert_eq!(asked(&trace), expected, "{flags} {rest}");
        // An F behind the W is forced unit access, of the write and not of the flush before it.
        let forced = flags.contains("WF") && expected.last() != Some(&flush);
        assert_eq!(trace.flags.last().copied().unwrap_or(0) == 1, forced, "{flags} {rest}");
        assert_eq!(trace.flags.iter().filter(|bits| **bits == 1).count(), usize::from(forced));
    }
    refused("blkparse", &event("FX", "8 + 8 [x]"), "1:46", &["flags 'FX'"]);
}

#[test]
fn bad_blkparse_lines_are_named() {
    let with = |from: &str, to: &str| BLKPARSE.replace(from, to);
    refused("blkparse", &with("D 4096 +", "D 40x6 +"), "7:50", &["sector '40x6'"]);
    refused("blkparse", &with("4096 + 2048", "4096 - 2048"), "7:55", &["separator '-' is not a plus sign"]);
    refused("blkparse", &with("  D   D 4096", "  D   X 4096"), "7:48", &["flags 'X'"]);
    refused("blkparse", &with("  Q   R", " 17   R"), "4:43", &["action '17'"]);
    refused("blkparse", &with("  8,16   5        4 ", "  8.16   5        4 "), "4:3", &["device '8.16'"]);
    refused("blkparse", &(BLKPARSE.to_owned() + "sda 8,16\n"), "13:1", &["device 'sda'"]);
    refused("blkparse", &(BLKPARSE.to_owned() + "  8,16   5       13"), "13:20", &["ends before its time"]);
    // Behind the summary's beginning everything is passed over, up to the next event.
    let summary = "CPU0 (8,16):\n Reads Queued: 0\nanything\n";
    assert_eq!(open(&(BLKPARSE.to_owned() + summary)).quality.passed_lines, 9);
    let again = BLKPARSE.to_owned() + summary + BLKPARSE + "anything\n";
    refused("blkparse", &again, "28:1", &["device 'anything'"]);
}

const ETW: &str = "\
 DiskReadInit,      19420,            System (   4),         92, 0xfffffa8004d02510
     DiskRead,      19703,            System (   4),         92, 0xfffffa8004d02510, 0x01B7fe4000, 0x00010000,         283,        2, 0x060043,         283,       3, Original, 0xfffffa8004d02510, \"C:\\a, b\"
    DiskWrite,      19709, svchost.exe (1 032),        600, 0xfffffa8004d02510, 0x018f0b8000, 0x00001000,        1283,        0, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\$Mft\"
    DiskFlush,      19800,            System (   4),         92, 0xfffffa8004d02510,         12,        0, 0x000000,          12,       3
";

#[test]
fn etw_without_a_header_has_the_published_fields() {
    let trace = open(ETW);
    assert_eq!(trace.format.name(), "etw");
    let expected = [
        (0, Op::Read, 0x1_b7fe_4000, 65_536),
        (6000, Op::Write, 0x1_8f0b_8000, 4096),
        (97_000, Op::Flush, 0, 0),
    ];
    assert_eq!(asked(&trace), expected);
    assert_eq!(
        (&trace.volume_names[..], &trace.volume[..]),
        (&["0".to_owned(), "2".to_owned()][..], &[1, 0, 0][..])
    );
    assert_eq!(trace.quality.passed_lines, 1);
}

#[test]
fn bad_etw_lines_are_named() {
    refused(
        "etw",
        &ETW.replace("0x018f0b8000", "6687522816"),
        "3:81",
        &["ByteOffset '6687522816' is not", "hex"],
    );
    refused("etw", &ETW.replace("0x00001000", "0x"), "3:95", &["IOSize '0x'"]);
    refused("etw", &ETW.replace("0x00001000", "0x100000000"), "3:95", &["4 GiB"]);
    refused("etw", &ETW.replace("0x018f0b8000", "0xffffffffffffffff"), "3:81", &["beyond 2^63"]);
    refused("etw", &ETW.replace("0x018f0b8000", "0x1ffffffffffffffff"), "3:81", &["beyond 2^63"]);
    refused("etw", &ETW.replace("0x018f0b8000", "0x01xf0b8000"), "3:81", &["ByteOffset"]);
    refused("etw", "DiskRead, 5, x", "1:15", &["ends before its ByteOffset"]);
    refused("etw", &(ETW.to_owned() + "17, 18\n"), "5:1", &["event '17'"]);
    refused("etw", "x, 5\n", "1:1", &["event 'x'"]);
    let header = "BeginHeader\n DiskRead, TimeStamp, ByteOffset, IOSize\nEndHeader\n";
    refused("etw", header, "2:41", &["ends before its DiskNum"]);
    refused("etw", "BeginHeader\n DiskFlush, TimeStamp\nEndHeader\n", "2:22", &["ends before its DiskNum"]);
    refused(
        "etw",
        &ETW.replace("12,        0, 0x000000", "12,        x, 0x000000"),
        "4:105",
        &["DiskNum 'x'"],
    );
    let error = open_text("BeginHeader\nEndHeader\nT-Start, 5, System\n").unwrap_err();
    assert!(error.to_string().contains("no DiskRead or DiskWrite among its events"), "{error}");
}

const FIO: &str = "\
fio version 2 iolog
/a add
/a open
/a write 4096 8192
/a wait 150 0
/a trim 0 4096
/a sync 0 0
/b read 512 512
/a close
";

#[test]
fn fio_2_waits_until_a_time() {
    let trace = open(FIO);
    assert_eq!(trace.format.name(), "fio");
    let expected = [
        (0, Op::Write, 4096, 8192),
        (150_000_000, Op::Trim, 0, 4096),
        (150_000_000, Op::Flush, 0, 0),
        (150_000_000, Op::Read, 512, 512),
    ];
    assert_eq!(asked(&trace), expected);
    assert_eq!(trace.volume_names, ["/a", "/b"]);
    assert_eq!((trace.quality.empty_requests, trace.quality.passed_lines), (0, 4));
    let timeless = open(&(FIO.replace("wait 150 0", "sync 0 0") + &"/a read 0 512\n".repeat(1000)));
    assert!(timeless.quality.warnings[0].contains("times are missing"), "{:?}", timeless.quality.warnings);
}

#[test]
fn bad_fio_lines_are_named() {
    refused("fio", &FIO.replace("trim", "trom"), "6:4", &["action 'trom' is not read, write, trim"]);
    refused("fio", &FIO.replace("4096 8192", "4096"), "4:14", &["ends before its length"]);
    refused("fio", &FIO.replace("/a add", "/a add 5"), "2:8", &["'5' is more than the format"]);
    refused("fio", &FIO.replace("version 2", "version 4"), "1:1", &["'fio version 2 iolog' or"]);
    let three = "fio version 3 iolog\n0 /a add\n5 /a read 0 512\n7 /a wait 100 0\n";
    refused("fio", three, "4:6", &["action 'wait'"]);
    refused("fio", &three.replace("5 /a read", "/a read"), "3:1", &["timestamp '/a'"]);
}

#[test]
fn bad_lines_of_clouds_are_named() {
    let alibaba = "0,R,126703644672,4096,1577808000000626\n0,W,8126464,512,1577808000001626\n";
    assert_eq!(
        asked(&open(alibaba)),
        [(0, Op::Read, 126_703_644_672, 4096), (1_000_000, Op::Write, 8_126_464, 512)]
    );
    refused(
        "alibaba",
        &alibaba.replace(",W,", ",is,"),
        "2:3",
        &["opcode 'is' is not read, write", "--op-words"],
    );
    refused("alibaba", &(alibaba.trim().to_owned() + ",5"), "2:34", &["more than the format"]);

    let tencent = "1538323200,12910952,128,0,1063\n1538323199,6265496,8,1,1074\n";
    assert_eq!(
        asked(&open(tencent)),
        [(0, Op::Write, 6_265_496 * 512, 4096), (1_000_000_000, Op::Read, 12_910_952 * 512, 65_536)]
    );
    refused(
        "tencent",
        &tencent.replace(",1,1074", ",2,1074"),
        "2:22",
        &["type '2' is not 0 (read) or 1 (write)"],
    );

    let systor = "1456135200.013118000,0.000806,R,0,899056122368,131072\n1456135200.013119000,,,0,0,4096\n";
    let trace = open(systor);
    assert_eq!(asked(&trace), [(0, Op::Read, 899_056_122_368, 131_072)]);
    assert_eq!(trace.quality.passed_lines, 1);
    refused("systor", &systor.replace(",R,", ",X,"), "1:31", &["type 'X' is not read, write"]);
    refused("systor", &systor.replace(",,,0,", ",,,,"), "2:24", &["LUN"]);

    let cloudphysics = "1,5633898,2a,512,42932745\n1,5633899,42,24,0\n2,5633900,8,1024,7\n";
    let trace = open(cloudphysics);
    assert_eq!(asked(&trace), [(0, Op::Write, 42_932_745 * 512, 512), (2_000_000_000, Op::Read, 3584, 1024)]);
    assert_eq!(trace.quality.passed_lines, 1);
    refused(
        "cloudphysics",
        &cloudphysics.replace("2a,512", "2a,513"),
        "1:14",
        &["size '513'", "multiple of 512"],
    );
    refused("cloudphysics", &cloudphysics.replace("2a", "2g"), "1:11", &["op '2g'"]);
    refused("cloudphysics", &cloudphysics.replace("2,5633900", "3,5633900"), "3:1", &["version '3'"]);
}

#[test]
fn a_clock_that_was_set_is_flagged() {
    let jump = open("0,R,0,4096,1000000\n0,R,0,4096,1266874889708658\n");
    assert!(
        jump.quality.warnings[0].contains("40 years pass between two requests"),
        "{:?}",
        jump.quality.warnings
    );
    let calm = open("0,R,0,4096,1000000\n0,R,0,4096,2266000000000\n");
    assert_eq!(calm.quality.warnings, [""; 0]);
}

/// Every text with bytes changed, lost and doubled is read or refused, by every reader, skipping or not.
#[test]
fn damaged_lines_do_no_harm() {
    let files = [
        ("fiu", "sample-lines.fiu.gz"),
        ("msr", "sample.csv"),
        ("spc", "sample.spc.bz2"),
        ("mqsim", "sample-digests.mqsim.xz"),
        ("disksim", "sample.disksim"),
        ("disksim-bytes", "sample-bytes.disksim.gz"),
        ("blkparse", "sample.blkparse.zst"),
        ("etw", "sample.etw.csv.xz"),
        ("fio", "sample-2.fio.gz"),
        ("fio", "sample-3.fio.bz2"),
        ("alibaba", "sample.alibaba.csv.zst"),
        ("tencent", "sample.tencent.csv.xz"),
        ("systor", "sample.systor.csv.gz"),
        ("cloudphysics", "sample.cloudphysics.csv.gz"),
    ];
    let mut random = Random::new(99);
    let (mut read, mut not_read) = (0, 0);
    for (format, file) in files {
        let text = text_of(file);
        let mut options = of_format(format);
        for round in 0..200 {
            let mut bytes = text.as_bytes()[..text.len().min(4000)].to_vec();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(4) {
                    0 => bytes[at] = b" ,\t0x9-.\xffW"[random.below(10) as usize],
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, bytes[at]),
                    _ => bytes.truncate(at + 1),
                }
            }
            options.on_bad_line = if round % 2 == 0 { OnBadLine::Fail } else { OnBadLine::Skip };
            match open_with(bytes, &options) {
                Ok(trace) => {
                    read += 1;
                    assert!(trace.time_ns.is_sorted() && trace.time_ns[0] == 0);
                    let mut asked = trace.op.iter().zip(trace.length_bytes.iter());
                    assert!(asked.all(|(&op, &length)| (length > 0) != (op == Op::Flush)));
                }
                Err(error) => {
                    not_read += 1;
                    assert!(!error.cure.is_empty(), "{error}");
                }
            }
        }
    }
    assert!(read > 500 && not_read > 500, "{read} {not_read}");
}
