//! The sample as recorders write it, among much else.

use std::fmt::Write as _;

use super::{Asked, lines, read_or_write, requests};

/// blkparse: each request queued, issued and completed, other events in between, a summary behind.
pub(crate) fn blkparse() -> String {
    let mut text = "Input file sdb.blktrace.0 added\n".to_owned();
    let mut events: Vec<(u64, String)> = Vec::new();
    for asked in requests() {
        let device = format!("  8,{:<3}", asked.volume * 16);
        let (flags, extent) =
            (read_or_write(&asked, " R", "WS"), format!("{} + {}", asked.sector, asked.sectors));
        let mut event = |ticks: u64, action: &str, flags: &str, rest: &str| {
            let (whole, part) = (ticks / 10_000_000, ticks % 10_000_000);
            let line = format!(
                "{device}  1 {:>8} {whole:>5}.{part:07}00  3645 {action:>2} {flags:>3} {rest}",
                events.len() + 1
            );
            events.push((ticks, line));
        };
        let start = 20 + asked.ticks;
        event(start - 15, "A", flags, &format!("{extent} <- (8,17) {}", asked.sector.saturating_sub(32)));
        event(start - 14, "Q", flags, &format!("{extent} [java]"));
        event(start - 12, "P", flags, "[java]");
        event(start - 10, "m", flags, "cfq18615S / insert_request");
        event(start, "D", flags, &format!("{extent} [kworker/u8:0]"));
        if asked.is_flushed() {
            let how = if asked.volume == 0 { " FN" } else { "FWS" };
            event(start, "D", how, "[kworker/0:1H]");
            event(start + 300, "C", how, "0 [0]");
        }
        event(start + 700, "C", flags, &format!("{extent} (   70000) [0]"));
        event(start - 1, "UT", flags, "[java] 1");
    }
    events.sort_by_key(|&(ticks, _)| ticks);
    for (_, line) in events {
        text += &line;
        text.push('\n');
    }
    text +=
        "CPU0 (8,16):\n Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB\n\n";
    text += "Total (8,16):\n IO unplugs:             0        \t Timer unplugs:           0\n\n";
    text + "Throughput (R/W): 0KiB/s / 0KiB/s\nEvents (8,16): 29662 entries\nSkips: 0 forward (0 -   0.0%)\n"
}

/// ETW, in microseconds, with the header and the fields of a recorder later than the published traces.
pub(crate) fn etw() -> String {
    let fields = "TimeStamp,     Process Name ( PID),   ThreadID, CPU,             IrpPtr";
    let io = "ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName";
    let mut text = "BeginHeader\n".to_owned();
    for kind in ["DiskRead", "DiskWrite"] {
        let _ = writeln!(text, "{kind:>23},  {fields},   {io}");
    }
    let _ = writeln!(
        text,
        "{:>23},  {fields},  ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri",
        "DiskFlush"
    );
    let _ = writeln!(
        text,
        "{:>23},  {fields}\nEndHeader\nOS Version: 6.0.6001, Trace Size: 1024KB",
        "DiskReadInit"
    );
    text + &lines(|text, asked| {
        let kind = read_or_write(asked, "DiskRead", "DiskWrite");
        let who = "sqlservr.exe (2084),       3912,   1, 0xfffffa8004d02510";
        let (offset, size) = (asked.sector * 512, asked.sectors * 512);
        let time = 8612 + asked.ticks / 10;
        let _ = writeln!(text, "{:>23},{time:>11}, {who}", format!("{kind}Init"));
        let _ = write!(
            text,
            "{kind:>23},{time:>11}, {who}, {offset:#012x}, {size:#010x},         283,        {}, 0x060043,         283,       3, Original, 0xffffe288272d0d20, \"C:\\a, b\"",
            asked.volume
        );
        if asked.is_flushed() {
            let _ = write!(
                text,
                "\n{:>23},{time:>11}, {who},         12,        {}, 0x000000,          12,       3",
                "DiskFlush", asked.volume
            );
        }
    })
}

/// fio's log of version 3: a time on every line.
pub(crate) fn fio_timestamps() -> String {
    let text =
        "fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdc add\n0 /dev/sdb open\n1 /dev/sdc open\n".to_owned();
    text + &fio_lines(|time| format!("{time} ")) + "9999999 /dev/sdb close\n9999999 /dev/sdc close\n"
}

/// fio's log of version 2: times are the sums of waits.
pub(crate) fn fio_waits() -> String {
    let mut text =
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdc add\n/dev/sdc open\n".to_owned();
    let mut before = 0;
    text += &fio_lines(|time| {
        let wait = format!("/dev/sdb wait {} 0\n", time - std::mem::replace(&mut before, time));
        wait
    });
    text + "/dev/sdb close\n"
}

/// Lines with something in front that knows the time in microseconds.
fn fio_lines(mut front: impl FnMut(u64) -> String) -> String {
    let mut text = String::new();
    for asked in requests() {
        let flushed = asked.is_flushed();
        let Asked { ticks, volume, read, sector, sectors, .. } = asked;
        let file = ["/dev/sdb", "/dev/sdc"][volume as usize];
        let action = if read { "read" } else { "write" };
        let _ = writeln!(text, "{}{file} {action} {} {}", front(ticks / 10), sector * 512, sectors * 512);
        if flushed {
            let sync = if read { "sync" } else { "datasync" };
            let _ = writeln!(text, "{}{file} {sync} {} 0", front(ticks / 10), sector * 512);
        }
    }
    text
}
