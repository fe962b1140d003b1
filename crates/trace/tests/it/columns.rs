//! Columns of the user's own, units, and words.

use crate::common::{asked, open_text, open_with};
use flashtwin_trace::{Layout, NO_STREAM, OnBadLine, Op, OpenOptions, Vocabulary, time_unit_ns};

/// `columns` as on the command line, then units of time, offset and length, which may be left out.
fn how(columns: &str, units: &str) -> OpenOptions {
    let pairs = columns.split(',').filter_map(|pair| pair.split_once('='));
    let units: Vec<&str> = units.split_whitespace().collect();
    let number = |at: usize| units.get(at).map(|unit| unit.parse().unwrap());
    OpenOptions {
        layout: Some(Layout::new(pairs, None, true).unwrap()),
        time_unit_ns: units.first().map(|unit| time_unit_ns(unit).unwrap()),
        offset_unit_bytes: number(1),
        length_unit_bytes: number(2),
        ..OpenOptions::default()
    }
}

#[test]
fn columns_by_name_and_number_of_any_delimiter() {
    let expected = [(0, Op::Read, 4096, 8192), (1_500_000, Op::Write, 0, 512), (2_000_000, Op::Flush, 0, 0)];
    let by_number = "time=1,op=2,offset=3,length=4";
    let by_name = "time=When,op=what,offset=LBA:512,length=Sectors:512";
    for (text, columns, units) in [
        ("When,What,LBA,Sectors\n0.5,R,8,16\n2.0,W,0,1\n2.5,F,,\n", by_name, "ms"),
        (
            "\"When\",\"What\",\"LBA\",\"Sectors\"\n\"0.5\",\"R\",\"8\",\"16\"\n2,\"W\",0,1\n2.5,F,,\n",
            by_name,
            "ms",
        ),
        ("500;R;8;16\n2000;W;0;1\n2500;F;0;0\n", by_number, "us 512 512"),
        ("5e2\tread\t0x8\t16.0\n2e3\twrite\t0x0\t1.0\n2500\tsync\t\t\n", by_number, "us 512 512"),
        ("  500   R  8  16\n 2000 W 0 1 \n2500 FN 0 0\n", by_number, "us 512 512"),
        ("500|R|4096|8192\n2000|W|0|512\n2500|F|0|0\n", by_number, "us 1 1"),
        (
            "2026-01-01T00:00:00.0005Z,R,8,16\n2026-01-01 01:00:00.002+01:00,W,0,1\n2025-12-31T24:00:00.0025,F,,\n",
            by_number,
            "s 512 512",
        ),
        ("12:00:00.0005 R 8 16\n12:00:00.002 W 0 1\n12:00:00.0025 F\n", by_number, "s 512 512"),
        ("5000,R,8,16\n20000,W,0,1\n25000,F,,\n", by_number, "100ns 512 512"),
        (
            "116444736000005000,R,8,16\n116444736000020000,W,0,1\n116444736000025000,F,,\n",
            by_number,
            "100ns 512 512",
        ),
        ("-1.0,R,8,16\n0.5,W,0,1\n1.0,F,,\n", by_number, "ms 512 512"),
    ] {
        let trace = open_with(text, &how(columns, units)).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(asked(&trace), expected, "{text}");
        assert_eq!(trace.format.name(), "columns");
    }
}

#[test]
fn times_with_more_digits_than_a_double_are_exact() {
    let canonical = "t,op,offset_bytes,length_bytes\n";
    let text =
        "1712345678.000000100,W,0,4096\n1712345678.000000300,W,4096,4096\n1.712345678000001E9,W,0,512\n";
    let trace = open_with(format!("{canonical}{text}"), &how("time=t", "s")).unwrap();
    assert_eq!(*trace.time_ns, [0, 200, 900]);
    // Without the unit, digits below a nanosecond tell that it is another one.
    let message = open_with(format!("{canonical}{text}"), &how("time=t", "")).unwrap_err().to_string();
    assert!(message.contains("t:2:1: time '1712345678.000000100' is not a whole number"), "{message}");
    assert!(message.contains("--time-unit s"), "{message}");
}

#[test]
fn volumes_contents_and_queues_are_any_text() {
    let text = "time_ns,op,offset_bytes,length_bytes,volume,content,queue\n\
                0,W,0,4096,db,apple,0\n1,W,4096,4096,log,apple,31\n2,W,0,4096,db,00ff,\n\
                time_ns,op,offset_bytes,length_bytes,volume,content,queue\n3,R,0,8192,log,,1\n";
    let trace = open_text(text).unwrap();
    assert_eq!(
        (&trace.volume_names[..], &trace.content[..]),
        (&["db".to_owned(), "log".to_owned()][..], &[0, 0, 1][..])
    );
    assert_eq!(*trace.volume, [0, 1, 0, 1]);
    assert_eq!(trace.flags, [0, 31 << 3, 0, 1 << 3]);
    let streams = open_text(text.replace("queue", "stream").replace(",31", ",65534")).unwrap();
    assert_eq!(*streams.stream, [0, 65534, NO_STREAM, 1]);
    let message =
        open_text(text.replace("queue", "stream").replace(",31", ",65535")).unwrap_err().to_string();
    assert!(message.contains("t:3:25: stream '65535' is not a number from 0 to 65534"), "{message}");
    // A header that comes again is passed over and counted.
    assert_eq!(trace.quality.passed_lines, 1);
    let digests = "88b93b628d84082186026d9da044f17388b93b628d84082186026d9da044f173";
    let long = open_text(text.replace(",log,,1", &format!(",log,{digests},1"))).unwrap();
    assert_eq!(long.content, [0, 0, 1, 2, 2]);
    let message = open_text(text.replace(",log,,1", ",log,a,1")).unwrap_err().to_string();
    assert!(message.contains("t:6:16: content 'a' is not 32 hex digits"), "{message}");
}

#[test]
fn contents_of_a_write_behind_a_flush_are_the_writes() {
    let text =
        "time_ns,op,offset_bytes,length_bytes,content\n0,FW,0,4096,apple\n1,FWFS,0,8192,\n2,R,0,512,pear\n";
    let trace = open_text(text).unwrap();
    assert_eq!(*trace.op, [Op::Flush, Op::Write, Op::Flush, Op::Write, Op::Read]);
    assert_eq!((&trace.content_start[..], &trace.content[..]), (&[0, 0, 1, 1, 1, 2][..], &[0, 1][..]));
}

#[test]
fn what_own_columns_lack_is_said() {
    let own = OpenOptions {
        op_words: Vocabulary::default()
            .with([("true", "write"), ("False", "read"), ("open", "none")])
            .unwrap(),
        ..how("time=1,op=2,offset=3,length=4", "ns 1 1")
    };
    let trace = open_with("0,True,0,512\n5,OPEN,,\n9,False,0,512\n", &own).unwrap();
    assert_eq!(asked(&trace), [(0, Op::Write, 0, 512), (9, Op::Read, 0, 512)]);
    assert_eq!(trace.quality.passed_lines, 1);
    let numbered = how("time=1,op=2,offset=3,length=4", "ns 1 1");
    for (text, options, parts) in [
        ("0,True,0,512\n", &numbered, "t:1:3: op 'True' is not read, write, trim|--op-words 'True=write'"),
        ("0,1,0,512\n", &numbered, "op '1' is not read|--op-words"),
        ("0,R,0,512\n5,R,0\n", &numbered, "t:2:6: the line ends before its length"),
        ("0,R,,512\n", &numbered, "t:1:5: the offset is empty, a number of bytes was expected"),
        ("0,R,-8,512\n", &numbered, "t:1:5: offset '-8' is negative"),
        ("0,R,0.5,512\n", &numbered, "offset '0.5' is not a number of bytes"),
        ("0,R,0,4294967296\n", &numbered, "length '4294967296' is 4 GiB or more"),
        ("0,D,0,70368744177664\n", &numbered, "length '70368744177664' is 64 TiB or more"),
        ("0,R,0,512\nnoon,R,0,512\n", &numbered, "t:2:1: time 'noon' is not a number, a date"),
        (
            "a,b\n1,2\n",
            &how("time=Time", ""),
            "no column is called 'Time', which is to hold the time|are: a, b",
        ),
        (
            "0,R,8,8\n",
            &how("time=1,op=2,offset=3,length=4", "ns"),
            "8 bytes, no multiple of 512|--length-unit",
        ),
    ] {
        let message = open_with(text, options).unwrap_err().to_string();
        assert!(parts.split('|').all(|part| message.contains(part)), "{message}");
    }
    // A column that is not there is no bad line to be skipped.
    let skip = OpenOptions { on_bad_line: OnBadLine::Skip, ..how("time=Time", "") };
    assert!(open_with("a,b\n1,2\n", &skip).unwrap_err().to_string().contains("no column is called"));
    for (pairs, delimiter, header, part) in [
        ([("size", "1")], None, true, "a request has no 'size'; it has time, op"),
        ([("time", "0")], None, true, "'0' is no column for time"),
        ([("time", "When")], None, false, "there is no header"),
        ([("time", "1")], Some("ab"), true, "'ab' parts no fields"),
    ] {
        let message = Layout::new(pairs, delimiter, header).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn units_may_be_given_for_known_formats() {
    let text = "17.250000 0 0 8 0\n17.253100 0 8 8 1\n17.256250125 0 16 8 0\n";
    let usual = open_text(text).unwrap();
    assert_eq!(usual.duration_ns(), 6250);
    assert_eq!(usual.read_as().text, "disksim, time ms, offset and length in units of 512 bytes, 1 volume");
    let options = OpenOptions { layout: None, ..how("", "s 4096 4096") };
    let trace = open_with(text, &options).unwrap();
    assert_eq!(
        (trace.duration_ns(), trace.offset_bytes[2], trace.length_bytes[2]),
        (6_250_125, 65_536, 32_768)
    );
    assert_eq!(trace.read_as().text, "disksim, time s, offset and length in units of 4096 bytes, 1 volume");
    let options = OpenOptions {
        format: Some("etw".parse().unwrap()),
        ..OpenOptions { layout: None, ..how("", "ns 512 512") }
    };
    let event = "DiskRead, 5, p (4), 1, 0x1, 0x10, 0x8, 1, 0\n";
    assert_eq!(asked(&open_with(event, &options).unwrap()), [(0, Op::Read, 8192, 4096)]);
}
