//! A format is recognised only if what it reads could be a disk's, and never by one line.

use crate::common::open_text as open;
use flashtwin_trace::ErrorCause;

fn lines(count: u64, line: impl Fn(u64) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// Foreign columns that a format could read, each with the call that is proposed.
#[test]
fn foreign_columns_are_refused_with_the_call_that_reads_them() {
    let op = |n: u64| if n.is_multiple_of(3) { "R" } else { "W" };
    for (text, columns) in [
        // Time, processor, process, operation, sector, bytes: with commas, the process would be SPC's size.
        (lines(30, |n| format!("3 {} {} {} {} 8192", n % 4, 1200 + n, op(n), 50_000 + n * 24)), "op=4,offset=5,length=6"),
        (lines(30, |n| format!("{},{},{},{},{},8192", n, n % 4, 1201 + n, op(n), 50_000 + n)), "time=1,op=4,offset=5"),
        // Time, disk, sectors, operation, sector.
        (lines(30, |n| format!("{} 2 16 {} {}", 1_690_000_000 + n, op(n), n * 16)), "'time=1,op=4,offset=5,length=3'"),
        // Alibaba's order in sectors, and with the process in the place of the volume.
        (lines(30, |n| format!("0,{},{},8,{}", op(n), n * 8, 1_690_000_000_000_000 + n * 50)), "op=2"),
        (lines(30, |n| format!("{},{},{},4096,{}", 900 + n, op(n), n * 4096, 1_690_000_000_000_000 + n)), "op=2"),
        // Headers that name other columns, or the same in another order.
        (
            "Timestamp,Hostname,DiskNumber,Type,Size,Offset,ResponseTime\n128166372003061629,hm,0,Read,8192,0,4\n".to_owned(),
            "'time=Timestamp,op=Type,offset=Offset,length=Size,volume=Hostname'",
        ),
        (
            format!("TIME(s)  COMM  PID  DISK  T  SECTOR  BYTES  LAT(ms)\n{}", lines(9, |n| format!("{n}.5 dd {n} sda R {n} 4096 0.1"))),
            "'time=1:s,op=T,offset=SECTOR:512,length=BYTES,volume=DISK'",
        ),
        ("start_us;is_write;lba;nsectors\n1;True;8;8\n".to_owned(), "'time=start_us:us,op=is_write,offset=lba:512,length=nsectors:512'"),
    ] {
        let error = open(&text).unwrap_err();
        let message = error.to_string();
        assert_eq!(error.cause, ErrorCause::UnknownFormat, "{message}");
        assert!(message.contains("--columns") && message.contains(columns), "{columns} is not in: {message}");
        assert!(!message.contains("skip"), "{message}");
    }
}

#[test]
fn one_line_changes_no_format() {
    let good = lines(21, |n| format!("{} 0 {} 16 {}", n * 900, n * 16, n % 2));
    assert_eq!(open(&good).unwrap().format.name(), "mqsim");
    // DiskSim reads this line as well; its times are milliseconds.
    for odd in ["18900 0 336 16 2", "18900.5 0 336 16 0"] {
        let error = open(format!("{good}{odd}\n")).unwrap_err();
        assert_eq!(error.cause, ErrorCause::AmbiguousFormat, "{error}");
        let message = error.to_string();
        for part in [
            "--format mqsim or --format disksim",
            "last 0.000018000 s",
            "22 requests have 180224 bytes and last 18.9",
        ] {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
    }
    // A line that no format reads is an error there.
    let message = open(format!("{good}18900 0 x 16 1\n")).unwrap_err().to_string();
    assert!(message.starts_with("t:22:9: address 'x'"), "{message}");
    // Nanoseconds in which nothing can be that fast are no reason to take milliseconds in silence.
    let error = open(lines(99, |n| format!("{n} 0 {} 16 1", n * 16))).unwrap_err();
    assert_eq!(error.cause, ErrorCause::AmbiguousFormat, "{error}");
}

#[test]
fn what_cannot_be_a_disk_does_not_fit() {
    let msr = |n: u64, offset: u64, size: u64| {
        format!("{},hm,0,Read,{offset},{size},1", 128_166_372_003_061_629 + n * 5000)
    };
    assert!(open(lines(60, |n| msr(n, n * 512, 512))).is_ok());
    for (text, why) in [
        (lines(60, |n| msr(n, n, 8)), "8 bytes, no multiple of 512"),
        (lines(60, |n| msr(n, 1 << 61, 512)), "over an exbibyte"),
        (lines(60, |n| msr(n * 40 % 61, n, 512)), "run backwards"),
        (lines(60, |n| msr(n * 70_000_000_000, n, 512)), "a year would pass"),
        (lines(60, |n| format!("{n},8,4096,R,{n}.5")), "60 requests would go to 60 volumes"),
        (lines(60, |n| format!("0,8,4096,R,0.{n:09}")), "requests would come in a second"),
        // One long gap hides no rate.
        (lines(60, |n| format!("0,8,4096,R,{}.{n:09}", n / 30 * 9)), "requests would come in a second"),
        (
            lines(60, |n| format!("0,8,4294966784,R,{}.{:02}", n / 50, n % 50 * 2)),
            "bytes would move in a second",
        ),
    ] {
        let message = open(&text).unwrap_err().to_string();
        assert!(message.contains(why), "{why} is not in: {message}");
        assert!(message.contains("--format msr") || message.contains("--format spc"), "{message}");
    }
}
